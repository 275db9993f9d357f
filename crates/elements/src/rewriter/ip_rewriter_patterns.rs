//! Gives names to patterns that rewriters share.
//!
//! Each argument is `NAME PATTERN`; `pattern NAME FOUTPUT ROUTPUT` then stands for the pattern in the specifications of
//! `IPRewriter` and its relatives. Rewriters that use the same name take addresses and ports from one sequence.
//!
//! ```click
//! IPRewriterPatterns(out 203.0.113.1 1024-65535# - -);
//! rw :: IPRewriter(pattern out 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use std::sync::Arc;

use element::{same, Arg, Class, Configure, Ctx, Element, Failed, Phase};

use super::pattern::{self, Pattern};

/// The class.
pub const CLASS: Class =
    Class::new::<IPRewriterPatterns>("IPRewriterPatterns", "0/0", "a/a", "x/x").args(ARGS).phase(Phase::INFO);

const ARGS: &[Arg] = &[Arg::rest("PATTERN", "name and pattern", "A name, and the pattern it stands for.")];

/// See the page above.
pub struct IPRewriterPatterns {
    /// The name and the pattern of each argument.
    patterns: Vec<Named>,
}

impl Element for IPRewriterPatterns {
    fn configure(conf: &mut Configure<'_>) -> Result<IPRewriterPatterns, Failed> {
        let mut patterns = Vec::new();
        for (number, text) in conf.args.rest().iter().enumerate() {
            match define(text, number, &patterns, conf) {
                Ok(pattern) => patterns.push(pattern),
                Err(message) => {
                    conf.error(message);
                    patterns.push(None);
                }
            }
        }
        conf.finish()?;
        Ok(IPRewriterPatterns { patterns })
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IPRewriterPatterns>(ctx, old) else { return };
        for (name, pattern) in self.patterns.iter().flatten() {
            if let Some(old) = old.called(name) {
                pattern.go_on_from(&old);
            }
        }
    }
}

impl IPRewriterPatterns {
    /// The pattern that an argument defines.
    pub fn at(&self, argument: usize) -> Option<Arc<Pattern>> {
        self.patterns.get(argument)?.as_ref().map(|(_, pattern)| pattern.clone())
    }

    /// The pattern with this name.
    pub fn called(&self, name: &str) -> Option<Arc<Pattern>> {
        let mut patterns = self.patterns.iter().flatten();
        patterns.find(|(known, _)| known == name).map(|(_, pattern)| pattern.clone())
    }
}

type Named = Option<(String, Arc<Pattern>)>;

/// Defines the pattern of an argument, or another name of one of the `earlier` patterns.
fn define(text: &str, number: usize, earlier: &[Named], conf: &Configure<'_>) -> Result<Named, String> {
    let words = args::split_words(text);
    let Some((name, words)) = words.split_first() else { return Ok(None) };
    // A number counts as the name of a pattern that nobody defined.
    if pattern::named(name, conf.scope).is_some() || args::integer::<u32>(name).is_ok() {
        return Err(format!("pattern '{name}' already defined"));
    }
    let (pattern, place) = match words {
        [other] => {
            let place = pattern::named(other, conf.scope).filter(|(element, _)| *element == conf.element);
            let known = place.and_then(|(_, at)| earlier.get(at)?.as_ref());
            let (_, pattern) = known.ok_or_else(|| format!("no such pattern '{other}'"))?;
            (pattern.clone(), place.map_or(number, |(_, at)| at))
        }
        words => (Arc::new(Pattern::parse(words, conf.scope)?), number),
    };
    if !pattern::define(name, conf.element, place, conf.scope) {
        return Err("too many patterns".to_string());
    }
    Ok(Some((name.clone(), pattern)))
}
