//! Packets with numbers: a source that sends them at a rate, and an end that checks them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use element::{Batch, Class, Configure, Ctx, Element, Failed, Packet, TaskId};

/// Packets a second.
const RATE: u64 = 1_000_000;
/// Flows, each with numbers of its own.
const N_FLOWS: usize = 64;
/// Most packets that are sent in a row.
const BURST: u64 = 32;

/// What the source and the end count, and whether the source still sends.
#[derive(Default)]
pub struct Counts {
    /// Packets that were sent.
    pub sent: AtomicU64,
    /// Packets that came to the end.
    pub received: AtomicU64,
    /// Packets that came without the one before them.
    pub out_of_order: AtomicU64,
    /// Other than 0 when no more are to be sent.
    pub is_over: AtomicU64,
}

static COUNTS: Mutex<Option<Arc<Counts>>> = Mutex::new(None);

/// The counts of the measurement, which this process makes one of.
pub fn counts() -> Arc<Counts> {
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().clone()
}

/// Sends numbered packets at the rate.
struct NumberedSource {
    counts: Arc<Counts>,
    task: Option<TaskId>,
    begin_ns: Option<i64>,
    sent: u64,
    next: [u64; N_FLOWS],
}

/// The class of the source.
pub static SOURCE: Class = Class::new::<NumberedSource>("NumberedSource", "0/1", "h/h", "x/x");

impl Element for NumberedSource {
    fn configure(conf: &mut Configure<'_>) -> Result<NumberedSource, Failed> {
        conf.finish()?;
        Ok(NumberedSource { counts: counts(), task: None, begin_ns: None, sent: 0, next: [0; N_FLOWS] })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        ctx.schedule(task);
        self.task = Some(task);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        // The driver looks at what it is asked between two rounds, of which there are some only while a task runs.
        ctx.schedule(task);
        if self.counts.is_over.load(Ordering::Relaxed) != 0 {
            return false;
        }
        let now = ctx.steady_ns();
        let passed = now - *self.begin_ns.get_or_insert(now);
        let due = (passed as u64).saturating_mul(RATE / 1000) / 1_000_000;
        let sent = self.sent;
        let n = due.saturating_sub(sent).min(BURST);
        if n == 0 {
            return false;
        }
        let mut batch = Batch::new();
        for number in sent..sent + n {
            let flow = (number % N_FLOWS as u64) as usize;
            let mut packet = Packet::zeroed(60);
            packet.data_mut()[..8].copy_from_slice(&(flow as u64).to_ne_bytes());
            packet.data_mut()[8..16].copy_from_slice(&self.next[flow].to_ne_bytes());
            self.next[flow] += 1;
            batch.push(packet);
        }
        self.sent += n;
        self.counts.sent.fetch_add(n, Ordering::Relaxed);
        ctx.emit(0, batch);
        true
    }
}

/// Checks the packets' numbers.
struct NumberCheck {
    counts: Arc<Counts>,
    next: [u64; N_FLOWS],
}

/// The class of the end.
pub static CHECK: Class = Class::new::<NumberCheck>("NumberCheck", "1/0", "h/h", "x/x");

impl Element for NumberCheck {
    fn configure(conf: &mut Configure<'_>) -> Result<NumberCheck, Failed> {
        conf.finish()?;
        Ok(NumberCheck { counts: counts(), next: [0; N_FLOWS] })
    }

    fn push(&mut self, _ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        for packet in batch.iter() {
            let word = |at: usize| {
                packet
                    .data()
                    .get(at..)
                    .and_then(|rest| rest.first_chunk())
                    .map_or(0, |bytes| u64::from_ne_bytes(*bytes))
            };
            let Some(next) = self.next.get_mut(word(0) as usize) else { continue };
            if word(8) != *next {
                self.counts.out_of_order.fetch_add(1, Ordering::Relaxed);
            }
            *next = word(8) + 1;
        }
        self.counts.received.fetch_add(batch.len() as u64, Ordering::Relaxed);
    }
}
