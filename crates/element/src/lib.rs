//! What an element is: traits, facts and context.
//!
//! An element is a value of a type that implements [`Element`]. It never calls another element: it hands batches to its
//! outputs through [`Ctx::emit`], and the engine runs what follows, depth first, in output order.
#![forbid(unsafe_code)]

mod causes;
mod class;
mod clock;
mod configure;
mod ctx;
mod each;
pub mod failure;
pub mod fast_path;
mod handler_call;
pub mod handlers;
mod line;
pub mod llrpc;
pub mod offload;
mod outbox;
pub mod output;
mod placed;
mod recess;
mod record_file;
mod runtime;
mod saved;
mod succession;
mod verdict;

use std::any::Any;

pub use args;
pub use causes::{Causes, Made, Room, Stock};
pub use class::{Class, Phase, Refusal, Role};
pub use clock::{Clock, Pace};
pub use configure::{Configure, Environment, Failed};
pub use ctx::{Ctx, Puller, Ready, SearchOp, Signal, TaskId, TimerId, Wake};
pub use graph::{Arg, Drop as DropReason, ElementIdx, Handler, HandlerKind, PortIdx, TOP};
pub use handler_call::HandlerCall;
pub use line::{Limit, Line};
pub use llrpc::LlrpcError;
pub use outbox::Outbox;
pub use packet::{annotation, Batch, Packet, BATCH_MAX};
pub use placed::{at_declared_file, at_place, split_notes, spoken, Placed};
pub use recess::Recess;
pub use record_file::RecordFile;
pub use runtime::{Balance, ChangeOutcome, Delivery, Ear, HandlerUse, Notifies, Runtime};
pub use saved::{Saved, SavedLine, SAVED_AT_A_TIME};
pub use succession::{same, same_ref};
pub use verdict::Verdict;

/// An element of a running graph.
///
/// The engine calls one method at a time: an element needs no lock. Every method but [`Element::configure`] has a
/// default, so that an element states only what it does.
#[allow(unused_variables)]
pub trait Element: Any + Send {
    /// Makes the element from its arguments. Reports every error it finds and returns `Err(Failed)` if there was one.
    fn configure(conf: &mut Configure<'_>) -> Result<Self, Failed>
    where
        Self: Sized;

    /// Called once before packets flow, in Click's order, when every element has been configured: make tasks and timers,
    /// look for notifiers, open devices. An error ends the start.
    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        Ok(())
    }

    /// A batch (not empty) arrives on push input `port`.
    fn push(&mut self, ctx: &mut Ctx<'_>, port: PortIdx, batch: Batch) {}

    /// Somebody pulls at most `max` (at least 1, at most 256) packets from pull output `port`. An empty batch says that
    /// there is none now.
    fn pull(&mut self, ctx: &mut Ctx<'_>, port: PortIdx, max: usize) -> Batch {
        Batch::new()
    }

    /// Which input is to be pulled from, and how many packets at most, before [`Element::pulled`] is called in the place of
    /// [`Element::pull`]: the element is at its place meanwhile, so that one path may lead through it twice. `None`: it pulls
    /// itself. Only classes that say so ([`Class::pulls_first`]) are asked.
    fn pulls_first(&self, port: PortIdx, max: usize) -> Option<(PortIdx, usize)> {
        None
    }

    /// Somebody pulls from output `port`, and this batch (not empty) came by the input that [`Element::pulls_first`] named.
    fn pulled(&mut self, ctx: &mut Ctx<'_>, port: PortIdx, batch: Batch) -> Batch {
        batch
    }

    /// A task runs: true if it did useful work.
    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        false
    }

