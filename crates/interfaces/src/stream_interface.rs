//! Sends packets to a Unix socket, a named pipe or a capture file whose other side may come and go, and receives what a socket yields.
//!
//! ENDPOINT is one of:
//!
//! - `unix:PATH`, a socket, both ways. If somebody listens there, that is the other side; else this element listens, and takes who
//!   connects, one at a time. When the other side goes, the next one is awaited.
//! - `fifo:PATH`, a named pipe, to which packets are written while somebody reads it.
//! - `file:PATH`, a capture file, which is begun anew; it is compressed if its name ends with `.gz` or `.bz2`.
//!
//! What passes is a capture stream of Ethernet frames, as with `weir stage --if NAME=unix:PATH`. While nobody is at the other side packets
//! are dropped, and so are those for which a slow one has no room: nobody waits for it.
//!
//! ```click
//! FromDevice(eth0) -> peer :: StreamInterface(unix:/run/peer) -> Queue -> ToDevice(eth0);
//! ```

use std::os::fd::{AsFd, AsRawFd};

use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Ready, Role,
    TaskId, TimerId,
};

use crate::stage::peer::{Found, Open, Peers};
use crate::stage::table;
use crate::stamp::stamp;
use crate::traffic::Traffic;

/// The class.
pub const CLASS: Class = Class::new::<StreamInterface>("StreamInterface", "1/1", "h/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[Arg::required(
    "ENDPOINT",
    "word",
    "What is at the other side: `unix:PATH`, `fifo:PATH` or `file:PATH`.",
)];

