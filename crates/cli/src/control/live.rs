//! Changing a running graph: what is asked, and how the graph that is wanted comes of the one that runs.

use clap::Subcommand;
use clap_complete::ArgValueCompleter;
use engine::change::{Revision, Snapshot, Wish};
use graph::{Diagnostics, Graph};
use serde::{Deserialize, Serialize};

use super::editor::Editor;
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
        #[arg(value_parser = revision)]
        revision: u64,
    },
}

fn revision(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "expected the number of a graph; `weir live GRAPH history` lists them".to_string())
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
    /// The number of the graph in the history; none if it was only asked what would be done.
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
                if editor.graph.elements.is_empty() {
                    return Err(format!(
                        "{name}: there are no elements in it, and none would be left; `weir live GRAPH rm NAME` takes away one"
                    ));
                }
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
