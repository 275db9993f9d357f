//! A text as it was written: compound elements not expanded, variables not put in, classes not looked up.
//!
//! This is what the configuration tools work on. They know no catalogue, so that a text may use classes that only another
//! machine has.

use graph::{ClassFacts, Diagnostics, Place};

use crate::classes::{Type, TypeIdx};
use crate::compound::{self, assign, use_signature};
use crate::parser::Parser;
use crate::{Classes, Libraries, Options, Source};

/// A file as it was written.
#[derive(Clone, Debug, Default)]
pub struct Outline {
    /// What stands outside compound elements.
    pub main: Body,
    /// Variables that the file defines.
    pub definitions: Vec<(String, String)>,
    /// The compound elements; [`Kind::Compound`] is an index into them.
    pub compounds: Vec<Compound>,
    /// `require(KIND VALUE)` statements.
    pub requirements: Vec<(String, String)>,
    /// The classes that the file defines outside compound elements, in their order.
    pub classes: Vec<(String, Kind)>,
}

/// Elements and connections between them.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The elements; a tunnel is followed by its input and its output, named `NAME/input` and `NAME/output`.
    pub parts: Vec<Part>,
    /// The connections, in the order in which they were written.
    pub wires: Vec<Wire>,
}

/// A compound element; its first two parts are its `input` and `output`.
#[derive(Clone, Debug, Default)]
pub struct Compound {
    /// What is inside.
    pub body: Body,
    /// How many compounds are around it, and one for itself.
    pub depth: usize,
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Variables that it defines.
    pub definitions: Vec<(String, String)>,
    /// How many inputs and outputs it has.
    pub n_ports: (usize, usize),
    /// The alternative that is tried after it.
    pub next: Option<Kind>,
    /// Where it was written.
    pub place: Place,
    raw: compound::Compound,
}

/// What an element is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A way through: the outside, inside input or inside output of a compound element or group.
    Tunnel,
    /// An element of a class that the text does not define.
    Class(String),
    /// A compound element, by its number.
    Compound(usize),
}

/// An element.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its name inside its compound element.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its configuration string.
    pub config: String,
    /// Where it was written.
    pub place: Place,
}

/// A connection; ends are numbers of elements and ports.
#[derive(Clone, Debug)]
pub struct Wire {
    /// Where packets come from.
    pub from: (usize, usize),
    /// Where packets go.
    pub to: (usize, usize),
    /// Where the chain that holds it begins.
    pub place: Place,
}

impl Compound {
    /// The values of the parameters, if `arguments` fit them.
    pub fn assign(&self, arguments: &[String]) -> Option<Vec<String>> {
        assign(arguments, &self.raw.keywords())
    }

    /// Name and ports, as the messages of Click's tools tell them: what they list is variables, not parameters.
    pub fn signature(&self) -> String {
        let variables = self.raw.variables[self.raw.n_parameters..].iter();
        let variables = variables.map(|(name, value)| (name.clone(), value.clone())).collect();
        compound::Compound { variables, n_parameters: 0, ..self.raw.clone() }.signature()
    }

    /// A use of it with so many arguments and ports, as messages tell it.
    pub fn use_signature(&self, n_arguments: usize, (n_inputs, n_outputs): (usize, usize)) -> String {
        use_signature(&self.raw, n_arguments, n_inputs, n_outputs)
    }
}

/// Any name is a class.
struct Unknown;

impl Classes for Unknown {
    fn facts(&self, _name: &str) -> Option<&ClassFacts> {
        None
    }

    fn names(&self) -> Vec<&str> {
        Vec::new()
    }
}

/// Reads a text as it is; errors go to `diagnostics`.
pub fn outline(
    source: &Source,
    variables: &[(String, String)],
    libraries: &dyn Libraries,
    diagnostics: &mut Diagnostics,
) -> Outline {
    let options = Options { classes: &Unknown, variables: &[], libraries, packages: &[] };
    let mut parser = Parser::new(source.name, source.text, &options, diagnostics);
    parser.open = true;
    parser.file();
    for idx in 0..parser.c.items.len() {
        parser.c.settle_name(idx);
    }
    let main = std::mem::take(&mut parser.c);
    let mut definitions = main.variables.clone();
    for (name, value) in variables {
        match definitions.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => old.clone_from(value),
            None => definitions.push((name.clone(), value.clone())),
        }
    }
    Outline {
        main: parser.body(&main),
        definitions,
        compounds: parser.outlined(),
        requirements: std::mem::take(&mut parser.requirements),
        classes: parser.types.definitions().map(|(name, idx)| (name.to_string(), parser.kind(idx))).collect(),
    }
}

impl Parser<'_, '_> {
    fn outlined(&self) -> Vec<Compound> {
        let compounds = self.compounds.iter().zip(&self.overloads);
        let outline = |(raw, next): (&compound::Compound, &Option<TypeIdx>)| {
            let (parameters, definitions) = raw.variables.split_at(raw.n_parameters);
            Compound {
                body: self.body(raw),
                depth: raw.depth,
                parameters: parameters.iter().map(|(name, _)| name.clone()).collect(),
                definitions: definitions.to_vec(),
                n_ports: (raw.n_inputs, raw.n_outputs),
                next: next.map(|idx| self.kind(idx)),
                place: raw.place.clone(),
                raw: compound::Compound { items: Vec::new(), links: Vec::new(), ..raw.clone() },
            }
        };
        compounds.map(outline).collect()
    }

    fn body(&self, compound: &compound::Compound) -> Body {
        let parts = compound.items.iter().map(|item| Part {
            name: item.name.clone(),
            kind: self.kind(item.kind),
            config: item.config.clone(),
            place: item.place.clone(),
        });
        let wires = compound.links.iter();
        let wires = wires.map(|link| Wire { from: link.from, to: link.to, place: link.place.clone() });
        Body { parts: parts.collect(), wires: wires.collect() }
    }

    fn kind(&self, idx: TypeIdx) -> Kind {
        match self.types.get(idx) {
            Type::Tunnel => Kind::Tunnel,
            Type::Error => Kind::Class("Error".to_string()),
            Type::Class(name) => Kind::Class(name.clone()),
            Type::Compound(idx) => Kind::Compound(*idx),
        }
    }
}
