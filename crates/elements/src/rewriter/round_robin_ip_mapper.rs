//! Spreads the new flows of a rewriter over patterns in turn.
//!
//! Stands as the specification of an input of `IPRewriter` or a relative. Each new flow takes the next of the patterns
//! that has an address or port to give.
//!
//! ```click
//! servers :: RoundRobinIPMapper(- - 10.0.0.1 - 0 1, - - 10.0.0.2 - 0 1);
//! rw :: IPRewriter(servers, drop);
//! clients :: Idle -> [0]rw;    back :: Idle -> [1]rw;
//! rw[0] -> to_servers :: Discard;    rw[1] -> to_clients :: Discard;
//! ```

use std::sync::Arc;

use element::{Arg, Class, Configure, Ctx, Element, Failed, Phase};

use super::flow_id::FlowId;
use super::input;
use super::ip_rewriter_patterns::IPRewriterPatterns;
use super::pattern::Pattern;

/// The class.
pub const CLASS: Class =
    Class::new::<RoundRobinIPMapper>("RoundRobinIPMapper", "0/0", "a/a", "x/x").args(ARGS).phase(Phase(99));

const ARGS: &[Arg] =
    &[Arg::rest("PATTERN", "pattern", "A pattern, or the name of one, with FOUTPUT and ROUTPUT behind it.")];

/// See the page above.
pub struct RoundRobinIPMapper {
    choices: Vec<Choice>,
    next: usize,
}

struct Choice {
    pattern: Arc<Pattern>,
    named: input::Place,
    outputs: [i32; 2],
}

impl Element for RoundRobinIPMapper {
    fn configure(mut conf: &mut Configure<'_>) -> Result<RoundRobinIPMapper, Failed> {
        let texts = conf.args.rest();
        match texts.len() {
            0 => return Err("no patterns given".into()),
            1 => conf.warning("only one pattern given"),
            _ => {}
        }
        let mut choices = Vec::new();
        for text in texts {
            match input::with_ports(&text, &mut conf) {
                Ok((pattern, named, outputs)) => choices.push(Choice { pattern, named, outputs }),
                Err(message) => conf.error(message),
            }
        }
        conf.finish()?;
        Ok(RoundRobinIPMapper { choices, next: 0 })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for choice in &mut self.choices {
            let Some((element, argument)) = choice.named.take() else { continue };
            let shared = ctx.with(element, |patterns: &mut IPRewriterPatterns, _| patterns.at(argument));
            if let Some(pattern) = shared.flatten() {
                choice.pattern = pattern;
            }
        }
        Ok(())
    }
}

impl RoundRobinIPMapper {
    /// The patterns whose outputs a rewriter with so many outputs does not have.
    pub fn out_of_range(&self, n_outputs: usize) -> Vec<usize> {
        // As Click: negative numbers are only found when a flow wants them.
        let is_beyond = |output: &i32| usize::try_from(*output).is_ok_and(|output| output >= n_outputs);
        let choices = self.choices.iter().enumerate();
        choices.filter(|(_, choice)| choice.outputs.iter().any(is_beyond)).map(|(number, _)| number).collect()
    }

    /// What a flow becomes, and the outputs of its directions; `None` if no pattern has anything to give.
    pub fn choose(
        &mut self,
        id: &FlowId,
        ctx: &mut Ctx<'_>,
        is_taken: &dyn Fn(&FlowId) -> bool,
    ) -> Option<(FlowId, [u16; 2])> {
        for _ in 0..self.choices.len() {
            let choice = self.choices.get(self.next)?;
            self.next = (self.next + 1) % self.choices.len();
            if let Some(rewritten) = choice.pattern.rewrite(id, ctx, is_taken) {
                // An output that does not fit in 16 bits is none of any rewriter.
                let outputs = choice.outputs.map(|output| u16::try_from(output).unwrap_or(u16::MAX));
                return Some((rewritten, outputs));
            }
        }
        None
    }
}
