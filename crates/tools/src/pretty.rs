//! Pages about a router, made from templates.

use std::cell::Cell;

use lang::Outline;

use crate::elements::Elements;
use crate::markup::{class_anchor, markup};
use crate::picture::svg;
use crate::router::Router;
use crate::templates::split;
use crate::wiring::Wiring;
use crate::Facts;

/// How deep tags may be made of tags.
pub(crate) const MAX_DEPTH: usize = 30;
/// How long a page may get: tags may double each other.
const MAX_LEN: usize = 1 << 28;
/// How many tags a page may have, with those that tags are made of: they may double each other and write nothing.
const MAX_TAGS: usize = 1 << 22;

/// How many more tags a page may have.
pub(crate) struct TagsLeft(Cell<usize>);

impl Default for TagsLeft {
    fn default() -> TagsLeft {
        TagsLeft(Cell::new(MAX_TAGS))
    }
}

impl TagsLeft {
    /// Whether a text may get another tag. It has one less afterwards.
    pub fn allow(&self, text: &str) -> bool {
        let left = self.0.get();
        self.0.set(left.saturating_sub(1));
        left > 0 && text.len() < MAX_LEN
    }
}

/// What a page is about.
pub struct Page<'a> {
    /// The configuration's file.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
    /// As it was written.
    pub outline: &'a Outline,
    /// Compound elements not expanded.
    pub router: &'a Router,
    /// Where classes are explained.
    pub links: &'a Links,
    /// What tags of the user's own stand for.
    pub definitions: &'a [(String, String)],
}

/// Where element classes are explained.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// The address, in which `%s` stands for the class.
    pub classes: Option<String>,
}

impl Page<'_> {
    /// Where the class of this name is explained.
    pub(crate) fn class_href(&self, class: &str) -> Option<String> {
        if self.outline.classes.iter().any(|(name, _)| name == class) {
            return Some(format!("#{}", class_anchor(class)));
        }
        self.links.classes.as_ref().map(|url| url.replace("%s", class).replace("%%", "%"))
    }

    pub(crate) fn wiring(&self, facts: Facts<'static>) -> Wiring<'_> {
        Wiring::new(self.router, facts, &mut graph::Diagnostics::default())
    }
}

/// The page that `template` describes.
pub fn pretty(page: &Page, template: &str, facts: Facts<'static>) -> String {
    let wiring = page.wiring(facts);
    let mut text = String::new();
    run(page, &wiring, template, 0, &TagsLeft::default(), &mut text);
    text
}

fn run(page: &Page, wiring: &Wiring, template: &str, depth: usize, tags: &TagsLeft, text: &mut String) {
    let mut rest = template;
    while tags.allow(text) {
        let (before, found) = split(rest, false);
        text.push_str(before);
        let Some((tag, after)) = found else { return };
        match tag.name.as_str() {
            "config" => text.push_str(&markup(page)),
            "graph" => text.push_str(&svg(page, wiring)),
            "elements" => Elements::new(page, wiring, &tag, tags).list(text),
            name => {
                let own = page.definitions.iter().rev().find(|(known, _)| known == name);
                if let Some((_, own)) = own.filter(|_| depth < MAX_DEPTH) {
                    run(page, wiring, own, depth + 1, tags, text);
                }
            }
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use graph::Diagnostics;

    use super::*;
    use crate::testing::{facts, outline};

    #[test]
    fn tags_that_double_each_other_come_to_an_end() {
        let text = "Idle -> a :: RoundRobinSched -> Discard; Idle -> [1] a";
        let outline = outline(text, &mut Diagnostics::default());
        let (router, links) = (crate::router(&outline), Links::default());
        let definitions = [("twice".to_string(), "<~twice><~twice>".to_string())];
        let page = Page {
            name: "f",
            text,
            outline: &outline,
            router: &router,
            links: &links,
            definitions: &definitions,
        };
        for template in ["<~twice>", "<~elements entry=\"<~inputs>\" inputentry=\"<~inputs>\">"] {
            assert_eq!(pretty(&page, template, &facts), "");
        }
    }
}
