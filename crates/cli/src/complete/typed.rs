//! What was typed before the word that is to be completed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::command::GraphName;
use crate::remote::Daemon;

/// The words before the one that is to be completed, without the program.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// What the words mean.
#[derive(Clone, Debug, Default)]
pub struct Typed {
    /// Words that are neither commands nor flags.
    pub words: Vec<String>,
    /// Values of flags.
    options: HashMap<String, String>,
}

/// Remembers what was typed, the word that is to be completed included.
pub fn remember(words: &[String]) {
    let before = words.get(1..words.len().saturating_sub(1).max(1)).unwrap_or_default();
    // A process completes once.
    let _ = WORDS.set(before.to_vec());
}

/// What has been typed.
pub fn now() -> Typed {
    let words = WORDS.get().cloned().unwrap_or_default();
    let args: Vec<String> = std::iter::once("weir".to_string()).chain(words).collect();
    let mut root = crate::command::of(&args);
    root.build();
    Typed::of(&root, args.get(1..).unwrap_or_default())
}

impl Typed {
    fn of(root: &clap::Command, words: &[String]) -> Typed {
        let (mut command, mut typed) = (root, Typed::default());
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if let Some(below) = command.find_subcommand(word) {
                command = below;
            } else if let Some(flag) = word.strip_prefix('-').filter(|flag| !flag.is_empty()) {
                let (name, value) =
                    flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
                let Some(arg) = find(command, name) else {
                    // It may be a flag that only a function has.
                    if command.get_positionals().any(|arg| arg.is_allow_hyphen_values_set()) {
                        typed.words.push(word.clone());
                    }
                    continue;
                };
                let takes = arg.get_num_args().is_some_and(|n| n.takes_values());
                let value = match value {
                    None if takes && !arg.is_require_equals_set() => words.next().cloned(),
                    value => value.map(str::to_string),
                };
                typed.options.extend(value.map(|value| (arg.get_id().to_string(), value)));
            } else {
                typed.words.push(word.clone());
            }
        }
        typed
    }

    /// A word by its number.
    pub fn word(&self, at: usize) -> Result<&str, String> {
        self.words.get(at).map(String::as_str).ok_or_else(|| "not typed yet".to_string())
    }

    /// The daemon that is meant.
    pub fn daemon(&self) -> Daemon {
        let given = |id: &str, variable: &str| {
            let set = || std::env::var(variable).ok().filter(|value| !value.is_empty());
            self.options.get(id).cloned().or_else(set)
        };
        Daemon {
            socket: given("socket", "WEIR_SOCKET").map(PathBuf::from),
            server: given("server", "WEIR_SERVER"),
            candidate: false,
            token: given("token", "WEIR_TOKEN"),
            ca: given("ca", "WEIR_CA"),
            cert: given("cert", "WEIR_CERT"),
            key: given("key", "WEIR_KEY"),
            patience: Default::default(),
        }
    }

    /// The graph that `--graph` names, or the only one.
    pub fn graph(&self) -> GraphName {
        GraphName { graph: self.options.get("graph").cloned(), ..GraphName::default() }
    }
}

/// The flag of this name, which has a dash in front if it is a long one.
fn find<'c>(command: &'c clap::Command, name: &str) -> Option<&'c clap::Arg> {
    match name.strip_prefix('-') {
        Some(long) => command.get_arguments().find(|arg| arg.get_long() == Some(long)),
        None => {
            command.get_arguments().find(|arg| arg.get_short().is_some_and(|short| name.starts_with(short)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Typed {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let mut root = crate::command::of(&words);
        root.build();
        Typed::of(&root, &words[1..])
    }

    #[test]
    fn flags_and_commands_are_told_from_other_words() {
        let show = typed("weir show --json --socket s edge");
        assert_eq!((show.words, show.options["socket"].as_str()), (vec!["edge".to_string()], "s"));
        let live = typed("weir live --json g replace --drop-state a");
        assert_eq!(live.words, ["g", "a"]);
        let read = typed("weir handler -g g read");
        assert_eq!(read.graph().graph.as_deref(), Some("g"));
        assert_eq!(typed("weir set edge --replace --socket=x a=b").options["socket"], "x");
        assert_eq!(typed("weir show --nonsense - --socket").words, ["-"]);
        let create = typed("weir create nat edge --inside --socket s 10.0.0.0/8");
        assert_eq!(create.words, ["nat", "edge", "--inside", "10.0.0.0/8"]);
    }
}
