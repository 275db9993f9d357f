//! A cable to a stack that has no tap: packet sockets on its other end, in another network namespace.

use std::os::fd::AsFd;

use element::Batch;
use sys::buffer::Buffer;
use sys::packet_socket::{RxQueue, Tx};
use sys::poll::{Interest, Poller};
use sys::span::Sink;
use sys::tap::Received;

use super::packet_port::PacketOut;
use super::relay;
use super::tap_port::packet_of;
use super::{unwatch_fd, watch_fd, Input, Receipt};
use crate::device::words;

const ENETDOWN: i32 = 100;

/// What the stack sends.
pub struct CableIn {
    queue: RxQueue,
    device: String,
    /// Packets lie here on their way, if they are not relayed.
    buffer: Buffer,
}

/// The two directions of open sockets.
pub fn both(queue: RxQueue, tx: Tx, device: &str) -> sys::Result<(CableIn, PacketOut)> {
    let input = CableIn { queue, device: device.to_string(), buffer: Buffer::for_packet()? };
    Ok((input, PacketOut::new(tx, true)))
}

impl CableIn {
    /// Reads the next packet to where it goes.
    pub fn read(&self, to: Sink<'_>) -> sys::Result<Option<Received>> {
        self.queue.recv(to)
    }
}

impl Input for CableIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, _poller: &mut Poller) -> Receipt {
        while batch.len() < max {
            match self.queue.recv(&mut *self.buffer) {
                Ok(Some(received)) if !received.truncated => {
                    batch.push(packet_of(&self.buffer[..received.len], received.vnet));
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                // It may come up again.
                Err(error) if error.errno() == Some(ENETDOWN) => break,
                Err(error) => return Receipt::Fault(format!("{}: {}", self.device, words(&error))),
            }
        }
        if batch.is_empty() {
            Receipt::Nothing
        } else {
            Receipt::Packets
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.queue.as_fd(), Interest::READ)
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.queue.as_fd());
    }

    fn joint(&self) -> &'static str {
        "device"
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn n_missed(&self) -> u64 {
        self.queue.n_dropped().unwrap_or(0)
    }

    fn relay_end(&mut self) -> Option<relay::From<'_>> {
        Some(relay::From::Cable(self))
    }
}
