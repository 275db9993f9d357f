//! Input specifications: what a rewriter does with packets that have no mapping yet.

use std::sync::Arc;

use args::Scope;
use element::{Configure, Ctx, ElementIdx};

use super::ip_rewriter_patterns::IPRewriterPatterns;
use super::mappers;
use super::pattern::{self, Pattern};

/// The `IPRewriterPatterns` and the place among its arguments where a pattern with a name is defined.
pub type Place = Option<(ElementIdx, usize)>;

/// What becomes of packets without a mapping.
#[derive(Clone, Debug)]
pub enum Action {
    /// They are dropped.
    Drop,
    /// They leave as they are, without a mapping.
    Pass,
    /// They get a mapping that changes nothing.
    Keep,
    /// They get a mapping by a pattern.
    Pattern(Arc<Pattern>),
    /// They get a mapping that an element chooses.
    Mapper(ElementIdx),
}

/// An input.
#[derive(Clone, Debug)]
pub struct Input {
    /// What becomes of packets without a mapping.
    pub action: Action,
    /// Outputs of the forward and of the reply direction.
    pub outputs: [u16; 2],
    /// Flows that could get no mapping.
    pub failures: u32,
    /// Where the pattern was defined, until it is shared with its other users.
    pub named: Place,
}

/// The names that a specification may use.
pub trait Surroundings {
    /// The names of addresses.
    fn scope(&self) -> Scope<'_>;
    /// The element with this name, and its class.
    fn element(&self, name: &str) -> Option<(ElementIdx, String)>;
    /// The pattern with this name, and where it is defined.
    fn pattern(&mut self, name: &str) -> Option<(Arc<Pattern>, Place)>;
}

impl Surroundings for &mut Configure<'_> {
    fn scope(&self) -> Scope<'_> {
        *self.scope
    }

    fn element(&self, name: &str) -> Option<(ElementIdx, String)> {
        let idx = self.environment.find(name, self.element)?;
        Some((idx, self.environment.class(idx).to_string()))
    }

    fn pattern(&mut self, name: &str) -> Option<(Arc<Pattern>, Place)> {
        let (element, argument) = pattern::named(name, self.scope)?;
        let text = args::split_args(self.environment.config(element)).into_iter().nth(argument)?;
        let words = args::split_words(&text);
        let scope = Scope::new(self.scope.names, self.environment.name(element));
        let pattern = Pattern::parse(words.get(1..)?, &scope).ok()?;
        Some((Arc::new(pattern), Some((element, argument))))
    }
}

impl Surroundings for &mut Ctx<'_> {
    fn scope(&self) -> Scope<'_> {
        Ctx::scope(self)
    }

    fn element(&self, name: &str) -> Option<(ElementIdx, String)> {
        let idx = self.find(name)?;
        Some((idx, self.class(idx).to_string()))
    }

    fn pattern(&mut self, name: &str) -> Option<(Arc<Pattern>, Place)> {
        (0..self.runtime().n_elements()).find_map(|idx| {
            let found = self.with(idx, |patterns: &mut IPRewriterPatterns, _| patterns.called(name));
            Some((found??, None))
        })
    }
}

impl Input {
    /// Parses a specification for a rewriter with so many outputs. The error does not tell which input it is.
    pub fn parse(text: &str, n_outputs: usize, around: &mut impl Surroundings) -> Result<Input, String> {
        // As in Click, what a space or a line of comment precedes is no word.
        let begins = !text.starts_with(|c: char| c.is_ascii_whitespace()) && !text.starts_with("//");
        let (word, rest) = args::next_word(if begins { text } else { "" });
        let rest = rest.trim();
        let word = args::unquote_text(word);
        let input = |action, outputs| Ok(Input { action, outputs, failures: 0, named: None });
        match word.as_str() {
            // As Click says of whatever is no word.
            _ if !args::is_word(&word) => Err("empty argument".to_string()),
            "pass" | "passthrough" | "nochange" => {
                let number = if rest.is_empty() { Ok(0) } else { args::integer::<i32>(rest) };
                let number = number.map_err(|_| "syntax error, expected 'nochange [OUTPUT]'")?;
                let output = output(number, n_outputs)?;
                input(Action::Pass, [output, output])
            }
            "keep" => input(Action::Keep, ports(&args::split_words(rest), n_outputs)?),
            "drop" | "discard" if rest.is_empty() => input(Action::Drop, [0, 0]),
            "drop" | "discard" => Err(format!("syntax error, expected '{word}'")),
            "pattern" | "xpattern" => {
                let (pattern, named, outputs) = with_ports(rest, around)?;
                Ok(Input {
                    action: Action::Pattern(pattern),
                    outputs: in_range(outputs, n_outputs)?,
                    failures: 0,
                    named,
                })
            }
            _ => match around.element(&word) {
                Some(_) if !rest.is_empty() => Err("syntax error, expected element name".to_string()),
                Some((idx, class)) if mappers::is_one(&class) => input(Action::Mapper(idx), [0, 0]),
                Some(_) => Err("element is not an IPMapper".to_string()),
                None => Err("unknown specification".to_string()),
            },
        }
    }
}

/// Parses a pattern, or the name of one, and two outputs behind it.
pub fn with_ports(
    text: &str,
    around: &mut impl Surroundings,
) -> Result<(Arc<Pattern>, Place, [i32; 2]), String> {
    let words = args::split_words(text);
    let Some((pattern, outputs)) = words.split_last_chunk::<2>().filter(|(pattern, _)| !pattern.is_empty())
    else {
        return Err("syntax error".to_string());
    };
    let (pattern, named) = match pattern {
        [name] => around.pattern(name).ok_or_else(|| format!("no such pattern '{name}'"))?,
        words => (Arc::new(Pattern::parse(words, &around.scope())?), None),
    };
    Ok((pattern, named, two_ports(outputs)?))
}

fn ports(words: &[String], n_outputs: usize) -> Result<[u16; 2], String> {
    in_range(two_ports(words)?, n_outputs)
}

fn two_ports(words: &[String]) -> Result<[i32; 2], String> {
    let [forward, reply] = words else { return Err("bad forward port".to_string()) };
    let forward = args::integer(forward).map_err(|_| "bad forward port")?;
    let reply = args::integer(reply).map_err(|_| "bad reply port")?;
    Ok([forward, reply])
}

fn in_range([forward, reply]: [i32; 2], n_outputs: usize) -> Result<[u16; 2], String> {
    Ok([output(forward, n_outputs)?, output(reply, n_outputs)?])
}

fn output(number: i32, n_outputs: usize) -> Result<u16, String> {
    let output = u16::try_from(number).ok().filter(|output| usize::from(*output) < n_outputs);
    output.ok_or_else(|| "output port out of range".to_string())
}
