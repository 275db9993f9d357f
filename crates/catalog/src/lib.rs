//! The registry of every stock element class.
#![forbid(unsafe_code)]

use element::Class;
use graph::ClassFacts;

/// A folder's name and its classes.
type Folder = (&'static str, &'static [Class]);

/// The stock classes by name. The compiler makes it: a program that starts reads only the classes that it asks for.
pub struct Catalog {
    folders: [Folder; N_FOLDERS],
    /// Each class at the first free slot from that of its name's hash on.
    slots: [Option<&'static Class>; N_SLOTS],
}

const OTHER_FOLDERS: [Folder; 2] =
    [("interfaces", interfaces::CLASSES), ("middleboxes", middleboxes::CLASSES)];
const N_FOLDERS: usize = elements::FOLDERS.len() + OTHER_FOLDERS.len();
/// Half of them stay free, so that a search ends soon.
const N_SLOTS: usize = (2 * n_classes(&folders())).next_power_of_two();

static STOCK: Catalog = Catalog { folders: folders(), slots: slots(&folders()) };

/// The catalogue.
pub fn stock() -> &'static Catalog {
    &STOCK
}

const fn folders() -> [Folder; N_FOLDERS] {
    let mut folders = [OTHER_FOLDERS[0]; N_FOLDERS];
    let (first, last) = folders.split_at_mut(elements::FOLDERS.len());
    first.copy_from_slice(elements::FOLDERS);
    last.copy_from_slice(&OTHER_FOLDERS);
    folders
}

const fn n_classes(folders: &[Folder]) -> usize {
    let mut n_classes = 0;
    let mut i = 0;
    while i < folders.len() {
        n_classes += folders[i].1.len();
        i += 1;
    }
    n_classes
}

const fn slots(folders: &[Folder]) -> [Option<&'static Class>; N_SLOTS] {
    let mut slots = [None; N_SLOTS];
    let mut i = 0;
    while i < folders.len() {
        let (_, classes) = folders[i];
        let mut j = 0;
        while j < classes.len() {
            let slot = search(&slots, classes[j].facts.name);
            assert!(slots[slot].is_none(), "two classes have one name");
            slots[slot] = Some(&classes[j]);
            j += 1;
        }
        i += 1;
    }
    slots
}

/// The slot of the class called `name`, or the free one where it would be.
const fn search(slots: &[Option<&'static Class>; N_SLOTS], name: &str) -> usize {
    let mut slot = hash(name) as usize % N_SLOTS;
    while let Some(class) = slots[slot] {
        if is_same(class.facts.name, name) {
            break;
        }
        slot = (slot + 1) % N_SLOTS;
    }
    slot
}

/// FNV-1a, which the compiler can work out: nobody chooses what is in the catalogue, so a simple hash serves.
const fn hash(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x100_0000_01b3);
        i += 1;
    }
    hash
}

/// `==`, for the compiler.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

impl Catalog {
    /// The class called `name`.
    pub fn get(&self, name: &str) -> Option<&'static Class> {
        self.slots[search(&self.slots, name)]
    }

    /// The classes by folder, in the order in which the folders' lists name them.
    pub fn folders(&self) -> &[Folder] {
        &self.folders
    }

    /// All names, sorted.
    pub fn sorted_names(&self) -> Vec<&'static str> {
        let classes = self.folders.iter().flat_map(|(_, classes)| *classes);
        let mut names: Vec<&str> = classes.map(|class| class.facts.name).collect();
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
