//! Items: tokens and comments, each with its role in the grammar.

/// What an item is to the printer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A name, a keyword, a parameter, `::`, `...`.
    Word,
    /// A configuration string with its parentheses.
    Config,
    Arrow,
    Comma,
    /// `[`, and what follows it up to the `]`.
    PortOpen,
    PortInner,
    PortClose,
    /// `{` or `(`; whether its content stands on lines of its own.
    Open {
        multiline: bool,
    },
    /// `}` or `)`.
    Close {
        multiline: bool,
    },
    /// `|` after parameters.
    Bar,
    /// `||` between alternatives.
    Bars,
    /// A comment; whether it runs to the end of its line.
    Comment {
        to_line_end: bool,
    },
    /// `#line`.
    Directive,
}

/// A token or comment.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub text: String,
    pub role: Role,
    /// How many lines end between the item before and this one.
    pub newlines: usize,
    /// Whether a statement starts here.
    pub starts: bool,
    /// Whether a statement ends here that a semicolon may follow.
    pub ends: bool,
}

impl Role {
    pub fn same_kind(&self, other: &Role) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}
