//! What the sources that run whenever they can share: how many packets to make and when, and the packet to be cloned.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use element::{Batch, Causes, Configure, Ctx, HandlerCall, Packet, Signal, TaskId, Wake};

/// What a source's packets hold unless it is told otherwise.
pub const DEFAULT_DATA: &[u8] = b"Random bullshit in a packet, at least 64 bytes long. Well, now it is.";

/// Longest packet, and largest headroom, that a source makes.
pub const MAX_LENGTH: usize = 1 << 26;

/// How many packets a source makes, and when.
pub struct Pace {
    limit: i64,
    burst: i32,
    /// Whether the burst is not the user's: it is smaller where queues have no room.
    fits: bool,
    is_active: bool,
    /// Whether packets are stamped with the time.
    pub stamps: bool,
    end_call: Option<HandlerCall>,
    /// Packets sent. Counted behind each burst, without the source's lock.
    count: Arc<AtomicU64>,
    /// Only with a push output.
    task: Option<TaskId>,
    nonfull: Signal,
    /// Whether it takes part in a change of the graph, which starts it as if it were new; `config` alone does not.
    is_changed: bool,
}

impl Pace {
    /// Reads LIMIT, BURST, ACTIVE and TIMESTAMP, which come before the source's own arguments.
    pub fn configure(conf: &mut Configure<'_>) -> Pace {
        let limit = conf.args.get_or("LIMIT", -1);
        let burst: Option<i32> = conf.args.get("BURST");
        Pace {
            limit,
            burst: burst.unwrap_or(conf.environment.default_burst() as i32),
            fits: burst.is_none(),
            is_active: conf.args.get_or("ACTIVE", true),
            stamps: conf.args.get_or("TIMESTAMP", true),
            end_call: None,
            count: Arc::default(),
            task: None,
            nonfull: Signal::Busy,
            is_changed: false,
        }
    }

    /// Reads STOP and END_CALL, which come after the source's own arguments.
    pub fn configure_end(&mut self, conf: &mut Configure<'_>) {
        let stops = conf.args.get_or("STOP", false);
        self.end_call = conf.handler_call("END_CALL");
        if self.burst < 1 {
            conf.args.fail("burst size must be >= 1");
        } else if stops && self.end_call.is_some() {
            conf.args.fail("END_CALL and STOP are mutually exclusive");
        }
        if stops {
            self.end_call = Some(HandlerCall { name: "stop".to_string(), value: String::new() });
        }
    }

    /// Makes the task and looks for the notifier, with a push output.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if ctx.output_is_push(0) {
            let task = ctx.new_task();
            ctx.schedule(task);
            self.nonfull = ctx.downstream_full_signal(0, Wake::Task(task));
            self.task = Some(task);
        }
        self.end_call.as_ref().map_or(Ok(()), |call| call.check_writable(ctx))
    }

    /// Takes part in a change of the graph.
    pub fn foresee(&mut self) {
        self.is_changed = true;
    }

    /// What the task is to do; `own` is what making packets causes.
    fn plan(&self, ctx: &mut Ctx<'_>, own: Causes) -> Plan {
        if !self.is_active || !ctx.is_active(&self.nonfull) {
            return Plan::Rest;
        }
        let burst = self.burst as usize;
        match (if self.fits { ctx.fitting(burst, own) } else { burst }, self.left()) {
            (0, _) => Plan::Again,
            (_, 0) if self.limit >= 0 => Plan::End(self.end_call.clone()),
            (burst, left) => Plan::Send(ctx.joint_burst(burst, left, own) as u64),
        }
    }

    /// Reads a handler of the pace; `None` if it is none of these.
    pub fn read(&self, name: &str) -> Option<String> {
        Some(match name {
            "limit" => self.limit.to_string(),
            "burst" | "burstsize" => self.burst.to_string(),
            "active" => self.is_active.to_string(),
            "count" => self.count.load(Relaxed).to_string(),
            _ => return None,
        })
    }

    /// Writes a handler of the pace; false if it is none of these.
    pub fn write(&mut self, name: &str, value: &str) -> Result<bool, String> {
        let number = || args::integer::<i32>(value);
        match name {
            "limit" => self.limit = number().map_err(|_| "limit parameter must be integer")?.into(),
            "burst" | "burstsize" => {
                let burst = number().ok().filter(|burst| *burst >= 1);
                self.burst = burst.ok_or("burstsize parameter must be integer >= 1")?;
                self.fits = false;
            }
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "active parameter must be boolean")?;
            }
            "reset" => self.count.store(0, Relaxed),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Packets that may still be sent.
    fn left(&self) -> u64 {
        u64::try_from(self.limit).map_or(u64::MAX, |limit| limit.saturating_sub(self.count.load(Relaxed)))
    }
}

/// What the task of a source is to do.
enum Plan {
    Rest,
    Again,
    Send(u64),
    End(Option<HandlerCall>),
}

