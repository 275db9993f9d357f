//! Splits an expression into words.

/// Operators and brackets are words of their own; anything else extends over letters, digits and `-./@_:`.
pub fn split(text: &str) -> Vec<&str> {
    let is_space = |c: char| matches!(c, ' ' | '\t'..='\r');
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.trim_start_matches(is_space).chars().next() {
        rest = rest.trim_start_matches(is_space);
        let second = rest.chars().nth(1);
        let len = match first {
            '&' | '|' if second == Some(first) => 2,
            '<' | '>' | '!' | '=' if second == Some('=') => 2,
            '&' | '|' | '<' | '>' | '!' | '=' | '(' | ')' | '[' | ']' | ',' | ';' | '?' => 1,
            _ => match rest.find(|c: char| !(c.is_ascii_alphanumeric() || "-./@_:".contains(c))) {
                Some(0) => first.len_utf8(),
                Some(end) => end,
                None => rest.len(),
            },
        };
        let (word, after) = rest.split_at(len);
        words.push(word);
        rest = after;
    }
    if !rest.is_empty() {
        // White space at the end, which only quotes can leave there, counts as an empty word.
        words.push("");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::split;

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
