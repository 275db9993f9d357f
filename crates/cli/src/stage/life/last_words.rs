//! What a stack still has to say when its stage ends.

use std::time::{Duration, Instant};

use engine::world::World;
use interfaces::stage::table::{self, lock};

use super::ticker::Ticker;
use crate::stage::status;

/// How long nothing comes out of a stack that has forwarded or answered all that it was given.
const QUIET: Duration = Duration::from_millis(20);
/// How long a stack that goes on talking is listened to.
const PATIENCE: Duration = Duration::from_secs(1);

/// What a stack still has to say when its stage ends: what it was given comes out by its devices, which have no end.
#[derive(Default)]
pub(super) struct LastWords {
    begin: Option<Instant>,
    /// How many packets came out, and when the last of them.
    heard: Option<(u64, Instant)>,
    /// That nothing comes is told by nobody.
    ticker: Option<Ticker>,
}

impl LastWords {
    /// Whether nothing comes out of the stack any more; at once where there is none.
    pub(super) fn are_over(&mut self, world: &mut World) -> bool {
        let mut n_devices = 0;
        let mut n_heard = 0;
        for shared in table::opened() {
            let interface = lock(&shared);
            // What a joint in the kernel took the place of receives nothing here.
            if interface.name().starts_with(status::STACK) && interface.has_input() {
                n_devices += 1;
                n_heard += interface.report().received.packets;
            }
        }
        if n_devices == 0 {
            return true;
        }
        if self.ticker.is_none() {
            match Ticker::start(world) {
                Ok(ticker) => self.ticker = Some(ticker),
                // It is not waited for what may never be told.
                Err(_) => return true,
            }
        }
        let now = Instant::now();
        let begin = *self.begin.get_or_insert(now);
        let since = match self.heard {
            Some((n, since)) if n == n_heard => since,
            _ => now,
        };
        self.heard = Some((n_heard, since));
        now - since >= QUIET || now - begin >= PATIENCE
    }
}
