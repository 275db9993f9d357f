//! Pages about a router, made from templates.

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
pub(crate) const MAX_LEN: usize = 1 << 28;

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
    run(page, &wiring, template, 0, &mut text);
    text
}

fn run(page: &Page, wiring: &Wiring, template: &str, depth: usize, text: &mut String) {
    let mut rest = template;
    while text.len() < MAX_LEN {
        let (before, found) = split(rest, false);
        text.push_str(before);
        let Some((tag, after)) = found else { return };
        match tag.name.as_str() {
            "config" => text.push_str(&markup(page)),
            "graph" => text.push_str(&svg(page, wiring)),
            "elements" => Elements::new(page, wiring, &tag).list(text),
            name => {
                let own = page.definitions.iter().rev().find(|(known, _)| known == name);
                if let Some((_, own)) = own.filter(|_| depth < MAX_DEPTH) {
                    run(page, wiring, own, depth + 1, text);
                }
            }
        }
        rest = after;
    }
}
