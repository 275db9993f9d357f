//! The parser: its state, statements, and what all of its parts use.

use graph::{Diagnostic, Diagnostics, Place};

use crate::classes::{Type, TypeIdx, Types};
use crate::compound::{Compound, Item};
use crate::lexer::{Kind, Lexer, Token};
use crate::scope::Budget;
use crate::tunnel::Tunnels;
use crate::Options;

/// How many elements a graph may have, compounds expanded; a text that doubles itself ends here.
pub(crate) const MAX_ELEMENTS: usize = 1 << 20;
/// How many bytes the expansion of variables may look at.
const EXPANSION_BUDGET: u64 = 1 << 28;

/// What a sequence of statements is part of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    File,
    Compound,
    Group,
}

/// A sequence of statements that is being read.
pub(crate) struct Block {
    /// Whether `input` or `output` may be left out at the ends of chains.
    pub nested: bool,
}

pub(crate) struct Parser<'a, 'd> {
    pub lexer: Lexer,
    pushed_back: Vec<Token>,
    pub types: Types<'a>,
    pub options: &'a Options<'a>,
    /// The compound whose statements are read; at the end, the file's.
    pub c: Compound,
    pub compounds: Vec<Compound>,
    /// For each compound, the type that is tried after it.
    pub overloads: Vec<Option<TypeIdx>>,
    pub tunnels: Tunnels,
    pub requirements: Vec<(String, String)>,
    pub libraries: Vec<String>,
    pub library_depth: usize,
    /// How many compounds and groups are open.
    pub depth: usize,
    pub budget: Budget,
    /// Whether the block's last chain ended in just `output`; then the next may start without `input`.
    pub last_ends_output: bool,
    /// Whether any name may be a class, as the configuration tools want it.
    pub open: bool,
    pub diagnostics: &'d mut Diagnostics,
}

impl<'a, 'd> Parser<'a, 'd> {
    pub fn new(name: &str, text: &str, options: &'a Options<'a>, diagnostics: &'d mut Diagnostics) -> Self {
        Parser {
            lexer: Lexer::new(name, text),
            pushed_back: Vec::new(),
            types: Types::new(options.classes),
            options,
            c: Compound::default(),
            compounds: Vec::new(),
            overloads: Vec::new(),
            tunnels: Tunnels::default(),
            requirements: Vec::new(),
            libraries: Vec::new(),
            library_depth: 0,
            depth: 0,
            budget: Budget::new(EXPANSION_BUDGET),
            last_ends_output: true,
            open: false,
            diagnostics,
        }
    }

    /// Reads the whole file.
    pub fn file(&mut self) {
        self.statements(BlockKind::File);
    }

    /// Reads statements to the end of the block; returns the token that ended it.
    pub fn statements(&mut self, kind: BlockKind) -> Token {
        let outer = std::mem::replace(&mut self.last_ends_output, true);
        let end = self.block(kind);
        // Click's tools go on with what the inner block left; its driver knows each block's own.
        if !self.open {
            self.last_ends_output = outer;
        }
        end
    }

    fn block(&mut self, kind: BlockKind) -> Token {
        let block = Block { nested: self.c.depth > 0 || kind != BlockKind::File };
        loop {
            let token = self.lex();
            match token.kind {
                Kind::Identifier | Kind::Arrow | Kind::DoubleArrow | Kind::Byte(b'[' | b'{' | b'(') => {
                    self.unlex(token);
                    self.chain(&block);
                }
                Kind::ElementClass => self.elementclass(),
                Kind::Require => self.require(),
                Kind::Define => self.define(),
                Kind::Byte(b';') => {}
                Kind::Byte(b'}') | Kind::Bars if kind == BlockKind::Compound => return token,
                Kind::Byte(b'}') | Kind::Bars if kind == BlockKind::Group => {
                    self.syntax_error(&token).help("close the group with `)`");
                    self.unlex(token.clone());
                    return token;
                }
                Kind::Byte(b')') if kind == BlockKind::Group => return token,
                Kind::End => {
                    match kind {
                        BlockKind::File => {}
                        BlockKind::Group => {
                            self.error("expected ')'");
                        }
                        BlockKind::Compound => {
                            self.error("expected '}'");
                        }
                    }
                    return token;
                }
                _ => {
                    self.syntax_error(&token);
                }
            }
        }
    }

    pub fn lex(&mut self) -> Token {
        match self.pushed_back.pop() {
            Some(token) => token,
            None => self.lexer.next(self.diagnostics),
        }
    }

    pub fn unlex(&mut self, token: Token) {
        self.pushed_back.push(token);
    }

    /// Takes the next token if it is `byte`.
    pub fn accept(&mut self, byte: u8) -> bool {
        if let Some(token) = self.pushed_back.last() {
            let found = token.is(byte);
            if found {
                self.pushed_back.pop();
            }
            return found;
        }
        let before = self.lexer.clone();
        if self.lexer.next(self.diagnostics).is(byte) {
            return true;
        }
        // Like Click's, this reads the token twice; a bad directive before it is told twice.
        self.lexer = before;
        false
    }

    pub fn expect(&mut self, byte: u8) -> bool {
        let found = self.accept(byte);
        if !found {
            self.error(format!("expected '{}'", char::from(byte)));
        }
        found
    }

    pub fn place(&self) -> Place {
        self.lexer.place()
    }

    pub fn error(&mut self, message: impl Into<String>) -> &mut Diagnostic {
        self.diagnostics.error(&self.lexer.place(), message)
    }

    pub fn syntax_error(&mut self, token: &Token) -> &mut Diagnostic {
        let (provide, mark) = (token.kind == Kind::Provide, self.lexer.is_at_mark());
        let diagnostic = self.error(format!("syntax error near '{}'", token.text));
        if mark {
            diagnostic.help("the text begins with a byte-order mark; save it without");
        } else if provide {
            diagnostic.help("`provide` is a reserved word; `require(package NAME)` asks for a package");
        }
        diagnostic
    }

    /// Reads a configuration string and the parenthesis that closes it.
    pub fn config(&mut self) -> String {
        let config = self.lexer.config(self.diagnostics);
        self.expect(b')');
        config
    }

    /// Index of the element called `name`, which is made if there is none yet.
    pub fn element(&mut self, name: String, kind: TypeIdx, config: String, place: Place) -> usize {
        if let Some(idx) = self.c.names.get(&name) {
            return *idx;
        }
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if name.split('/').any(all_digits) {
            self.error(format!("element name '{name}' has all-digit component"))
                .help("put a letter or `_` into the name");
        }
        let idx = self.c.items.len();
        self.c.names.insert(name.clone(), idx);
        self.c.items.push(Item { kind, name, config, place, n_ports: [0, 0] });
        idx
    }

    /// The type called `name`; an unknown one is told and then taken as known.
    pub fn class(&mut self, name: &str) -> TypeIdx {
        if let Some(idx) = self.types.find(name) {
            return idx;
        }
        if self.open {
            if self.c.names.contains_key(name) {
                self.error(format!("'{name}' was previously used as an element name"));
            }
            return self.types.assume(name);
        }
        let help = self.types.help(name);
        self.error(format!("unknown element class '{name}'")).help(help);
        self.types.define(name, Type::Error)
    }

    pub fn redeclaration(&mut self, what: &str, name: &str, place: &Place, old: &Place) {
        self.diagnostics.error(place, format!("redeclaration of {what} '{name}'")).help("rename one of them");
        self.diagnostics.error(old, format!("'{name}' previously declared here"));
    }
}
