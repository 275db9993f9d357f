//! Templates: text with tags such as `<~name>`, and those that are used unless the user brings another.

/// The page.
pub const HTML_TEMPLATE: &str = include_str!("page.html");

/// The label of an element in a graph.
pub const GRAPH_TEMPLATE: &str = r#"<~if test="<~anonymous>" then="<~type>" else="<~name> :: <~type>">"#;

/// A tag of a template and its attributes.
#[derive(Debug, Default)]
pub(crate) struct Tag {
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl Tag {
    /// The value of an attribute; empty if it is not there.
    pub fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or("")
    }

    /// The value of an attribute that is there.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.attributes.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The text before the next tag, the tag, and what follows it. Entities in attributes are replaced if `unquotes`.
pub(crate) fn split(template: &str, unquotes: bool) -> (&str, Option<(Tag, &str)>) {
    match template.split_once("<~") {
        None => (template, None),
        Some((before, rest)) => (before, Some(tag(rest, unquotes))),
    }
}

fn tag(text: &str, unquotes: bool) -> (Tag, &str) {
    let text = text.trim_start();
    let end = text.find(|c: char| c == '>' || c.is_whitespace()).unwrap_or(text.len());
    let mut tag = Tag { name: text[..end].to_lowercase(), attributes: Vec::new() };
    let mut rest = &text[end..];
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('>').or_else(|| rest.strip_prefix("-->")) {
            return (tag, after);
        } else if let Some(after) = rest.strip_prefix('/') {
            rest = after;
            continue;
        } else if rest.is_empty() {
            return (tag, rest);
        }
        let end = rest.find(|c: char| c == '>' || c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let name = unquote(&rest[..end]).to_lowercase();
        rest = rest[end..].trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            tag.attributes.push((name.clone(), name));
            continue;
        };
        let (value, after) = value(after.trim_start());
        let value = if unquotes { unquote(value) } else { value.to_string() };
        tag.attributes.push((name, value));
        rest = after;
    }
}

fn value(text: &str) -> (&str, &str) {
    for quote in ['\'', '"'] {
        if let Some(quoted) = text.strip_prefix(quote) {
            return quoted.split_once(quote).unwrap_or((quoted, ""));
        }
    }
    text.split_at(text.find(|c: char| c == '>' || c.is_whitespace()).unwrap_or(text.len()))
}

/// Replaces entities.
pub(crate) fn unquote(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let (entity, tail) = match after.find(|c: char| !c.is_ascii_alphanumeric() && c != '#') {
            Some(end) => after.split_at(end),
            None => (after, ""),
        };
        let number = entity.strip_prefix('#').and_then(|digits| digits.parse().ok()).and_then(char::from_u32);
        let named = match entity {
            "amp" => Some('&'),
            "quot" => Some('"'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            _ => number,
        };
        match named {
            Some(c) => {
                plain.push(c);
                rest = tail.strip_prefix(';').unwrap_or(tail);
            }
            None => {
                plain.push('&');
                rest = after;
            }
        }
    }
    plain + rest
}

/// Text as it stands in HTML, in quoted attributes too.
pub(crate) fn quote(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_string(),
        '<' => "&lt;".to_string(),
        '>' => "&gt;".to_string(),
        '\'' => "&#39;".to_string(),
        '"' => "&#34;".to_string(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_have_attributes() {
        let (before, found) = split("a <~If test='<~x>' then=\"&lt;b&#62;\" alone c=1 /> z", true);
        let (tag, after) = found.expect("there is a tag");
        assert_eq!((before, tag.name.as_str(), after), ("a ", "if", " z"));
        assert_eq!(
            (tag.get("test"), tag.get("then"), tag.get("alone"), tag.get("c")),
            ("<~x>", "<b>", "alone", "1")
        );
    }

    proptest! {
        #[test]
        fn any_template_is_read(text in "[<~>a='\"/ &#;1-]{0,40}") {
            let mut rest = text.as_str();
            while let (_, Some((_, after))) = split(rest, true) {
                prop_assert!(after.len() < rest.len());
                rest = after;
            }
        }

        #[test]
        fn unquoting_undoes_quoting(text in "[a<>&'\";#1 ]{0,20}") {
            prop_assert_eq!(unquote(&quote(&text)), text);
        }
    }
}
