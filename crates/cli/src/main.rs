//! The `weir` command.
#![forbid(unsafe_code)]

mod click;
mod host;
mod libraries;
mod load;
mod stop;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let program = args.first().and_then(|program| program.rsplit('/').next()).unwrap_or("weir").to_string();
    if program == "click" {
        return click::main(args);
    }
    if args.get(1).is_some_and(|arg| arg == "click") {
        args.remove(0);
        return click::main(args);
    }
    ExitCode::FAILURE
}
