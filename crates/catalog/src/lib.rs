//! The registry of every stock element class.
#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::sync::OnceLock;

use element::Class;
use foldhash::fast::FixedState;
use graph::ClassFacts;

/// The stock classes by name.
pub struct Catalog {
    /// Each program that starts makes this map, and nobody chooses what is in it: a fast hash serves.
    by_name: HashMap<&'static str, &'static Class, FixedState>,
    folders: Vec<(&'static str, &'static [Class])>,
}

/// The catalogue: made when first asked for.
pub fn stock() -> &'static Catalog {
    static STOCK: OnceLock<Catalog> = OnceLock::new();
    STOCK.get_or_init(|| {
        let mut folders = elements::FOLDERS.to_vec();
        folders.push(("interfaces", interfaces::CLASSES));
        folders.push(("middleboxes", middleboxes::CLASSES));
        let n_classes = folders.iter().map(|(_, classes)| classes.len()).sum();
        let mut by_name = HashMap::with_capacity_and_hasher(n_classes, FixedState::default());
        by_name
            .extend(folders.iter().flat_map(|(_, classes)| *classes).map(|class| (class.facts.name, class)));
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