/// A source that runs whenever it can.
pub trait Source {
    /// What making packets causes.
    const CAUSES: Causes;
    /// How many packets it makes, and when.
    fn pace(&mut self) -> &mut Pace;
    /// Makes packets.
    fn make(&mut self, ctx: &mut Ctx<'_>, n: usize) -> Batch;
}

/// A source shared with its second hand: handlers that are called when all packets are sent may ask for the count.
pub struct Shared<S> {
    source: Arc<Mutex<S>>,
    /// That of its pace.
    count: Arc<AtomicU64>,
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Shared<S> {
        Shared { source: self.source.clone(), count: self.count.clone() }
    }
}

impl<S: Source> Shared<S> {
    /// A source to be shared.
    pub fn new(mut source: S) -> Shared<S> {
        let count = source.pace().count.clone();
        Shared { source: Arc::new(Mutex::new(source)), count }
    }

    /// The source; not to be held while handlers are called or packets pushed.
    pub fn get(&self) -> MutexGuard<'_, S> {
        self.source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`element::Element::joint_runs`].
    pub fn joint_runs(&self) -> (usize, Causes) {
        let mut source = self.get();
        let pace = source.pace();
        let joins = pace.is_active && (pace.burst == 1 || pace.fits);
        (if joins { pace.left().min(u64::from(u32::MAX)) as usize } else { 1 }, S::CAUSES)
    }

    /// Runs the task: pushes a burst of packets.
    pub fn run(&self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let (n, at_once, mut batch) = {
            let mut source = self.get();
            match source.pace().plan(ctx, S::CAUSES) {
                Plan::Rest => return false,
                Plan::Again => {
                    ctx.schedule(task);
                    return false;
                }
                Plan::End(call) => {
                    drop(source);
                    end(ctx, call);
                    return false;
                }
                Plan::Send(n) => {
                    let at_once = ctx.at_once(n as usize, S::CAUSES) as u64;
                    (n, at_once, source.make(ctx, n.min(at_once) as usize))
                }
            }
        };
        let mut left = n.saturating_sub(at_once);
        while left > 0 {
            ctx.emit_now(0, batch);
            batch = self.get().make(ctx, left.min(at_once) as usize);
            left = left.saturating_sub(at_once);
        }
        ctx.emit_noticed(0, batch, S::CAUSES);
        // As in Click behind the whole burst: handlers that its packets cause to be called may ask for the count.
        self.add(n);
        ctx.schedule(task);
        true
    }

    /// Answers a pull.
    pub fn pull(&self, ctx: &mut Ctx<'_>, max: usize) -> Batch {
        let (is_active, left, call) = {
            let mut source = self.get();
            let pace = source.pace();
            (pace.is_active, pace.left(), pace.end_call.clone())
        };
        if !is_active {
            ctx.set_empty_signal(false);
            return Batch::new();
        }
        let n = left.min(max as u64);
        let batch = if n > 0 { self.count_and_make(ctx, n) } else { Batch::new() };
        if n < max as u64 {
            end(ctx, call);
            ctx.set_empty_signal(false);
        }
        batch
    }

    /// Takes over the task of the source that this one replaces while the graph runs.
    pub fn take_over(&self, ctx: &mut Ctx<'_>, old: &Shared<S>) {
        let is_changed = {
            let (mut source, mut old) = (self.get(), old.get());
            let (pace, old) = (source.pace(), old.pace());
            if pace.task.is_none() {
                pace.task = old.task;
                pace.nonfull = old.nonfull.clone();
            }
            pace.is_changed
        };
        if is_changed {
            self.wake(ctx);
        }
    }

    /// Lets the source go on after a handler was written.
    pub fn wake(&self, ctx: &mut Ctx<'_>) {
        let (can_go_on, task) = {
            let mut source = self.get();
            let pace = source.pace();
            (pace.is_active && pace.left() > 0, pace.task)
        };
        match task {
            _ if !can_go_on => {}
            Some(task) => ctx.schedule(task),
            None => ctx.set_empty_signal(true),
        }
    }

    fn count_and_make(&self, ctx: &mut Ctx<'_>, n: u64) -> Batch {
        let mut source = self.get();
        self.add(n);
        source.make(ctx, n as usize)
    }

    /// Counts packets. One thread at a time has the source, so that no locked instruction is needed.
    fn add(&self, n: u64) {
        self.count.store(self.count.load(Relaxed) + n, Relaxed);
    }
}

/// All packets are sent. What the handler answers has no reader.
fn end(ctx: &mut Ctx<'_>, call: Option<HandlerCall>) {
    if let Some(call) = call {
        call.write_silently(ctx);
    }
}

/// A packet to be cloned: data, cut or repeated to a length.
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

    /// Tells how long the packets are that are made.
    pub fn tell_length(&self, ctx: &mut Ctx<'_>) {
        ctx.makes_no_longer(self.packet.len());
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
