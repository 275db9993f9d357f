//! Messages about a place of their own, such as an input file: they are told under its name instead of the element's.

/// Stands around the place in a message, where no text that a person wrote has it.
const MARK: char = '\u{1f}';

/// A message about a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<'a> {
    /// The place's name.
    pub place: &'a str,
    /// Whether the element is declared with the name, as `FromDump(FILE)`.
    pub is_declared: bool,
    /// The message.
    pub message: &'a str,
}

/// A message about a place, for [`crate::Element::initialize`] to tell or to fail with.
pub fn at_place(place: &str, message: &str) -> String {
    format!("{MARK}{place}{MARK}{message}")
}

/// A message about a file with whose name the element is declared from now on.
pub fn at_declared_file(name: &str, message: &str) -> String {
    format!("{MARK}{}", at_place(name, message))
}

impl<'a> Placed<'a> {
    /// Takes a message apart that was made by [`at_place`] or [`at_declared_file`].
    pub fn new(text: &'a str) -> Option<Placed<'a>> {
        let rest = text.strip_prefix(MARK)?;
        let named = rest.strip_prefix(MARK);
        let (place, message) = named.unwrap_or(rest).split_once(MARK)?;
        Some(Placed { place, is_declared: named.is_some(), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_can_be_taken_apart() {
        let placed = |is_declared| Some(Placed { place: "a: b:1", is_declared, message: "empty file" });
        assert_eq!(Placed::new(&at_place("a: b:1", "empty file")), placed(false));
        assert_eq!(Placed::new(&at_declared_file("a: b:1", "empty file")), placed(true));
        assert_eq!(Placed::new("a: b:1: empty file"), None);
    }
}
