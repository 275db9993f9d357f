//! Class facts: what is known of an element class without making one.
//!
//! The facts are data. The language front end, the checks, `weir help`, the generated reference and the metrics all
//! read this one table.

/// What is known of an element class.
#[derive(Clone, Copy, Debug)]
pub struct ClassFacts {
    /// Class name, such as `Counter`.
    pub name: &'static str,
    /// Port counts in Click's code, such as `1/1`, `1/1-2`, `-/=`.
    pub ports: &'static str,
    /// Push (`h`), pull (`l`) or agnostic (`a`) per port in Click's code, such as `a/ah`.
    pub processing: &'static str,
    /// How packets flow from inputs to outputs in Click's code, such as `x/x`, `xy/x`, `#/#`.
    pub flow: &'static str,
    /// The arguments, positional ones first, in order.
    pub args: &'static [Arg],
    /// The handlers.
    pub handlers: &'static [Handler],
    /// The reasons for which packets are dropped here; a drop names its reason by index.
    pub drops: &'static [Drop],
    /// The page of documentation: the `//!` lines of the element's file, in Markdown.
    pub page: &'static str,
}

/// Whether and how an argument is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgKind {
    /// Positional and required (it may also be given by keyword).
    Required,
    /// Positional or by keyword, optional.
    Optional,
    /// By keyword only, optional.
    Keyword,
    /// By keyword only, required.
    RequiredKeyword,
    /// All remaining positional arguments.
    Rest,
}

/// An argument of a class.
#[derive(Clone, Copy, Debug)]
pub struct Arg {
    /// Its name, in capitals.
    pub name: &'static str,
    /// Whether and how it is given.
    pub kind: ArgKind,
    /// Its type in a user's words, such as `unsigned`, `IP address`, `time`.
    pub ty: &'static str,
    /// One sentence: what it does, its unit and its default.
    pub doc: &'static str,
}

/// How a handler is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerKind {
    /// Read, without a parameter.
    Read,
    /// Written.
    Write,
    /// Read and written.
    ReadWrite,
    /// Read, with a parameter.
    ReadParam,
    /// Read with a parameter, and written.
    ReadParamWrite,
}

/// A handler of a class: a named value that an operator reads or writes.
#[derive(Clone, Copy, Debug)]
pub struct Handler {
    /// Its name.
    pub name: &'static str,
    /// How it is used.
    pub kind: HandlerKind,
    /// One sentence: what it reads or does, and its unit.
    pub doc: &'static str,
    /// Click's flags: `calm`, `expensive`, `button`, `checkbox`, `nonexclusive`, `raw`, `uncommon`, `deprecated`.
    pub flags: &'static str,
}

/// A reason for which a class drops packets.
#[derive(Clone, Copy, Debug)]
pub struct Drop {
    /// Short name in lower case with hyphens, such as `bad-checksum`.
    pub name: &'static str,
    /// One sentence: when it happens.
    pub doc: &'static str,
}
