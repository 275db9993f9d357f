//! Packets to the other end.

use std::io::Error;

use element::{Batch, Ctx, Packet, TaskId};
use socket2::{SockAddr, Socket};

use super::{Transport, NOT_SENT, NO_CONNECTION};
use crate::send_queue::{Progress, Way};
use element::output::reason;

impl Transport {
    /// Sends packets, and waits until they are sent.
    pub fn push(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) {
        if self.active.is_none() {
            return ctx.drop_batch(NO_CONNECTION, batch);
        }
        self.queue.add(&mut batch);
        while let Some(way) = way(&self.active, &self.remote, self.annotated_port()) {
            match self.queue.flush_waiting(&way) {
                Progress::Failed(error, packet) => self.fail(ctx, &error, packet),
                Progress::AllSent | Progress::Blocked => return,
            }
        }
        let rest = self.queue.clear().collect::<Vec<_>>();
        rest.into_iter().for_each(|packet| ctx.drop_packet(NO_CONNECTION, packet));
    }

    /// Pulls packets and sends them.
    pub fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        !self.queue.is_blocked() && self.pull(ctx)
    }

    /// Pulls packets and sends them; whether there were any.
    pub(super) fn pull(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Some(way) = way(&self.active, &self.remote, self.annotated_port()) else { return false };
        match self.queue.pull(ctx, &way) {
            Ok(has_worked) => has_worked,
            Err((error, packet)) => {
                self.fail(ctx, &error, packet);
                true
            }
        }
    }

    /// An error ends the connection. Where each datagram has a destination of its own, the next one may be reached all the same.
    fn fail(&mut self, ctx: &mut Ctx<'_>, error: &Error, packet: Packet) {
        self.tell(ctx, &reason(error));
        if self.annotated_port().is_none() {
            self.close_active(ctx);
        } else {
            self.queue.go_on(ctx);
        }
        ctx.drop_packet(NOT_SENT, packet);
    }

    /// The port of datagrams that go to their own destinations.
    fn annotated_port(&self) -> Option<u16> {
        self.settings.place.annotated_port().filter(|_| self.settings.is_client)
    }
}

/// How packets are sent now; `None` without a connection, or before anybody is known to send to.
fn way<'a>(
    active: &'a Option<Socket>,
    remote: &'a Option<SockAddr>,
    annotated_port: Option<u16>,
) -> Option<Way<'a>> {
    let (socket, remote) = (active.as_ref()?, remote.as_ref());
    Some(match (annotated_port, remote) {
        (Some(port), _) => Way::ToAnnotation(socket, port),
        (None, Some(remote)) => Way::To(socket, remote),
        (None, None) => Way::Stream(socket),
    })
}
