//! Shares the packets of an input out among the replicas of the graph, flow by flow.
//!
//! It stands behind each output of an input when the graph runs on several cores: it keeps what belongs to its own replica, or,
//! where only the first replica can read the input, deals the others' packets out to them.

use element::{Batch, Class, Configure, Ctx, Delivery, Element, Failed};

use super::flow::owner;

/// The class.
pub(super) static CLASS: Class = Class::new::<Share>("CoreShare", "1/1", "a/a", "x/x");

/// Pulls in a row that may bring only packets of other replicas.
const MAX_PULLS: usize = 64;

/// What becomes of the packets of other replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// They are thrown away: the others read them as well.
    Keep,
    /// They are handed over.
    Deal,
}

/// See the page above.
pub(super) struct Share {
    pub how: How,
    replica: usize,
    n_replicas: usize,
    /// Packets to be handed over, by replica.
    hands: Vec<Batch>,
}

impl Element for Share {
    fn configure(conf: &mut Configure<'_>) -> Result<Share, Failed> {
        conf.finish()?;
        let (replica, n_replicas) = conf.environment.replica();
        Ok(Share { how: How::Keep, replica, n_replicas, hands: Vec::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        match self.how {
            How::Keep => self.keep(&mut batch),
            How::Deal => self.deal(ctx, &mut batch),
        }
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        for _ in 0..MAX_PULLS {
            let mut batch = ctx.pull(0, max);
            if batch.is_empty() {
                break;
            }
            self.keep(&mut batch);
            if !batch.is_empty() {
                return batch;
            }
        }
        Batch::new()
    }
}

impl Share {
    fn keep(&self, batch: &mut Batch) {
        batch.retain(|packet| owner(packet, self.n_replicas) == self.replica);
    }

    /// Leaves the own packets in the batch.
    fn deal(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        self.hands.resize_with(self.n_replicas, Batch::new);
        for packet in batch.drain() {
            if let Some(hand) = self.hands.get_mut(owner(&packet, self.n_replicas)) {
                hand.push(packet);
            }
        }
        let to = (ctx.element, 0);
        for (replica, hand) in self.hands.iter_mut().enumerate() {
            if replica == self.replica {
                batch.append(hand);
            } else if !hand.is_empty() {
                ctx.runtime().hand_over(replica, to, Delivery::Emit, std::mem::take(hand));
            }
        }
    }
}
