//! Starting the program of a stack.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
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
    let (name, arguments) =
        words.split_first().filter(|(name, _)| !name.is_empty()).ok_or_else(|| (EMPTY.to_string(), 0))?;
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

/// What is told of a command without a name, as of a variable of the shell's that has no value.
const EMPTY: &str = "the command is empty";

fn errors() -> io::Result<Stdio> {
    io::stderr().as_fd().try_clone_to_owned().map(Stdio::from)
}

fn describe(name: &OsString, error: &io::Error) -> Refusal {
    let errno = error.raw_os_error().unwrap_or(0);
    (format!("{}: {}{}", name.display(), sys::reason(error), remedy(name, errno)), errno)
}

/// What can be done about a program that cannot be started, as more lines of the message.
fn remedy(name: &OsString, errno: i32) -> &'static str {
    let is_path = name.as_encoded_bytes().contains(&b'/');
    let folders = std::env::var_os("PATH").filter(|_| !is_path).unwrap_or_default();
    let is_there = match is_path {
        true => Path::new(name).is_file(),
        false => std::env::split_paths(&folders).any(|folder| folder.join(name).is_file()),
    };
    match errno {
        libc::ENOENT if is_there => {
            "\n  help: the file is there; the interpreter that its first line names (`#!...`) is not, or its loader"
        }
        libc::ENOENT if !is_path => {
            "\n  help: no folder of PATH has it; a program in this folder is `./NAME`"
        }
        libc::ENOEXEC => "\n  help: a script begins with a line such as `#!/bin/sh`; or give it to a shell: `sh FILE`",
        libc::EACCES if is_there => "\n  help: let it be run: `chmod +x FILE`, or give it to a shell: `sh FILE`",
        _ => "",
    }
}
