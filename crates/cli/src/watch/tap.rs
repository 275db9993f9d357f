//! A tap: copies of the packets that leave a port.

use std::sync::mpsc::{SyncSender, TrySendError};

use element::{Batch, ElementIdx, PortIdx, Runtime, TOP};
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
    is_closed: bool,
}

impl Tap {
    /// A tap on `ELEMENT` or `ELEMENT[PORT]`.
    pub fn new(world: &World, edge: &str, out: SyncSender<Tapped>) -> Result<Tap, String> {
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
        Ok(Tap { element, port, out, is_closed: false })
    }
}

impl Watcher for Tap {
    fn passes(&mut self, _world: &World, element: ElementIdx, port: PortIdx, batch: &Batch) {
        if (element, port) != (self.element, self.port) {
            return;
        }
        for packet in batch.iter() {
            let tapped = Tapped { timestamp_ns: packet.timestamp_ns(), data: packet.data().to_vec() };
            match self.out.try_send(tapped) {
                Ok(()) | Err(TrySendError::Full(_)) => {}
                Err(TrySendError::Disconnected(_)) => self.is_closed = true,
            }
        }
    }

    fn drops(&mut self, _world: &World, _element: ElementIdx, _reason: usize, _batch: &Batch) {}

    fn is_done(&self) -> bool {
        self.is_closed
    }
}
