//! The patterns among which a mapper chooses.

use std::sync::Arc;

use element::{Configure, Ctx};

use super::flow_id::FlowId;
use super::input;
use super::ip_rewriter_patterns::IPRewriterPatterns;
use super::pattern::Pattern;

/// What a new flow becomes, and the outputs of its directions.
pub type Chosen = (FlowId, [u16; 2]);

/// The patterns of a mapper.
#[derive(Default)]
pub struct Choices(Vec<Choice>);

struct Choice {
    pattern: Arc<Pattern>,
    named: input::Place,
    outputs: [i32; 2],
}

impl Choices {
    /// Adds a pattern, or the name of one, with two outputs behind it.
    pub fn add(&mut self, text: &str, mut conf: &mut Configure<'_>) -> Result<(), String> {
        let (pattern, named, outputs) = input::with_ports(text, &mut conf)?;
        self.0.push(Choice { pattern, named, outputs });
        Ok(())
    }

    /// Number of patterns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Goes on choosing where the patterns of a mapper that is replaced have come to.
    pub fn go_on_from(&self, old: &Choices) {
        self.0.iter().zip(&old.0).for_each(|(own, old)| own.pattern.go_on_from(&old.pattern));
    }

    /// Shares the named patterns with their other users.
    pub fn share(&mut self, ctx: &mut Ctx<'_>) {
        for choice in &mut self.0 {
            let Some((element, argument)) = choice.named.take() else { continue };
            let shared = ctx.with(element, |patterns: &mut IPRewriterPatterns, _| patterns.at(argument));
            if let Some(pattern) = shared.flatten() {
                choice.pattern = pattern;
            }
        }
    }

    /// The patterns whose outputs a rewriter with so many outputs does not have.
    pub fn out_of_range(&self, n_outputs: usize) -> Vec<usize> {
        // As Click: negative numbers are only found when a flow wants them.
        let is_beyond = |output: &i32| usize::try_from(*output).is_ok_and(|output| output >= n_outputs);
        let choices = self.0.iter().enumerate();
        choices.filter(|(_, choice)| choice.outputs.iter().any(is_beyond)).map(|(number, _)| number).collect()
    }

    /// What a flow becomes by pattern `idx`; `None` if that has nothing to give.
    pub fn apply(
        &self,
        idx: usize,
        id: &FlowId,
        ctx: &mut Ctx<'_>,
        is_taken: &dyn Fn(&FlowId) -> bool,
    ) -> Option<Chosen> {
        let choice = self.0.get(idx)?;
        let rewritten = choice.pattern.rewrite(id, ctx, is_taken)?;
        // An output that does not fit in 16 bits is none of any rewriter.
        Some((rewritten, choice.outputs.map(|output| u16::try_from(output).unwrap_or(u16::MAX))))
    }
}
