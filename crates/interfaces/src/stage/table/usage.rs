//! How the graph's elements use an interface, and what that makes of a file or a named pipe, which can be read or written but
//! not both.

use std::sync::{Mutex, PoisonError};

use crate::stage::{Endpoint, Spec};

/// Names of interfaces.
type Names = Mutex<Vec<String>>;

/// The interfaces that elements read.
static READ: Names = Mutex::new(Vec::new());
/// The interfaces that elements write.
static WRITTEN: Names = Mutex::new(Vec::new());

/// Says, before anything is opened, that an element reads the interface of this name.
pub fn mark_read(name: &str) {
    add(&READ, name);
}

/// As [`mark_read`], for an element that writes it.
pub fn mark_written(name: &str) {
    add(&WRITTEN, name);
}

/// Whether an element reads it.
pub(super) fn is_read(name: &str) -> bool {
    has(&READ, name)
}

/// Whether an element writes it.
pub(super) fn is_written(name: &str) -> bool {
    has(&WRITTEN, name)
}

fn add(names: &Names, name: &str) {
    let mut names = names.lock().unwrap_or_else(PoisonError::into_inner);
    if !names.iter().any(|known| known == name) {
        names.push(name.to_string());
    }
}

fn has(names: &Names, name: &str) -> bool {
    names.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|known| known == name)
}

/// What an interface is, given how elements use it.
pub(super) fn directed(name: &str, spec: &Spec) -> Result<Spec, String> {
    directed_for(name, spec, (has(&READ, name), has(&WRITTEN, name)))
}

/// As [`directed`], for what is read and written so. What flows both ways through `left` and `right` comes from the left and goes to
/// the right.
fn directed_for(name: &str, spec: &Spec, uses: (bool, bool)) -> Result<Spec, String> {
    let Spec { input: Some(endpoint @ (Endpoint::File(_) | Endpoint::Fifo(_))), output: None } = spec else {
        return Ok(spec.clone());
    };
    let written = Spec { input: None, output: Some(endpoint.clone()) };
    // In a chain a stage's name may stand before that of its interface.
    match (uses, name.rsplit('.').next()) {
        ((false, _), _) | ((true, true), Some("right")) => Ok(written),
        ((true, false), _) | ((true, true), Some("left")) => Ok(spec.clone()),
        ((true, true), _) => Err(format!(
            "interface `{name}` is read and written, and {endpoint} is one of them: say `- {endpoint}` to write it or \
             `{endpoint} -` to read it"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_at_the_left_and_written_at_the_right() {
        let directed = |name, text, uses| {
            let spec = Spec::parse(text).unwrap();
            directed_for(name, &spec, uses).map_or_else(|error| error, |spec| spec.to_string())
        };
        let (read, written, both) = ((true, false), (false, true), (true, true));
        assert_eq!(directed("left", "file:f", both), "file:f");
        assert_eq!(directed("right", "file:f", both), "- file:f");
        assert_eq!(directed("count_2.right", "fifo:f", both), "- fifo:f");
        assert_eq!(directed("right", "file:f", read), "file:f");
        assert_eq!(directed("left", "fifo:f", written), "- fifo:f");
        assert_eq!(directed("aux", "file:f", read), "file:f");
        assert_eq!(directed("aux", "file:f", written), "- file:f");
        assert_eq!(directed("aux", "file:f -", both), "file:f -");
        assert_eq!(directed("aux", "tap:t", both), "tap:t");
        assert_eq!(
            directed("aux", "file:f", both),
            "interface `aux` is read and written, and file:f is one of them: say `- file:f` to write it or `file:f -` to \
             read it"
        );
    }
}
