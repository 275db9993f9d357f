//! Completions and manual pages, from the definition of the command line.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use element::output::reason;

use crate::command::full;

/// Prints a completion script: one that asks weir, or one that has all in it.
pub fn completions(shell: clap_complete::Shell, is_fixed: bool) -> Result<ExitCode, String> {
    let mut text = Vec::new();
    match is_fixed {
        true => clap_complete::generate(shell, &mut full(), "weir", &mut text),
        false => crate::complete::script(shell, &mut text).map_err(|error| error.to_string())?,
    }
    std::io::stdout().write_all(&text).map_err(|error| reason(&error))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the manual page, or writes the pages of all commands into a folder.
pub fn man(folder: Option<&str>) -> Result<ExitCode, String> {
    match folder {
        None => clap_mangen::Man::new(full()).render(&mut std::io::stdout()),
        Some(folder) => {
            std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(full(), Path::new(folder)))
        }
    }
    .map_err(|error| format!("{}: {}", folder.unwrap_or("<stdout>"), reason(&error)))?;
    Ok(ExitCode::SUCCESS)
}
