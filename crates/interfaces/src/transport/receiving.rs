//! Connections and packets from outside.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};

use element::{Ctx, ElementIdx, Ready, TimerId};
use socket2::SockAddr;

use super::Transport;
use crate::intake::Intake;
use element::output::reason;

impl Transport {
    /// A descriptor is ready.
    pub fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, ready: Ready) {
        if self.listener.as_ref().is_some_and(|listener| listener.as_raw_fd() == fd) {
            self.accept(ctx);
        }
        if ready.read {
            self.receive(ctx);
        }
        if self.active.is_some() {
            self.pull(ctx);
        }
    }

    /// Goes on with what was received before, or waits for connections again.
    pub fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if !self.recess.end(ctx, timer, self.listener.as_ref().map(AsFd::as_fd)) {
            self.receive(ctx);
        }
    }

    /// Goes on with what was received before.
    pub fn receive(&mut self, ctx: &mut Ctx<'_>) {
        let Some(mut intake) = self.intake.take() else { return };
        if !intake.is_pending() {
            self.fill(ctx, &mut intake);
        }
        intake.emit(ctx);
        self.intake = Some(intake);
    }

    fn fill(&mut self, ctx: &mut Ctx<'_>, intake: &mut Intake) {
        let Some(socket) = &self.active else { return };
        let result = if !self.settings.place.has_datagrams() {
            intake.read(ctx, socket)
        } else if self.settings.is_client {
            // A datagram without a byte has nothing to make a packet of.
            intake.receive(ctx, socket, |_, _| true).map(|()| None)
        } else {
            let (settings, declaration) = (&self.settings, &self.declaration);
            let remote = &mut self.remote;
            let admits = |ctx: &mut Ctx<'_>, sender: &SockAddr| {
                let sender_ip = sender.as_socket_ipv4();
                let is_allowed = sender_ip
                    .is_none_or(|sender| is_allowed(ctx, (settings.allow, settings.deny), *sender.ip()));
                if is_allowed {
                    *remote = Some(sender.clone());
                } else if let (true, Some(sender)) = (settings.is_verbose, sender_ip) {
                    ctx.chatter(&format!("{declaration}: dropped datagram from {sender}"));
                }
                is_allowed
            };
            intake.receive(ctx, socket, admits).map(|()| None)
        };
        intake.retain(|packet| !packet.is_empty() || self.settings.receiving.snaplen == 0);
        match result {
            Ok(Some(0)) => self.close_active(ctx),
            Ok(_) => {}
            Err(error) => {
                self.tell(ctx, &reason(&error));
                self.close_active(ctx);
            }
        }
    }

    /// Accepts a connection, one at a time.
    fn accept(&mut self, ctx: &mut Ctx<'_>) {
        let Some(listener) = self.listener.as_ref().filter(|_| self.active.is_none()) else { return };
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
            Err(error) => {
                if self.recess.begin(ctx, listener.as_fd()) {
                    ctx.chatter(&format!("{}: accept: {}", self.declaration, reason(&error)));
                }
                return;
            }
        };
        self.recess.accepted();
        let peer_ip = peer.as_socket_ipv4();
        let tables = (self.settings.allow, self.settings.deny);
        let is_allowed = peer_ip.is_none_or(|peer| is_allowed(ctx, tables, *peer.ip()));
        let what = if is_allowed { "opened" } else { "denied" };
        let peer = peer_ip.map_or_else(|| path_of(&peer), |peer: SocketAddrV4| peer.to_string());
        self.tell(ctx, &format!("{what} connection {} from {peer}", socket.as_raw_fd()));
        if !is_allowed || socket.set_nonblocking(true).is_err() {
            return;
        }
        let fd = listener.as_raw_fd();
        match ctx.add_select(socket.as_fd(), Ready::READ) {
            Ok(()) => {
                // Who comes next waits until this connection is over.
                ctx.remove_select(fd, Ready::READ);
                self.active = Some(socket);
            }
            Err(message) => self.tell(ctx, &message),
        }
    }

    /// Ends the connection and waits for the next one, if there can be one.
    pub(super) fn close_active(&mut self, ctx: &mut Ctx<'_>) {
        let Some(socket) = self.active.take() else { return };
        let fd = socket.as_raw_fd();
        ctx.remove_select(fd, Ready { read: true, write: true });
        drop(socket);
        self.queue.forget_socket();
        self.tell(ctx, &format!("closed connection {fd}"));
        if let Some(listener) = &self.listener {
            if let Err(message) = ctx.add_select(listener.as_fd(), Ready::READ) {
                ctx.chatter(&message);
            }
        }
    }
}

/// Whether a host is heard: those that the table of allowed ones has, and those that the table of denied ones has not.
fn is_allowed(
    ctx: &mut Ctx<'_>,
    (allow, deny): (Option<ElementIdx>, Option<ElementIdx>),
    host: Ipv4Addr,
) -> bool {
    let mut has = |table: Option<ElementIdx>| {
        let has = table.and_then(|idx| ctx.with_any(idx, |table, _| table.has_route(host)));
        has.flatten() == Some(true)
    };
    has(allow) || !has(deny)
}

fn path_of(address: &SockAddr) -> String {
    address.as_pathname().map(|path| path.display().to_string()).unwrap_or_default()
}
