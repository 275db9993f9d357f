//! Short texts of facts that hold their bytes themselves. A table of them has no pointers in it, so that a process that starts need not
//! write any: the pages stay those of the file, which all processes share.

use std::fmt;
use std::ops::Deref;

/// A text of at most `N` bytes, `N` being at most 255.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    len: u8,
    bytes: [u8; N],
}

impl<const N: usize> Text<N> {
    /// Copies a text.
    ///
    /// # Panics
    /// When it is longer than `N` bytes; of a constant the compiler tells.
    pub const fn new(text: &str) -> Text<N> {
        assert!(N <= u8::MAX as usize);
        assert!(text.len() <= N, "this name or sentence of an element's facts is too long: shorten it");
        let mut bytes = [0; N];
        let (copy, _) = bytes.split_at_mut(text.len());
        copy.copy_from_slice(text.as_bytes());
        Text { len: text.len() as u8, bytes }
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        let (bytes, _) = self.bytes.split_at(self.len as usize);
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            // It was copied from a text.
            Err(_) => "",
        }
    }
}

impl<const N: usize> Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl<const N: usize> PartialEq<str> for Text<N> {
    fn eq(&self, other: &str) -> bool {
        self.bytes[..usize::from(self.len)] == *other.as_bytes()
    }
}

impl<const N: usize> PartialEq<&str> for Text<N> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl<const N: usize> PartialEq<String> for Text<N> {
    fn eq(&self, other: &String) -> bool {
        *self == **other
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), f)
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_they_were_made_of() {
        const FULL: Text<3> = Text::new("äb");
        assert_eq!(FULL, "äb");
        assert_eq!(format!("{FULL} {FULL:?} {:>4}", Text::<9>::new("")), "äb \"äb\"     ");
        assert_ne!(Text::<9>::new("äb"), *"äb ");
    }

    #[test]
    #[should_panic(expected = "too long")]
    fn texts_that_are_too_long_are_refused() {
        let _ = Text::<3>::new("four");
    }
}
