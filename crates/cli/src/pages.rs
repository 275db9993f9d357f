//! Completions and manual pages, from the definition of the command line.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;
use element::output::reason;

use crate::command::{examples, full};
use crate::failure::{Exit, Failure};

/// Prints a completion script: one that asks weir, or one that has all in it.
pub fn completions(shell: clap_complete::Shell, is_fixed: bool) -> Exit {
    let mut text = Vec::new();
    match is_fixed {
        true => clap_complete::generate(shell, &mut full(), "weir", &mut text),
        false => crate::complete::script(shell, &mut text).map_err(|error| error.to_string())?,
    }
    crate::print::bytes(&text);
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page or that of a command, or writes the pages of all commands into a folder. The name of a command means a folder
/// only with `/` behind it.
pub fn man(what: Option<&str>) -> Exit {
    let mut all = full();
    // What is also called so in the folder does not matter.
    let only = what.and_then(|what| all.find_subcommand(what));
    let only = only.map(|command| command.get_name().to_string());
    if let (Some(what), None) = (what, &only) {
        if !what.contains('/') && !Path::new(what).is_dir() {
            let names = all.get_subcommands().map(Command::get_name);
            let near = names.min_by_key(|name| strsim::damerau_levenshtein(name, what)).unwrap_or("run");
            return Err(Failure::Usage(format!(
                "man: no command `{what}`, and no folder\n  help: did you mean `{near}`? `{what}/` makes a folder of that name"
            )));
        }
    }
    let written = match (what, only) {
        (None, _) => page(all).map(|page| crate::print::bytes(&page)),
        (_, Some(name)) => {
            all.build();
            let command = all.find_subcommand(&name).cloned().unwrap_or(all);
            page(command).map(|page| crate::print::bytes(&page))
        }
        (Some(folder), _) => std::fs::create_dir_all(folder).and_then(|()| {
            all.build();
            write_all(&all, Path::new(folder))
        }),
    };
    written.map_err(|error| format!("{}: {}", what.unwrap_or("<stdout>"), reason(&error)))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the pages of a command and of all below it.
fn write_all(command: &Command, folder: &Path) -> std::io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        write_all(below, folder)?;
    }
    let file = Man::new(command.clone()).get_filename();
    std::fs::write(folder.join(file), page(command.clone())?)
}

/// The page of a command. Its examples stand in a section of their own, as they are.
fn page(command: Command) -> std::io::Result<Vec<u8>> {
    // Unless the page is told, it takes the command's name for the program that it comes from.
    let man = |command: Command| {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_uppercase();
        let source = concat!("weir ", env!("CARGO_PKG_VERSION"));
        Man::new(command).title(name).source(source).manual("User Commands")
    };
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let Some(lines) = help.strip_prefix(examples::HEADING) else {
        let mut page = Vec::new();
        return man(command).render(&mut page).map(|()| page);
    };
    let man = man(command.clone());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    writeln!(page, ".SH EXAMPLES\n.nf")?;
    for line in lines.lines().skip(1) {
        writeln!(page, "{}", verbatim(line))?;
    }
    writeln!(page, ".fi")?;
    Ok(page)
}

/// A line that roff shows as it is.
fn verbatim(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq");
    match line.starts_with('.') {
        true => format!("\\&{line}"),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_of_a_page_are_not_filled() {
        let command = Command::new("weir-x").after_help("Examples:\n  # why\n  weir x 'a' \\\n    --flag");
        let page = String::from_utf8(page(command).unwrap()).unwrap();
        let examples = ".SH EXAMPLES\n.nf\n  # why\n  weir x \\(aqa\\(aq \\e\n    \\-\\-flag\n.fi\n";
        assert!(page.ends_with(examples), "{page}");
        assert!(!page.contains("EXTRA"), "{page}");
        assert!(page.contains(".TH WEIR-X 1  \"weir 0.1.0\" \"User Commands\"\n"), "{page}");
    }
}
