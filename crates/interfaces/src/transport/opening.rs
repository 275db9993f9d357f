//! How a socket is opened.

use std::io::Error;
use std::os::fd::{AsFd, AsRawFd};

use element::{Ctx, Ready};
use socket2::Socket;

use super::place::Place;
use super::switch::{self, Joined};
use super::Transport;
use crate::intake::Intake;
use element::output::reason;

/// Connections that may wait for the one before to end.
const BACKLOG: i32 = 2;

impl Transport {
    /// Opens the socket and listens, connects or just begins.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.declaration = ctx.own_declaration();
        if self.active.is_some() || self.listener.is_some() {
            return self.go_on(ctx);
        }
        let place = &self.settings.place;
        if let Place::Switch { control } = place {
            let joined = switch::join(ctx, control)?;
            return self.begin_with(ctx, joined);
        }
        let (domain, ty, protocol) = place.kind();
        let socket = Socket::new(domain, ty, protocol).map_err(during("socket"))?;
        self.set_options(&socket)?;
        let remote = place.remote().map_err(during("bind"))?;
        let local = if self.settings.is_client {
            place.local().map_err(during("bind"))?
        } else {
            Some(remote.clone())
        };
        if let Some(local) = local {
            socket.bind(&local).map_err(during("bind"))?;
            self.file = place.file(self.settings.is_client).map(str::to_string);
        }
        let has_datagrams = place.has_datagrams();
        if self.settings.is_client && !has_datagrams {
            socket.connect(&remote).map_err(during("connect"))?;
            self.tell(ctx, &format!("opened connection {} to {}", socket.as_raw_fd(), place.describe()));
        } else if !has_datagrams {
            socket.listen(BACKLOG).map_err(during("listen"))?;
            let place = place.describe();
            self.tell(ctx, &format!("listening for connections on {place} ({})", socket.as_raw_fd()));
        }
        socket.set_nonblocking(true).map_err(during("fcntl"))?;
        self.remote = has_datagrams.then_some(remote);
        self.watch(ctx, socket)
    }

    fn set_options(&self, socket: &Socket) -> Result<(), String> {
        let settings = &self.settings;
        if settings.place.is_tcp() && settings.no_delay {
            socket.set_tcp_nodelay(true).map_err(during("setsockopt(TCP_NODELAY)"))?;
        }
        if let Ok(len) = usize::try_from(settings.send_buffer) {
            socket.set_send_buffer_size(len).map_err(during("setsockopt(SO_SNDBUF)"))?;
        }
        if let Ok(len) = usize::try_from(settings.receive_buffer) {
            socket.set_recv_buffer_size(len).map_err(during("setsockopt(SO_RCVBUF)"))?;
        }
        Ok(())
    }

    /// Waits for packets from outside and from upstream.
    fn watch(&mut self, ctx: &mut Ctx<'_>, socket: Socket) -> Result<(), String> {
        let has_datagrams = self.settings.place.has_datagrams();
        self.receive_from(ctx, &socket)?;
        if has_datagrams || self.settings.is_client {
            self.active = Some(socket);
        } else {
            self.listener = Some(socket);
        }
        self.queue.look_upstream(ctx);
        Ok(())
    }

    /// Begins with the sockets that lead to a switch.
    fn begin_with(&mut self, ctx: &mut Ctx<'_>, joined: Joined) -> Result<(), String> {
        let Joined { control, data, remote } = joined;
        data.set_nonblocking(true).map_err(during("fcntl"))?;
        (self.control, self.remote) = (Some(control), Some(remote));
        self.watch(ctx, data)
    }

    /// Waits for what comes through a socket.
    fn receive_from(&mut self, ctx: &mut Ctx<'_>, socket: &Socket) -> Result<(), String> {
        if ctx.n_outputs() > 0 && ctx.output_is_push(0) {
            ctx.add_select(socket.as_fd(), Ready::READ)?;
            let receiving = self.settings.receiving;
            self.intake = Some(match self.settings.place.has_datagrams() {
                true => Intake::of_datagrams(ctx, receiving),
                false => Intake::of_stream(ctx, receiving),
            });
        }
        Ok(())
    }

    /// Goes on with the sockets of another element: a listener waits while there is a connection.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.goes_on = true;
        for socket in [&self.active, &self.listener].into_iter().flatten() {
            self.set_options(socket)?;
        }
        let active = self.active.take();
        let listener = self.listener.take();
        if let Some(first) = active.as_ref().or(listener.as_ref()) {
            self.receive_from(ctx, first)?;
        }
        (self.active, self.listener) = (active, listener);
        self.queue.look_upstream(ctx);
        Ok(())
    }
}

/// An error in Click's words, after the call that failed.
pub fn during(call: &'static str) -> impl Fn(Error) -> String {
    move |error| format!("{call}: {}", reason(&error))
}
