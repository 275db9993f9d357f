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

use element::{same, Arg, Class, Configure, Ctx, Element, Failed, Phase};

use super::choices::{Choices, Chosen};
use super::flow_id::FlowId;

/// The class.
pub const CLASS: Class =
    Class::new::<RoundRobinIPMapper>("RoundRobinIPMapper", "0/0", "a/a", "x/x").args(ARGS).phase(Phase(99));

const ARGS: &[Arg] =
    &[Arg::rest("PATTERN", "pattern", "A pattern, or the name of one, with FOUTPUT and ROUTPUT behind it.")];

/// See the page above.
pub struct RoundRobinIPMapper {
    /// The patterns.
    pub choices: Choices,
    next: usize,
}

impl Element for RoundRobinIPMapper {
    fn configure(conf: &mut Configure<'_>) -> Result<RoundRobinIPMapper, Failed> {
        let texts = conf.args.rest();
        match texts.len() {
            0 => return Err("no patterns given".into()),
            1 => conf.warning("only one pattern given"),
            _ => {}
        }
        let mut choices = Choices::default();
        for text in texts {
            if let Err(message) = choices.add(&text, conf) {
                conf.error(message);
            }
        }
        conf.finish()?;
        Ok(RoundRobinIPMapper { choices, next: 0 })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.choices.share(ctx);
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<RoundRobinIPMapper>(ctx, old) else { return };
        self.choices.go_on_from(&old.choices);
        self.next = if old.next < self.choices.len() { old.next } else { 0 };
    }
}

impl RoundRobinIPMapper {
    /// What a flow becomes; `None` if no pattern has anything to give.
    pub fn choose(
        &mut self,
        id: &FlowId,
        ctx: &mut Ctx<'_>,
        is_taken: &dyn Fn(&FlowId) -> bool,
    ) -> Option<Chosen> {
        for _ in 0..self.choices.len() {
            let idx = self.next;
            self.next = (idx + 1) % self.choices.len();
            let chosen = self.choices.apply(idx, id, ctx, is_taken);
            if chosen.is_some() {
                return chosen;
            }
        }
        None
    }
}
