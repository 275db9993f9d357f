//! The text of a chain: stages between `|`, as a shell reads them, but without its expansions.

/// A stage as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its place in the chain, from 1.
    pub number: usize,
    /// What was written.
    pub text: String,
    /// The assignments in front of the command, such as `IF0=tap0`.
    pub environment: Vec<(String, String)>,
    /// The command and its arguments.
    pub words: Vec<String>,
}

impl Written {
    /// How messages call it.
    pub fn called(&self) -> String {
        format!("stage {} (`{}`)", self.number, self.text)
    }

    /// The value of a variable that is set in front of the command.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.environment.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Splits a text into stages.
pub fn split(text: &str) -> Result<Vec<Written>, String> {
    if text.trim().is_empty() {
        return Err("the chain is empty; give stages, such as 'read FILE | count | write FILE'".to_string());
    }
    let parts = cut(text)?;
    parts.into_iter().enumerate().map(|(idx, part)| written(idx + 1, part.trim())).collect()
}

/// Checks that a text can be split.
pub fn check(text: &str) -> Result<String, String> {
    split(text).map(|_| text.to_string())
}

fn written(number: usize, text: &str) -> Result<Written, String> {
    let words = shlex::split(text).ok_or_else(|| unfinished(number))?;
    let n_assignments = words.iter().take_while(|word| assignment(word).is_some()).count();
    let environment = words.iter().filter_map(|word| assignment(word)).take(n_assignments).collect();
    let words = words[n_assignments..].to_vec();
    if words.is_empty() {
        return Err(format!("stage {number} is empty: a command must stand before and behind each `|`"));
    }
    Ok(Written { number, text: text.to_string(), environment, words })
}

fn unfinished(number: usize) -> String {
    format!("stage {number}: a quote is not closed, or the text ends with a backslash")
}

/// `NAME=VALUE`, if the word is that.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_first = name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
    (is_name && is_first).then(|| (name.to_string(), value.to_string()))
}

/// The parts of a text between `|`. What only a shell can do is refused.
fn cut(text: &str) -> Result<Vec<&str>, String> {
    let mut parts = Vec::new();
    let (mut begin, mut quote, mut before) = (0, None, ' ');
    let mut rest = text.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next = rest.peek().map(|(_, c)| *c);
        let number = parts.len() + 1;
        match (quote, c) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(rest.next()),
            (_, '`') => return Err(refusal(number, "`", COMMANDS)),
            (_, '$') if next == Some('(') => return Err(refusal(number, "$(", COMMANDS)),
            (_, '$') if next.is_some_and(begins_variable) => return Err(refusal(number, "$", VARIABLES)),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if before.is_whitespace() || before == '|' => {
                while rest.next_if(|(_, c)| *c != '\n').is_some() {}
            }
            (None, '|') if next == Some('|') => return Err(refusal(number, "||", LISTS)),
            (None, '|') if next == Some('&') => return Err(refusal(number, "|&", LISTS)),
            (None, '|') => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            (None, '>' | '<') => return Err(refusal(number, &c.to_string(), FILES)),
            (None, '&' | ';') => return Err(refusal(number, &c.to_string(), LISTS)),
            (None, '(' | ')') => return Err(refusal(number, &c.to_string(), QUOTES)),
            (None, _) => {}
        }
        before = c;
    }
    if quote.is_some() {
        return Err(unfinished(parts.len() + 1));
    }
    parts.push(&text[begin..]);
    Ok(parts)
}

const COMMANDS: &str =
    "a chain runs no commands for their output; let the shell do that, in front of `weir chain`, \
                        or use single quotes to mean the character";
const VARIABLES: &str =
    "a chain has no variables; let the shell put in the value (\"...\" around the chain), or use \
                         single quotes to mean the character";
const FILES: &str =
    "a chain redirects nothing; use the stages `read FILE` and `write FILE`, or redirect `weir chain` \
                     in the shell";
const LISTS: &str = "a chain is one pipeline; use the shell for several commands";
const QUOTES: &str = "a graph must be in quotes: stage -e \"FromInterface(left) -> ...\"";

fn refusal(number: usize, what: &str, remedy: &str) -> String {
    format!("stage {number}: `{what}` is the shell's: {remedy}")
}

