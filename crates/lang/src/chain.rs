//! Chains of connections: `a, b [1] -> [0] c :: Class(config) => (...)`.

use graph::Place;

use crate::classes::{Type, TypeIdx, ERROR, TUNNEL};
use crate::lexer::{Kind, Token};
use crate::parser::{Block, Parser};

/// The largest port number: far above any class's, and small enough to count up to.
pub(crate) const MAX_PORT: usize = 0x3fff;
/// How many connections a graph may have.
pub(crate) const MAX_LINKS: usize = 1 << 22;

/// The ports in brackets on one side of an element.
#[derive(Clone, Debug, Default)]
struct PortList {
    ports: Vec<usize>,
    /// Whether the list goes on as far as the other side of the connection needs: `[]`, `[1,]`.
    open: bool,
}

/// An element in a chain, with the ports that are named for it.
#[derive(Clone, Debug, Default)]
struct Mention {
    element: usize,
    inputs: PortList,
    outputs: PortList,
}

/// What a mention says of its element, until the list of mentions is complete.
#[derive(Clone, Debug)]
struct Naming {
    name: String,
    /// The type that the name itself is.
    kind: Option<TypeIdx>,
    /// The type after `::`.
    declared: Option<TypeIdx>,
    /// Whether there is nothing but a name.
    bare: bool,
    config: String,
    place: Place,
}

/// The list of elements between two arrows.
#[derive(Default)]
struct Step {
    mentions: Vec<Mention>,
    namings: Vec<Naming>,
    any_implicit: bool,
    any_ports: bool,
}

/// How reading a mention ended.
enum Found {
    Element,
    /// Nothing, but elements came before.
    Nothing,
    /// Nothing at all: the chain ends.
    End,
}

impl PortList {
    fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    fn min_ports(&self) -> usize {
        self.ports.len().max(1)
    }
}

