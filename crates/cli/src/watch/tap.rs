//! A tap: copies of the packets that leave a port.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::Arc;

use element::{Batch, ElementIdx, Packet, PortIdx, Runtime, TOP};
use engine::world::World;
use engine::Watcher;

use crate::print::counted;

/// A packet seen by a tap.
pub struct Tapped {
    /// Timestamp in nanoseconds since the epoch.
    pub timestamp_ns: i64,
    /// The packet's bytes.
    pub data: Vec<u8>,
}

/// Copies the packets that leave a port.
#[derive(Clone)]
pub struct Tap {
    element: ElementIdx,
    port: PortIdx,
    out: SyncSender<Tapped>,
    /// How many packets were left out so far, as the reader was too far behind: packets do not wait for it.
    left_out: Arc<AtomicU64>,
    is_closed: bool,
}

impl Tap {
    /// A tap on `ELEMENT` or `ELEMENT[PORT]`, which counts what it leaves out.
    pub fn new(
        world: &World,
        edge: &str,
        out: SyncSender<Tapped>,
        left_out: Arc<AtomicU64>,
    ) -> Result<Tap, String> {
        let (name, port) = match edge.strip_suffix(']').and_then(|edge| edge.split_once('[')) {
            Some((name, port)) => {
                let port = port.parse().map_err(|_| format!("`{edge}`: `{port}` is no port number"))?;
                (name, port)
            }
            None => (edge, 0),
        };
        let Some(element) = world.find(name, TOP) else {
            return Err(format!(
                "no element named `{name}`\n  help: `weir handler read list` names them all"
            ));
        };
        let n_outputs = world.n_ports(element).1;
        if port >= n_outputs {
            return Err(format!("`{name}` has {}; there is no output {port}", counted(n_outputs, "output")));
        }
        Ok(Tap { element, port, out, left_out, is_closed: false })
    }

    fn copy(&mut self, packet: &Packet) {
        let tapped = Tapped { timestamp_ns: packet.timestamp_ns(), data: packet.data().to_vec() };
        match self.out.try_send(tapped) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => _ = self.left_out.fetch_add(1, Ordering::Relaxed),
            Err(TrySendError::Disconnected(_)) => self.is_closed = true,
        }
    }
}

impl Watcher for Tap {
    fn passes(&mut self, _world: &World, element: ElementIdx, port: PortIdx, batch: &Batch) {
        if (element, port) == (self.element, self.port) {
            batch.iter().for_each(|packet| self.copy(packet));
        }
    }

    fn drops(&mut self, _world: &World, _element: ElementIdx, _reason: usize, _batch: &Batch) {}

    fn is_done(&self) -> bool {
        self.is_closed
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;

    #[test]
    fn what_a_slow_reader_misses_is_counted() {
        let (out, receiver) = sync_channel(2);
        let mut tap = Tap { element: 0, port: 0, out, left_out: Arc::default(), is_closed: false };
        (0..5).for_each(|n| tap.copy(&Packet::from_bytes(&[n])));
        let told: Vec<_> = receiver.try_iter().map(|tapped| tapped.data[0]).collect();
        assert_eq!((told, tap.left_out.load(Ordering::Relaxed)), (vec![0, 1], 3));
        drop(receiver);
        tap.copy(&Packet::from_bytes(&[5]));
        assert!(tap.is_done());
    }
}
