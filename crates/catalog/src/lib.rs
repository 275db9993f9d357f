//! The registry of every stock element class.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::OnceLock;

use element::Class;
use graph::ClassFacts;

/// The stock classes by name.
pub struct Catalog {
    by_name: HashMap<&'static str, &'static Class>,
    folders: Vec<(&'static str, &'static [Class])>,
}

/// The catalogue: made when first asked for.
pub fn stock() -> &'static Catalog {
    static STOCK: OnceLock<Catalog> = OnceLock::new();
    STOCK.get_or_init(|| {
        let mut folders = elements::FOLDERS.to_vec();
        folders.push(("interfaces", interfaces::CLASSES));
        folders.push(("middleboxes", middleboxes::CLASSES));
        let classes = folders.iter().flat_map(|(_, classes)| classes.iter());
        let by_name = classes.map(|class| (class.facts.name, class)).collect();
        Catalog { by_name, folders }
    })
}

impl Catalog {
    /// The class called `name`.
    pub fn get(&self, name: &str) -> Option<&'static Class> {
        self.by_name.get(name).copied()
    }

    /// The classes by folder, in the order in which the folders' lists name them.
    pub fn folders(&self) -> &[(&'static str, &'static [Class])] {
        &self.folders
    }

    /// All names, sorted.
    pub fn sorted_names(&self) -> Vec<&'static str> {
        let mut names: Vec<&str> = self.by_name.keys().copied().collect();
        names.sort_unstable();
        names
    }
}

impl lang::Classes for Catalog {
    fn facts(&self, name: &str) -> Option<&ClassFacts> {
        self.get(name).map(|class| &class.facts)
    }

    fn names(&self) -> Vec<&str> {
        self.sorted_names()
    }
}