    /// Goes on with what a task or a timer began, when all that came of what it emitted is over: as often as [`Ctx::go_on_later`] is
    /// called. What [`Element::run_task`] yields is what the last of these yields.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        true
    }

    /// A timer has expired.
    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {}

    /// A file descriptor added by [`Ctx::add_select`] is ready.
    fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, ready: Ready) {}

    /// A notifier found by [`Ctx::upstream_empty_signal`] or [`Ctx::downstream_full_signal`] with
    /// [`Wake::Callback`] became active.
    fn notified(&mut self, ctx: &mut Ctx<'_>) {}

    /// The system sent signal `signo`, asked for by [`Ctx::catch_signal`]; true if the element coped with it. A signal that
    /// nobody copes with has its usual effect on the process.
    fn signalled(&mut self, ctx: &mut Ctx<'_>, signo: i32) -> bool {
        true
    }

    /// The driver is about to stop; true if this element, made the driver manager by [`Ctx::manage_driver`], went on to a
    /// step that keeps it running.
    fn driver_stops(&mut self, ctx: &mut Ctx<'_>) -> bool {
        false
    }

    /// What packets that come to the element cause, as it is configured; `usual` is what its class says.
    fn causes(&self, usual: Causes) -> Causes {
        usual
    }

    /// What it makes of a packet, if it makes [more](Causes::MORE).
    fn made(&self) -> Made {
        Made::Pieces(0)
    }

    /// The [places](Packet::place) of the packets that it stores, in order.
    fn stored_places(&self, each: &mut dyn FnMut(u32)) {}

    /// Packets come that are stored; one by one, as others take some out, it would hold so many at a time.
    fn would_hold(&mut self, most: usize) {}

    /// Which notifiers the element has.
    fn notifies(&self) -> Notifies {
        Notifies::default()
    }

    /// Reads handler `name` (one that the class facts list) with a parameter, empty for plain reads. The engine adds
    /// nothing to the text; an error is a sentence.
    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        Err(format!("no {name} read handler"))
    }

    /// Writes handler `name` (one that the class facts list). Errors are sentences, a line each.
    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        Err(format!("no {name} write handler"))
    }

    /// Answers the LLRPC with a number, such as [`llrpc::GET_COUNT`]; `data` holds the argument and then the answer.
    fn llrpc(&mut self, ctx: &mut Ctx<'_>, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        Err(LlrpcError::Invalid)
    }

    /// Another hand on the same element, for handlers that are called while one of its methods runs. Without one such a
    /// call fails, the element being busy.
    fn second_hand(&self) -> Option<Box<dyn Element>> {
        None
    }

    /// Whether the element, as it is configured, has handler `name` that the class facts list.
    fn has_handler(&self, name: &str) -> bool {
        true
    }

    /// How handler `name` is used, if the element has it though the class facts do not list it.
    fn own_handler(&self, name: &str) -> Option<HandlerKind> {
        None
    }

    /// Why it has no handler `name`, if there is more to tell than that; asked only if it has none.
    fn no_handler(&self, name: &str) -> Option<String> {
        None
    }

    /// The handlers that the class facts do not list, as far as they can be listed.
    fn own_handlers(&self) -> Vec<(String, HandlerKind)> {
        Vec::new()
    }

    /// Whether what it reads can be read only once, by one of several replicas of the graph, as standard input can.
    fn reads_once(&self) -> bool {
        false
    }

    /// What it has room for, if it stores a limited number of packets.
    fn room(&self) -> Option<Room> {
        None
    }

    /// What it has stored, if it stores packets and gives them away in the order in which they came.
    fn stock(&self) -> Option<Stock> {
        None
    }

    /// How many runs of its task may be taken as one, if each moves a packet as far as there are any, and what moving them causes. It
    /// asks then, when it runs, by [`Ctx::joint_burst`].
    fn joint_runs(&self) -> (usize, Causes) {
        (1, Causes::ANYTHING)
    }

    /// Whether a route table has a route for an IPv4 address; `None` if the element is no route table.
    fn has_route(&self, address: std::net::Ipv4Addr) -> Option<bool> {
        None
    }

    /// Called once, in reverse order, when the graph ends, also if it never ran: finish files, close devices.
    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {}

    /// Looks, before it is initialised, at the element that it will replace in a graph that is being changed. What it
    /// will take over from that one (a file, a device, a port on which it listens) it must not open itself. The change
    /// may still fail; then the old element goes on.
    fn foresee(&mut self, old: &dyn Element) {}

    /// Takes over the state of its predecessor in a graph that is being changed, and ends it: what it does not take is lost,
    /// and nobody else calls the old one's [`Element::cleanup`]. The old one may be of another class ([`same`]).
    ///
    /// If the class is live, and only the configuration changed, this element has been configured, but not initialised: then
    /// it takes the old one's tasks, timers, signals and descriptors as well. If it has been initialised, it has its own.
    fn take_state(&mut self, ctx: &mut Ctx<'_>, mut old: Box<dyn Element>) {
        old.cleanup(ctx);
    }

    /// State that should outlive the process, such as mappings and what was learned, from record `from` on (0 at first): at most
    /// [`SAVED_AT_A_TIME`] records. `None` if there is no such state.
    fn save_state(&mut self, ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        None
    }

    /// Takes a line that an element of its class has saved `passed_ms` milliseconds ago. What has expired since is left out; an
    /// error says why the line has no place any more.
    fn restore_state(&mut self, ctx: &mut Ctx<'_>, line: &str, passed_ms: i64) -> Result<(), String> {
        Err("nothing is saved of this class".to_string())
    }
}