impl Parser<'_, '_> {
    /// Reads a chain and connects its elements.
    pub fn chain(&mut self, block: &mut Block) {
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
                Some(kind) => connector = Some((kind, self.place())),
                None => break,
            }
        }
        if last.iter().any(|mention| !mention.outputs.is_empty()) {
            self.error("output ports ignored at end of chain")
                .help("an input port is written before the element, as in `a -> [1] b`");
        }
        let output = self.c.names.get("output");
        block.last_ends_output = matches!(last.as_slice(), [only] if Some(&only.element) == output);
    }

    /// Reads the elements up to an arrow or the chain's end; false if there is no element.
    fn step(&mut self, block: &Block, first: bool, step: &mut Step) -> bool {
        loop {
            match self.mention(block, first, step) {
                Found::End => return false,
                Found::Element | Found::Nothing => {}
            }
            let token = self.lex();
            if !token.is(b',') {
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
            Kind::Byte(b'(') => {
                let name = self.c.anonymous_name("");
                let (n_inputs, n_outputs) = self.group(&name);
                for (list, n_ports) in [(&mut mention.inputs, n_inputs), (&mut mention.outputs, n_outputs)] {
                    if list.is_empty() {
                        list.ports = (0..n_ports).collect();
                    }
                }
                self.naming(name, None)
            }
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
                if first && alone && mention.inputs.is_empty() && !block.last_ends_output {
                    let arrow = &token.text;
                    let message = format!("suggest 'input {arrow}' or '[0] {arrow}' to start connection");
                    self.diagnostics.warning(&self.lexer.place(), message);
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
            return Found::Nothing;
        }
        if block.nested && first {
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

    /// Reads `[0, 2-4,]`, if it is there.
    fn ports(&mut self, list: &mut PortList) {
        if !self.accept(b'[') {
            return;
        }
        let mut last: Option<usize> = None;
        let mut range = false;
        loop {
            let token = self.lex();
            if token.is(b']') {
                if list.ports.is_empty() {
                    list.ports.push(0);
                }
                list.open = true;
                return;
            }
            if token.kind != Kind::Identifier {
                self.error("syntax error: expected port number");
                self.unlex(token);
                return;
            }
            let port = self.port(&token.text);
            if range {
                list.ports.extend(last.map_or(0, |last| last + 1)..=port);
                last = Some(last.map_or(0, |last| last + 1).max(port + 1));
            } else {
                list.ports.push(port);
                last = Some(port);
            }
            if list.ports.len() > MAX_LINKS {
                self.error("too many ports");
                return;
            }
            let token = self.lex();
            if token.is(b']') {
                return;
            } else if token.is(b'-') && !range {
                range = true;
            } else if token.is(b',') {
                range = false;
            } else {
                self.error("syntax error: expected ','");
                self.unlex(token);
            }
        }
    }

    fn port(&mut self, text: &str) -> usize {
        let number = crate::number::integer(text).filter(|number| *number <= i32::MAX as u64);
        match number.and_then(|number| usize::try_from(number).ok()) {
            None => {
                self.error("syntax error: port number should be integer");
                0
            }
            Some(port) if port > MAX_PORT => {
                self.error(format!("port number {port} too large"))
                    .help(format!("the largest is {MAX_PORT}"));
                0
            }
            Some(port) => port,
        }
    }

    /// Finds or makes the elements of a complete list.
    fn resolve(&mut self, first: bool, is_arrow: bool, step: &mut Step) {
        if step.namings.len() > 1 && first && !is_arrow && !step.any_ports && !step.any_implicit {
            spread_declaration(&mut step.namings);
        }
        for (naming, mention) in step.namings.drain(..).zip(&mut step.mentions) {
            mention.element = self.resolve_one(naming);
        }
    }

    fn resolve_one(&mut self, naming: Naming) -> usize {
        let Naming { mut name, mut kind, declared, config, place, .. } = naming;
        if kind.is_none() {
            if let Some(idx) = self.c.names.get(&name).copied() {
                if declared.is_some() {
                    self.redeclared(&name, &place, idx);
                }
                return idx;
            }
        }
        match (declared, kind) {
            (Some(_), Some(_)) => {
                self.diagnostics
                    .error(&place, format!("class '{name}' used as element name"))
                    .help("give the element a name that is no class");
            }
            (None, None) => {
                let help = self.undeclared_help(&name);
                self.diagnostics.error(&place, format!("undeclared element '{name}'")).help(help);
                kind = Some(self.types.define(&name, Type::Error));
            }
            _ => {}
        }
        if kind.is_some() {
            name = self.c.anonymous_name(&name);
        }
        let kind = kind.or(declared).unwrap_or(ERROR);
        self.element(name, kind, config, place)
    }

    fn redeclared(&mut self, name: &str, place: &Place, idx: usize) {
        let message = format!("redeclaration of element '{name}'");
        self.diagnostics
            .error(place, message)
            .help("rename one of them, or leave `:: Class` out to mean the first");
        let old = self.c.items.get(idx).filter(|item| item.kind != TUNNEL);
        if let Some(old) = old.map(|item| item.place.clone()) {
            self.diagnostics.error(&old, format!("element '{name}' previously declared here"));
        }
    }

    /// A name that is neither an element nor a class may be meant for either.
    fn undeclared_help(&self, name: &str) -> String {
        let elements = self.c.names.keys().filter(|known| !known.starts_with(';')).map(String::as_str);
        match crate::classes::nearest(name, elements) {
            Some(near) => format!("did you mean the element `{near}`? Else declare it: `{name} :: Class`"),
            None if name.starts_with(|c: char| c.is_ascii_uppercase()) => self.types.help(name),
            None => format!("declare it: `{name} :: Class`"),
        }
    }
}

/// `a, b :: Class(config);` declares both.
fn spread_declaration(namings: &mut [Naming]) {
    let Some((last, others)) = namings.split_last_mut() else { return };
    if others.iter().all(|naming| naming.bare) {
        for naming in others {
            naming.declared = last.declared;
            naming.config.clone_from(&last.config);
        }
    }
}

/// One side of a connection of lists: a cursor over elements and their ports.
struct Cursor<'m> {
    mentions: std::slice::Iter<'m, Mention>,
    current: Option<&'m Mention>,
    is_output: bool,
    /// Which port of the current element is next, by position.
    position: usize,
    /// Whether the cursor moves on after each connection.
    steps: bool,
    min_ports: usize,
    /// Whether one of the lists is open.
    expandable: bool,
    /// How many ports the open list still has to provide.
    n_extra: usize,
}

impl<'m> Cursor<'m> {
    fn new(mentions: &'m [Mention], is_output: bool) -> (Cursor<'m>, usize) {
        let list = |mention: &'m Mention| if is_output { &mention.outputs } else { &mention.inputs };
        let min_ports = mentions.iter().map(|mention| list(mention).min_ports()).sum();
        let n_open = mentions.iter().filter(|mention| list(mention).open).count();
        let mut iter = mentions.iter();
        let current = iter.next();
        let cursor = Cursor {
            mentions: iter,
            current,
            is_output,
            position: 0,
            steps: false,
            min_ports,
            expandable: n_open > 0,
            n_extra: 0,
        };
        (cursor, n_open)
    }

    fn list(&self) -> Option<&'m PortList> {
        self.current.map(|mention| if self.is_output { &mention.outputs } else { &mention.inputs })
    }

    /// Element and port where the cursor stands.
    fn end(&self) -> Option<(usize, usize)> {
        let list = self.list()?;
        let port = match list.ports.get(self.position) {
            Some(port) => *port,
            // An open list goes on after its last port; a missing one from 0.
            None => match list.ports.last() {
                Some(last) => last + self.position + 1 - list.ports.len(),
                None => self.position,
            },
        };
        Some((self.current?.element, port))
    }

    fn advance(&mut self) {
        let Some(list) = self.list().filter(|_| self.steps) else { return };
        self.position += 1;
        if self.position < list.ports.len() {
            return;
        }
        if (list.open || (list.is_empty() && self.min_ports == 1)) && self.n_extra > 0 {
            self.n_extra -= 1;
            return;
        }
        self.position = 0;
        self.current = self.mentions.next();
    }
}

impl Parser<'_, '_> {
    fn connect_all(&mut self, outputs: &[Mention], inputs: &[Mention], connector: Kind, place: &Place) {
        let (mut from, n_open_from) = Cursor::new(outputs, true);
        let (mut to, n_open_to) = Cursor::new(inputs, false);
        if n_open_from + n_open_to > 1 {
            self.error("at most one expandable port allowed per connection");
            let shorter = if to.min_ports < from.min_ports { &mut from } else { &mut to };
            shorter.expandable = false;
        }
        if connector == Kind::DoubleArrow {
            let (from_min, to_min) = (from.min_ports, to.min_ports);
            for (cursor, other) in [(&mut to, from_min), (&mut from, to_min)] {
                if cursor.min_ports == 1 && other > 1 && cursor.list().is_some_and(PortList::is_empty) {
                    cursor.expandable = true;
                }
            }
        }
        let (from_min, to_min) = (from.min_ports, to.min_ports);
        for (cursor, other) in [(&mut to, from_min), (&mut from, to_min)] {
            cursor.steps = cursor.min_ports > 1 || cursor.expandable;
            cursor.n_extra = if cursor.expandable { other.saturating_sub(cursor.min_ports) } else { 0 };
        }
        if from.steps && to.steps {
            self.check_counts(&from, &to, connector);
        } else if !from.steps && !to.steps {
            to.steps = true;
        }
        while let (Some(out), Some(input)) = (from.end(), to.end()) {
            if self.c.links.len() >= MAX_LINKS {
                self.error("too many connections");
                return;
            }
            self.c.connect(out, input, place.clone());
            from.advance();
            to.advance();
        }
    }

    fn check_counts(&mut self, from: &Cursor, to: &Cursor, connector: Kind) {
        if connector != Kind::DoubleArrow {
            self.error("syntax error: many-to-many connections require '=>'")
                .help("write `=>` to connect first to first, second to second and so on");
        }
        let (n_out, n_in) = (from.min_ports, to.min_ports);
        let message = if !to.expandable && !from.expandable && n_in != n_out {
            format!("connection mismatch: {n_out} outputs connected to {n_in} inputs")
        } else if !to.expandable && n_in < n_out {
            format!("connection mismatch: {n_out} or more outputs connected to {n_in} inputs")
        } else if !from.expandable && n_out < n_in {
            format!("connection mismatch: {n_out} outputs connected to {n_in} or more inputs")
        } else {
            return;
        };
        self.error(message);
    }
}
