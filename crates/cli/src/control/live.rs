//! Changing a running graph: what is asked, and how the graph that is wanted comes of the one that runs.

use clap::Subcommand;
use clap_complete::ArgValueCompleter;
use engine::change::{Revision, Snapshot, Wish};
use graph::{Connection, Diagnostics, Endpoint, Graph, Place};
use serde::{Deserialize, Serialize};

use crate::complete::graphs;

/// A change that is asked for, as a command of `weir live` and as a request.
#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "edit", rename_all = "lowercase")]
pub enum Edit {
    /// Add an element, connected to nothing or put into an edge.
    Add {
        /// Its name.
        name: String,
        /// Its class and configuration, such as `Counter` or 'Queue(500)'.
        class: String,
        /// Put it into the edge from output A to input B.
        #[arg(long, num_args = 2, value_names = ["A[PORT]", "[PORT]B"])]
        between: Option<Vec<String>>,
    },
    /// Take an element and its connections away.
    Rm {
        /// Its name.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        name: String,
        /// Connect what feeds its input 0 to what its output 0 feeds.
        #[arg(long)]
        heal: bool,
    },
    /// Give arguments of an element other values.
    Set {
        /// Its name.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        name: String,
        /// Arguments by their names in `weir help CLASS`, in capitals or not.
        #[arg(required = true, value_name = "ARGUMENT=VALUE", value_parser = pair)]
        values: Vec<(String, String)>,
    },
    /// Connect an output to an input.
    Bind {
        /// `A` or `A[PORT]`.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        from: String,
        /// `B` or `[PORT]B`.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        to: String,
    },
    /// Take a connection away.
    Unbind {
        /// `A` or `A[PORT]`.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        from: String,
        /// `B` or `[PORT]B`.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        to: String,
    },
    /// Put an element into the place of another: it gets the connections and takes over the state.
    Replace {
        /// The one to be replaced.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        name: String,
        /// 'Class(args)', or with another name 'NAME :: Class(args)'.
        class: String,
        /// Begin without the old one's state.
        #[arg(long)]
        drop_state: bool,
    },
    /// Go on with a whole configuration, which messages call by a name.
    #[command(skip)]
    Apply { name: String, text: String },
    /// Go back to a graph of the history; elements that it shares with the present one go on with their state.
    Rollback {
        /// Its number in `history`.
        revision: u64,
    },
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_string(), value.to_string())),
        _ => Err("give ARGUMENT=VALUE".to_string()),
    }
}

/// What came of a change, or would come of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The number of the graph in the history; none if nothing was changed.
    pub revision: Option<u64>,
    /// The steps, a line each.
    pub plan: Vec<String>,
    /// Warnings, a line each.
    pub warnings: Vec<String>,
}

/// A graph of the history.
#[derive(Debug, Serialize, Deserialize)]
pub struct Past {
    /// Its number.
    pub revision: u64,
    /// Since when it ran, in nanoseconds since the epoch.
    pub since_ns: i64,
    /// What the change was called.
    pub title: String,
    /// The steps from the graph before, a line each.
    pub plan: Vec<String>,
    /// Whether it runs now.
    pub runs: bool,
}

impl Past {
    /// What is told of a graph.
    pub fn new(revision: &Revision, runs: bool) -> Past {
        Past {
            revision: revision.number,
            since_ns: revision.since_ns,
            title: revision.title.clone(),
            plan: revision.actions.iter().map(|action| action.to_string()).collect(),
            runs,
        }
    }
}

impl Edit {
    /// What the history calls the change.
    fn title(&self) -> String {
        match self {
            Edit::Add { name, class, .. } => format!("add {name} {class}"),
            Edit::Rm { name, .. } => format!("rm {name}"),
            Edit::Set { name, values } => {
                let values: Vec<String> =
                    values.iter().map(|(key, value)| format!("{key}={value}")).collect();
                format!("set {name} {}", values.join(" "))
            }
            Edit::Bind { from, to } => format!("bind {from} {to}"),
            Edit::Unbind { from, to } => format!("unbind {from} {to}"),
            Edit::Replace { name, class, .. } => format!("replace {name} {class}"),
            Edit::Apply { name, .. } => format!("apply {name}"),
            Edit::Rollback { revision } => format!("rollback {revision}"),
        }
    }

    /// The graph that is wanted; `past` is the graph of the history that a rollback names.
    pub fn wish(
        &self,
        snapshot: &Snapshot,
        past: Option<&Graph>,
        diagnostics: &mut Diagnostics,
    ) -> Result<Wish, String> {
        let mut editor = Editor { graph: snapshot.graph(), snapshot, diagnostics };
        let mut wish = Wish { is_unfinished: true, title: self.title(), ..Wish::default() };
        match self {
            Edit::Add { name, class, between } => editor.add(name, class, between.as_deref())?,
            Edit::Rm { name, heal } => editor.rm(name, *heal)?,
            Edit::Set { name, values } => {
                values.iter().try_for_each(|(key, value)| editor.set(name, key, value))?;
            }
            Edit::Bind { from, to } => editor.bind(from, to)?,
            Edit::Unbind { from, to } => editor.unbind(from, to)?,
            Edit::Replace { name, class, drop_state } => {
                let new = editor.replace(name, class)?;
                if *drop_state {
                    wish.without_state.push(new.clone());
                }
                wish.replaced.push((name.clone(), new));
            }
            Edit::Apply { name, text } => {
                wish.is_unfinished = false;
                editor.graph = editor.parse(name, text)?;
            }
            Edit::Rollback { revision } => {
                let past = past.ok_or_else(|| {
                    format!("there is no revision {revision}; `weir live GRAPH history` lists them")
                })?;
                editor.graph = past.clone();
            }
        }
        wish.graph = editor.graph;
        Ok(wish)
    }
}

/// A graph that is being edited.
struct Editor<'a> {
    graph: Graph,
    snapshot: &'a Snapshot,
    diagnostics: &'a mut Diagnostics,
}

impl Editor<'_> {
    fn parse(&mut self, name: &str, text: &str) -> Result<Graph, String> {
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

    fn add(&mut self, name: &str, class: &str, between: Option<&[String]>) -> Result<(), String> {
        let new = self.declare(name, class)?;
        let Some([from, to]) = between else { return Ok(()) };
        let (from_end, to_end) = self.edge(from, to)?;
        self.unbind(from, to)?;
        self.connect(from_end, Endpoint { element: new, port: 0 });
        self.connect(Endpoint { element: new, port: 0 }, to_end);
        Ok(())
    }

    fn rm(&mut self, name: &str, heal: bool) -> Result<(), String> {
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

    fn set(&mut self, name: &str, key: &str, value: &str) -> Result<(), String> {
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

    fn bind(&mut self, from: &str, to: &str) -> Result<(), String> {
        let (from, to) = self.edge(from, to)?;
        self.connect(from, to);
        Ok(())
    }

    fn unbind(&mut self, from: &str, to: &str) -> Result<(), String> {
        let ends = self.edge(from, to)?;
        let n = self.graph.connections.len();
        self.graph.connections.retain(|c| (c.from, c.to) != ends);
        if self.graph.connections.len() == n {
            return Err(format!("{from} is not connected to {to}"));
        }
        Ok(())
    }

    /// Puts an element into the place of another; its name.
    fn replace(&mut self, name: &str, class: &str) -> Result<String, String> {
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
