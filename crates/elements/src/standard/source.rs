//! What the sources that run whenever they can share: how many packets to make and when, and the packet to be cloned.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use element::{Batch, Causes, Configure, Ctx, HandlerCall, Packet, Signal, TaskId, Wake};

use super::tally::Tally;

/// What a source's packets hold unless it is told otherwise.
pub const DEFAULT_DATA: &[u8] = b"Random bullshit in a packet, at least 64 bytes long. Well, now it is.";

/// Longest packet, and largest headroom, that a source makes.
pub const MAX_LENGTH: usize = 1 << 26;

/// How many packets a source makes, and when. One thread at a time has the source.
pub struct Pace {
    limit: AtomicI64,
    burst: AtomicI32,
    /// Whether the burst is not the user's: it is smaller where queues have no room.
    fits: AtomicBool,
    is_active: AtomicBool,
    /// Whether packets are stamped with the time.
    stamps: bool,
    end_call: Option<HandlerCall>,
    /// Packets sent. Counted behind each burst.
    count: Tally,
    /// Only with a push output.
    task: OnceLock<TaskId>,
}

impl Pace {
    /// Reads LIMIT, BURST, ACTIVE and TIMESTAMP, which come before the source's own arguments.
    pub fn configure(conf: &mut Configure<'_>) -> Pace {
        let limit = conf.args.get_or("LIMIT", -1);
        let burst: Option<i32> = conf.args.get("BURST");
        Pace {
            limit: AtomicI64::new(limit),
            burst: AtomicI32::new(burst.unwrap_or(conf.environment.default_burst() as i32)),
            fits: AtomicBool::new(burst.is_none()),
            is_active: AtomicBool::new(conf.args.get_or("ACTIVE", true)),
            stamps: conf.args.get_or("TIMESTAMP", true),
            end_call: None,
            count: Tally::default(),
            task: OnceLock::new(),
        }
    }

    /// Reads STOP and END_CALL, which come after the source's own arguments.
    pub fn configure_end(&mut self, conf: &mut Configure<'_>) {
        let stops = conf.args.get_or("STOP", false);
        self.end_call = conf.handler_call("END_CALL");
        if self.burst.load(Relaxed) < 1 {
            conf.args.fail("burst size must be >= 1");
        } else if stops && self.end_call.is_some() {
            conf.args.fail("END_CALL and STOP are mutually exclusive");
        }
        if stops {
            self.end_call = Some(HandlerCall { name: "stop".to_string(), value: String::new() });
        }
    }

