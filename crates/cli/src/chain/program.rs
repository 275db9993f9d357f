//! Programs that are not weir: where they are.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::part::{suggestion, Part, Work};
use crate::failure::Failure;

/// What to say of a program that is not there.
pub fn missing(part: &Part) -> Option<Failure> {
    let Work::Program = part.work else { return None };
    let name = &part.written.words[0];
    (!is_there(name, part.written.variable("PATH"))).then(|| {
        Failure::Usage(format!(
            "{}: there is neither a stage nor a program `{name}`{}",
            part.written.called(),
            suggestion(name)
        ))
    })
}

/// Whether there is a program that would be called `name`, in the folders of `path` or else of this process's PATH.
pub fn is_there(name: &str, path: Option<&str>) -> bool {
    if name.contains('/') {
        return is_program(Path::new(name));
    }
    let path = path.map(str::to_string).or_else(|| std::env::var("PATH").ok()).unwrap_or_default();
    path.split(':').any(|folder| is_program(&Path::new(folder).join(name)))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}
