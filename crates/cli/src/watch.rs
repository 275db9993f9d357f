//! Looking at packets on their way: traces and taps.

mod filter;
mod followed;
mod numbers;
mod tap;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use element::{Batch, ElementIdx, Packet, PortIdx, Runtime};
use engine::world::World;
use engine::Watcher;
use serde::{Deserialize, Serialize};

use filter::ip_of;
pub use filter::Filter;
use followed::Followed;
pub use tap::{Tap, Tapped};

/// What a trace tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Told {
    /// A step of a packet.
    Seen(Seen),
    /// The reader was too slow.
    LeftOut {
        /// So many steps are left out here.
        left_out: u64,
    },
}

/// What an element did with a traced packet.
#[derive(Debug, Serialize, Deserialize)]
pub struct Seen {
    /// Number of the packet, from 1.
    pub packet: u32,
    /// The element.
    pub element: String,
    /// Its class.
    pub class: String,
    /// The output that the packet left by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<usize>,
    /// The reason for which it was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped: Option<String>,
    /// Where it went: element, class and input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<(String, String, usize)>,
    /// Length in bytes as it left.
    pub len: usize,
    /// Addresses, protocol and ports, as far as they are known.
    pub summary: String,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:<24} {:>5} bytes  {:<44}",
            format!("{} :: {}", self.element, self.class),
            self.len,
            self.summary
        )?;
        match (&self.dropped, &self.port, &self.to) {
            (Some(reason), _, _) => write!(f, "  dropped: {reason}"),
            (None, Some(port), Some((element, class, input))) => {
                write!(f, "  [{port}] -> [{input}] {element} :: {class}")
            }
            (None, Some(port), None) => write!(f, "  [{port}]"),
            _ => Ok(()),
        }
    }
}

/// Follows the first packets that match a filter through the graph.
pub struct Trace {
    followed: Followed,
    /// `None` when all has been told.
    out: Option<SyncSender<Told>>,
    /// Steps that the reader was too slow for, and that it was not told of yet.
    left_out: Arc<AtomicU64>,
}

/// A trace that every thread of the graph contributes to.
#[derive(Clone)]
pub struct SharedTrace(Arc<Mutex<Trace>>);

impl Trace {
    /// A trace of `count` packets that match a filter.
    pub fn new(count: u32, filter: Filter, out: SyncSender<Told>) -> Trace {
        Trace { followed: Followed::new(count, filter), out: Some(out), left_out: Arc::default() }
    }

    /// How many steps were left out at the end: what the trace itself could not tell any more.
    pub fn left_out(&self) -> Arc<AtomicU64> {
        self.left_out.clone()
    }

    /// Tells of a step, or counts it if the reader is too far behind: packets do not wait for it.
    fn tell(&mut self, seen: Seen) {
        let Some(out) = &self.out else { return };
        let left_out = self.left_out.load(Ordering::Relaxed);
        let is_full = |error| matches!(error, TrySendError::Full(_));
        let send = |told| out.try_send(told).map_err(is_full);
        let caught_up = match left_out {
            0 => Ok(()),
            _ => send(Told::LeftOut { left_out })
                .map(|()| _ = self.left_out.fetch_sub(left_out, Ordering::Relaxed)),
        };
        match caught_up.and_then(|()| send(Told::Seen(seen))) {
            Ok(()) => {}
            Err(true) => _ = self.left_out.fetch_add(1, Ordering::Relaxed),
            Err(false) => self.out = None,
        }
    }

    /// Lets the reader go when all has been told, though threads that see no packets still hold the trace.
    fn finish(&mut self) {
        if self.followed.is_over() {
            self.out = None;
        }
    }

    fn passes(&mut self, world: &World, element: ElementIdx, port: PortIdx, batch: &Batch) {
        let is_source = world.n_ports(element).0 == 0;
        let to = world.downstream(element, port).first().copied();
        // An element without outputs keeps or ends the packet.
        let ends = to.is_some_and(|(e, _)| world.n_ports(e).1 == 0);
        for packet in batch.iter() {
            if is_source {
                self.followed.begin(packet);
            }
            let number = self.followed.number(packet);
            if ends {
                self.followed.forget(packet);
            }
            let Some(number) = number else { continue };
            let to = to.map(|(e, input)| (world.name(e).to_string(), world.class(e).to_string(), input));
            self.tell(Seen {
                packet: number,
                element: world.name(element).to_string(),
                class: world.class(element).to_string(),
                port: Some(port),
                dropped: None,
                to,
                len: packet.len(),
                summary: summary(packet),
            });
        }
    }

