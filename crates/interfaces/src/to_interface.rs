//! Sends packets to an interface of the stage.
//!
//! NAME is one of the interfaces that the command declared: `left` and `right` of `weir stage`, and others that `--if` adds.
//! A batch goes out at once; while more are made, those of 20 us go out together. What there is no room for waits, up to 4096
//! packets; meanwhile FromInterface receives nothing from the other interfaces, and sources that heed a full queue make nothing.
//! If more come even so, the graph stands still until there is room, but for its users.
//!
//! ```click
//! FromInterface(left) -> ToInterface(right);
//! FromInterface(right) -> ToInterface(left);
//! ```

mod room;

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use element::{
    Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Notifies, Puller, Ready, Role,
    SearchOp, TaskId, BATCH_MAX,
};

use crate::from_interface::FromInterface;
use crate::stage::table::{self, lock, Shared};
use crate::stage::{Interface, Moved};
use room::Keeping;

/// The class.
pub const CLASS: Class = Class::new::<ToInterface>("ToInterface", "1/0", "a/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Output);

const ARGS: &[Arg] = &[
    Arg::required("NAME", "word", "The interface."),
    Arg::keyword(
        "BURST",
        "int",
        "Most packets to pull each time scheduled, 1 to 256. Default what `--burst` says, 1 with `weir click`.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("interface_name", "What packets go to: the interface.").flags("unlisted"),
    Handler::read("tx_packets", "Packets sent, those that wait included.").flags("unlisted"),
    Handler::read("tx_bytes", "Bytes of these packets.").flags("unlisted"),
    Handler::read("joint", "What packets go through: `pipe`, `ring`, `tap` ..."),
    Handler::read("waiting", "Packets that wait for room."),
];

const DROPS: &[DropReason] = &[
    DropReason::new(
        "no-room",
        "As many packets as may wait did so already, and none went out for a second, or the stage was asked to stop.",
    ),
    DropReason::new("no-reader", "As many packets as may wait did so already for somebody to come who reads them."),
];
const NO_ROOM: usize = 0;
const NO_READER: usize = 1;

/// How long packets may be kept, and their reader may go on sleeping, while more are made.
const WAKE_NS: i64 = 20_000;

/// Packets sent to a device after which it is looked what the kernel made of them: it may have forwarded them to another device, which
/// keeps a thousand or some more until they are received.
const MANY: u64 = 256;

/// See the page above.
pub struct ToInterface {
    name: String,
    burst: usize,
    interface: Option<(usize, Shared)>,
    watched: Option<OwnedFd>,
    /// Who pulls, if the input is pull.
    puller: Option<Puller>,
    /// Who wakes the reader.
    bell: Option<TaskId>,
    /// When that became due.
    due_since_ns: i64,
    /// Packets that were sent when it was last looked what the kernel made of them.
    n_looked: u64,
    /// While packets are kept that cannot even wait in line, and nothing else runs.
    keeping: Option<Keeping>,
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
            n_looked: 0,
            keeping: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let (idx, shared) = table::open(&self.name)?;
        let fd = lock(&shared).tx_fd().try_clone_to_owned();
        let fd = fd.map_err(|error| element::output::reason(&error))?;
        ctx.add_select(fd.as_fd(), Ready::READ)?;
        self.watched = Some(fd);
        let is_full = {
            let mut interface = lock(&shared);
            interface.add_writer();
            interface.is_full()
        };
        table::set_full(idx, is_full);
        self.interface = Some((idx, shared));
        self.bell = Some(ctx.new_task());
        if ctx.n_inputs() > 0 && !ctx.input_is_push(0) {
            self.puller = Some(ctx.new_puller(0));
        }
        ctx.set_full_signal(!is_full);
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies { full: Some(SearchOp::Stop), ..Notifies::default() }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let Some((_, shared)) = &self.interface else { return };
        let mut interface = lock(shared);
        interface.send(&mut batch);
        let (state, owes_wake) = (State::of(&mut interface), interface.owes_wake());
        drop(interface);
        if owes_wake {
            self.wake_soon(ctx);
        }
        self.look_at_devices(ctx, state.n_sent);
        let is_full = state.is_full;
        self.settle(ctx, state);
        if batch.is_empty() {
            return;
        }
        if is_full {
            self.keep(ctx, &mut batch);
        }
        if !batch.is_empty() {
            let reason = if is_full { self.wait(ctx, &mut batch) } else { NO_READER };
            self.turn_away(ctx, reason, batch);
        }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if self.bell == Some(task) {
            if self.keeping.is_some() {
                self.go_on_keeping(ctx);
            }
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
        if self.puller.as_ref().is_some_and(|puller| has_worked || ctx.is_active(&puller.signal)) {
            ctx.schedule(task);
        }
        has_worked
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, _ready: Ready) {
        self.look(ctx);
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
        if let Some(fd) = self.watched.take() {
            ctx.remove_select(fd.as_raw_fd(), Ready::READ);
        }
        if self.keeping.take().is_some() {
            ctx.release();
        }
        let Some((idx, shared)) = self.interface.take() else { return };
        let mut interface = lock(&shared);
        interface.wake_reader();
        let is_last = interface.remove_writer();
        drop(interface);
        // Nobody would ever say that there is room again.
        if is_last && table::set_full(idx, false) {
            FromInterface::each(ctx, FromInterface::go_on);
        }
    }
}

impl ToInterface {
    /// Takes packets straight from another interface, at most `max`.
    pub fn take_from(&mut self, ctx: &mut Ctx<'_>, from: &mut Interface, max: usize) -> Moved {
        let Some((_, shared)) = &self.interface else { return Moved::None };
        // Who has it may be waiting for the other.
        let Ok(mut interface) = shared.try_lock() else { return Moved::None };
        let moved = from.relay(&mut interface, max, || ctx.now_ns());
        let state = State::of(&mut interface);
        drop(interface);
        self.look_at_devices(ctx, state.n_sent);
        self.settle(ctx, state);
        moved
    }

    /// Drops packets that cannot even wait.
    fn turn_away(&self, ctx: &mut Ctx<'_>, reason: usize, batch: Batch) {
        if let Some((_, shared)) = &self.interface {
            lock(shared).count_turned_away(batch.len());
        }
        ctx.drop_batch(reason, batch);
    }

    /// Looks whether there is room for what waits.
    fn look(&mut self, ctx: &mut Ctx<'_>) {
        let Some((_, shared)) = &self.interface else { return };
        let mut interface = lock(shared);
        interface.look_at_output();
        let state = State::of(&mut interface);
        drop(interface);
        self.settle(ctx, state);
    }

    /// Once many packets went to a device, has it looked what the kernel made of them.
    fn look_at_devices(&mut self, ctx: &mut Ctx<'_>, n_sent: u64) {
        if n_sent.wrapping_sub(self.n_looked) < MANY {
            return;
        }
        self.n_looked = n_sent;
        let Some((_, shared)) = &self.interface else { return };
        // As in `take_from`.
        if shared.try_lock().map_or(true, |interface| interface.feeds_device()) {
            FromInterface::each(ctx, FromInterface::look_at_device);
        }
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
        let state = State::of(&mut interface);
        drop(interface);
        self.settle(ctx, state);
    }

    /// Tells the user what failed, and those upstream whether there is room.
    fn settle(&mut self, ctx: &mut Ctx<'_>, State { is_full, faults, .. }: State) {
        for fault in faults {
            ctx.chatter(&table::told(fault));
        }
        let Some((idx, _)) = &self.interface else { return };
        if !table::set_full(*idx, is_full) {
            return;
        }
        ctx.set_full_signal(!is_full);
        if is_full {
            return;
        }
        // They pause while packets wait here.
        FromInterface::each(ctx, FromInterface::go_on);
        if let Some(puller) = &self.puller {
            ctx.schedule(puller.task);
        }
    }
}

/// How an interface is after something was sent.
struct State {
    is_full: bool,
    n_sent: u64,
    faults: Vec<String>,
}

impl State {
    fn of(interface: &mut Interface) -> State {
        State { is_full: interface.is_full(), n_sent: interface.n_sent(), faults: interface.take_faults() }
    }
}
