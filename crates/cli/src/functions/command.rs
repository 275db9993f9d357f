//! The command of a function, from its schema.

use std::sync::Arc;

use clap::{Arg, ArgAction, Command};
use clap_complete::{ArgValueCandidates, CompletionCandidate};
use functions::{entries, leaf, value_name, Function};
use yang::{Kind, Node};

use super::flag::{self, Flag, Place};
use super::PRINT_GRAPH;
use crate::command::examples;

/// The command of a function that is called `name`.
pub fn command(name: &'static str, function: &Function<'_>) -> Command {
    let mut command = Command::new(name)
        .about(function.about().to_string())
        .long_about(unbroken(&function.node.description))
        .after_help(examples::section(examples_of(function)));
    for flag in flag::of(function) {
        command = command.arg(argument(&flag));
        command = command.args(flag.file().map(|file| of_files(&flag, file)));
        let words = flag.own_words();
        command = command.args(words.iter().map(|word| of_word(&flag, word, &words)));
    }
    let help = "Print the graph in the Click language and do not run it.";
    command.arg(Arg::new(PRINT_GRAPH).long(PRINT_GRAPH).help(help).action(ArgAction::SetTrue))
}

/// Each paragraph on one line, for a terminal of any width to break; those with a line that is indented, as drawings are, stay as they are.
fn unbroken(text: &str) -> String {
    let is_drawn = |paragraph: &str| paragraph.lines().any(|line| line.starts_with(' '));
    let paragraph = |text: &str| if is_drawn(text) { text.to_string() } else { text.replace('\n', " ") };
    text.split("\n\n").map(paragraph).collect::<Vec<_>>().join("\n\n")
}

/// Purposes and command lines of a function's examples.
pub fn examples_of<'f>(function: &Function<'f>) -> impl Iterator<Item = (&'f str, &'f str)> {
    let texts = function.node.all_extensions("example");
    texts.map(|text| text.split_once(": ").unwrap_or(("", text)))
}

fn argument(flag: &Flag<'_>) -> Arg {
    let arg = Arg::new(flag.id().to_string()).help(help(flag));
    let arg = if flag.is_word() { arg } else { arg.long(flag.name().to_string()) };
    let arg = match flag.short().filter(|_| !flag.is_word()) {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    if flag.place == Place::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    // A number is told to be out of range, not to look like a flag.
    let arg = arg.value_name(value_name(flag.node)).allow_negative_numbers(true);
    if flag.place == Place::Joined {
        return arg.num_args(0..);
    }
    let words = flag.node.ty.as_ref().map(crate::complete::words).unwrap_or_default();
    let words = move || words.iter().map(CompletionCandidate::new).collect::<Vec<_>>();
    let arg = arg.add(ArgValueCandidates::new(words));
    let node = Arc::new(flag.node.clone());
    let arg = arg.value_parser(move |text: &str| check(&node, text).map(|()| text.to_string()));
    match flag.place {
        Place::Repeated => arg.action(ArgAction::Append),
        Place::Words => arg.num_args(0..),
        _ => arg.required(flag.node.is_mandatory),
    }
}

/// What is wrong with a word.
fn check(node: &Node, text: &str) -> Result<(), String> {
    match node.kind {
        Kind::List => entries(node, text, 0).map(drop),
        _ => leaf(node, text).map(drop),
    }
}

/// The flag for files that hold entries of a list.
fn of_files(flag: &Flag<'_>, name: &str) -> Arg {
    let arg = Arg::new(name.to_string()).long(name.to_string()).value_name("FILE").action(ArgAction::Append);
    let arg = arg.help(flag.file_help());
    match flag.short().filter(|_| flag.is_word()) {
        Some(letter) => arg.short(letter),
        None => arg,
    }
}

/// A flag that is short for a value of another.
fn of_word(flag: &Flag<'_>, word: &str, all: &[&str]) -> Arg {
    let help = format!("Short for {} {word}.", flag.called());
    let arg = Arg::new(word.to_string()).long(word.to_string()).help(help);
    let others = all.iter().filter(|other| **other != word).map(ToString::to_string);
    arg.action(ArgAction::SetTrue).conflicts_with(flag.id().to_string()).conflicts_with_all(others)
}

fn help(flag: &Flag<'_>) -> String {
    match flag.default() {
        Some(value) => format!("{} [default: {value}]", unbroken(flag.help())),
        None => unbroken(flag.help()),
    }
}