    fn drops(&mut self, world: &World, element: ElementIdx, reason: usize, batch: &Batch) {
        for packet in batch.iter() {
            let Some(number) = self.followed.forget(packet) else { continue };
            let reason = world.class_of(element).facts.drops.get(reason).map_or("?", |reason| reason.name);
            self.tell(Seen {
                packet: number,
                element: world.name(element).to_string(),
                class: world.class(element).to_string(),
                port: None,
                dropped: Some(reason.to_string()),
                to: None,
                len: packet.len(),
                summary: summary(packet),
            });
        }
    }
}

impl SharedTrace {
    /// A handle on a trace.
    pub fn new(trace: Trace) -> SharedTrace {
        SharedTrace(Arc::new(Mutex::new(trace)))
    }

    fn lock(&self) -> MutexGuard<'_, Trace> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watcher for SharedTrace {
    fn passes(&mut self, world: &World, element: ElementIdx, port: PortIdx, batch: &Batch) {
        let mut trace = self.lock();
        trace.passes(world, element, port, batch);
        trace.finish();
    }

    fn drops(&mut self, world: &World, element: ElementIdx, reason: usize, batch: &Batch) {
        let mut trace = self.lock();
        trace.drops(world, element, reason, batch);
        trace.finish();
    }

    fn is_done(&self) -> bool {
        self.lock().out.is_none()
    }
}

/// Addresses, protocol and ports.
fn summary(packet: &Packet) -> String {
    let Some(ip) = wire::Ipv4::new(ip_of(packet)) else {
        return match wire::Ethernet::new(packet.data()) {
            Some(frame) => format!("ethertype 0x{:04x}", frame.ethertype()),
            None => String::new(),
        };
    };
    let (src, dst, payload) = (ip.source(), ip.destination(), ip.payload());
    let ports = payload
        .first_chunk::<4>()
        .map(|p| (u16::from_be_bytes([p[0], p[1]]), u16::from_be_bytes([p[2], p[3]])));
    match (ip.protocol(), ports) {
        (wire::protocol::TCP, Some((sport, dport))) => {
            format!("{src}:{sport} > {dst}:{dport} tcp ttl {}", ip.ttl())
        }
        (wire::protocol::UDP, Some((sport, dport))) => {
            format!("{src}:{sport} > {dst}:{dport} udp ttl {}", ip.ttl())
        }
        (wire::protocol::ICMP, _) => format!("{src} > {dst} icmp ttl {}", ip.ttl()),
        (protocol, _) => format!("{src} > {dst} protocol {protocol} ttl {}", ip.ttl()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn step(packet: u32) -> Seen {
        let (element, class, summary) = ("c".to_string(), "Counter".to_string(), String::new());
        Seen { packet, element, class, port: Some(0), dropped: None, to: None, len: 60, summary }
    }

    #[test]
    fn a_slow_reader_is_told_how_much_it_missed() {
        let (sender, receiver) = sync_channel(2);
        let mut trace = Trace::new(10, Filter::new("").unwrap(), sender);
        let mut told = Vec::new();
        let mut take = |n: usize| {
            let shown = |line: String| line.split(',').next().unwrap_or_default().to_string();
            let received = receiver.try_iter().take(n);
            told.extend(received.map(|one| shown(serde_json::to_string(&one).unwrap())));
        };
        (1..=5).for_each(|packet| trace.tell(step(packet)));
        take(1);
        trace.tell(step(6));
        take(2);
        trace.tell(step(7));
        trace.tell(step(8));
        take(2);
        assert_eq!(
            told,
            [r#"{"packet":1"#, r#"{"packet":2"#, r#"{"left_out":3}"#, r#"{"left_out":1}"#, r#"{"packet":7"#]
        );
        assert_eq!(trace.left_out().load(Ordering::Relaxed), 1);
        let read: Told = serde_json::from_str(r#"{"left_out":3}"#).unwrap();
        assert!(matches!(read, Told::LeftOut { left_out: 3 }));
    }
}
