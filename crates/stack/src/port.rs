//! Where this process reads and writes the packets of a stack's interface.

use std::os::fd::OwnedFd;

use sys::packet_socket::{RxQueue, Tx, TxOptions};
use sys::tap::{self, Offload, Tap, VnetMode};

use crate::Result;

/// This process's end of an interface of a stack.
#[derive(Debug)]
pub enum Port {
    Tap(Tap),
    /// Instead of a tap where none can be opened.
    Cable(Cable),
}

/// Packet sockets on the other end of a cable, with virtio-net headers of 10 bytes.
#[derive(Debug)]
pub struct Cable {
    pub rx: RxQueue,
    pub tx: Tx,
}

/// Bytes of packets that may wait until this process reads them: nobody tells their sender to wait.
const ROOM: u32 = 4 << 20;

/// How the taps of stacks are opened: with virtio-net headers of 12 bytes.
pub fn tap_options(name: &str) -> tap::Options {
    tap::Options { vnet: VnetMode::Mergeable, ..tap::Options::tap(name) }
}

/// Takes over a tap of the agent's.
pub(crate) fn tap(fd: OwnedFd, name: &str) -> Result<Port> {
    let tap = Tap::from_received(fd, tap_options(name))?;
    tap.set_offload(Offload::ALL)?;
    Ok(Port::Tap(tap))
}

/// Binds two sockets of the agent's to device number `index` of their namespace.
pub(crate) fn cable(rx: OwnedFd, tx: OwnedFd, index: u32, name: &str) -> Result<Port> {
    let rx = RxQueue::on_socket(rx, index, name, ROOM)?;
    let tx = Tx::on_socket(tx, index, name, &TxOptions::default())?;
    Ok(Port::Cable(Cable { rx, tx }))
}
