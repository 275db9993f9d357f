//! Tries to listen, again and again if that is wanted.

use element::output::reason;
use element::{Ctx, TimerId};

use super::{Listener, Place};

const SECOND_NS: i64 = 1_000_000_000;

/// How often it is still to be tried, once a second.
#[derive(Clone, Copy, Debug)]
pub struct Attempts {
    n_left: i32,
    warns: bool,
}

impl Attempts {
    /// So many after the first; `warns` where each that fails is to be told.
    pub fn new(n_retries: i32, warns: bool) -> Attempts {
        Attempts { n_left: n_retries, warns }
    }

    /// Begins to listen; the error is what to tell the user.
    pub fn listen(&mut self, place: &Place) -> Result<(Listener, String), String> {
        self.n_left = self.n_left.saturating_sub(1);
        place.listen().map_err(|error| {
            let error = format!("bind: {}", reason(&error));
            let tries = if self.n_left == 0 { "try" } else { "tries" };
            match self.n_left {
                ..0 => error,
                n => format!("warning: {error} ({} {tries} left)", i64::from(n) + 1),
            }
        })
    }

    /// The first attempt failed: an error, or a timer is set for the next.
    pub fn begin(&self, ctx: &mut Ctx<'_>, message: String) -> Result<(), String> {
        if self.n_left < 0 {
            return Err(message);
        }
        if self.warns {
            ctx.tell(&message);
        }
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, SECOND_NS);
        Ok(())
    }

    /// Another attempt failed: the timer is set for the next, or the driver is to stop.
    pub fn go_on(&self, ctx: &mut Ctx<'_>, timer: TimerId, message: &str) {
        let is_last = self.n_left < 0;
        if is_last || self.warns {
            ctx.chatter(message);
        }
        if is_last {
            ctx.stop();
        } else {
            ctx.reschedule_after(timer, SECOND_NS);
        }
    }
}
