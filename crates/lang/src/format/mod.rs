//! The formatter: the same text with regular spaces, line breaks and indentation; comments stay.
//!
//! Configuration strings are kept to the byte, because the `config` handlers show them.

mod item;
mod print;
mod scan;

use graph::{ClassFacts, Diagnostics, Place};

use crate::{Classes, Options, Source};
use item::Item;

/// Formats a text. Its syntax must be right; errors of other kinds (an unknown class) do not matter.
pub fn format(source: &Source) -> Result<String, Diagnostics> {
    check_syntax(source)?;
    let items = scan::scan(source.text).map_err(|place| refuse(source, &place))?;
    let text = print::print(&items);
    match scan::scan(&text) {
        Ok(again) if same_tokens(&items, &again) => Ok(text),
        _ => Err(refuse(source, &Place::default())),
    }
}

/// Knows no class: whether a class exists makes no difference to syntax.
struct NoClasses;

impl Classes for NoClasses {
    fn facts(&self, _name: &str) -> Option<&ClassFacts> {
        None
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

fn check_syntax(source: &Source) -> Result<(), Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let options = Options::new(&NoClasses);
    crate::parser::Parser::new(source.name, source.text, &options, &mut diagnostics).file();
    let of_syntax =
        ["syntax error", "expected ", "unknown preprocessor", "missing element type", "maximum ", "'...'"];
    diagnostics.list.retain(|d| of_syntax.iter().any(|start| d.message.starts_with(start)));
    match diagnostics.list.is_empty() {
        true => Ok(()),
        false => Err(diagnostics),
    }
}

fn refuse(source: &Source, place: &Place) -> Diagnostics {
    let mut diagnostics = Diagnostics::default();
    let place = Place { file: Some(source.name.into()), ..place.clone() };
    diagnostics
        .error(&place, "cannot be formatted without a change of meaning")
        .help("look for a comma or a port that no element follows");
    diagnostics
}

/// Whether two texts have the same tokens and comments, semicolons aside.
fn same_tokens(a: &[Item], b: &[Item]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.text == b.text && a.role.same_kind(&b.role))
}
