//! Receives packets from an interface of the stage.
//!
//! NAME is one of the interfaces that the command declared: `left` and `right` of `weir stage`, and others that `--if` adds.
//! Packets are Ethernet frames and have their timestamp set, to the time now if they came without one. They may carry work
//! that their sender left to be done (checksums, segmentation) as their metadata.
//!
//! While packets wait for room at another interface, none are received from this one: whoever sends them waits as well. A
//! graph has at most one FromInterface for each interface.
//!
//! ```click
//! FromInterface(left) -> c :: Counter -> ToInterface(right);
//! FromInterface(right) -> ToInterface(left);
//! ```

use std::os::fd::{AsRawFd, OwnedFd};

use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Ready, Role, TaskId,
    TimerId, BATCH_MAX,
};

use crate::stage::table::{self, lock, Shared};
use crate::stage::{Interface, Moved};
use crate::stamp::stamp;
use crate::to_interface::ToInterface;

/// The class.
pub const CLASS: Class = Class::new::<FromInterface>("FromInterface", "0/1", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    Arg::required("NAME", "word", "The interface."),
    Arg::keyword(
        "BURST",
        "int",
        "Most packets to receive each time scheduled, 1 to 256. Default what `--burst` says, 1 with `weir click`.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("interface_name", "What packets come from: the interface.").flags("unlisted"),
    Handler::read("rx_packets", "Packets received.").flags("unlisted"),
    Handler::read("rx_bytes", "Bytes of these packets.").flags("unlisted"),
    Handler::read("joint", "What packets come through: `pipe`, `ring`, `tap` ..."),
];

/// How often a stage whose input has ended looks whether it is empty, in nanoseconds.
const DRAIN_NS: i64 = 1_000_000;

/// See the page above.
pub struct FromInterface {
    name: String,
    burst: usize,
    interface: Option<(usize, Shared)>,
    /// What the interface's packets are waited for at; a duplicate, so that it is the engine's while it is watched.
    watched: Option<OwnedFd>,
    task: Option<TaskId>,
    timer: Option<TimerId>,
    is_paused: bool,
    /// Whether the interface is one that it reads instead of another element.
    goes_on: bool,
}

impl Element for FromInterface {
    fn configure(conf: &mut Configure<'_>) -> Result<FromInterface, Failed> {
        let name = conf.args.need::<String>("NAME");
        let burst = conf.args.get_or("BURST", conf.environment.default_burst().min(BATCH_MAX) as i32);
        if !(1..=BATCH_MAX as i32).contains(&burst) {
            conf.args.fail("BURST must be between 1 and 256");
        }
        conf.finish()?;
        table::mark_read(&name);
        Ok(FromInterface {
            name,
            burst: burst as usize,
            interface: None,
            watched: None,
            task: None,
            timer: None,
            is_paused: false,
            goes_on: false,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let (idx, shared) = table::open(&self.name)?;
        let fd = {
            let mut interface = lock(&shared);
            if interface.is_read() && !self.goes_on {
                return Err(format!("interface '{}' is read by another element", self.name));
            }
            interface.mark_read();
            interface.rx_fd().try_clone_to_owned().map_err(|error| element::output::reason(&error))?
        };
        let task = ctx.new_task();
        ctx.schedule(task);
        self.task = Some(task);
        self.timer = Some(ctx.new_timer());
        self.watched = Some(fd);
        self.interface = Some((idx, shared));
        self.watch(ctx)
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let Some((idx, shared)) = &self.interface else { return false };
        if table::others_are_full(*idx) {
            self.pause(ctx);
            return false;
        }
        let mut interface = lock(shared);
        let moved = self.relay(ctx, &mut interface);
        if moved != Moved::None {
            if moved == Moved::Some || table::spins() {
                ctx.schedule(task);
            }
            return true;
        }
        let mut batch = Batch::new();
        let has_more = interface.receive(&mut batch, self.burst);
        let faults = interface.take_faults();
        let has_ended = interface.has_ended();
        drop(interface);
        for fault in faults {
            ctx.chatter(&table::told(fault));
        }
        if has_more || table::spins() {
            ctx.schedule(task);
        } else if has_ended {
            self.look_on(ctx);
        }
        if batch.is_empty() {
            return false;
        }
        stamp(ctx, &mut batch);
        ctx.emit(0, batch);
        true
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, _fd: i32, _ready: Ready) {
        self.look(ctx);
    }

    /// Keeps the driver awake, which ends the stage when it is empty.
    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        self.look_on(ctx);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let Some((_, shared)) = &self.interface else { return Err("not initialized".into()) };
        let report = lock(shared).report();
        Ok(match name {
            "interface_name" => self.name.clone(),
            "rx_packets" => report.received.packets.to_string(),
            "rx_bytes" => report.received.bytes.to_string(),
            "joint" => report.joint.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn reads_once(&self) -> bool {
        true
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(fd) = self.watched.take() {
            ctx.remove_select(fd.as_raw_fd(), Ready::READ);
        }
        let Some((_, shared)) = self.interface.take().filter(|_| !self.goes_on) else { return };
        lock(&shared).unmark_read();
        // It may have been the one for which a stage whose other inputs have ended went on.
        FromInterface::each(ctx, |source, ctx| source.look(ctx));
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<FromInterface>(old)
            .is_some_and(|old| old.interface.is_some() && old.name == self.name);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<FromInterface>(ctx, old) else { return };
        if std::mem::take(&mut self.goes_on) {
            old.interface = None;
        }
        old.cleanup(ctx);
    }
}

impl FromInterface {
    /// Does something to all of them in the graph, but for those that are busy.
    pub fn each(ctx: &mut Ctx<'_>, act: impl Fn(&mut FromInterface, &mut Ctx<'_>)) {
        for source in 0..ctx.runtime().n_elements() {
            ctx.with::<FromInterface, _>(source, &act);
        }
    }

    /// Looks soon for packets of a device, if it reads one.
    pub fn look_at_device(&mut self, ctx: &mut Ctx<'_>) {
        let Some((_, shared)) = &self.interface else { return };
        // Who has it may be waiting for the interface that is just read. Looking in vain does no harm.
        if shared.try_lock().map_or(true, |interface| interface.reads_device()) {
            self.look(ctx);
        }
    }

    fn look(&self, ctx: &mut Ctx<'_>) {
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
    }

    fn watch(&self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        match &self.watched {
            Some(fd) => ctx.add_select(std::os::fd::AsFd::as_fd(fd), Ready::READ),
            None => Ok(()),
        }
    }

    /// Receives nothing until there is room for what comes.
    fn pause(&mut self, ctx: &mut Ctx<'_>) {
        self.is_paused = true;
        if let Some(fd) = &self.watched {
            ctx.remove_select(fd.as_raw_fd(), Ready::READ);
        }
    }

    /// Goes on if it paused.
    pub fn go_on(&mut self, ctx: &mut Ctx<'_>) {
        if std::mem::take(&mut self.is_paused) {
            // Should watching fail, the task looks.
            let _ = self.watch(ctx);
            self.look(ctx);
        }
    }

    /// Moves packets straight to the interface that they go to, if there is nothing else on their way.
    fn relay(&self, ctx: &mut Ctx<'_>, interface: &mut Interface) -> Moved {
        let Some((next, 0)) = ctx.leads_straight_to(0) else { return Moved::None };
        let take = |to: &mut ToInterface, ctx: &mut Ctx<'_>| to.take_from(ctx, interface, self.burst);
        ctx.with::<ToInterface, _>(next, take).unwrap_or(Moved::None)
    }

    /// Comes back soon if the stage is to end, and not while other inputs keep it.
    fn look_on(&self, ctx: &mut Ctx<'_>) {
        if let Some(timer) = self.timer.filter(|_| table::is_ending()) {
            ctx.schedule_after(timer, DRAIN_NS);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use crate::stage::{table, Format, PipeIn, PipeOut};
    use crate::testing::run_until;

    #[test]
    fn an_input_that_has_ended_lets_the_stage_sleep_while_others_keep_it() {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(writer);
        let (_kept, out) = std::io::pipe().unwrap();
        let input: File = sys::pipe::reopen_to_read(reader.as_fd()).unwrap();
        let output: File = sys::pipe::reopen_to_write(out.as_fd()).unwrap();
        let input = PipeIn::new(input, "in".into()).unwrap();
        let output = PipeOut::new(output, "out".into(), Format::Pcap).unwrap();
        table::declare_made("ended", Box::new(input), Box::new(output)).unwrap();
        let shared = table::open("ended").unwrap().1;
        let (mut has_ended, mut is_still) = (false, false);
        run_until("FromInterface(ended) -> Discard", &[], |world| {
            is_still = has_ended && world.is_still();
            has_ended |= table::lock(&shared).has_ended();
            is_still
        });
        assert!(has_ended && is_still, "it looks on and on");
    }
}