const HANDLERS: &[Handler] = &[
    Handler::read("endpoint", "ENDPOINT."),
    Handler::read("state", "Whether somebody is at the other side: `connected`, `waiting` or `over`."),
    Handler::read("problem", "Why nobody can be found, or nothing."),
    Handler::read("rx_packets", "Packets received."),
    Handler::read("rx_bytes", "Bytes of these packets."),
    Handler::read("tx_packets", "Packets taken to be sent."),
    Handler::read("tx_bytes", "Bytes of these packets."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("nobody", "Nobody is at the other side."),
    DropReason::new("no-room", "The other side is too slow: too many packets wait for it already."),
];
const NOBODY: usize = 0;
const NO_ROOM: usize = 1;

/// How often to look for somebody, in nanoseconds.
const LOOK_NS: i64 = 500_000_000;
/// Packets that are received at a time.
const BURST: usize = 32;

/// See the page above.
pub struct StreamInterface {
    peers: Peers,
    open: Option<Open>,
    is_over: bool,
    task: Option<TaskId>,
    timer: Option<TimerId>,
    problem: String,
    received: Traffic,
    sent: Traffic,
    /// Whether what its predecessor has is taken over.
    goes_on: bool,
}

impl Element for StreamInterface {
    fn configure(conf: &mut Configure<'_>) -> Result<StreamInterface, Failed> {
        let text = conf.args.need::<String>("ENDPOINT");
        conf.finish()?;
        Ok(StreamInterface {
            peers: Peers::new(&text)?,
            open: None,
            is_over: false,
            task: None,
            timer: None,
            problem: String::new(),
            received: Traffic::default(),
            sent: Traffic::default(),
            goes_on: false,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.task = Some(ctx.new_task());
        self.timer = Some(ctx.new_timer());
        if self.goes_on {
            return Ok(());
        }
        self.look(ctx)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let Some(open) = self.open.as_mut().filter(|open| !open.interface.is_closed()) else {
            return ctx.drop_batch(NOBODY, batch);
        };
        let mut traffic = Traffic::default();
        traffic.add_batch(&batch);
        open.interface.send(&mut batch);
        open.interface.wake_reader();
        let mut left = Traffic::default();
        left.add_batch(&batch);
        self.sent.packets += traffic.packets - left.packets;
        self.sent.bytes = self.sent.bytes.wrapping_add(traffic.bytes.wrapping_sub(left.bytes));
        ctx.drop_batch(NO_ROOM, batch);
        self.look_at_end(ctx);
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let Some(open) = &mut self.open else { return false };
        let mut batch = Batch::new();
        if open.interface.receive(&mut batch, BURST) {
            ctx.schedule(task);
        }
        self.received.add_batch(&batch);
        self.look_at_end(ctx);
        if batch.is_empty() {
            return false;
        }
        stamp(ctx, &mut batch);
        ctx.emit(0, batch);
        true
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, _ready: Ready) {
        match &mut self.open {
            Some(open) => {
                open.interface.look_at_output();
                self.look_at_end(ctx);
                if let Some(task) = self.task.filter(|_| self.open.is_some()) {
                    ctx.schedule(task);
                }
            }
            None => self.look_again(ctx),
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if self.open.is_none() && !self.is_over {
            self.look_again(ctx);
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "endpoint" => self.peers.endpoint().to_string(),
            "state" if self.open.is_some() => "connected".to_string(),
            "state" if self.is_over => "over".to_string(),
            "state" => "waiting".to_string(),
            "problem" => self.problem.clone(),
            "rx_packets" => self.received.packets.to_string(),
            "rx_bytes" => self.received.bytes.to_string(),
            "tx_packets" => self.sent.packets.to_string(),
            "tx_bytes" => self.sent.bytes.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn reads_once(&self) -> bool {
        true
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(mut open) = self.close(ctx) {
            // What it has no room for is for nobody.
            open.interface.finish();
        }
        self.unwatch_listener(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        let old = same_ref::<StreamInterface>(old);
        self.goes_on = old.is_some_and(|old| old.peers.endpoint() == self.peers.endpoint());
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<StreamInterface>(ctx, old) else { return };
        if !std::mem::take(&mut self.goes_on) {
            return old.cleanup(ctx);
        }
        old.unwatch_listener(ctx);
        let open = old.close(ctx);
        std::mem::swap(&mut self.peers, &mut old.peers);
        (self.received, self.sent, self.is_over) = (old.received, old.sent, old.is_over);
        let watched = match open {
            Some(open) => self.keep(ctx, open),
            None if self.is_over => Ok(()),
            None => self.watch_listener(ctx),
        };
        if let Err(message) = watched {
            ctx.warn(&message);
        }
    }
}

impl StreamInterface {
    /// Looks for somebody; an error if that is in vain.
    fn look(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        match self.peers.find()? {
            Found::Peer(ends) => {
                let open = Open::new(ends, &self.peers.endpoint().to_string())?;
                self.unwatch_listener(ctx);
                self.keep(ctx, open)
            }
            Found::Listening | Found::Nobody => self.watch_listener(ctx),
        }
    }

    /// As [`StreamInterface::look`], and later again if it is in vain, which is told once.
    fn look_again(&mut self, ctx: &mut Ctx<'_>) {
        let problem = self.look(ctx).err().unwrap_or_default();
        if !problem.is_empty() {
            if problem != self.problem {
                ctx.complain(&table::told(&problem));
            }
            // Whoever waits at it would be told of all the time.
            self.unwatch_listener(ctx);
            self.look_later(ctx);
        }
        self.problem = problem;
    }

    fn look_later(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(timer) = self.timer {
            ctx.schedule_after(timer, LOOK_NS);
        }
    }

    /// Waits for whoever connects, or for the time to look again.
    fn watch_listener(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        match self.peers.listener() {
            Some(listener) => ctx.add_select(listener, Ready::READ),
            None => {
                self.look_later(ctx);
                Ok(())
            }
        }
    }

    fn unwatch_listener(&self, ctx: &mut Ctx<'_>) {
        if let Some(listener) = self.peers.listener() {
            ctx.remove_select(listener.as_raw_fd(), Ready::READ);
        }
    }

    /// Has somebody at the other side from now on.
    fn keep(&mut self, ctx: &mut Ctx<'_>, open: Open) -> Result<(), String> {
        for fd in &open.watched {
            ctx.add_select(fd.as_fd(), Ready::READ)?;
        }
        self.open = Some(open);
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
        Ok(())
    }

    fn close(&mut self, ctx: &mut Ctx<'_>) -> Option<Open> {
        let open = self.open.take()?;
        for fd in &open.watched {
            ctx.remove_select(fd.as_raw_fd(), Ready::READ);
        }
        Some(open)
    }

    /// Looks for another one if who was at the other side has gone.
    fn look_at_end(&mut self, ctx: &mut Ctx<'_>) {
        let Some(open) = &mut self.open else { return };
        let faults = open.interface.take_faults();
        // Who takes no more may have sent what is not read yet.
        let is_over = open.interface.has_ended() || open.interface.is_closed() && !open.interface.has_input();
        for fault in faults {
            ctx.complain(&table::told(fault));
        }
        if !is_over {
            return;
        }
        drop(self.close(ctx));
        self.is_over = !self.peers.may_come_again();
        if !self.is_over {
            // Not at once: who is rejected again and again is not to keep everybody busy.
            if self.watch_listener(ctx).is_err() {
                self.look_later(ctx);
            }
        }
    }
}
