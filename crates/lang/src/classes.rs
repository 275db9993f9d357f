//! Element classes while a text is read: those of the catalogue, and those that the text itself defines.

use std::collections::HashMap;

use crate::Classes;

/// Index of a type in [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeIdx(usize);

/// What a name for an element class stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// Not an element, but a way through: the ports of a compound element or group.
    Tunnel,
    /// An unknown class; the error is told already.
    Error,
    /// A class of the catalogue, by its own name.
    Class(String),
    /// A compound element, by its number.
    Compound(usize),
}

/// The types, and the names that are in force at the point that was reached.
pub(crate) struct Types<'a> {
    catalogue: &'a dyn Classes,
    types: Vec<(String, Type)>,
    names: HashMap<String, TypeIdx>,
    /// What each definition since the start hid, so that scopes can be left.
    hidden: Vec<(String, Option<TypeIdx>)>,
    /// Catalogue classes that were used.
    used: HashMap<String, TypeIdx>,
}

pub(crate) const TUNNEL: TypeIdx = TypeIdx(0);
pub(crate) const ERROR: TypeIdx = TypeIdx(1);

impl<'a> Types<'a> {
    pub fn new(catalogue: &'a dyn Classes) -> Types<'a> {
        let types = vec![("<tunnel>".to_string(), Type::Tunnel), ("Error".to_string(), Type::Error)];
        Types { catalogue, types, names: HashMap::new(), hidden: Vec::new(), used: HashMap::new() }
    }

    pub fn get(&self, idx: TypeIdx) -> &Type {
        &self.types[idx.0].1
    }

    pub fn name(&self, idx: TypeIdx) -> &str {
        &self.types[idx.0].0
    }

    /// The type that `name` stands for here.
    pub fn find(&mut self, name: &str) -> Option<TypeIdx> {
        if let Some(idx) = self.names.get(name).or_else(|| self.used.get(name)) {
            return Some(*idx);
        }
        self.catalogue.facts(name)?;
        Some(self.assume(name))
    }

    /// Takes `name` as a class that is defined elsewhere.
    pub fn assume(&mut self, name: &str) -> TypeIdx {
        let idx = self.push(name, Type::Class(name.to_string()));
        self.used.insert(name.to_string(), idx);
        idx
    }

    /// The names that were defined since the start and are in force, and what each definition made of them.
    pub fn definitions(&self) -> impl Iterator<Item = (&str, TypeIdx)> {
        self.hidden.iter().enumerate().filter_map(|(at, (name, _))| {
            let later = self.hidden[at + 1..].iter().find(|(other, _)| other == name);
            let idx = later.map_or_else(|| self.names.get(name).copied(), |(_, hidden)| *hidden)?;
            Some((name.as_str(), idx))
        })
    }

    /// Defines `name` here; a compound element without a name is only found by its index.
    pub fn define(&mut self, name: &str, kind: Type) -> TypeIdx {
        let idx = self.push(name, kind);
        if !name.is_empty() {
            let hidden = self.names.insert(name.to_string(), idx);
            self.hidden.push((name.to_string(), hidden));
        }
        idx
    }

    /// A mark to return to by [`Types::leave`].
    pub fn enter(&self) -> usize {
        self.hidden.len()
    }

    /// Forgets the definitions since `mark`.
    pub fn leave(&mut self, mark: usize) {
        while self.hidden.len() > mark {
            match self.hidden.pop() {
                Some((name, Some(idx))) => self.names.insert(name, idx),
                Some((name, None)) => self.names.remove(&name),
                None => return,
            };
        }
    }

    /// What to do about an unknown class.
    pub fn help(&self, name: &str) -> String {
        let local = self.names.keys().map(String::as_str).filter(|known| *known != name);
        let catalogue = self.catalogue.names();
        match nearest(name, local.chain(catalogue)) {
            Some(near) => format!("did you mean `{near}`? `weir elements` lists all"),
            None => "`weir elements` lists all".to_string(),
        }
    }

    fn push(&mut self, name: &str, kind: Type) -> TypeIdx {
        self.types.push((name.to_string(), kind));
        TypeIdx(self.types.len() - 1)
    }
}

/// The name most like `name`, if one is near enough to be meant.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = match name.len() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    let distance = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
    // A long text is no misspelt name, and the distance takes time by the square of its length.
    let candidates = known.filter(|known| name.len() <= 64 && known.len().abs_diff(name.len()) <= limit);
    let best = candidates.map(|known| (distance(known), known)).min()?;
    (best.0 <= limit && best.0 < name.len()).then_some(best.1)
}