fn begins_variable(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_{@*#?-$!".contains(c)
}

#[cfg(test)]
mod tests {
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: Expect) {
        let told = match split(text) {
            Ok(stages) => stages
                .iter()
                .map(|stage| format!("{} {:?} {:?}\n", stage.number, stage.environment, stage.words))
                .collect(),
            Err(error) => error,
        };
        expected.assert_eq(&told);
    }

    #[test]
    fn stages_are_split_outside_quotes() {
        check(
            "read 'a|b' | stage -e \"A | B\" | x \\| y",
            expect![[r#"
            1 [] ["read", "a|b"]
            2 [] ["stage", "-e", "A | B"]
            3 [] ["x", "|", "y"]
        "#]],
        );
        check(
            "\n read f |\n # the middle\n count |\n write\\\n g # end\n",
            expect![[r#"
            1 [] ["read", "f"]
            2 [] ["count"]
            3 [] ["write", "g"]
        "#]],
        );
        check(
            "a''b\"c d\"'e' f#g | h\u{e9}",
            expect![[r#"
            1 [] ["abc de", "f#g"]
            2 [] ["hé"]
        "#]],
        );
        check(
            "stage -e 'x($a) -> $(y) `z`; a & b' | b '' \"\\$a \\` $ \\\\\"",
            expect![[r#"
            1 [] ["stage", "-e", "x($a) -> $(y) `z`; a & b"]
            2 [] ["b", "", "$a ` $ \\"]
        "#]],
        );
    }

    #[test]
    fn assignments_stand_in_front() {
        check(
            "IF0=tap0 IF1=\"fifo1 stdout\" weir stage IF2=x | =x 1a=b",
            expect![[r#"
            1 [("IF0", "tap0"), ("IF1", "fifo1 stdout")] ["weir", "stage", "IF2=x"]
            2 [] ["=x", "1a=b"]
        "#]],
        );
    }

    #[test]
    fn what_is_the_shells_is_refused() {
        for (text, expected) in [
            ("read f > g", expect!["stage 1: `>` is the shell's: a chain redirects nothing; use the stages `read FILE` and `write FILE`, or redirect `weir chain` in the shell"]),
            ("a | read < f", expect!["stage 2: `<` is the shell's: a chain redirects nothing; use the stages `read FILE` and `write FILE`, or redirect `weir chain` in the shell"]),
            ("a & b", expect!["stage 1: `&` is the shell's: a chain is one pipeline; use the shell for several commands"]),
            ("a; b", expect!["stage 1: `;` is the shell's: a chain is one pipeline; use the shell for several commands"]),
            ("a || b", expect!["stage 1: `||` is the shell's: a chain is one pipeline; use the shell for several commands"]),
            ("a |& b", expect!["stage 1: `|&` is the shell's: a chain is one pipeline; use the shell for several commands"]),
            ("a \"$(b)\"", expect!["stage 1: `$(` is the shell's: a chain runs no commands for their output; let the shell do that, in front of `weir chain`, or use single quotes to mean the character"]),
            ("a `b`", expect!["stage 1: ``` is the shell's: a chain runs no commands for their output; let the shell do that, in front of `weir chain`, or use single quotes to mean the character"]),
            ("a \"$b\"", expect![[r#"stage 1: `$` is the shell's: a chain has no variables; let the shell put in the value ("..." around the chain), or use single quotes to mean the character"#]]),
            ("a ${b}", expect![[r#"stage 1: `$` is the shell's: a chain has no variables; let the shell put in the value ("..." around the chain), or use single quotes to mean the character"#]]),
            ("stage -e FromInterface(left)", expect![[r#"stage 1: `(` is the shell's: a graph must be in quotes: stage -e "FromInterface(left) -> ...""#]]),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn holes_and_open_quotes_are_told() {
        check("", expect!["the chain is empty; give stages, such as 'read FILE | count | write FILE'"]);
        check("a | | b", expect!["stage 2 is empty: a command must stand before and behind each `|`"]);
        check("a |", expect!["stage 2 is empty: a command must stand before and behind each `|`"]);
        check("A=b | c", expect!["stage 1 is empty: a command must stand before and behind each `|`"]);
        check("a | b 'c", expect!["stage 2: a quote is not closed, or the text ends with a backslash"]);
        check("a \\", expect!["stage 1: a quote is not closed, or the text ends with a backslash"]);
    }

    proptest! {
        #[test]
        fn any_text_is_split_or_refused(text in "[ab |'\"\\\\$#=\n(]{0,30}") {
            if let Ok(stages) = split(&text) {
                prop_assert!(stages.iter().all(|stage| !stage.words.is_empty()));
            }
        }

        #[test]
        fn quoted_words_come_back(lists in proptest::collection::vec(proptest::collection::vec("[ -~]{0,8}", 1..4), 1..4)) {
            let quoted = |words: &Vec<String>| shlex::try_join(words.iter().map(String::as_str)).unwrap();
            let text: Vec<String> = lists.iter().map(quoted).collect();
            let stages = split(&format!("x {}", text.join(" | x "))).unwrap();
            for (stage, words) in stages.iter().zip(&lists) {
                prop_assert_eq!(&stage.words[1..], words);
            }
        }
    }
}
