//! Starting the program of a stack.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use sys::terminal;

use crate::{Options, Program};

/// Why a program could not be started, and the kernel's number for that, or 0.
type Refusal = (String, i32);

/// Starts the program of `options`; its process number, or why it could not be started.
pub(super) fn start(options: &Options, lock_file: &str) -> Result<Option<i32>, Refusal> {
    let words = match &options.program {
        Program::Nothing => return Ok(None),
        Program::Command(words) => words.clone(),
        Program::Shell => vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())],
    };
    let (name, arguments) = words.split_first().ok_or_else(|| ("the command is empty".to_string(), 0))?;
    let mut command = Command::new(name);
    let names: Vec<&str> = options.interfaces.iter().map(|i| i.name.as_str()).collect();
    command
        .args(arguments)
        .env("XTABLES_LOCKFILE", lock_file)
        .env("WEIR_INTERFACES", names.join(" "))
        .envs(options.environment.iter().map(|(name, value)| (name, value)));
    if options.program == Program::Shell {
        terminal::in_foreground(&mut command).map_err(|e| (e.to_string(), 0))?;
    } else {
        command.stdin(Stdio::null());
        if options.output_to_errors {
            command.stdout(errors().map_err(|e| describe(name, &e))?);
        }
    }
    let child = command.spawn().map_err(|e| describe(name, &e))?;
    Ok(i32::try_from(child.id()).ok())
}

fn errors() -> io::Result<Stdio> {
    io::stderr().as_fd().try_clone_to_owned().map(Stdio::from)
}

fn describe(name: &OsString, error: &io::Error) -> Refusal {
    (format!("{}: {}", name.display(), sys::reason(error)), error.raw_os_error().unwrap_or(0))
}
