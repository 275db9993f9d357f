//! The element map of an archive: an XML file that tells the tools of classes, and goes before the catalogue.

use graph::ClassFacts;
use tools::Router;

/// The members of an archive that may be its map; the first that is there is.
const NAMES: [&[u8]; 2] = [b"elementmap.xml", b"elementmap"];

/// The classes that an archive tells of.
pub struct ElementMap(Vec<&'static ClassFacts>);

impl ElementMap {
    /// The map of a router's archive; empty if it has none.
    pub fn of(router: &Router) -> ElementMap {
        let found = |name: &&[u8]| router.archive.iter().find(|member| member.name == *name);
        let text = NAMES.iter().find_map(found).map(|member| String::from_utf8_lossy(&member.data));
        let tags = text.as_deref().map(tags).unwrap_or_default();
        let (mut classes, mut is_inside) = (Vec::new(), false);
        for tag in tags {
            match tag.name {
                "elementmap" => is_inside = !tag.is_empty,
                "/elementmap" => is_inside = false,
                "entry" if is_inside => classes.extend(facts(&tag)),
                _ => {}
            }
        }
        ElementMap(classes)
    }

    /// The facts about a class: the last that the map tells of it, else those of the catalogue.
    pub fn facts(&self, class: &str) -> Option<&'static ClassFacts> {
        self.0.iter().rev().find(|facts| facts.name == class).copied().or_else(|| super::facts(class))
    }
}

/// What an entry tells of its class.
fn facts(entry: &Tag<'_>) -> Option<&'static ClassFacts> {
    // The tool ends before a few texts that are kept until then could matter.
    let text = |name| -> &'static str { Box::leak(entry.attribute(name).into_boxed_str()) };
    let (name, ports) = (text("name"), text("portcount"));
    let (processing, flow) = (text("processing"), text("flowcode"));
    let facts = ClassFacts { name, ports, processing, flow, args: &[], handlers: &[], drops: &[], page: "" };
    (!name.is_empty()).then(|| &*Box::leak(Box::new(facts)))
}

/// A tag of an XML text.
struct Tag<'t> {
    name: &'t str,
    attributes: Vec<(&'t str, &'t str)>,
    /// Whether it ends itself, as `<a/>`.
    is_empty: bool,
}

impl Tag<'_> {
    /// The last value of an attribute, or nothing.
    fn attribute(&self, name: &str) -> String {
        const ENTITIES: [(&str, &str); 5] =
            [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
        let found = self.attributes.iter().rev().find(|(known, _)| *known == name);
        let text = found.map_or(String::new(), |(_, value)| value.to_string());
        ENTITIES.iter().fold(text, |text, (entity, meant)| text.replace(entity, meant))
    }
}

/// The tags of an XML text, comments left out.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let skipped =
            [("!--", "-->"), ("![CDATA[", "]]>")].into_iter().find(|(begin, _)| after.starts_with(begin));
        if let Some((_, end)) = skipped {
            rest = after.split_once(end).map_or("", |(_, rest)| rest);
            continue;
        }
        let ends_name = |c: char| c.is_ascii_whitespace() || c == '>';
        // The slash of `</a>` belongs to the name, that of `<a/>` does not.
        let slash = after.get(1..).and_then(|name| name.find('/')).map(|at| at + 1);
        let end = after.find(ends_name).unwrap_or(after.len());
        let end = slash.filter(|slash| *slash < end).unwrap_or(end);
        let (name, inside) = after.split_at(end);
        let (attributes, is_empty, following) = attributes(inside);
        tags.push(Tag { name, attributes, is_empty });
        rest = following;
    }
    tags
}

/// The attributes of a tag, whether it ends itself, and what follows it.
fn attributes(text: &str) -> (Vec<(&str, &str)>, bool, &str) {
    let mut attributes = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() && !rest.starts_with(['/', '>']) {
        let end =
            rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>')).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        // What has no value is no attribute; nothing more of the tag can be read.
        let Some(value) = after.trim_start().strip_prefix('=').map(str::trim_start) else { break };
        let quoted = ['"', '\''].into_iter().find_map(|quote| value.strip_prefix(quote)?.split_once(quote));
        let (value, after) = quoted.unwrap_or_else(|| {
            let end = value.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(value.len());
            value.split_at(end)
        });
        attributes.push((name, value));
        rest = after.trim_start();
    }
    let is_empty = rest.starts_with('/');
    (attributes, is_empty, rest.split_once('>').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(text: &str) -> ElementMap {
        let data = text.as_bytes().to_vec();
        let member = lang::Member { name: NAMES[0].to_vec(), data, date_s: 0, owner: (0, 0), mode: 0o644 };
        let mut router = tools::router(&lang::Outline::default());
        router.archive.push(member);
        ElementMap::of(&router)
    }

    #[test]
    fn a_map_tells_of_classes() {
        let map = map("<?xml version=\"1.0\"?>\n<elementmap package='x'>\n<!-- <entry name=\"Bar\"/> -->
            <entry name=\"Foo\" processing='h/l' portcount=1/2 flowcode=\"x&lt;/x\" /><entry name='Counter' portcount='0/2'/>
            </elementmap><entry name=\"Out\" />");
        let foo = map.facts("Foo").unwrap();
        assert_eq!((foo.ports, foo.processing, foo.flow), ("1/2", "h/l", "x</x"));
        assert_eq!(map.facts("Counter").unwrap().ports, "0/2");
        assert_eq!(map.facts("Idle").unwrap().name, "Idle");
        assert!(map.facts("Bar").is_none() && map.facts("Out").is_none());
    }

    #[test]
    fn broken_maps_tell_of_what_is_whole() {
        let text = "<elementmap><entry name=\"Foo\"/><entry name='a";
        for end in 0..text.len() {
            assert_eq!(map(&text[..end]).facts("Foo").is_some(), end >= text.find("/><entry").unwrap());
        }
    }
}
