//! Waiting for room where as many packets wait as may.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use element::{Batch, Ctx};
use sys::poll::{Interest, Poller};

use super::{State, ToInterface, NO_READER, NO_ROOM};
use crate::stage::table::{self, lock};

/// How long a packet waits that cannot even wait in line, where packets flow both ways and waiting might never end.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked meanwhile whether the stage is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// How many packets wait, and since when as many.
pub(super) struct Keeping {
    n_waiting: usize,
    since: Instant,
}

impl ToInterface {
    /// As many packets as may wait do so already: keeps these as well, and lets nothing else run until they wait in line, so that no
    /// more come. Users are answered meanwhile.
    pub(super) fn keep(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        let (Some((_, shared)), Some(bell)) = (&self.interface, self.bell) else { return };
        let mut interface = lock(shared);
        interface.keep(batch);
        let n_waiting = interface.n_waiting().0;
        drop(interface);
        if self.keeping.is_none() {
            table::wake_readers();
            self.keeping = Some(Keeping { n_waiting, since: Instant::now() });
            ctx.hold(bell);
        }
    }

    /// Looks whether there is room. Where this stage receives as well, its neighbour may be waiting for it in the same way, so that
    /// patience has an end; elsewhere it ends when the user asks the stage to stop.
    pub(super) fn go_on_keeping(&mut self, ctx: &mut Ctx<'_>) {
        let Some((_, shared)) = self.interface.clone() else { return };
        // What waits at other interfaces need not wait for this one.
        for other in 0..ctx.runtime().n_elements() {
            ctx.with::<ToInterface, _>(other, |other, ctx| other.look(ctx));
        }
        let mut interface = lock(&shared);
        interface.look_at_output();
        let (state, n_waiting) = (State::of(&mut interface), interface.n_waiting().0);
        let is_over = !interface.keeps();
        drop(interface);
        self.settle(ctx, state);
        let Some(keeping) = &mut self.keeping else { return };
        if keeping.n_waiting != n_waiting {
            *keeping = Keeping { n_waiting, since: Instant::now() };
        }
        let since = keeping.since;
        if !is_over && !has_lost_patience(ctx, since) {
            return;
        }
        self.keeping = None;
        ctx.release();
        loop {
            let left = lock(&shared).give_back();
            if left.is_empty() {
                break;
            }
            self.turn_away(ctx, NO_ROOM, left);
        }
    }

    /// More packets came at once than can be kept: stays here until there is room, as a write to a full pipe does, or patience ends.
    /// Yields why packets may be left.
    pub(super) fn wait(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) -> usize {
        let Some((_, shared)) = self.interface.clone() else { return NO_ROOM };
        let mut room = self.room_poller();
        table::wake_readers();
        let (mut since, mut before) = (Instant::now(), None);
        loop {
            let mut interface = lock(&shared);
            interface.look_at_output();
            interface.send(batch);
            interface.wake_reader();
            let (state, left) = (State::of(&mut interface), (batch.len(), interface.n_waiting()));
            // Whoever agrees on another way with a neighbour meanwhile needs the interface as well.
            drop(interface);
            let is_full = state.is_full;
            self.settle(ctx, state);
            if batch.is_empty() || !is_full {
                return NO_READER;
            }
            if before.replace(left) != Some(left) {
                since = Instant::now();
            }
            if has_lost_patience(ctx, since) {
                return NO_ROOM;
            }
            match &mut room {
                // Whatever it yields, looking tells what is the case.
                Some(room) => drop(room.wait(Some(LOOK))),
                None => std::thread::sleep(LOOK),
            }
        }
    }

    /// What tells of room while the interface is free for others.
    fn room_poller(&self) -> Option<Poller> {
        let mut poller = Poller::new().ok()?;
        poller.add(self.watched.as_ref()?.as_fd(), 0, Interest::READ).ok()?;
        Some(poller)
    }
}

/// Whether what found no room since then is to be given up.
fn has_lost_patience(ctx: &mut Ctx<'_>, since: Instant) -> bool {
    let n_elements = ctx.runtime().n_elements();
    match (0..n_elements).any(|idx| ctx.class(idx) == "FromInterface") {
        true => since.elapsed() > PATIENCE,
        false => table::is_asked_to_stop(),
    }
}
