//! Chains of connections: `a, b [1] -> [0] c :: Class(config) => (...)`.

use graph::Place;

use crate::classes::TypeIdx;
use crate::lexer::{Kind, Token};
use crate::parser::{Block, Parser};

/// The largest port number: far above any class's, and small enough to count up to.
pub(crate) const MAX_PORT: usize = 0x3fff;
/// How many connections a graph may have.
pub(crate) const MAX_LINKS: usize = 1 << 22;

/// The ports in brackets on one side of an element.
#[derive(Clone, Debug, Default)]
pub(crate) struct PortList {
    pub ports: Vec<usize>,
    /// Whether the list goes on as far as the other side of the connection needs: `[]`, `[1,]`.
    pub open: bool,
}

/// An element in a chain, with the ports that are named for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mention {
    pub element: usize,
    pub inputs: PortList,
    pub outputs: PortList,
}

/// What a mention says of its element, until the list of mentions is complete.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    pub name: String,
    /// The type that the name itself is.
    pub kind: Option<TypeIdx>,
    /// The type after `::`.
    pub declared: Option<TypeIdx>,
    /// Whether there is nothing but a name.
    pub bare: bool,
    pub config: String,
    pub place: Place,
}

/// The list of elements between two arrows.
#[derive(Default)]
pub(crate) struct Step {
    pub mentions: Vec<Mention>,
    pub namings: Vec<Naming>,
    pub any_implicit: bool,
    pub any_ports: bool,
}

/// How reading a mention ended.
#[derive(Clone, Copy, PartialEq)]
enum Found {
    Element,
    /// Nothing, but elements came before.
    Nothing,
    /// Nothing at all: the chain ends.
    End,
}

impl Parser<'_, '_> {
    /// Reads a chain and connects its elements.
    pub fn chain(&mut self, block: &Block) {
        let start = self.place();
        let mut last: Vec<Mention> = Vec::new();
        let mut connector: Option<(Kind, Place)> = None;
        loop {
            let first = last.is_empty();
            let mut step = Step::default();
            if !self.step(block, first, &mut step) {
                break;
            }
            match &connector {
                Some((kind, place)) if !first => self.connect_all(&last, &step.mentions, *kind, place),
                _ if step.mentions.iter().any(|mention| !mention.inputs.is_empty()) => {
                    self.error("input ports ignored at start of chain")
                        .help("an output port is written after the element, as in `a [1] -> b`");
                }
                _ => {}
            }
            last = step.mentions;
            match self.connector() {
                Some(kind) => {
                    let place = if self.open { start.clone() } else { self.place() };
                    connector = Some((kind, place));
                }
                None => break,
            }
        }
        if last.iter().any(|mention| !mention.outputs.is_empty()) {
            self.error("output ports ignored at end of chain")
                .help("an input port is written before the element, as in `a -> [1] b`");
        }
        let output = self.c.names.get("output");
        self.last_ends_output = matches!(last.as_slice(), [only] if Some(&only.element) == output);
    }

    /// Reads the elements up to an arrow or the chain's end; false if there is no element.
    fn step(&mut self, block: &Block, first: bool, step: &mut Step) -> bool {
        loop {
            let found = self.mention(block, first, step);
            if found == Found::End {
                return false;
            }
            let token = self.lex();
            // Click's tools end the list where an element is missing.
            if !token.is(b',') || (found == Found::Nothing && self.open) {
                let is_arrow = token.is_arrow();
                self.unlex(token);
                if step.any_implicit && !first && is_arrow {
                    self.error("implicit ports used in the middle of a chain");
                }
                self.resolve(first, is_arrow, step);
                return true;
            }
        }
    }

    /// The arrow after a list of elements, if the chain goes on.
    fn connector(&mut self) -> Option<Kind> {
        loop {
            let token = self.lex();
            match token.kind {
                Kind::Arrow | Kind::DoubleArrow => return Some(token.kind),
                Kind::Byte(b',') | Kind::Colons if self.open => {
                    self.error(format!("syntax error before '{}'", token.text));
                    continue;
                }
                Kind::Byte(b',') | Kind::Colons => {
                    self.syntax_error(&token);
                    continue;
                }
                Kind::Byte(b';') | Kind::End => {}
                Kind::Byte(b'{' | b'}' | b'[' | b')')
                | Kind::Identifier
                | Kind::Bars
                | Kind::ElementClass
                | Kind::Require
                | Kind::Provide
                | Kind::Define => self.unlex(token),
                Kind::Byte(_) => {
                    self.syntax_error(&token);
                }
                Kind::Variable | Kind::Dots => {
                    self.syntax_error(&token);
                    self.unlex(token);
                }
            }
            return None;
        }
    }

