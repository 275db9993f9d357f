//! Bytes that are no UTF-8, such as comments in Latin-1, as texts, from which exactly these bytes come again.

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// Characters that stand for bytes: the end of the last private use area.
const BYTES: RangeInclusive<u32> = 0x10_ff00..=0x10_ffff;

/// A text with a character for each byte that is no UTF-8, and for each byte of a character that would be taken for one.
pub fn to_text(bytes: &[u8]) -> Cow<'_, str> {
    let stands_for_byte = |c: char| BYTES.contains(&u32::from(c));
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(stands_for_byte) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut text = String::with_capacity(bytes.len());
    let push = |text: &mut String, byte: u8| text.extend(char::from_u32(BYTES.start() + u32::from(byte)));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match stands_for_byte(c) {
                true => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push(&mut text, byte)),
                false => text.push(c),
            }
        }
        chunk.invalid().iter().for_each(|byte| push(&mut text, *byte));
    }
    Cow::Owned(text)
}

/// The bytes of such a text.
pub fn of_text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    for c in text.chars() {
        match u32::from(c).checked_sub(*BYTES.start()).and_then(|byte| u8::try_from(byte).ok()) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_utf8_stays_as_it_is() {
        assert!(matches!(to_text("a \u{e9}".as_bytes()), Cow::Borrowed("a \u{e9}")));
    }

    proptest! {
        #[test]
        fn any_bytes_come_again(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(of_text(&to_text(&bytes)), bytes);
        }

        #[test]
        fn characters_that_stand_for_bytes_come_again(text in "[a\u{10ff00}-\u{10ffff}]{0,9}") {
            let bytes = [text.as_bytes(), b"\xe9"].concat();
            prop_assert_eq!(of_text(&to_text(&bytes)), bytes);
        }
    }
}
