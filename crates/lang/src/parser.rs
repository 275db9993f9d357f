//! The parser: statements, element classes, requirements, variables. Chains of connections are in `chain`.

use graph::{Diagnostic, Diagnostics, Place};

use crate::classes::{Type, TypeIdx, Types, TUNNEL};
use crate::compound::{Compound, Item, Pseudo};
use crate::config;
use crate::lexer::{Kind, Lexer, Token};
use crate::scope::Budget;
use crate::tunnel::Tunnels;
use crate::Options;

/// How deep compound elements and groups may be nested: Click's limit.
const MAX_DEPTH: usize = 50;
/// How deep libraries may require libraries.
const MAX_LIBRARY_DEPTH: usize = 20;
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
    /// Whether the last chain ended in just `output`; then the next may start without `input`.
    pub last_ends_output: bool,
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
    libraries: Vec<String>,
    library_depth: usize,
    /// How many compounds and groups are open.
    pub depth: usize,
    pub budget: Budget,
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
            diagnostics,
        }
    }

    /// Reads the whole file.
    pub fn file(&mut self) {
        self.statements(BlockKind::File);
    }

    /// Reads statements to the end of the block; returns the token that ended it.
    pub fn statements(&mut self, kind: BlockKind) -> Token {
        let nested = self.c.depth > 0 || kind != BlockKind::File;
        let mut block = Block { nested, last_ends_output: true };
        loop {
            let token = self.lex();
            match token.kind {
                Kind::Identifier | Kind::Arrow | Kind::DoubleArrow | Kind::Byte(b'[' | b'{' | b'(') => {
                    self.unlex(token);
                    self.chain(&mut block);
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
        let provide = token.kind == Kind::Provide;
        let diagnostic = self.error(format!("syntax error near '{}'", token.text));
        if provide {
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
        let help = self.types.help(name);
        self.error(format!("unknown element class '{name}'")).help(help);
        self.types.define(name, Type::Error)
    }

    pub fn redeclaration(&mut self, what: &str, name: &str, place: &Place, old: &Place) {
        self.diagnostics.error(place, format!("redeclaration of {what} '{name}'")).help("rename one of them");
        self.diagnostics.error(old, format!("'{name}' previously declared here"));
    }

    /// `elementclass NAME { ... }` or `elementclass NAME CLASS`.
    fn elementclass(&mut self) {
        let token = self.lex();
        let name = if token.kind == Kind::Identifier {
            token.text
        } else {
            self.unlex(token);
            self.error("expected element type name");
            String::new()
        };
        let token = self.lex();
        if token.is(b'{') {
            self.compound(&name);
        } else if token.kind == Kind::Identifier {
            let idx = self.class(&token.text);
            let kind = self.types.get(idx).clone();
            self.types.define(&name, kind);
        } else {
            self.syntax_error(&token).help("write `elementclass NAME { ... }` or `elementclass NAME CLASS`");
            self.types.define(&name, Type::Error);
        }
    }

    /// Reads the alternatives of a compound element called `name`, after the brace that opens it.
    pub fn compound(&mut self, name: &str) -> TypeIdx {
        let mark = self.types.enter();
        let mut first = None;
        let mut last: Option<usize> = None;
        let mut extension = None;
        loop {
            let token = self.lex();
            if token.kind == Kind::Dots {
                extension = self.extension(name, first.is_some());
                continue;
            }
            self.unlex(token);
            let (compound, end) = self.alternative(name);
            self.types.leave(mark);
            let idx = self.compounds.len();
            self.compounds.push(compound);
            self.overloads.push(None);
            match last {
                Some(last) => self.overloads[last] = Some(self.types.define(name, Type::Compound(idx))),
                None => first = Some(idx),
            }
            last = Some(idx);
            if end.kind != Kind::Bars {
                self.overloads[idx] = extension;
                return self.types.define(name, Type::Compound(first.unwrap_or(idx)));
            }
        }
    }

    /// `...` in a compound: the older class of that name goes on being tried.
    fn extension(&mut self, name: &str, is_last: bool) -> Option<TypeIdx> {
        if self.types.find(name).is_none() {
            let help = self.types.help(name);
            self.error(format!("cannot extend unknown element class '{name}'")).help(help);
            self.types.define(name, Type::Error);
        }
        let extended = self.types.find(name);
        let token = self.lex();
        if !is_last || !token.is(b'}') {
            self.error("'...' should occur last, after one or more compounds");
        }
        self.unlex(token);
        extended
    }

    /// One alternative of a compound element, and the token that ended it.
    fn alternative(&mut self, name: &str) -> (Compound, Token) {
        // Click puts a compound where its first token ends.
        let place = self.place();
        let outer = std::mem::take(&mut self.c);
        self.c = Compound::new(name, place.clone(), outer.depth + 1);
        self.element("input".into(), TUNNEL, String::new(), place.clone());
        self.element("output".into(), TUNNEL, String::new(), place.clone());
        self.c.uncounted = 2;
        self.parameters();
        self.depth += 1;
        let end = if self.depth >= MAX_DEPTH {
            self.error("maximum compound element nesting depth exceeded");
            Token { kind: Kind::End, text: String::new() }
        } else {
            self.statements(BlockKind::Compound)
        };
        self.depth -= 1;
        let mut compound = std::mem::replace(&mut self.c, outer);
        let name = compound.printable_name().to_string();
        compound.n_inputs = compound.check_pseudo((0, Pseudo::Input), 0, &name, &place, self.diagnostics);
        compound.n_outputs = compound.check_pseudo((1, Pseudo::Output), 0, &name, &place, self.diagnostics);
        for idx in 0..compound.items.len() {
            compound.settle_name(idx);
        }
        (compound, end)
    }

    /// `KEYWORD $name, $name |` at the start of a compound.
    fn parameters(&mut self) {
        loop {
            let mut token = self.lex();
            let mut keyword = String::new();
            if token.kind == Kind::Identifier {
                let second = self.lex();
                if second.kind != Kind::Variable {
                    if !self.c.variables.is_empty() {
                        self.error("expected variable");
                    }
                    self.unlex(second);
                    self.unlex(token);
                    return;
                }
                keyword = token.text;
                token = second;
            } else if token.is(b'|') {
                return;
            } else if token.kind != Kind::Variable {
                if self.c.n_parameters > 0 {
                    self.error("expected variable");
                }
                self.unlex(token);
                return;
            }
            let place = self.place();
            self.c.add_parameter(&token.text, &keyword, &place, self.diagnostics);
            let separator = self.lex();
            if separator.is(b'|') {
                return;
            } else if !separator.is(b',') {
                self.error("expected ',' or '|'");
                self.unlex(separator);
                return;
            }
        }
    }

    /// `define($name value, ...)`.
    fn define(&mut self) {
        if !self.expect(b'(') {
            return;
        }
        let definitions = self.config();
        let place = self.place();
        for definition in config::arguments(&definitions).iter().filter(|definition| !definition.is_empty()) {
            let (variable, value) = config::shift_word(definition);
            match variable.strip_prefix('$') {
                Some(name) if !name.is_empty() && name.bytes().all(config::is_name) => {
                    self.c.define(name, value, &place, self.diagnostics);
                }
                _ => {
                    self.error("bad 'define' declaration: not a variable")
                        .help("write `define($name value, ...)`");
                }
            }
        }
    }

    /// `require(package NAME)`, `require(library FILE)`, `require(compact_config)`.
    fn require(&mut self) {
        if !self.expect(b'(') {
            return;
        }
        let requirements = self.config();
        self.accept(b';');
        for requirement in config::arguments(&requirements) {
            let words = config::words(&requirement);
            let kind = words.first().map(|word| config::unquote(word)).filter(|word| config::is_word(word));
            let kind = kind.unwrap_or_default();
            match (kind.as_str(), words.as_slice()) {
                (_, []) => {}
                ("compact_config", [_]) => self.requirements.push((kind, String::new())),
                ("package", [_, name]) => self.package(&config::unquote(name)),
                ("library", [_, file]) => self.library(&config::unquote(file)),
                ("" | "package" | "library", _) | (_, [_, _, ..]) => {
                    self.error("syntax error at requirement")
                        .help("write `require(package NAME)` or `require(library FILE)`");
                }
                (_, [_]) => self.package(&kind),
            }
        }
    }

    fn package(&mut self, name: &str) {
        if !self.options.packages.contains(&name) {
            let place = self.place();
            self.diagnostics
                .error(&place, format!("requirement '{name}' not available"))
                .help("take the statement out if no class of that package is used")
                .landmark(Place::default());
        }
        self.requirements.push(("package".into(), name.into()));
    }

    fn library(&mut self, value: &str) {
        if self.c.depth > 0 {
            self.error("'require library' must be used at file scope");
            return;
        }
        let directory = match self.lexer.file_name().rfind('/') {
            Some(slash) if slash > 0 => self.lexer.file_name()[..slash].to_string(),
            _ => ".".to_string(),
        };
        let Some(path) = self.options.libraries.find(value, &directory) else {
            self.error(format!("library '{value}' not found in CLICKPATH/conf"))
                .help("libraries are looked for in CLICKPATH and beside the file that requires them");
            return;
        };
        if self.libraries.contains(&path) {
            return;
        }
        self.libraries.push(path.clone());
        if self.library_depth >= MAX_LIBRARY_DEPTH {
            self.error("maximum library nesting depth exceeded");
            return;
        }
        match self.options.libraries.read(&path) {
            Err(reason) => {
                self.error(format!("{path}: {reason}"));
            }
            Ok(text) => {
                let outer = std::mem::replace(&mut self.lexer, Lexer::new(&path, &text));
                self.library_depth += 1;
                self.file();
                self.library_depth -= 1;
                self.lexer = outer;
            }
        }
    }
}

/// Opens a group: like [`Parser::alternative`], but its elements are those of the compound around it.
impl Parser<'_, '_> {
    /// Reads a group called `name` after the parenthesis that opens it; returns how many inputs and outputs it has.
    pub fn group(&mut self, name: &str) -> (usize, usize) {
        let [_, input, output] = self.add_tunnels(name);
        let outer_input = self.c.names.insert("input".into(), input);
        let outer_output = self.c.names.insert("output".into(), output);
        let first_link = self.c.links.len();
        self.depth += 1;
        if self.depth >= MAX_DEPTH {
            self.error("maximum element group nesting depth exceeded");
        } else {
            self.statements(BlockKind::Group);
        }
        self.depth -= 1;
        let place = self.place();
        let name = if name.starts_with(';') { "<anonymous group>" } else { name };
        let input = self.c.names.get("input").copied().unwrap_or(input);
        let output = self.c.names.get("output").copied().unwrap_or(output);
        let n_inputs =
            self.c.check_pseudo((input, Pseudo::Input), first_link, name, &place, self.diagnostics);
        let n_outputs =
            self.c.check_pseudo((output, Pseudo::Output), first_link, name, &place, self.diagnostics);
        for (name, outer) in [("input", outer_input), ("output", outer_output)] {
            match outer {
                Some(idx) => self.c.names.insert(name.into(), idx),
                None => self.c.names.remove(name),
            };
        }
        (n_inputs, n_outputs)
    }
}
