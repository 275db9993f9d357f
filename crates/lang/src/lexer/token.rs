//! Tokens.

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    End,
    Identifier,
    Variable,
    Arrow,
    DoubleArrow,
    Colons,
    Bars,
    Dots,
    ElementClass,
    Require,
    Provide,
    Define,
    /// Any other byte.
    Byte(u8),
}

/// A token and its text; a variable's text is without the `$`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub kind: Kind,
    pub text: String,
}

impl Token {
    pub fn is(&self, byte: u8) -> bool {
        self.kind == Kind::Byte(byte)
    }

    /// Whether it joins elements: `->` or `=>`.
    pub fn is_arrow(&self) -> bool {
        matches!(self.kind, Kind::Arrow | Kind::DoubleArrow)
    }
}
