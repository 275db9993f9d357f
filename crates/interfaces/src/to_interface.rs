//! Sends packets to an interface of the stage.
//!
//! NAME is one of the interfaces that the command declared: `left` and `right` of `weir stage`, and others that `--if` adds.
//! A batch goes out at once; while more are made, those of 20 us go out together. What there is no room for waits, up to 4096
//! packets; meanwhile FromInterface receives nothing from the other interfaces, and sources that heed a full queue make nothing.
//!
//! ```click
//! FromInterface(left) -> ToInterface(right);
//! FromInterface(right) -> ToInterface(left);
//! ```

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use element::{
    Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Notifies, Ready, Role, SearchOp,
    Signal, TaskId, Wake, BATCH_MAX,
};

use crate::from_interface::FromInterface;
use crate::stage::table::{self, lock, Shared};
use crate::stage::Interface;

/// The class.
pub const CLASS: Class = Class::new::<ToInterface>("ToInterface", "1/0", "a/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Output);

const ARGS: &[Arg] = &[
    Arg::required("NAME", "word", "The interface."),
    Arg::keyword("BURST", "int", "Most packets to pull each time scheduled, 1 to 256. Default 1."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("interface_name", "What packets go to: the interface.").flags("unlisted"),
    Handler::read("tx_packets", "Packets sent, those that wait included.").flags("unlisted"),
    Handler::read("tx_bytes", "Bytes of these packets.").flags("unlisted"),
    Handler::read("joint", "What packets go through: `pipe`, `ring`, `tap` ..."),
    Handler::read("waiting", "Packets that wait for room."),
];

const DROPS: &[DropReason] = &[DropReason::new(
    "no-room",
    "As many packets as may wait did so already, and none went out for a second.",
)];
const NO_ROOM: usize = 0;

/// How long packets may be kept, and their reader may go on sleeping, while more are made.
const WAKE_NS: i64 = 20_000;
/// How long a packet waits that cannot even wait in line, where packets flow both ways and waiting might never end.
const PATIENCE: Duration = Duration::from_secs(1);

/// See the page above.
pub struct ToInterface {
    name: String,
    burst: usize,
    interface: Option<(usize, Shared)>,
    watched: Option<OwnedFd>,
    /// Who pulls, if the input is pull.
    puller: Option<(TaskId, Signal)>,
    /// Who wakes the reader.
    bell: Option<TaskId>,
    /// When that became due.
    due_since_ns: i64,
}

impl Element for ToInterface {
    fn configure(conf: &mut Configure<'_>) -> Result<ToInterface, Failed> {
        let name = conf.args.need::<String>("NAME");
        let burst = conf.args.get_or("BURST", conf.environment.default_burst().min(BATCH_MAX) as i32);
        if !(1..=BATCH_MAX as i32).contains(&burst) {
            conf.args.fail("BURST must be between 1 and 256");
        }
        conf.finish()?;
        table::mark_written(&name);
        Ok(ToInterface {
            name,
            burst: burst as usize,
            interface: None,
            watched: None,
            puller: None,
            bell: None,
            due_since_ns: 0,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let (idx, shared) = table::open(&self.name)?;
        let fd = lock(&shared).tx_fd().try_clone_to_owned();
        let fd = fd.map_err(|error| element::output::reason(&error))?;
        ctx.add_select(fd.as_fd(), Ready::READ)?;
        self.watched = Some(fd);
        self.interface = Some((idx, shared));
        self.bell = Some(ctx.new_task());
        if ctx.n_inputs() > 0 && !ctx.input_is_push(0) {
            let task = ctx.new_task();
            ctx.schedule(task);
            let signal = ctx.upstream_empty_signal(0, Wake::Task(task));
            self.puller = Some((task, signal));
        }
        let is_full = self.interface.as_ref().is_some_and(|(_, shared)| lock(shared).is_full());
        ctx.set_full_signal(!is_full);
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: None, full: Some(SearchOp::Stop) }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let Some((_, shared)) = &self.interface else { return };
        let mut interface = lock(shared);
        interface.send(&mut batch);
        let (is_full, owes_wake) = (interface.is_full(), interface.owes_wake());
        drop(interface);
        if owes_wake {
            self.wake_soon(ctx);
        }
        if !batch.is_empty() {
            self.wait(ctx, &mut batch);
            ctx.drop_batch(NO_ROOM, batch);
        }
        self.settle(ctx, is_full);
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if self.bell == Some(task) {
            self.wake_or_wait(ctx, task);
            return false;
        }
        let Some((_, shared)) = &self.interface else { return false };
        if lock(shared).is_full() {
            return false;
        }
        let batch = ctx.pull(0, self.burst);
        let has_worked = !batch.is_empty();
        if has_worked {
            self.push(ctx, 0, batch);
        }
        if self.puller.as_ref().is_some_and(|(_, signal)| has_worked || ctx.is_active(signal)) {
            ctx.schedule(task);
        }
        has_worked
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, _ready: Ready) {
        let Some((_, shared)) = &self.interface else { return };
        let mut interface = lock(shared);
        interface.look_at_output();
        let (is_full, faults) = (interface.is_full(), interface.take_faults());
        drop(interface);
        for fault in faults {
            ctx.chatter(&format!("weir: {fault}"));
        }
        self.settle(ctx, is_full);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let Some((_, shared)) = &self.interface else { return Err("not initialized".into()) };
        let report = lock(shared).report();
        Ok(match name {
            "interface_name" => self.name.clone(),
            "tx_packets" => report.sent.packets.to_string(),
            "tx_bytes" => report.sent.bytes.to_string(),
            "joint" => report.joint.to_string(),
            "waiting" => report.n_waiting.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some((_, shared)) = &self.interface {
            lock(shared).wake_reader();
        }
        if let Some(fd) = self.watched.take() {
            ctx.remove_select(fd.as_raw_fd(), Ready::READ);
        }
    }
}

impl ToInterface {
    /// Takes packets straight from another interface, at most `max`; whether there were any.
    pub fn take_from(&mut self, ctx: &mut Ctx<'_>, from: &mut Interface, max: usize) -> bool {
        let Some((_, shared)) = &self.interface else { return false };
        // Who has it may be waiting for the other.
        let Ok(mut interface) = shared.try_lock() else { return false };
        let has_worked = from.relay(&mut interface, max, || ctx.now_ns());
        let is_full = interface.is_full();
        drop(interface);
        self.settle(ctx, is_full);
        has_worked
    }

    /// Has the reader woken, who sleeps: at once if nothing else is to be done.
    fn wake_soon(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(bell) = self.bell.filter(|bell| !ctx.is_scheduled(*bell)) {
            self.due_since_ns = ctx.steady_ns();
            ctx.schedule(bell);
        }
    }

    /// Wakes the reader, unless there is more to do first.
    fn wake_or_wait(&mut self, ctx: &mut Ctx<'_>, bell: TaskId) {
        let Some((_, shared)) = &self.interface else { return };
        let mut interface = lock(shared);
        let may_sleep_on = interface.owes_wake()
            && !table::spins()
            && ctx.has_other_tasks()
            && ctx.steady_ns() - self.due_since_ns < WAKE_NS;
        if may_sleep_on {
            drop(interface);
            return ctx.schedule(bell);
        }
        interface.wake_reader();
        let is_full = interface.is_full();
        drop(interface);
        self.settle(ctx, is_full);
    }

    /// Tells those upstream whether there is room.
    fn settle(&mut self, ctx: &mut Ctx<'_>, is_full: bool) {
        let Some((idx, _)) = &self.interface else { return };
        if !table::set_full(*idx, is_full) {
            return;
        }
        ctx.set_full_signal(!is_full);
        if is_full {
            return;
        }
        // They pause while packets wait here.
        for source in 0..ctx.runtime().n_elements() {
            ctx.with::<FromInterface, _>(source, |source, ctx| source.go_on(ctx));
        }
        if let Some((task, _)) = &self.puller {
            ctx.schedule(*task);
        }
    }

    /// As many packets as may wait do so already: stays here until there is room, as a write to a full pipe does. Where this
    /// stage receives as well, its neighbour may be waiting for it in the same way, so that patience has an end.
    fn wait(&self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        let Some((_, shared)) = &self.interface else { return };
        table::wake_readers();
        let n_elements = ctx.runtime().n_elements();
        let has_sources = (0..n_elements).any(|idx| ctx.class(idx) == "FromInterface");
        let mut until = Instant::now() + PATIENCE;
        while !batch.is_empty() {
            let mut interface = lock(shared);
            if !interface.is_full() {
                break;
            }
            let before = interface.n_waiting();
            interface.wait_for_room(PATIENCE / 10);
            if interface.n_waiting() != before {
                until = Instant::now() + PATIENCE;
            }
            interface.send(batch);
            if has_sources && Instant::now() > until {
                break;
            }
        }
    }
}