    /// Reads one element: its ports, name, class and configuration.
    fn mention(&mut self, block: &Block, first: bool, step: &mut Step) -> Found {
        let mut mention = Mention::default();
        self.ports(&mut mention.inputs);
        let token = self.lex();
        let mut implicit = false;
        let mut naming = match token.kind {
            Kind::Identifier => {
                let kind = self.types.find(&token.text);
                Naming { bare: true, ..self.naming(token.text, kind) }
            }
            Kind::Byte(b'{') => {
                let kind = self.compound("");
                self.naming(self.types.name(kind).to_string(), Some(kind))
            }
            Kind::Byte(b'(') => self.group_mention(&mut mention),
            _ => {
                implicit = self.is_implicit(block, first, &token, &mention, step);
                if !implicit {
                    return self.no_element(block, first, token, &mention, step);
                }
                self.unlex(token);
                step.any_implicit = true;
                let name = if first { "input" } else { "output" };
                if first {
                    std::mem::swap(&mut mention.inputs, &mut mention.outputs);
                }
                let kind = self.types.find(name);
                self.naming(name.to_string(), kind)
            }
        };
        if !implicit {
            self.declaration(&mut naming, &mut mention);
        }
        step.any_ports |= !mention.inputs.is_empty() || !mention.outputs.is_empty();
        step.namings.push(naming);
        step.mentions.push(mention);
        Found::Element
    }

    /// A group; all its ports are connected unless ports are named.
    fn group_mention(&mut self, mention: &mut Mention) -> Naming {
        let name = self.c.anonymous_name("");
        let (n_inputs, n_outputs) = self.group(&name);
        for (list, n_ports) in [(&mut mention.inputs, n_inputs), (&mut mention.outputs, n_outputs)] {
            if list.is_empty() {
                list.ports = (0..n_ports).collect();
            }
        }
        self.naming(name, None)
    }

    fn naming(&self, name: String, kind: Option<TypeIdx>) -> Naming {
        Naming { name, kind, declared: None, bare: false, config: String::new(), place: self.place() }
    }

    /// Whether `token` where an element should stand means that `input` or `output` was left out.
    fn is_implicit(
        &mut self,
        block: &Block,
        first: bool,
        token: &Token,
        mention: &Mention,
        step: &Step,
    ) -> bool {
        if !block.nested {
            return false;
        }
        let alone = !mention.inputs.is_empty() || step.mentions.is_empty();
        match token.kind {
            Kind::Arrow | Kind::DoubleArrow => {
                if first && alone && mention.inputs.is_empty() && !self.last_ends_output {
                    let arrow = &token.text;
                    let message = format!("suggest 'input {arrow}' or '[0] {arrow}' to start connection");
                    let place = self.lexer.place();
                    // Click's tools do not call it a warning.
                    match self.open {
                        true => self.diagnostics.message(&place, message),
                        false => self.diagnostics.warning(&place, message),
                    };
                }
                first && alone
            }
            Kind::Byte(b',') => !mention.inputs.is_empty(),
            Kind::Colons => false,
            _ => !first && alone,
        }
    }

    fn no_element(
        &mut self,
        block: &Block,
        first: bool,
        token: Token,
        mention: &Mention,
        step: &Step,
    ) -> Found {
        if !mention.inputs.is_empty() {
            self.error("stranded port ignored");
        }
        if !step.mentions.is_empty() {
            if self.open {
                self.unlex(token);
            }
            return Found::Nothing;
        }
        if if self.open { !first } else { block.nested && first } {
            self.unlex(token);
        } else {
            let at_arrow = first && token.is_arrow();
            let diagnostic = self.syntax_error(&token);
            if at_arrow {
                diagnostic.help("a chain at the top of a file starts with an element");
            }
        }
        Found::End
    }

    /// What may follow an element's name: `:: Class`, `(config)`, `[ports]`.
    fn declaration(&mut self, naming: &mut Naming, mention: &mut Mention) {
        let mut token = self.lex();
        if token.kind == Kind::Colons {
            naming.bare = false;
            token = self.lex();
            if token.kind == Kind::Identifier {
                naming.declared = Some(self.class(&token.text));
                token = self.lex();
            } else if token.is(b'{') {
                naming.declared = Some(self.compound(""));
                token = self.lex();
            } else {
                self.error("missing element type in declaration").help("write `name :: Class`");
                naming.declared = Some(self.class(&naming.name));
            }
        }
        if token.is(b'(') {
            if self.c.names.contains_key(&naming.name) {
                self.error("configuration string ignored on element reference")
                    .help(format!("configure `{}` where it is declared", naming.name));
            }
            naming.config = self.config();
            naming.bare = false;
            token = self.lex();
        }
        let ports_follow = token.is(b'[');
        self.unlex(token);
        if ports_follow {
            mention.outputs = PortList::default();
            self.ports(&mut mention.outputs);
        }
    }
}
