//! From the names in a chain to elements: declared, referred to, anonymous or unknown.

use graph::Place;

use crate::chain::{Naming, Step};
use crate::classes::{nearest, Type, ERROR, TUNNEL};
use crate::parser::Parser;

impl Parser<'_, '_> {
    /// Finds or makes the elements of a complete list.
    pub fn resolve(&mut self, first: bool, is_arrow: bool, step: &mut Step) {
        if step.namings.len() > 1 && first && !is_arrow && !step.any_ports && !step.any_implicit {
            spread_declaration(&mut step.namings);
        }
        for (naming, mention) in step.namings.drain(..).zip(&mut step.mentions) {
            mention.element = self.resolve_one(naming);
        }
    }

    fn resolve_one(&mut self, naming: Naming) -> usize {
        let Naming { mut name, mut kind, declared, config, place, .. } = naming;
        if kind.is_none() {
            if let Some(idx) = self.c.names.get(&name).copied() {
                if declared.is_some() {
                    self.redeclared(&name, &place, idx);
                }
                return idx;
            }
        }
        let names_itself = declared.is_some_and(|declared| self.open && self.types.name(declared) == name);
        match (declared, kind) {
            (None, None) if self.open => kind = Some(self.class(&name)),
            (Some(_), Some(_)) | (Some(_), None) if kind.is_some() || names_itself => {
                self.diagnostics
                    .error(&place, format!("class '{name}' used as element name"))
                    .help("give the element a name that is no class");
            }
            (None, None) => {
                let help = self.undeclared_help(&name);
                self.diagnostics.error(&place, format!("undeclared element '{name}'")).help(help);
                kind = Some(self.types.define(&name, Type::Error));
            }
            _ => {}
        }
        if kind.is_some() {
            name = self.c.anonymous_name(&name);
        }
        let kind = kind.or(declared).unwrap_or(ERROR);
        self.element(name, kind, config, place)
    }

    fn redeclared(&mut self, name: &str, place: &Place, idx: usize) {
        let message = format!("redeclaration of element '{name}'");
        self.diagnostics
            .error(place, message)
            .help("rename one of them, or leave `:: Class` out to mean the first");
        // Click's tools know where `input` and `output` come from.
        let old = self.c.items.get(idx).filter(|item| self.open || item.kind != TUNNEL);
        if let Some(old) = old.map(|item| item.place.clone()) {
            let what = if self.open { "" } else { "element " };
            self.diagnostics.error(&old, format!("{what}'{name}' previously declared here"));
        }
    }

    /// A name that is neither an element nor a class may be meant for either.
    fn undeclared_help(&self, name: &str) -> String {
        let elements = self.c.names.keys().filter(|known| !known.starts_with(';')).map(String::as_str);
        match nearest(name, elements) {
            Some(near) => format!("did you mean the element `{near}`? Else declare it: `{name} :: Class`"),
            None if name.starts_with(|c: char| c.is_ascii_uppercase()) => self.types.help(name),
            None => format!("declare it: `{name} :: Class`"),
        }
    }
}

/// `a, b :: Class(config);` declares both.
fn spread_declaration(namings: &mut [Naming]) {
    let Some((last, others)) = namings.split_last_mut() else { return };
    if others.iter().all(|naming| naming.bare) {
        for naming in others {
            naming.declared = last.declared;
            naming.config.clone_from(&last.config);
        }
    }
}
