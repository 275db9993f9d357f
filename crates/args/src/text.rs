//! Strings, words, keywords, file names and handler names.

use crate::names::Scope;
use crate::parse_error;
use crate::quote::{unquote, unquote_text};
use crate::split::{is_space, skip_quoted_or_byte};

/// Parses a string, possibly quoted, as bytes.
pub fn bytes(text: &str) -> Result<Vec<u8>, String> {
    whole_string(text).map(unquote)
}

/// Parses a string, possibly quoted; bytes that are not UTF-8 become replacement characters.
pub fn string(text: &str) -> Result<String, String> {
    whole_string(text).map(unquote_text)
}

/// Parses a word: a string of printable ASCII without quotes, backslashes and commas.
pub fn word(text: &str) -> Result<String, String> {
    string(text).and_then(|word| if is_word(&word) { Ok(word) } else { Err(parse_error()) })
}

/// Parses an unquoted keyword: letters, digits and `_.:?!`.
pub fn keyword(text: &str) -> Result<String, String> {
    let is_keyword = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b':' | b'?' | b'!');
    if !text.is_empty() && text.bytes().all(is_keyword) {
        Ok(text.to_string())
    } else {
        Err(parse_error())
    }
}

/// Parses a file name: a string in which `~` and `~USER` stand for home directories, and `//` for `/`.
pub fn filename(text: &str, scope: &Scope<'_>) -> Result<String, String> {
    let mut name = string(text)?;
    if name.is_empty() {
        return Err(parse_error());
    }
    if let Some(rest) = name.strip_prefix('~') {
        let (user, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        if let Some(home) = scope.names.host().home((!user.is_empty()).then_some(user)) {
            name = home + path;
        }
    }
    while name.contains("//") {
        name = name.replace("//", "/");
    }
    Ok(name)
}

/// The string at the start of a text, still quoted, and what follows it from the first unquoted space.
pub fn first_string(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    let mut pos = 0;
    while bytes.get(pos).is_some_and(|&b| !is_space(b)) {
        pos = skip_quoted_or_byte(bytes, pos);
    }
    (text.get(..pos).unwrap_or(text), text.get(pos..).unwrap_or(""))
}

/// Whether a text is a word: printable ASCII without quotes, backslashes and commas.
pub fn is_word(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'\'' | b'\\' | b','))
}

/// Whether a text can name an element: letters, digits, `_`, `@`, and single slashes inside.
pub fn is_identifier(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'@'))
    };
    text.split('/').all(is_part)
}

/// A reference to a handler, as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerName {
    /// The whole name; a handler of the asking element may have dots in its own name.
    pub text: String,
    /// What stands before the first dot: an element, empty for the router itself; `None` without a dot.
    pub element: Option<String>,
    /// What stands after the first dot, or the whole name without one.
    pub handler: String,
}

/// Parses a handler name such as `queue.length`, `.config` or `length`.
pub fn handler_name(text: &str) -> Result<HandlerName, String> {
    let syntax_error = || "syntax error".to_string();
    let name = string(text).map_err(|_| syntax_error())?;
    if name.is_empty() {
        return Err(syntax_error());
    }
    match name.split_once('.') {
        None => Ok(HandlerName { element: None, handler: name.clone(), text: name }),
        Some((element, "")) if !element.is_empty() => Err(syntax_error()),
        Some((element, handler)) => {
            Ok(HandlerName { element: Some(element.to_string()), handler: handler.to_string(), text: name })
        }
    }
}

/// A text that is one string as a whole.
fn whole_string(text: &str) -> Result<&str, String> {
    match first_string(text) {
        ("", _) => Err(parse_error()),
        (string, "") => Ok(string),
        _ => Err(parse_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{Host, Names};
    use proptest::prelude::*;

    #[test]
    fn a_string_ends_at_an_unquoted_space() {
        assert_eq!(string("\"a b\"c"), Ok("a bc".into()));
        assert_eq!(string("\"\""), Ok(String::new()));
        assert_eq!(string("a b"), Err("parse error".into()));
        assert_eq!(string(""), Err("parse error".into()));
        assert_eq!(bytes(r"\<ff 00>"), Ok(vec![255, 0]));
        assert_eq!(first_string("'a b'c  d"), ("'a b'c", "  d"));
    }

    #[test]
    fn words_and_keywords_are_restricted() {
        assert_eq!(word("\"ab-c\""), Ok("ab-c".into()));
        assert_eq!(word("\"a b\""), Err("parse error".into()));
        assert_eq!(word("a,b"), Err("parse error".into()));
        assert_eq!(keyword("a.b:c?!_1"), Ok("a.b:c?!_1".into()));
        assert_eq!(keyword("\"a\""), Err("parse error".into()));
    }

    #[test]
    fn identifiers_have_slashes_only_inside() {
        assert!(is_identifier("a/b@1/c_d"));
        assert!(["", "/a", "a/", "a//b", "a b"].iter().all(|text| !is_identifier(text)));
    }

    #[test]
    fn file_names_expand_home_directories() {
        struct Homes;
        impl Host for Homes {
            fn home(&self, user: Option<&str>) -> Option<String> {
                match user {
                    None => Some("/home/me".into()),
                    Some("root") => Some("/root".into()),
                    Some(_) => None,
                }
            }
        }
        let names = Names::new(Box::new(Homes));
        let scope = Scope::new(&names, "");
        assert_eq!(filename("~", &scope), Ok("/home/me".into()));
        assert_eq!(filename("\"~/a//b///c\"", &scope), Ok("/home/me/a/b/c".into()));
        assert_eq!(filename("~root/x", &scope), Ok("/root/x".into()));
        assert_eq!(filename("~nobody/x", &scope), Ok("~nobody/x".into()));
        assert_eq!(filename("\"\"", &scope), Err("parse error".into()));
    }

    #[test]
    fn handler_names_split_at_their_first_dot() {
        let name = handler_name("q/a.b.c").expect("a handler name");
        assert_eq!((name.element.as_deref(), name.handler.as_str()), (Some("q/a"), "b.c"));
        let name = handler_name(".config").expect("a handler name");
        assert_eq!((name.element.as_deref(), name.handler.as_str()), (Some(""), "config"));
        assert_eq!(handler_name("length").map(|name| name.element), Ok(None));
        assert_eq!(handler_name("a."), Err("syntax error".into()));
        assert_eq!(handler_name("a b"), Err("syntax error".into()));
    }

    proptest! {
        #[test]
        fn quoted_strings_parse(value: String) {
            prop_assert_eq!(string(&crate::quote(&value)), Ok(value));
        }

        #[test]
        fn any_text_is_a_string_or_not(text in "[a~/.\"'\\\\<> é]{0,20}") {
            let names = Names::default();
            let scope = Scope::new(&names, "");
            let _ = (string(&text), word(&text), keyword(&text), filename(&text, &scope), handler_name(&text));
        }
    }
}
