//! Programs that are not weir: where they are.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::part::{suggestion, Part, Work};
use crate::failure::Failure;

/// What to say of a program that is not there.
pub fn missing(part: &Part) -> Option<Failure> {
    let Work::Program = part.work else { return None };
    let name = &part.written.words[0];
    let is_there = match name.contains('/') {
        true => is_program(Path::new(name)),
        false => {
            let path =
                part.written.variable("PATH").map(str::to_string).or_else(|| std::env::var("PATH").ok());
            path.unwrap_or_default().split(':').any(|folder| is_program(&Path::new(folder).join(name)))
        }
    };
    (!is_there).then(|| {
        Failure::Usage(format!(
            "{}: there is neither a stage nor a program `{name}`{}",
            part.written.called(),
            suggestion(name)
        ))
    })
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}