/// Implements [`Element::push`] and [`Element::pull`] by a method `fn process(&mut self, packet: &mut Packet) -> Verdict`
/// for each packet; the loop is inlined around it. With `per_packet!(now)` the method's second argument is the
/// [`Clock`].
#[macro_export]
macro_rules! per_packet {
    () => {
        fn push(&mut self, ctx: &mut $crate::Ctx<'_>, _port: usize, batch: $crate::Batch) {
            ctx.push_each(batch, |packet| self.process(packet));
        }

        fn pull(&mut self, ctx: &mut $crate::Ctx<'_>, _port: usize, max: usize) -> $crate::Batch {
            ctx.pull_each(max, |packet| self.process(packet))
        }
    };
    (now) => {
        fn push(&mut self, ctx: &mut $crate::Ctx<'_>, _port: usize, batch: $crate::Batch) {
            ctx.with_clock(|ctx, clock| ctx.push_each(batch, |packet| self.process(packet, clock)));
        }

        fn pull(&mut self, ctx: &mut $crate::Ctx<'_>, _port: usize, max: usize) -> $crate::Batch {
            let mut batch = ctx.pull(0, max);
            ctx.with_clock(|ctx, clock| ctx.keep_each(&mut batch, |packet| self.process(packet, clock)));
            batch
        }
    };
}

/// Declares the element files of a folder: `elements![strip, paint]` makes a module of each and a table `CLASSES` of the
/// classes, each file's `//!` lines being its class's page.
#[macro_export]
macro_rules! elements {
    ($($file:ident),* $(,)?) => {
        $(pub mod $file;)*

        /// The classes of this folder.
        pub const CLASSES: &[$crate::Class] = &[$($file::CLASS.with_page({
            const SOURCE: &str = include_str!(concat!(stringify!($file), ".rs"));
            const LEN: usize = $crate::page_len(SOURCE);
            const PAGE: [u8; LEN] = $crate::page_bytes(SOURCE);
            match std::str::from_utf8(&PAGE) {
                Ok(page) => page,
                Err(_) => panic!("a page of documentation is not UTF-8"),
            }
        })),*];
    };
}

/// Bytes of the leading `//!` lines of a source text.
pub const fn page_len(source: &str) -> usize {
    let bytes = source.as_bytes();
    let mut at = 0;
    while at + 3 <= bytes.len() && bytes[at] == b'/' && bytes[at + 1] == b'/' && bytes[at + 2] == b'!' {
        while at < bytes.len() && bytes[at] != b'\n' {
            at += 1;
        }
        if at < bytes.len() {
            at += 1;
        }
    }
    at
}

/// The first `N` bytes of a source text.
pub const fn page_bytes<const N: usize>(source: &str) -> [u8; N] {
    let mut page = [0; N];
    let bytes = source.as_bytes();
    let mut at = 0;
    while at < N {
        page[at] = bytes[at];
        at += 1;
    }
    page
}
