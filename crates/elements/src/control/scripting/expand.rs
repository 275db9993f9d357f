//! Substitution: `$name`, `${name}` and `$(handler parameters)` in a text.

use args::{is_comment, quote, skip_comment_space};

/// What stands after the dollar sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A variable: `$x` or `${x}`.
    Variable,
    /// A handler in parentheses.
    Handler,
}

/// How deeply references may be nested.
const MAX_DEPTH: usize = 10;

/// Gives the text for a reference, or `None` to leave it as it is written.
pub type Lookup<'l> = &'l mut dyn FnMut(&str, Reference) -> Option<String>;

/// Replaces the references in `text`. Inside double quotes the values are quoted so that they stay inside.
pub fn expand(text: &str, lookup: Lookup<'_>) -> String {
    expand_at(text, false, 0, lookup)
}

/// Replaces the references in `text`, quoting the values that stand outside of quotes as well.
pub fn expand_quoted(text: &str, lookup: Lookup<'_>) -> String {
    expand_at(text, true, 0, lookup)
}

/// A reference found in a text.
struct Found<'t> {
    kind: Reference,
    name: &'t str,
    /// Whether the name holds references itself.
    is_nested: bool,
    /// Where the text goes on.
    end: usize,
}

fn expand_at(text: &str, quotes_plain: bool, depth: usize, lookup: Lookup<'_>) -> String {
    let bytes = text.as_bytes();
    let mut output = String::new();
    let (mut pos, mut done, mut quote_byte) = (0, 0, 0u8);
    while let Some(&byte) = bytes.get(pos) {
        let next = bytes.get(pos + 1).copied();
        match byte {
            b'\\' if next.is_some() && quote_byte == b'"' => pos += 1,
            b'\'' | b'"' if quote_byte == 0 => quote_byte = byte,
            b'\'' | b'"' if quote_byte == byte => quote_byte = 0,
            b'/' if quote_byte == 0 && is_comment(bytes, pos) => {
                pos = skip_comment_space(bytes, pos);
                continue;
            }
            b'$' if next.is_some() && quote_byte != b'\'' && depth <= MAX_DEPTH => {
                let found = match find(text, pos + 1) {
                    Ok(Some(found)) => found,
                    Ok(None) => {
                        pos += 1;
                        continue;
                    }
                    Err(Unfinished) => break,
                };
                output += text.get(done..pos).unwrap_or("");
                done = found.end;
                let name = match found.is_nested {
                    true => expand_at(found.name, false, depth + 1, lookup),
                    false => found.name.to_string(),
                };
                match lookup(&name, found.kind) {
                    Some(value) if quote_byte == b'"' => output += inside_quotes(&value).as_str(),
                    Some(value) if quotes_plain && quote_byte == 0 => {
                        output += &format!("\"{}\"", inside_quotes(&value));
                    }
                    Some(value) => output += &value,
                    None if found.is_nested => {
                        let close = text.get(found.end - 1..found.end).unwrap_or("");
                        output += text.get(pos..pos + 2).unwrap_or("");
                        output += &name;
                        output += close;
                    }
                    None => done = pos,
                }
                pos = found.end;
                continue;
            }
            _ => {}
        }
        pos += 1;
    }
    if output.is_empty() {
        return text.to_string();
    }
    output += text.get(done..).unwrap_or("");
    output
}

/// A value as it is written inside of double quotes.
fn inside_quotes(value: &str) -> String {
    let quoted = quote(value);
    let inside = quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.map_or(quoted.clone(), str::to_string)
}

/// A reference whose end is missing.
struct Unfinished;

