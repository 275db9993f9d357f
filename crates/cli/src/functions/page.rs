//! The page of a function, in Markdown.

use std::fmt::Write;

use functions::{value_name, Function};
use yang::{Kind, Node};

use super::command::examples_of;
use super::flag::{self, Flag, Place};

/// The page of a function whose command is called `name`.
pub fn markdown(name: &str, function: &Function<'_>) -> String {
    let flags = flag::of(function);
    let words = flags.iter().filter(|flag| flag.is_word()).map(|flag| match flag.place {
        Place::Word => format!(" {}", flag.called()),
        _ => format!(" [{}]...", flag.called()),
    });
    let words: String = words.collect();
    let mut page =
        format!("# weir {name}\n\n    weir {name} [OPTIONS]{words}\n\n{}\n", function.node.description);
    page += "\n## Parameters\n\n";
    for flag in &flags {
        page += &parameter(flag);
    }
    page += "\nAll stages also have `--if`, `--format`, `--burst` and `--drain`; `--print-graph` prints the graph and ends.\n";
    let others = flag::without(function);
    if !others.is_empty() {
        page += "\nInstances in the daemon's configuration also have:\n\n";
        let line = |node: &&Node| format!("- `{}`: {}\n", node.name, node.description);
        page += &others.iter().map(line).collect::<String>();
    }
    let state = state(function.node, "");
    if !state.is_empty() {
        page += "\n## State\n\nWhat can be read and done, and the handlers of the graph that this is.\n\n";
        page += &state;
    }
    page += "\n## Examples\n";
    for (purpose, line) in examples_of(function) {
        let _ = write!(page, "\n{purpose}:\n\n```sh\n{line}\n```\n");
    }
    page
}

/// What a page tells of a flag.
fn parameter(flag: &Flag<'_>) -> String {
    let called = flag.called();
    let letter = |name: String, has_letter: bool| match flag.short().filter(|_| has_letter) {
        Some(letter) => format!("-{letter}, {name}"),
        None => name,
    };
    let value = value_name(flag.node);
    let shown = match flag.is_word() || flag.place == Place::Switch {
        true => letter(called.clone(), !flag.is_word()),
        false => format!("{} {value}", letter(called.clone(), true)),
    };
    let repeated = if flag.place == Place::Repeated { " Can be repeated." } else { "" };
    let default = flag.default().map(|value| format!(" Default `{value}`.")).unwrap_or_default();
    let mut text = format!("- `{shown}`: {}{repeated}{default}\n", flag.help());
    if let Some(file) = flag.file() {
        let shown = letter(format!("--{file}"), flag.is_word());
        let _ = writeln!(text, "- `{shown} FILE`: {} Can be repeated.", flag.file_help());
    }
    for word in flag.own_words() {
        let _ = writeln!(text, "- `--{word}`: Short for `{called} {word}`.");
    }
    text
}

/// What can be read and done below a node.
fn state(node: &Node, path: &str) -> String {
    let mut text = String::new();
    for child in node.data_children() {
        let path = format!("{path}{}", child.name);
        let handler = match child.kind {
            Kind::Action => child.extension("write"),
            _ => child.extension("read"),
        };
        match handler {
            Some(handler) => {
                let _ = writeln!(text, "- `{path}` (`{handler}`): {}", child.description);
            }
            None if child.kind != Kind::Leaf => text += &state(child, &format!("{path}/")),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{command, flag};
    use expect_test::expect_file;
    use functions::{leaf, Functions, Package};

    /// `UPDATE_EXPECT=1 cargo test -p cli functions::page` writes the pages anew.
    #[test]
    fn the_pages_are_those_of_the_schemas() {
        let functions = Functions::shipped();
        for (command, name) in Package::shipped_commands() {
            let path = format!("../../../../docs/functions/{command}.md");
            expect_file![path].assert_eq(&super::markdown(command, &functions.get(name).unwrap()));
        }
    }

    #[test]
    fn every_command_is_well_formed_and_says_what_it_does() {
        let functions = Functions::shipped();
        for (command, name) in Package::shipped_commands() {
            let function = functions.get(name).unwrap();
            assert_eq!(function.node.extension("command"), Some(command));
            command::command(command, &function).debug_assert();
            assert!(function.about().ends_with('.'), "{}", function.about());
            assert!(command::examples_of(&function).count() > 0, "{name} has no example");
            let mut drawings = function.node.description.lines().filter(|line| line.starts_with(' '));
            assert_eq!(drawings.find(|line| line.len() > 80), None, "{name}: wider than a terminal");
            for flag in flag::of(&function) {
                assert!(flag.help().ends_with('.'), "{name}: {}", flag.help());
                if let Some(value) = flag.default() {
                    assert!(leaf(flag.node, value).is_ok(), "{name}: {}", flag.called());
                }
            }
        }
    }
}
