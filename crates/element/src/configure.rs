//! What an element is given when it is made.

use args::{Args, Scope};
use graph::{ElementIdx, PortIdx};

/// The graph as elements see it while they are configured: the others exist by name only.
pub trait Environment {
    /// The element with this name, looked up from `from`'s compound outwards.
    fn find(&self, name: &str, from: ElementIdx) -> Option<ElementIdx>;
    /// Its class.
    fn class(&self, idx: ElementIdx) -> &str;
    /// Its full name.
    fn name(&self, idx: ElementIdx) -> &str;
    /// Its configuration string.
    fn config(&self, idx: ElementIdx) -> &str;
    /// Number of elements.
    fn n_elements(&self) -> usize;
    /// Its inputs' number and its outputs'.
    fn n_ports(&self, idx: ElementIdx) -> (usize, usize);
    /// Whether an output is push.
    fn output_is_push(&self, idx: ElementIdx, port: PortIdx) -> bool;
    /// Whether an input is push.
    fn input_is_push(&self, idx: ElementIdx, port: PortIdx) -> bool;
    /// Number of threads that the graph runs on.
    fn n_threads(&self) -> usize {
        1
    }
    /// Which replica of the graph this is, the first being 0, and how many there are.
    fn replica(&self) -> (usize, usize) {
        (0, 1)
    }
    /// `require`d features and the like: what the user asked for on the command line, such as the default burst.
    fn default_burst(&self) -> usize;
}

/// An element could not be configured: the reasons, a sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    /// In Click's words.
    pub errors: Vec<String>,
}

impl From<String> for Failed {
    fn from(error: String) -> Failed {
        Failed { errors: vec![error] }
    }
}

impl From<&str> for Failed {
    fn from(error: &str) -> Failed {
        Failed { errors: vec![error.to_string()] }
    }
}

/// What an element is given when it is made.
pub struct Configure<'a> {
    /// The arguments, sorted by the class facts.
    pub args: Args<'a>,
    /// The names that arguments may use.
    pub scope: &'a Scope<'a>,
    /// The element's own index.
    pub element: ElementIdx,
    /// Number of connected inputs.
    pub n_inputs: usize,
    /// Number of connected outputs.
    pub n_outputs: usize,
    /// Things to tell that are no errors.
    pub warnings: Vec<String>,
    /// Things to tell that are not even doubtful, or that Click tells as errors and goes on.
    pub notes: Vec<String>,
    /// The configuration string as it was written.
    pub config: &'a str,
    /// The other elements.
    pub environment: &'a dyn Environment,
    errors: Vec<String>,
}

impl<'a> Configure<'a> {
    /// Used by engines.
    pub fn new(
        args: Args<'a>,
        scope: &'a Scope<'a>,
        element: ElementIdx,
        config: &'a str,
        environment: &'a dyn Environment,
    ) -> Configure<'a> {
        let (n_inputs, n_outputs) = environment.n_ports(element);
        let (warnings, notes, errors) = (Vec::new(), Vec::new(), Vec::new());
        Configure { args, scope, element, n_inputs, n_outputs, warnings, notes, config, environment, errors }
    }

    /// Records an error, as a sentence.
    pub fn error(&mut self, message: impl Into<String>) {
        self.errors.push(message.into());
    }

    /// Records a warning, as a sentence.
    pub fn warning(&mut self, message: impl Into<String>) {
        self.warnings.push(message.into());
    }

    /// Records something to tell that does not keep the graph from running.
    pub fn note(&mut self, message: impl Into<String>) {
        self.notes.push(message.into());
    }

    /// The handler call that argument `name` gives, if it is given.
    pub fn handler_call(&mut self, name: &'static str) -> Option<crate::HandlerCall> {
        self.args.get_with(name, |text, _| crate::HandlerCall::parse(text))
    }

    /// The name of a file of this replica's own: what was given for the first one, with `.1`, `.2`, ... for the others, so
    /// that they do not overwrite each other's. Standard output is everybody's.
    pub fn file_of_replica(&self, name: String) -> String {
        match self.environment.replica().0 {
            n if n > 0 && !name.is_empty() && name != "-" => format!("{name}.{n}"),
            _ => name,
        }
    }

    /// The element that argument `name` names, if the argument is given. An error is recorded if there is no such element
    /// or it is none of `classes` (empty: any class).
    pub fn element(&mut self, name: &'static str, classes: &[&str]) -> Option<ElementIdx> {
        let text = self.args.get::<String>(name)?;
        let found = self.environment.find(&text, self.element).ok_or("does not name an element".to_string());
        match found.and_then(|_| self.element_called(&text, classes)) {
            Ok(idx) => Some(idx),
            Err(message) => {
                self.args.error(name, &message);
                None
            }
        }
    }

    /// The element called `text` if it is one of `classes` (empty: any class).
    pub fn element_called(&self, text: &str, classes: &[&str]) -> Result<ElementIdx, String> {
        let Some(idx) = self.environment.find(text, self.element) else {
            return Err(format!("no element named '{text}'"));
        };
        let class = self.environment.class(idx);
        if !classes.is_empty() && !classes.contains(&class) {
            let expected = classes.first().copied().unwrap_or("element");
            return Err(format!("element type mismatch, expected {expected}"));
        }
        Ok(idx)
    }

    /// Ends the reading of arguments: fails with all errors, those of unknown and superfluous arguments included.
    pub fn finish(&mut self) -> Result<(), Failed> {
        self.warnings.extend(self.args.warnings().iter().cloned());
        let args = std::mem::replace(&mut self.args, Args::new("", &[], self.scope));
        let mut errors = args.finish().err().unwrap_or_default();
        errors.append(&mut self.errors);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(Failed { errors })
        }
    }
}
