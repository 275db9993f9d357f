//! A graph that is edited: elements and connections come, go and change.

use engine::change::Snapshot;
use graph::{Connection, Diagnostics, Endpoint, Graph, Place};

/// A graph that is being edited.
pub struct Editor<'a> {
    /// The graph as far as it is.
    pub graph: Graph,
    /// The graph that runs.
    pub snapshot: &'a Snapshot,
    /// What is wrong.
    pub diagnostics: &'a mut Diagnostics,
}

impl Editor<'_> {
    /// Reads a configuration.
    pub fn parse(&mut self, name: &str, text: &str) -> Result<Graph, String> {
        // What is wrong is in the diagnostics.
        self.snapshot.loader().parse(name, text, self.diagnostics).ok_or_else(String::new)
    }

    fn find(&self, name: &str) -> Result<usize, String> {
        self.graph.find(name).ok_or_else(|| {
            let names = self.graph.elements.iter().map(|element| element.name.as_str());
            let near = names
                .filter(|other| other.eq_ignore_ascii_case(name) || other.ends_with(&format!("/{name}")));
            let near: Vec<&str> = near.take(3).collect();
            let help = match near.as_slice() {
                [] => "`weir live GRAPH show` prints the graph".to_string(),
                near => format!("is it {}?", near.join(", or ")),
            };
            format!("no element named '{name}'\n  help: {help}")
        })
    }

    /// Parses a declaration and adds what it makes; the index of the first of its elements.
    fn declare(&mut self, name: &str, class: &str) -> Result<usize, String> {
        if self.graph.find(name).is_some() {
            return Err(format!("there is an element named '{name}' already"));
        }
        let made = self.parse(name, &format!("{name} :: {class};"))?;
        let first = self.graph.elements.len();
        self.graph.elements.extend(made.elements);
        self.graph.connections.extend(made.connections.into_iter().map(|mut connection| {
            connection.from.element += first;
            connection.to.element += first;
            connection
        }));
        if self.graph.elements.len() != first + 1 {
            return Err(format!("`{class}` is not one element; use `apply` for compound elements"));
        }
        Ok(first)
    }

    /// Adds an element, perhaps into the edge between two others.
    pub fn add(&mut self, name: &str, class: &str, between: Option<&[String]>) -> Result<(), String> {
        let new = self.declare(name, class)?;
        let Some([from, to]) = between else { return Ok(()) };
        let (from_end, to_end) = self.edge(from, to)?;
        self.unbind(from, to)?;
        self.connect(from_end, Endpoint { element: new, port: 0 });
        self.connect(Endpoint { element: new, port: 0 }, to_end);
        Ok(())
    }

    /// Takes an element away, and perhaps connects what it stood between.
    pub fn rm(&mut self, name: &str, heal: bool) -> Result<(), String> {
        let gone = self.find(name)?;
        if heal {
            let own = Endpoint { element: gone, port: 0 };
            let is_other = |end: &Endpoint| end.element != gone;
            let before: Vec<_> = self.graph.connections_to(own).map(|c| c.from).filter(is_other).collect();
            let after: Vec<_> = self.graph.connections_from(own).map(|c| c.to).filter(is_other).collect();
            before.iter().for_each(|from| after.iter().for_each(|to| self.connect(*from, *to)));
        }
        self.graph.remove(gone);
        Ok(())
    }

    /// Gives an argument of an element another value.
    pub fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), String> {
        let idx = self.find(name)?;
        let element = &mut self.graph.elements[idx];
        let class = self.snapshot.loader().class(&element.class);
        let args = class.map_or(&[][..], |class| class.facts.args);
        let config = engine::with_argument(args, &element.config, key, value).ok_or_else(|| {
            let names: Vec<&str> = args.iter().map(|arg| arg.name).collect();
            let known = match names.as_slice() {
                [] => "it has none".to_string(),
                names => format!("it has {}", names.join(", ")),
            };
            format!("{} has no argument {key}: {known}", element.class)
        })?;
        element.config = config;
        Ok(())
    }

    /// The two ends that an edge is named by.
    fn edge(&self, from: &str, to: &str) -> Result<(Endpoint, Endpoint), String> {
        let (from_name, from_port) = port(from)?;
        let (to_name, to_port) = port(to)?;
        let from = Endpoint { element: self.find(from_name)?, port: from_port };
        Ok((from, Endpoint { element: self.find(to_name)?, port: to_port }))
    }

    fn connect(&mut self, from: Endpoint, to: Endpoint) {
        self.graph.connections.push(Connection { from, to, place: Place::default() });
    }

    /// Adds a connection.
    pub fn bind(&mut self, from: &str, to: &str) -> Result<(), String> {
        let (from, to) = self.edge(from, to)?;
        self.connect(from, to);
        Ok(())
    }

    /// Takes a connection away.
    pub fn unbind(&mut self, from: &str, to: &str) -> Result<(), String> {
        let ends = self.edge(from, to)?;
        let n = self.graph.connections.len();
        self.graph.connections.retain(|c| (c.from, c.to) != ends);
        if self.graph.connections.len() == n {
            return Err(format!("{from} is not connected to {to}"));
        }
        Ok(())
    }

    /// Puts an element into the place of another; its name.
    pub fn replace(&mut self, name: &str, class: &str) -> Result<String, String> {
        let idx = self.find(name)?;
        let (new, class) =
            class.split_once("::").map_or((name, class), |(new, class)| (new.trim(), class.trim()));
        if new != name && self.graph.find(new).is_some() {
            return Err(format!("there is an element named '{new}' already"));
        }
        let mut made = self.parse(new, &format!("{new} :: {class};"))?;
        match (made.elements.pop(), made.elements.len()) {
            (Some(element), 0) => self.graph.elements[idx] = element,
            _ => return Err(format!("`{class}` is not one element; use `apply` for compound elements")),
        }
        Ok(new.to_string())
    }
}

/// The element and the port that `A`, `A[1]` or `[1]A` means.
fn port(text: &str) -> Result<(&str, usize), String> {
    let wrong = || format!("`{text}` is no port: write A, A[1] for an output or [1]A for an input");
    let (name, number) = match (text.strip_prefix('['), text.strip_suffix(']')) {
        (Some(rest), None) => rest.split_once(']').map(|(number, name)| (name, number)).ok_or_else(wrong)?,
        (None, Some(rest)) => rest.rsplit_once('[').ok_or_else(wrong)?,
        (None, None) => (text, "0"),
        (Some(_), Some(_)) => return Err(wrong()),
    };
    let number = number.trim().parse().map_err(|_| wrong())?;
    match name.trim() {
        "" => Err(wrong()),
        name => Ok((name, number)),
    }
}
