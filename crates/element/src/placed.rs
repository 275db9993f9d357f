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

    /// Takes a message apart that begins with the line of a file.
    pub fn in_line(text: &'a str) -> Option<Placed<'a>> {
        let (place, message) = text.split_once(": ")?;
        let (file, line) = place.rsplit_once(':')?;
        let is_byte = |part: &str| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit());
        let is_station = place.split(':').count() == 6 && place.split(':').all(is_byte);
        let is_address = is_station || file.parse::<std::net::IpAddr>().is_ok();
        let is_place = !file.is_empty() && !file.contains(char::is_whitespace) && !is_address;
        let _: u32 = line.parse().ok().filter(|_| is_place)?;
        // Line 0 is told too, so the whole is the name of the place.
        Some(Placed { place, is_declared: false, message })
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

    #[test]
    fn lines_of_files_are_places() {
        let place = |text| Placed::in_line(text).map(|placed| placed.place);
        assert_eq!(place("a.click:1: x: y"), Some("a.click:1"));
        assert_eq!(place("a.click: x"), None);
        assert_eq!(place("While calling 'a:1: b'"), None);
        assert_eq!(place("02:00:00:00:00:01: no such device"), None);
        assert_eq!(place("10.0.0.1:80: refused"), None);
    }
}
