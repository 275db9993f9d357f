//! A command line as a shell reads it, as far as it goes.

/// A word: what it means, and how it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Without quotes.
    pub text: String,
    /// With them.
    pub raw: String,
}

/// The words of the last command in a line; the last one may be empty, or not be finished.
pub fn words(line: &str) -> Vec<Word> {
    let (mut words, mut word, mut is_open) = (Vec::new(), Word::default(), false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c.is_whitespace() => {
                if std::mem::take(&mut is_open) {
                    words.push(std::mem::take(&mut word));
                }
                continue;
            }
            '|' | ';' | '&' | '(' => {
                (word, is_open) = (Word::default(), false);
                words.clear();
                continue;
            }
            '\\' => word.text.extend(raw(&mut word.raw, c, chars.next())),
            '\'' => {
                word.raw.push(c);
                for c in chars.by_ref() {
                    word.raw.push(c);
                    match c {
                        '\'' => break,
                        c => word.text.push(c),
                    }
                }
            }
            '"' => quoted(&mut chars, &mut word),
            c => {
                word.raw.push(c);
                word.text.push(c);
            }
        }
        is_open = true;
    }
    words.push(word);
    words
}

/// Takes over a character with the backslash in front of it.
fn raw(raw: &mut String, backslash: char, next: Option<char>) -> Option<char> {
    raw.push(backslash);
    raw.extend(next);
    next
}

/// Takes over what stands in double quotes.
fn quoted(chars: &mut std::str::Chars<'_>, word: &mut Word) {
    word.raw.push('"');
    while let Some(c) = chars.next() {
        match c {
            '\\' => match raw(&mut word.raw, c, chars.next()) {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.text.push(next),
                next => word.text.extend(std::iter::once('\\').chain(next)),
            },
            '"' => return word.raw.push(c),
            c => {
                word.raw.push(c);
                word.text.push(c);
            }
        }
    }
}

/// A text as a shell takes it for itself.
pub fn escaped(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+^".contains(c);
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { format!("\\{c}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(line: &str) -> Vec<String> {
        words(line).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_are_read_as_a_shell_does() {
        assert_eq!(texts("weir set  edge a/b="), ["weir", "set", "edge", "a/b="]);
        assert_eq!(texts("weir show "), ["weir", "show", ""]);
        assert_eq!(texts("true; weir nat | weir show 'a b' \"c \\\" d"), ["weir", "show", "a b", "c \" d"]);
        assert_eq!(texts(r#"x route/\"10.0.0.0/8\"/ga"#), ["x", "route/\"10.0.0.0/8\"/ga"]);
        assert_eq!(words("x 'a b'\\ c")[1].raw, "'a b'\\ c");
    }

    proptest! {
        #[test]
        fn what_is_escaped_is_one_word(text in "[^\n\r\t ]{1,20}") {
            prop_assume!(!text.chars().any(char::is_whitespace));
            let read = words(&escaped(&text));
            prop_assert_eq!((read.len(), &read[0].text, &read[0].raw), (1, &text, &escaped(&text)));
        }

        #[test]
        fn no_line_panics(line in any::<String>()) {
            prop_assert!(!words(&line).is_empty());
        }
    }
}
