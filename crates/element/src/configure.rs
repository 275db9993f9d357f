//! What an element is given when it is made.

use args::{Args, Scope, Told};
use graph::{Arg, ElementIdx, PortIdx, Severity};

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
    /// All elements, in the order in which they are configured.
    fn configure_order(&self) -> Vec<ElementIdx> {
        (0..self.n_elements()).collect()
    }
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
    /// Whether only this element is given a new configuration, by its handler `config`, and the graph stays as it is.
    fn is_alone(&self) -> bool {
        false
    }
    /// Checks that `from` can write a handler, if it is known already which handlers there are.
    fn check_writable(&self, _name: &str, _from: ElementIdx) -> Result<(), String> {
        Ok(())
    }
    /// `require`d features and the like: what the user asked for on the command line, such as the default burst.
    fn default_burst(&self) -> usize;
}

/// An element could not be configured: the reasons that [`Configure`] was not told, a sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    /// In Click's words; they come after what [`Configure`] was told.
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
    /// The configuration string as it was written.
    pub config: &'a str,
    /// The other elements.
    pub environment: &'a dyn Environment,
    told: Vec<Told>,
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
        Configure { args, scope, element, n_inputs, n_outputs, config, environment, told: Vec::new() }
    }

    /// Used by engines: everything that was told, in that order.
    pub fn into_told(mut self) -> Vec<Told> {
        self.told.append(&mut self.args.so_far());
        self.told
    }

    /// Records an error, as a sentence.
    pub fn error(&mut self, message: impl Into<String>) {
        self.args.tell(Severity::Error, message);
    }

    /// Records a warning, as a sentence.
    pub fn warning(&mut self, message: impl Into<String>) {
        self.args.tell(Severity::Warning, message);
    }

    /// Records something to tell that is not even doubtful, or that Click tells as an error and goes on.
    pub fn note(&mut self, message: impl Into<String>) {
        self.args.tell(Severity::Message, message);
    }

    /// The handler call that argument `name` gives, if it is given. Its element must exist; whether that has the handler is
    /// known only later, unless the graph runs already.
    pub fn handler_call(&mut self, name: &'static str) -> Option<crate::HandlerCall> {
        let args::Raw(text) = self.args.get(name)?;
        let environment = self.environment;
        let checked = crate::HandlerCall::parse(&text).and_then(|call| {
            let exists = |element: &str| environment.find(element, self.element).is_some();
            call.check_element(exists)?;
            environment.check_writable(&call.name, self.element).map(|()| call)
        });
        match checked {
            Ok(call) => Some(call),
            Err(message) => {
                self.args.error(name, message);
                self.args.error(name, "parse error");
                None
            }
        }
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
        let args::Raw(text) = self.args.get(name)?;
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

    /// Ends the reading of arguments for good if there was an error so far, even if some were not read.
    pub fn proceed(&mut self) -> Result<(), Failed> {
        if self.args.is_ok() {
            Ok(())
        } else {
            let args = self.replace_args(Vec::new(), &[]);
            self.close(args.so_far())
        }
    }

    /// Ends the reading of arguments: fails if there was an error, be it an unknown or a superfluous argument.
    pub fn finish(&mut self) -> Result<(), Failed> {
        let args = self.replace_args(Vec::new(), &[]);
        self.close(args.complete())
    }

    /// Reads `list` instead, as a table of its own says, if there was no error so far.
    pub fn go_on_with(&mut self, list: Vec<String>, facts: &'a [Arg]) -> Result<(), Failed> {
        let args = self.replace_args(list, facts);
        self.close(args.so_far())
    }

    /// Reads a keyword before all else and takes it away: what follows it counts as if it did not stand there.
    pub fn read_first<T: args::Value>(&mut self, name: &'static str) -> Result<Option<T>, Failed> {
        let (others, facts) = (self.args.without(name), self.args.facts());
        let value = self.args.get(name);
        self.go_on_with(others, facts)?;
        Ok(value)
    }

    fn replace_args(&mut self, list: Vec<String>, facts: &'a [Arg]) -> Args<'a> {
        std::mem::replace(&mut self.args, Args::from_list(list, facts, self.scope))
    }

    fn close(&mut self, mut told: Vec<Told>) -> Result<(), Failed> {
        self.told.append(&mut told);
        if self.told.iter().any(|(severity, _)| *severity == Severity::Error) {
            Err(Failed::default())
        } else {
            Ok(())
        }
    }
}
