//! What of a function's schema stands on its command line.

use functions::{value_name, Function};
use yang::{Base, Kind, Node};

/// A node whose values a command line gives.
#[derive(Clone, Copy)]
pub struct Flag<'n> {
    /// The leaf, or the list.
    pub node: &'n Node,
    /// Where its values stand.
    pub place: Place,
}

/// Where values stand on a command line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `--name`, for true.
    Switch,
    /// `--name VALUE`, once.
    Option,
    /// `--name VALUE`, as often as wanted.
    Repeated,
    /// A word without a flag.
    Word,
    /// All words without a flag, each a value.
    Words,
    /// All words without a flag, together one value.
    Joined,
}

/// The flags of a function, in the schema's order.
pub fn of<'f>(function: &Function<'f>) -> Vec<Flag<'f>> {
    parameters(function).filter_map(|node| Some(Flag { node, place: place(node)? })).collect()
}

/// The parameters of a function that are not on its command line.
pub fn without<'f>(function: &Function<'f>) -> Vec<&'f Node> {
    parameters(function).filter(|node| place(node).is_none()).collect()
}

/// What users write of an instance, besides its name.
fn parameters<'f>(function: &Function<'f>) -> impl Iterator<Item = &'f Node> {
    let node = function.node;
    let is_parameter =
        |child: &&Node| child.is_config && child.kind != Kind::Action && !node.keys.contains(&child.name);
    node.data_children().filter(is_parameter)
}

/// Where a node stands; `None` if it is not on the command line.
fn place(node: &Node) -> Option<Place> {
    let is_word = node.has("word");
    match node.kind {
        _ if node.has("hidden") => None,
        Kind::Leaf if node.has("words") => Some(Place::Joined),
        Kind::Leaf if is_word => Some(Place::Word),
        Kind::Leaf if is_switch(node) => Some(Place::Switch),
        Kind::Leaf => Some(Place::Option),
        Kind::List if !node.has("form") => None,
        Kind::List | Kind::LeafList if is_word => Some(Place::Words),
        Kind::List | Kind::LeafList => Some(Place::Repeated),
        _ => None,
    }
}

/// Whether a leaf is false, or not there, if it is not given.
fn is_switch(node: &Node) -> bool {
    match node.ty.as_ref().map(|ty| ty.base) {
        Some(Base::Empty) => true,
        Some(Base::Boolean) => node.default.as_deref() == Some("false"),
        _ => false,
    }
}

impl<'n> Flag<'n> {
    /// What identifies it among its command's arguments.
    pub fn id(&self) -> &'n str {
        &self.node.name
    }

    /// Whether it stands without a flag.
    pub fn is_word(&self) -> bool {
        matches!(self.place, Place::Word | Place::Words | Place::Joined)
    }

    /// The flag's name, without dashes.
    pub fn name(&self) -> &'n str {
        self.node.extension("flag").unwrap_or(&self.node.name)
    }

    /// What names it in messages and pages.
    pub fn called(&self) -> String {
        match self.is_word() {
            true => value_name(self.node),
            false => format!("--{}", self.name()),
        }
    }

    /// The letter that stands for the flag, or for that of its files if it has none itself.
    pub fn short(&self) -> Option<char> {
        self.node.extension("short")?.chars().next()
    }

    /// The name of the flag for files that hold entries.
    pub fn file(&self) -> Option<&'n str> {
        self.node.extension("file")
    }

    /// What the flag for files is for.
    pub fn file_help(&self) -> String {
        format!("A file of further {}, one a line; `#` begins a comment.", value_name(self.node))
    }

    /// What it is for: a sentence.
    pub fn help(&self) -> &'n str {
        &self.node.description
    }

    /// Its value if none is given, if that is worth telling.
    pub fn default(&self) -> Option<&'n str> {
        let default = self.node.default.as_deref().filter(|text| !text.is_empty())?;
        (self.place != Place::Switch).then_some(default)
    }

    /// Values that have flags of their own.
    pub fn own_words(&self) -> Vec<&'n str> {
        let words = self.node.ty.as_ref().filter(|_| self.node.has("each-word")).map(|ty| ty.words.iter());
        let others = words.into_iter().flatten().filter(|word| self.node.default.as_ref() != Some(word));
        others.map(String::as_str).collect()
    }
}
