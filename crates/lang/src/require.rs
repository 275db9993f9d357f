//! `define` and `require`.

use args::{is_word, next_word, split_args, split_words, unquote_text};
use graph::Place;

use crate::lexer::Lexer;
use crate::parser::Parser;
use crate::scope::is_name;

/// How deep libraries may require libraries.
const MAX_LIBRARY_DEPTH: usize = 20;

impl Parser<'_, '_> {
    /// `define($name value, ...)`.
    pub fn define(&mut self) {
        if !self.expect(b'(') {
            return;
        }
        let definitions = self.config();
        let place = self.place();
        for definition in split_args(&definitions).iter().filter(|definition| !definition.is_empty()) {
            let (variable, value) = next_word(definition);
            match variable.strip_prefix('$') {
                Some(name) if !name.is_empty() && name.bytes().all(is_name) => {
                    // Click's tools leave the dollar sign out.
                    let sign = if self.open { "" } else { "$" };
                    self.c.define(name, value, (sign, &place), self.diagnostics);
                }
                _ => {
                    self.error("bad 'define' declaration: not a variable")
                        .help("write `define($name value, ...)`");
                }
            }
        }
    }

    /// `require(package NAME)`, `require(library FILE)`, `require(compact_config)`.
    pub fn require(&mut self) {
        if !self.expect(b'(') {
            return;
        }
        let requirements = self.config();
        self.accept(b';');
        for requirement in split_args(&requirements) {
            let words = split_words(&requirement);
            let kind = words.first().map(|word| unquote_text(word)).filter(|word| is_word(word));
            let kind = kind.unwrap_or_default();
            match (kind.as_str(), words.as_slice()) {
                (_, []) => {}
                // Click's tools take it for the name of a package.
                ("library", [_]) if self.open => self.package(&kind),
                ("compact_config", [_]) => self.requirements.push((kind, String::new())),
                ("package", [_, name]) => self.package(&unquote_text(name)),
                ("library", [_, file]) => self.library(&unquote_text(file)),
                ("" | "package" | "library", _) | (_, [_, _, ..]) => {
                    self.error("syntax error at requirement")
                        .help("write `require(package NAME)` or `require(library FILE)`");
                }
                (_, [_]) => self.package(&kind),
            }
        }
    }

    fn package(&mut self, name: &str) {
        if !self.open && !self.options.packages.contains(&name) {
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
