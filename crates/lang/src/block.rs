//! What holds statements: compound elements with their alternatives, and groups.

use crate::classes::{Type, TypeIdx, TUNNEL};
use crate::compound::{Compound, Pseudo};
use crate::lexer::{Kind, Token};
use crate::parser::{BlockKind, Parser};

/// How deep compound elements and groups may be nested: Click's limit.
const MAX_DEPTH: usize = 50;

impl Parser<'_, '_> {
    /// `elementclass NAME { ... }` or `elementclass NAME CLASS`.
    pub fn elementclass(&mut self) {
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
        if self.open && name.is_empty() {
            self.error("cannot extend anonymous compound element class");
        } else if self.types.find(name).is_none() && self.open {
            self.types.assume(name);
        } else if self.types.find(name).is_none() {
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