    /// What the task is to do; `own` is what making packets causes.
    fn plan(&self, ctx: &mut Ctx<'_>, nonfull: &Signal, own: Causes) -> Plan<'_> {
        if !self.is_active.load(Relaxed) || !ctx.is_active(nonfull) {
            return Plan::Rest;
        }
        let burst = self.burst.load(Relaxed) as usize;
        let burst = if self.fits.load(Relaxed) { ctx.fitting(burst, own) } else { burst };
        match (burst, self.left()) {
            (0, _) => Plan::Again,
            (_, 0) if self.limit.load(Relaxed) >= 0 => Plan::End(self.end_call.as_ref()),
            (burst, left) => Plan::Send(ctx.joint_burst(burst, left, own) as u64),
        }
    }

    /// Reads a handler of the pace; `None` if it is none of these.
    pub fn read(&self, name: &str) -> Option<String> {
        Some(match name {
            "limit" => self.limit.load(Relaxed).to_string(),
            "burst" | "burstsize" => self.burst.load(Relaxed).to_string(),
            "active" => self.is_active.load(Relaxed).to_string(),
            "count" => self.count.get().to_string(),
            _ => return None,
        })
    }

    /// Writes a handler of the pace; false if it is none of these.
    pub fn write(&self, name: &str, value: &str) -> Result<bool, String> {
        let number = || args::integer::<i32>(value);
        match name {
            "limit" => {
                let limit = number().map_err(|_| "limit parameter must be integer")?;
                self.limit.store(limit.into(), Relaxed);
            }
            "burst" | "burstsize" => {
                let burst = number().ok().filter(|burst| *burst >= 1);
                self.burst.store(burst.ok_or("burstsize parameter must be integer >= 1")?, Relaxed);
                self.fits.store(false, Relaxed);
            }
            "active" => {
                let is_active = args::boolean(value).map_err(|_| "active parameter must be boolean")?;
                self.is_active.store(is_active, Relaxed);
            }
            "reset" => self.count.set(0),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Packets that may still be sent.
    fn left(&self) -> u64 {
        u64::try_from(self.limit.load(Relaxed))
            .map_or(u64::MAX, |limit| limit.saturating_sub(self.count.get()))
    }
}

/// What the task of a source is to do.
enum Plan<'a> {
    Rest,
    Again,
    Send(u64),
    End(Option<&'a HandlerCall>),
}

/// What a source that runs whenever it can makes.
pub trait Making: Clone {
    /// What making packets causes.
    const CAUSES: Causes;
    /// Tells how long the packets are that are made.
    fn tell_length(&self, ctx: &mut Ctx<'_>);
    /// Makes packets; `stamps`: with the time.
    fn make(&mut self, ctx: &mut Ctx<'_>, stamps: bool, n: usize) -> Batch;
}

/// A source that runs whenever it can, shared with its second hand: handlers that are called when all packets are sent may ask for the
/// count, and change what is made.
pub struct Source<M> {
    common: Arc<Common<M>>,
    /// What is made now.
    making: M,
    nonfull: Signal,
    /// Whether it takes part in a change of the graph, which starts it as if it were new; `config` alone does not.
    begins_anew: bool,
}

struct Common<M> {
    pace: Pace,
    /// What is to be made, as handlers have it.
    making: Mutex<M>,
    /// Whether that was changed since the source looked at it.
    is_changed: AtomicBool,
}

impl<M: Making> Source<M> {
    /// A source that makes this.
    pub fn new(pace: Pace, making: M) -> Source<M> {
        let common = Common { pace, making: Mutex::new(making.clone()), is_changed: AtomicBool::new(false) };
        Source { common: Arc::new(common), making, nonfull: Signal::Busy, begins_anew: false }
    }

    /// The same source, for its handlers.
    pub fn second_hand(&self) -> Source<M> {
        let (common, making) = (self.common.clone(), self.making.clone());
        Source { common, making, nonfull: Signal::Busy, begins_anew: false }
    }

    /// How many packets it makes, and when.
    pub fn pace(&self) -> &Pace {
        &self.common.pace
    }

    /// What is to be made; not to be held while handlers are called or packets pushed.
    pub fn making(&self) -> MutexGuard<'_, M> {
        self.common.making.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is to be made.
    pub fn change(
        &self,
        ctx: &mut Ctx<'_>,
        change: impl FnOnce(&mut M) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut making = self.making();
        change(&mut making)?;
        making.tell_length(ctx);
        self.common.is_changed.store(true, Relaxed);
        Ok(())
    }

    /// Makes the task and looks for the notifier, with a push output.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.making.tell_length(ctx);
        if ctx.output_is_push(0) {
            let task = *self.common.pace.task.get_or_init(|| ctx.new_task());
            ctx.schedule(task);
            self.nonfull = ctx.downstream_full_signal(0, Wake::Task(task));
        }
        self.pace().end_call.as_ref().map_or(Ok(()), |call| call.check_writable(ctx))
    }

    /// See [`element::Element::joint_runs`].
    pub fn joint_runs(&self) -> (usize, Causes) {
        let pace = self.pace();
        let joins =
            pace.is_active.load(Relaxed) && (pace.burst.load(Relaxed) == 1 || pace.fits.load(Relaxed));
        (if joins { pace.left().min(u64::from(u32::MAX)) as usize } else { 1 }, M::CAUSES)
    }

    /// Runs the task: pushes a burst of packets.
    pub fn run(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let n = match self.common.pace.plan(ctx, &self.nonfull, M::CAUSES) {
            Plan::Rest => return false,
            Plan::Again => {
                ctx.schedule(task);
                return false;
            }
            Plan::End(call) => {
                end(ctx, call);
                return false;
            }
            Plan::Send(n) => n,
        };
        let at_once = ctx.at_once(n as usize, M::CAUSES) as u64;
        let mut left = n;
        while left > at_once {
            let batch = self.make(ctx, at_once);
            ctx.emit_now(0, batch);
            left -= at_once;
        }
        let batch = self.make(ctx, left);
        ctx.emit_noticed(0, batch, M::CAUSES);
        // As in Click behind the whole burst: handlers that its packets cause to be called may ask for the count.
        self.pace().count.add(n);
        ctx.schedule(task);
        true
    }

    /// Answers a pull.
    pub fn pull(&mut self, ctx: &mut Ctx<'_>, max: usize) -> Batch {
        if !self.pace().is_active.load(Relaxed) {
            ctx.set_empty_signal(false);
            return Batch::new();
        }
        let n = self.pace().left().min(max as u64);
        let batch = if n > 0 { self.make(ctx, n) } else { Batch::new() };
        self.pace().count.add(n);
        if n < max as u64 {
            end(ctx, self.pace().end_call.as_ref());
            ctx.set_empty_signal(false);
        }
        batch
    }

    fn make(&mut self, ctx: &mut Ctx<'_>, n: u64) -> Batch {
        if self.common.is_changed.load(Relaxed) {
            self.common.is_changed.store(false, Relaxed);
            let changed = self.making().clone();
            self.making = changed;
        }
        self.making.make(ctx, self.common.pace.stamps, n as usize)
    }

    /// Takes part in a change of the graph.
    pub fn foresee(&mut self) {
        self.begins_anew = true;
    }

    /// Takes over the task of the source that this one replaces while the graph runs.
    pub fn take_over(&mut self, ctx: &mut Ctx<'_>, old: &Source<M>) {
        self.making.tell_length(ctx);
        if let (None, Some(task)) = (self.pace().task.get(), old.pace().task.get()) {
            self.pace().task.get_or_init(|| *task);
            self.nonfull = old.nonfull.clone();
        }
        if self.begins_anew {
            self.wake(ctx);
        }
    }

    /// Lets the source go on after a handler was written.
    pub fn wake(&self, ctx: &mut Ctx<'_>) {
        let pace = self.pace();
        match pace.task.get() {
            _ if !pace.is_active.load(Relaxed) || pace.left() == 0 => {}
            Some(task) => ctx.schedule(*task),
            None => ctx.set_empty_signal(true),
        }
    }
}

/// All packets are sent. What the handler answers has no reader.
fn end(ctx: &mut Ctx<'_>, call: Option<&HandlerCall>) {
    if let Some(call) = call {
        call.write_silently(ctx);
    }
}

/// A packet to be cloned: data, cut or repeated to a length.
#[derive(Clone)]
pub struct Template {
    /// The bytes as given.
    pub data: Vec<u8>,
    /// The packet's length; negative is that of the data.
    pub length: i32,
    /// The packet.
    pub packet: Packet,
}

impl Template {
    /// A packet of `length` bytes; the error is a sentence.
    pub fn new(data: Vec<u8>, length: i32) -> Result<Template, String> {
        let len = usize::try_from(length).unwrap_or(data.len());
        if len > MAX_LENGTH {
            return Err(format!("length must be at most {MAX_LENGTH}"));
        }
        let mut packet = Packet::zeroed(len);
        if !data.is_empty() {
            for part in packet.data_mut().chunks_mut(data.len()) {
                part.iter_mut().zip(&data).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(Template { data, length, packet })
    }

    /// `n` clones.
    pub fn clones(&self, n: usize) -> Batch {
        let mut batch = Batch::new();
        self.packet.clone_into(n, &mut batch);
        batch
    }

    /// The data as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.data).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(data: &[u8], length: i32) -> Vec<u8> {
        Template::new(data.to_vec(), length).map(|template| template.packet.data().to_vec()).unwrap()
    }

    #[test]
    fn data_is_cut_or_repeated_to_the_length() {
        assert_eq!(bytes(b"abc", -1), b"abc");
        assert_eq!(bytes(b"abc", 2), b"ab");
        assert_eq!(bytes(b"abc", 7), b"abcabca");
        assert_eq!(bytes(b"abc", 0), b"");
        assert_eq!(bytes(b"", 2), [0, 0]);
        assert!(Template::new(Vec::new(), i32::MAX).is_err());
    }
}
