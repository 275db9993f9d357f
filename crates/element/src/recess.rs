//! Listening sockets that cannot accept. Who wants to connect keeps one ready: where no descriptor is left, a thread would do nothing else
//! than to try again.

use std::os::fd::{AsRawFd, BorrowedFd};

use crate::{Ctx, Ready, TimerId};

const RECESS_NS: i64 = 100_000_000;

/// The time in which a listener is left alone after it could not accept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recess {
    timer: Option<TimerId>,
    has_failed: bool,
}

impl Recess {
    /// The listener could not accept. Yields whether to tell of it: the time before it could.
    pub fn begin(&mut self, ctx: &mut Ctx<'_>, listener: BorrowedFd<'_>) -> bool {
        ctx.remove_select(listener.as_raw_fd(), Ready::READ);
        let timer = *self.timer.get_or_insert_with(|| ctx.new_timer());
        ctx.schedule_after(timer, RECESS_NS);
        !std::mem::replace(&mut self.has_failed, true)
    }

    /// The listener has accepted.
    pub fn accepted(&mut self) {
        self.has_failed = false;
    }

    /// A timer has expired. If it is that of the recess, that is over, and the listener, if there is one, is waited for again.
    pub fn end(&mut self, ctx: &mut Ctx<'_>, timer: TimerId, listener: Option<BorrowedFd<'_>>) -> bool {
        if self.timer != Some(timer) {
            return false;
        }
        if listener.is_some_and(|listener| ctx.add_select(listener, Ready::READ).is_err()) {
            // What is short is still so.
            ctx.schedule_after(timer, RECESS_NS);
        }
        true
    }
}
