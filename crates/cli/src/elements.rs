//! `weir elements` and `weir help`: what the class facts say.

use std::fmt::Write;
use std::io::Write as _;
use std::process::ExitCode;

use ::functions::Functions;
use element::Class;
use graph::{ArgKind, ClassFacts};
use serde_json::json;

use crate::command::ElementsOptions;
use crate::failure::{Exit, Failure};

/// The text of a class's page without the comment marks.
fn page(facts: &ClassFacts) -> String {
    let lines = facts.page.lines().filter_map(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    lines.join("\n")
}

/// The first sentence of a class's page.
fn summary(facts: &ClassFacts) -> String {
    page(facts).lines().next().unwrap_or("").to_string()
}

/// `weir elements`.
pub fn list(options: ElementsOptions) -> Exit {
    let word = options.word.unwrap_or_default().to_lowercase();
    let matches = |class: &&Class| {
        let page = page(&class.facts).to_lowercase();
        // Part of a name, or a whole word of the page: part of a word says little (`nat` is in `destination`).
        class.facts.name.to_lowercase().contains(&word)
            || page.split(|c: char| !c.is_alphanumeric()).any(|other| other == word)
    };
    let folders = catalog::stock().folders().iter();
    if options.json {
        let all = folders.flat_map(|(folder, classes)| {
            classes.iter().filter(matches).map(move |class| as_json(folder, &class.facts))
        });
        let all: Vec<_> = all.collect();
        println!("{:#}", json!(all));
        return Ok(if all.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let mut n = 0;
    for (folder, classes) in folders {
        let mut classes: Vec<&Class> = classes.iter().filter(matches).collect();
        classes.sort_by_key(|class| class.facts.name);
        if !classes.is_empty() {
            println!("{}{folder}", if n > 0 { "\n" } else { "" });
        }
        for class in classes {
            n += 1;
            println!("  {:<20} {}", class.facts.name, summary(&class.facts));
        }
    }
    if n == 0 {
        return Err(format!("no element class mentions `{word}`; `weir elements` lists all").into());
    }
    Ok(ExitCode::SUCCESS)
}

fn kind_name(kind: ArgKind) -> &'static str {
    match kind {
        ArgKind::Required => "required",
        ArgKind::Optional => "optional",
        ArgKind::Keyword => "keyword",
        ArgKind::Rest => "rest",
    }
}

fn as_json(folder: &str, facts: &ClassFacts) -> serde_json::Value {
    let args = facts
        .args
        .iter()
        .map(|arg| json!({ "name": arg.name, "kind": kind_name(arg.kind), "type": arg.ty, "doc": arg.doc }));
    let handlers = facts.handlers.iter().map(|handler| {
        json!({
            "name": handler.name,
            "read": handler.kind.is_readable(),
            "write": handler.kind.is_writable(),
            "parameter": handler.kind.takes_parameter(),
            "doc": handler.doc,
        })
    });
    let drops = facts.drops.iter().map(|drop| json!({ "name": drop.name, "doc": drop.doc }));
    json!({
        "name": facts.name,
        "folder": folder,
        "ports": facts.ports,
        "processing": facts.processing,
        "flow": facts.flow,
        "page": page(facts),
        "args": args.collect::<Vec<_>>(),
        "handlers": handlers.collect::<Vec<_>>(),
        "drops": drops.collect::<Vec<_>>(),
    })
}

/// `weir help ELEMENT`, `weir help FUNCTION`, or `weir help COMMAND`.
pub fn help(name: Option<&str>) -> Exit {
    let Some(name) = name else {
        return help_printed(|| crate::command::full().print_help());
    };
    if let Some(page) = crate::functions::page(name) {
        print!("{page}");
        return Ok(ExitCode::SUCCESS);
    }
    let stock = catalog::stock();
    if let Some(class) = stock.get(name) {
        print!("{}", markdown(&class.facts, 1));
        return Ok(ExitCode::SUCCESS);
    }
    let mut commands = crate::command::full();
    if commands.find_subcommand(name).is_some() {
        return help_of_command(&mut commands, name);
    }
    if let Some(functions) = Functions::shipped_one(name) {
        // One that is no stage: an instance's page.
        let command = functions.get(name).map(|function| crate::remote::create_command(&function));
        return help_printed(|| command.map_or(Ok(()), |mut command| command.print_long_help()));
    }
    let known = stock.sorted_names();
    if let Some(class) = known.iter().find(|known| known.eq_ignore_ascii_case(name)) {
        return help(Some(class));
    }
    let known = known.into_iter().chain(commands.get_subcommands().map(clap::Command::get_name));
    let near = known.min_by_key(|known| strsim::damerau_levenshtein(known, name)).unwrap_or("Null");
    Err(Failure::Usage(format!(
        "no command, function or element class `{name}`\n  help: did you mean `{near}`? `weir elements` lists the classes"
    )))
}

/// What `weir COMMAND --help` prints.
fn help_of_command(commands: &mut clap::Command, name: &str) -> Exit {
    if let Some(tool) = crate::tools::subcommand(name) {
        return Ok(crate::tools::main(tool, &format!("weir {name}"), &["--help".to_string()]));
    }
    commands.build();
    help_printed(|| commands.find_subcommand_mut(name).map_or(Ok(()), clap::Command::print_long_help))
}

/// `weir help COMMAND PART`: what `weir COMMAND PART --help` prints.
pub fn help_of_part(name: &str, part: &str) -> Exit {
    let mut commands = crate::command::full();
    commands.build();
    let command = commands.find_subcommand_mut(name);
    let Some(part) = command.and_then(|command| command.find_subcommand_mut(part)) else {
        let message = format!("no command `{name} {part}`\n  help: `weir help {name}` shows what there is");
        return Err(Failure::Usage(message));
    };
    help_printed(|| part.print_long_help())
}

fn help_printed(print: impl FnOnce() -> std::io::Result<()>) -> Exit {
    let printed =
        crate::print::output().map(drop).and_then(|()| print()).and_then(|()| std::io::stdout().flush());
    printed.map_err(|error| format!("standard output: {}", element::output::reason(&error)))?;
    Ok(ExitCode::SUCCESS)
}

/// A class's page with its tables, headings beginning at `level`.
fn markdown(facts: &ClassFacts, level: usize) -> String {
    let heading = "#".repeat(level);
    let mut text = format!("{heading} {}\n\n{}\n", facts.name, page(facts).trim());
    let codes = format!("ports `{}`, processing `{}`, flow `{}`", facts.ports, facts.processing, facts.flow);
    // Writing to a String cannot fail.
    let _ = write!(text, "\nPorts: {codes}.\n");
    if !facts.args.is_empty() {
        text += "\nArguments:\n\n";
        for arg in facts.args {
            let _ = writeln!(text, "- `{}` ({}, {}): {}", arg.name, arg.ty, kind_name(arg.kind), arg.doc);
        }
    }
    if !facts.handlers.is_empty() {
        text += "\nHandlers:\n\n";
        for handler in facts.handlers {
            let read = if handler.kind.is_readable() { "r" } else { "" };
            let write = if handler.kind.is_writable() { "w" } else { "" };
            let _ = writeln!(text, "- `{}` ({read}{write}): {}", handler.name, handler.doc);
        }
    }
    if !facts.drops.is_empty() {
        text += "\nDrops:\n\n";
        for drop in facts.drops {
            let _ = writeln!(text, "- `{}`: {}", drop.name, drop.doc);
        }
    }
    text
}

/// The element reference: every class's page, by folder.
pub fn reference() -> Exit {
    println!("# Element reference\n\nGenerated from the class facts by `weir reference`; do not edit.");
    for (folder, classes) in catalog::stock().folders() {
        let mut classes: Vec<&Class> = classes.iter().collect();
        classes.sort_by_key(|class| class.facts.name);
        println!("\n## {folder}");
        for class in classes {
            print!("\n{}", markdown(&class.facts, 3));
        }
    }
    Ok(ExitCode::SUCCESS)
}
