//! Splits an expression into words.

/// Splits `text` into `words`, which are replaced: operators and brackets are words of their own; anything else extends over
/// letters, digits and `-./@_:`.
pub fn split<'a>(text: &'a str, words: &mut Vec<&'a str>) {
    words.clear();
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let n_spaces = count(bytes, at, |byte| matches!(byte, b' ' | b'\t'..=b'\r'));
        at += n_spaces;
        let Some(&first) = bytes.get(at) else {
            if n_spaces > 0 {
                // White space at the end, which only quotes can leave there, counts as an empty word.
                words.push("");
            }
            return;
        };
        let second = bytes.get(at + 1).copied();
        let len = match first {
            b'&' | b'|' if second == Some(first) => 2,
            b'<' | b'>' | b'!' | b'=' if second == Some(b'=') => 2,
            _ if is_of_word(first) => count(bytes, at, is_of_word),
            _ => text.get(at..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8),
        };
        words.push(&text[at..at + len]);
        at += len;
    }
}

fn is_of_word(byte: u8) -> bool {
    IS_OF_WORD[usize::from(byte)]
}

static IS_OF_WORD: [bool; 256] = {
    let mut is = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let punctuation = matches!(byte, b'-' | b'.' | b'/' | b'@' | b'_' | b':');
        is[byte as usize] = byte.is_ascii_alphanumeric() || punctuation;
        byte += 1;
    }
    is
};

/// How many bytes from `at` on are such.
#[inline]
fn count(bytes: &[u8], at: usize, is_such: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|&byte| !is_such(byte)).unwrap_or(bytes.len() - at)
}

#[cfg(test)]
mod tests {
    fn split(text: &str) -> Vec<&str> {
        let mut words = vec!["old"];
        super::split(text, &mut words);
        words
    }

    #[test]
    fn operators_are_words() {
        assert_eq!(
            split("0 src port>=80&&!(tcp[0:2]&0x1 = 5)"),
            [
                "0", "src", "port", ">=", "80", "&&", "!", "(", "tcp", "[", "0:2", "]", "&", "0x1", "=", "5",
                ")"
            ]
        );
        assert_eq!(split(" a\té# "), ["a", "é", "#", ""]);
        assert_eq!(split(""), [""; 0]);
    }
}