/// Finds the reference after the dollar sign before `pos`.
fn find(text: &str, pos: usize) -> Result<Option<Found<'_>>, Unfinished> {
    let bytes = text.as_bytes();
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let variable = |from: usize, to: usize, end: usize| {
        let name = text.get(from..to).unwrap_or("");
        Found { kind: Reference::Variable, name, is_nested: false, end }
    };
    match bytes.get(pos) {
        Some(b'{') => {
            let inside = bytes.get(pos + 1..).unwrap_or(&[]);
            let len = inside.iter().position(|byte| *byte == b'}').ok_or(Unfinished)?;
            let found = variable(pos + 1, pos + 1 + len, pos + len + 2);
            Ok(Some(Found { is_nested: found.name.contains('$'), ..found }))
        }
        Some(b'(') => find_handler(text, pos + 1).map(Some),
        Some(b'?' | b'#' | b'$') => Ok(Some(variable(pos, pos + 1, pos + 1))),
        Some(byte) if is_word(byte) => {
            let rest = bytes.get(pos..).unwrap_or(&[]);
            let len = rest.iter().take_while(|byte| is_word(byte)).count();
            Ok(Some(variable(pos, pos + len, pos + len)))
        }
        _ => Ok(None),
    }
}

/// Finds the end of a handler reference whose inside starts at `start`.
fn find_handler(text: &str, start: usize) -> Result<Found<'_>, Unfinished> {
    let bytes = text.as_bytes();
    let (mut level, mut quote_byte, mut is_nested) = (1, 0u8, false);
    let mut pos = start;
    while let Some(&byte) = bytes.get(pos) {
        match byte {
            b'(' if quote_byte == 0 => level += 1,
            b')' if quote_byte == 0 => level -= 1,
            b'"' | b'\'' if quote_byte == 0 => quote_byte = byte,
            b'"' | b'\'' if quote_byte == byte => quote_byte = 0,
            b'\\' if pos + 1 < bytes.len() && quote_byte != b'\'' => pos += 1,
            b'$' if quote_byte != b'\'' => is_nested = true,
            _ => {}
        }
        pos += 1;
        if level == 0 {
            break;
        }
    }
    // As in Click, a text that ends with a parenthesis ends the reference, whatever that belongs to.
    if pos == start || bytes.get(pos - 1) != Some(&b')') {
        return Err(Unfinished);
    }
    let name = text.get(start..pos - 1).unwrap_or("");
    Ok(Found { kind: Reference::Handler, name, is_nested, end: pos })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn lookup(name: &str, kind: Reference) -> Option<String> {
        match (name, kind) {
            ("x", Reference::Variable) => Some("a \"b\"".to_string()),
            ("one", Reference::Variable) => Some("1".to_string()),
            ("nothing", Reference::Variable) => Some(String::new()),
            ("?" | "#" | "$", Reference::Variable) => Some(format!("<{name}>")),
            (_, Reference::Handler) if name != "missing 1" => Some(format!("[{name}]")),
            _ => None,
        }
    }

    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&expand(text, &mut lookup));
    }

    #[test]
    fn references_are_replaced() {
        check("a $one b ${one}c $(h p) $? $# $$", expect!["a 1 b 1c [h p] <?> <#> <$>"]);
        check("$(a $(b $one) ')' $one)", expect!["[a [b 1] ')' 1]"]);
        check("$other $(missing $one) $(missing 1)", expect!["$other $(missing 1) $(missing 1)"]);
        check("x$nothing/y", expect!["x/y"]);
        check("$one $(a \\)", expect!["1 [a \\]"]);
        check("$one $(a (b)", expect!["1 [a (b]"]);
        check("$one $(a (b", expect!["1 $(a (b"]);
    }

    #[test]
    fn a_text_that_expands_to_nothing_stays_as_it_is() {
        check("$nothing", expect!["$nothing"]);
        check("", expect![""]);
    }

    #[test]
    fn quotes_and_comments_protect() {
        check("'$one' \"$one\" \"$x\" $x", expect![[r#"'$one' "1" "a \"b\"" a "b""#]]);
        check("\"\\$one\" \\$one /* $one */ $one // $one", expect![[r#""\$one" \1 /* $one */ 1 // $one"#]]);
        expect![[r#""1" "1" '$one'"#]].assert_eq(&expand_quoted("$one \"$one\" '$one'", &mut lookup));
    }

    #[test]
    fn unfinished_references_end_the_text() {
        check("$one $(a $one", expect!["1 $(a $one"]);
        check("$one ${a", expect!["1 ${a"]);
        check("$", expect!["$"]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_expanded(text in "[x$(){}'\"\\\\ /*?é1]{0,24}") {
            expand(&text, &mut lookup);
            expand_quoted(&text, &mut lookup);
        }
    }
}
