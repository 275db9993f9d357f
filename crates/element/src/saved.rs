//! State that outlives the process: lines that an element writes and another one of its class reads.

use std::str::{FromStr, SplitAsciiWhitespace};

/// Records that an element saves at a time at most, so that packets do not wait long.
pub const SAVED_AT_A_TIME: usize = 1024;

/// Some of an element's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// A line for each mapping, station or the like.
    pub lines: Vec<String>,
    /// Where to go on; none if this is the rest.
    pub next: Option<usize>,
}

impl Saved {
    /// What begins at `from` of all that an element saves, each as a line.
    pub fn of<T>(all: impl Iterator<Item = T>, from: usize, line: impl Fn(T) -> String) -> Saved {
        let mut rest = all.skip(from);
        let lines: Vec<String> = rest.by_ref().take(SAVED_AT_A_TIME).map(line).collect();
        let next = rest.next().map(|_| from + lines.len());
        Saved { lines, next }
    }
}

/// The fields of a line, one after the other.
pub struct SavedLine<'l>(SplitAsciiWhitespace<'l>);

impl<'l> SavedLine<'l> {
    /// The fields of a line.
    pub fn new(line: &'l str) -> SavedLine<'l> {
        SavedLine(line.split_ascii_whitespace())
    }

    /// Whether there are more fields.
    pub fn has_more(&self) -> bool {
        self.0.clone().next().is_some()
    }

    /// The next field.
    pub fn field<T: FromStr>(&mut self) -> Result<T, String> {
        let word = self.0.next().ok_or("a saved line is too short")?;
        word.parse().map_err(|_| format!("`{word}` in a saved line is not what it should be"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn much_is_saved_in_parts() {
        let (mut from, mut all) = (0, Vec::new());
        loop {
            let saved = Saved::of(0..2500, from, |n| n.to_string());
            assert!(saved.lines.len() <= SAVED_AT_A_TIME);
            all.extend(saved.lines);
            let Some(next) = saved.next else { break };
            from = next;
        }
        assert_eq!(all, (0..2500).map(|n| n.to_string()).collect::<Vec<_>>());
        assert_eq!(Saved::of(0..1024, 0, |n: i32| n.to_string()).next, None);
    }

    #[test]
    fn fields_are_read_and_what_is_wrong_is_told() {
        let mut line = SavedLine::new("7 10.0.0.1 x");
        assert_eq!(line.field(), Ok(7u8));
        assert_eq!(line.field(), Ok(std::net::Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(line.field::<u8>().unwrap_err(), "`x` in a saved line is not what it should be");
        assert_eq!(line.field::<u8>().unwrap_err(), "a saved line is too short");
    }
}
