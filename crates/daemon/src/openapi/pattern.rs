//! Regular expressions of XML Schema, which YANG uses (RFC 7950, section 9.4.5), as those of ECMAScript, which JSON Schema uses.

/// The same expression; none if ECMAScript cannot say it.
///
/// Digits are only those of ASCII: that is what all engines take `\d` for.
pub fn translate(expression: &str) -> Option<String> {
    let mut reader = Reader { rest: expression.chars().collect(), at: 0 };
    let mut text = String::from("^(?:");
    while let Some(one) = reader.next() {
        match one {
            '^' | '$' => text.extend(['\\', one]),
            '.' => text += r"[^\n\r]",
            '[' => text += &reader.class(0)?,
            '\\' => text += &reader.escape(false)?,
            '/' => text += r"\/",
            one => text.push(one),
        }
    }
    Some(text + ")$")
}

/// Deepest subtraction of classes.
const MAX_DEPTH: usize = 8;

struct Reader {
    rest: Vec<char>,
    at: usize,
}

impl Reader {
    fn next(&mut self) -> Option<char> {
        let one = self.rest.get(self.at).copied();
        self.at += usize::from(one.is_some());
        one
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    /// A class behind its bracket. `[a-z-[aeiou]]` becomes `(?![aeiou])[a-z]`.
    fn class(&mut self, depth: usize) -> Option<String> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut text = String::from("[");
        if self.peek(0) == Some('^') {
            self.at += 1;
            text.push('^');
        }
        loop {
            match self.next()? {
                ']' => return Some(text + "]"),
                '-' if self.peek(0) == Some('[') => {
                    self.at += 1;
                    let without = self.class(depth + 1)?;
                    return (self.next()? == ']').then(|| format!("(?!{without}){text}]"));
                }
                // It would begin a class of its own with the flag `v`.
                '[' => text += r"\[",
                '^' => text += r"\^",
                '\\' => text += &self.escape(true)?,
                one => text.push(one),
            }
        }
    }

    fn escape(&mut self, is_in_class: bool) -> Option<String> {
        let within = |letters: &str| match is_in_class {
            true => letters.to_string(),
            false => format!("[{letters}]"),
        };
        Some(match self.next()? {
            // Outside of classes, only what means something may be escaped.
            '-' if !is_in_class => "-".to_string(),
            'i' => within("A-Z_a-z:"),
            'c' => within("-.0-9A-Z_a-z:"),
            // They would have to be listed.
            'I' | 'C' => return None,
            one @ ('p' | 'P') => {
                let mut name = String::new();
                loop {
                    match self.next()? {
                        '}' => break,
                        one => name.push(one),
                    }
                }
                let name = name.strip_prefix('{')?;
                // Blocks of Unicode have no name there.
                if name.starts_with("Is") {
                    return None;
                }
                format!("\\{one}{{{name}}}")
            }
            one => format!("\\{one}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_mean_the_same_there() {
        for (given, expected) in [
            ("a|b", Some("^(?:a|b)$")),
            ("[A-Za-z][A-Za-z0-9_]*", Some("^(?:[A-Za-z][A-Za-z0-9_]*)$")),
            (r"[A-Za-z0-9_.\-]+", Some(r"^(?:[A-Za-z0-9_.\-]+)$")),
            (r"a\-b.c", Some(r"^(?:a-b[^\n\r]c)$")),
            ("^a$", Some(r"^(?:\^a\$)$")),
            ("[^/]+/x", Some(r"^(?:[^/]+\/x)$")),
            ("[a-z-[aeiou]]+", Some("^(?:(?![aeiou])[a-z]+)$")),
            (r"[\i-[:]][\c]*", Some("^(?:(?![:])[A-Z_a-z:][-.0-9A-Z_a-z:]*)$")),
            (r"\i\c*", Some("^(?:[A-Z_a-z:][-.0-9A-Z_a-z:]*)$")),
            (r"\p{L}\P{Nd}\d", Some(r"^(?:\p{L}\P{Nd}\d)$")),
            (r"\p{IsBasicLatin}", None),
            (r"\I", None),
            ("[a", None),
            (r"\", None),
            (r"\p{L", None),
            (&"[a-".repeat(50), None),
        ] {
            assert_eq!(translate(given).as_deref(), expected, "{given}");
        }
    }
}
