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
    /// Click's flags: `calm`, `expensive`, `button`, `checkbox`, `nonexclusive`, `raw`, `uncommon`, `deprecated`; and
    /// `setting`, or `setting=NAME`: writing the handler changes the argument of that name in the configuration. `private`:
    /// not for remote users. `unlisted`: Click has no such handler, so that `handlers` does not list it.
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

impl Arg {
    /// An argument.
    pub const fn new(name: &'static str, kind: ArgKind, ty: &'static str, doc: &'static str) -> Arg {
        Arg { name, kind, ty, doc }
    }

    /// A positional argument that is required.
    pub const fn required(name: &'static str, ty: &'static str, doc: &'static str) -> Arg {
        Arg::new(name, ArgKind::Required, ty, doc)
    }

    /// A positional argument that may be left out.
    pub const fn optional(name: &'static str, ty: &'static str, doc: &'static str) -> Arg {
        Arg::new(name, ArgKind::Optional, ty, doc)
    }

    /// A keyword argument that may be left out.
    pub const fn keyword(name: &'static str, ty: &'static str, doc: &'static str) -> Arg {
        Arg::new(name, ArgKind::Keyword, ty, doc)
    }

    /// All further positional arguments.
    pub const fn rest(name: &'static str, ty: &'static str, doc: &'static str) -> Arg {
        Arg::new(name, ArgKind::Rest, ty, doc)
    }
}

impl Handler {
    /// A handler.
    pub const fn new(name: &'static str, kind: HandlerKind, doc: &'static str) -> Handler {
        Handler { name, kind, doc, flags: "" }
    }

    /// A handler that is read.
    pub const fn read(name: &'static str, doc: &'static str) -> Handler {
        Handler::new(name, HandlerKind::Read, doc)
    }

    /// A handler that is written.
    pub const fn write(name: &'static str, doc: &'static str) -> Handler {
        Handler::new(name, HandlerKind::Write, doc)
    }

    /// A handler that is read and written.
    pub const fn read_write(name: &'static str, doc: &'static str) -> Handler {
        Handler::new(name, HandlerKind::ReadWrite, doc)
    }

    /// A handler that is read with a parameter.
    pub const fn read_param(name: &'static str, doc: &'static str) -> Handler {
        Handler::new(name, HandlerKind::ReadParam, doc)
    }

    /// With Click's flags, and those that tell how the answers of several cores become one: `least`, `most`, `alike`.
    pub const fn flags(mut self, flags: &'static str) -> Handler {
        self.flags = flags;
        self
    }

    /// Whether one of its flags is this one.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.split_whitespace().any(|own| own == flag)
    }
}

impl HandlerKind {
    /// Whether it can be read.
    pub const fn is_readable(self) -> bool {
        !matches!(self, HandlerKind::Write)
    }

    /// Whether it can be written.
    pub const fn is_writable(self) -> bool {
        matches!(self, HandlerKind::Write | HandlerKind::ReadWrite | HandlerKind::ReadParamWrite)
    }

    /// Whether it is read with a parameter.
    pub const fn takes_parameter(self) -> bool {
        matches!(self, HandlerKind::ReadParam | HandlerKind::ReadParamWrite)
    }
}

impl Drop {
    /// A reason with its explanation.
    pub const fn new(name: &'static str, doc: &'static str) -> Drop {
        Drop { name, doc }
    }

    /// Whether a reason of this name is no loss: the packet has done at the element what it came for, and goes no further.
    pub fn is_usual(name: &str) -> bool {
        ["dumped", "control"].contains(&name)
    }
}
