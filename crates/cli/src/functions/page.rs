//! What is shown of a function: its command with help, and its page.

use std::fmt::Write;

use clap::{Arg, ArgAction, Command};

use super::leaf::{Leaf, Place, Type};
use super::side::{DIRECTION, SIDES};
use super::{Function, PRINT_GRAPH};

/// The command of a function.
pub fn command(function: &Function) -> Command {
    let mut command = Command::new(function.name)
        .about(function.about())
        .long_about(function.description())
        .after_help(examples(function, "  "));
    for leaf in function.leaves {
        command = command.arg(argument(leaf));
        if leaf.name == DIRECTION.name {
            command = command.args(SIDES.map(side));
        }
    }
    let help = "Print the graph in the Click language and do not run it.";
    command.arg(Arg::new(PRINT_GRAPH).long(PRINT_GRAPH).help(help).action(ArgAction::SetTrue))
}

impl Function {
    /// Its first sentence.
    pub fn about(&self) -> &'static str {
        let line = self.source.lines().next().unwrap_or_default();
        line.strip_prefix("// ").unwrap_or(line)
    }

    /// What the comments in front of its compound elements say.
    pub fn description(&self) -> String {
        let comments = self.source.lines().map_while(|line| line.strip_prefix("//"));
        let lines = comments.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<&str>>().join("\n")
    }
}

/// A parameter on the command line.
fn argument(leaf: &Leaf) -> Arg {
    let arg = Arg::new(leaf.name).help(help(leaf));
    if matches!(leaf.ty, Type::Flag) {
        return arg.long(leaf.name).action(ArgAction::SetTrue);
    }
    let ty = leaf.ty;
    let check = move |text: &str| ty.check(text).map(|()| text.to_string());
    let arg = arg.value_name(ty.value_name()).value_parser(check);
    let arg = if leaf.is_word() { arg } else { arg.long(leaf.name) };
    let arg = match leaf.short {
        Some(letter) => arg.short(letter),
        None => arg,
    };
    match leaf.place {
        Place::Option => arg,
        Place::Repeated => arg.action(ArgAction::Append),
        Place::Word => arg.required(true),
        Place::Words => arg.num_args(0..),
    }
}

/// A flag that is short for a value of [`DIRECTION`].
fn side(name: &'static str) -> Arg {
    let help = format!("Short for --direction {name}.");
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue).conflicts_with(DIRECTION.name)
}

fn help(leaf: &Leaf) -> String {
    match leaf.default {
        Some(value) => format!("{} [default: {value}]", leaf.help),
        None => leaf.help.to_string(),
    }
}

/// The examples, indented.
fn examples(function: &Function, indent: &str) -> String {
    let mut text = String::from("Examples:");
    for example in function.examples {
        let _ = write!(text, "\n{indent}# {}\n{indent}{}", example.purpose, example.line);
    }
    text
}

/// The page of a function, in Markdown.
#[cfg(test)]
pub fn markdown(function: &Function) -> String {
    let name = function.name;
    let words = function.leaves.iter().filter(|leaf| leaf.is_word()).map(|leaf| match leaf.place {
        Place::Words => format!(" [{}]...", leaf.ty.value_name()),
        _ => format!(" {}", leaf.ty.value_name()),
    });
    let words: String = words.collect();
    let mut page =
        format!("# weir {name}\n\n    weir {name} [OPTIONS]{words}\n\n{}\n", function.description());
    page += "\n## Parameters\n\n";
    for leaf in function.leaves {
        let value = leaf.ty.value_name();
        let flag = match (leaf.short, leaf.is_word()) {
            (Some(letter), _) => format!("-{letter}, {}", leaf.flag()),
            (None, _) => leaf.flag(),
        };
        let shown = if value.is_empty() || leaf.is_word() { flag } else { format!("{flag} {value}") };
        let repeated = if leaf.place == Place::Repeated { " Can be repeated." } else { "" };
        let default = leaf.default.map(|value| format!(" Default `{value}`.")).unwrap_or_default();
        let _ = writeln!(page, "- `{shown}`: {}{repeated}{default}", leaf.help);
        if leaf.name == DIRECTION.name {
            page += "- `--left`, `--right`: Short for `--direction left` and `--direction right`.\n";
        }
    }
    page += "\nAll stages also have `--if`, `--format`, `--burst` and `--drain`; `--print-graph` prints the graph and ends.\n";
    page += "\n## Examples\n";
    for example in function.examples {
        let _ = write!(page, "\n{}:\n\n```sh\n{}\n```\n", example.purpose, example.line);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::super::FUNCTIONS;
    use expect_test::expect_file;

    /// `UPDATE_EXPECT=1 cargo test -p cli functions::page` writes the pages anew.
    #[test]
    fn the_pages_are_those_of_the_table() {
        for function in FUNCTIONS {
            let path = format!("../../../../docs/functions/{}.md", function.name);
            expect_file![path].assert_eq(&super::markdown(function));
        }
    }

    #[test]
    fn every_command_is_well_formed_and_says_what_it_does() {
        for function in FUNCTIONS {
            super::command(function).debug_assert();
            assert!(function.about().ends_with('.'), "{}", function.about());
            assert!(!function.examples.is_empty(), "{} has no example", function.name);
            for leaf in function.leaves {
                assert!(leaf.help.ends_with('.'), "{}: {}", function.name, leaf.help);
                if let Some(value) = leaf.default {
                    assert_eq!(leaf.ty.check(value), Ok(()), "{}: --{}", function.name, leaf.name);
                }
            }
        }
    }
}
