//! A network device that is there, through packet sockets.

use std::collections::VecDeque;
use std::os::fd::AsFd;

use element::{Batch, Packet};
use packet::Ring;
use sys::packet_socket::{RxOptions, RxRing, Tx, TxFrame, TxOptions};
use sys::poll::{Interest, Poller};

use super::{unwatch_fd, watch_fd, watch_room, Dispatch, Input, Output, Receipt};
use crate::device::{check_up, from_frame, refusal, words};
use crate::segment::segment;
use crate::vnet;

const ENETDOWN: i32 = 100;
/// Packets sent with one system call.
const BATCH: usize = 64;

/// What a device receives.
pub struct PacketIn {
    ring: RxRing,
    device: String,
    /// Taken out of the kernel's block and not yet handed on.
    pending: VecDeque<Packet>,
}

/// What a device sends.
pub struct PacketOut {
    tx: Tx,
    is_blocked: bool,
    n_refused: u64,
}

/// Opens a device's two directions; it receives what is sent to other stations as well, as a wire does.
pub fn open(device: &str) -> Result<(PacketIn, PacketOut), String> {
    let refused = |error: sys::SysError| refusal(device, false, &error);
    check_up(device, false)?;
    let ring =
        RxRing::open(device, &RxOptions { promiscuous: true, ..RxOptions::default() }).map_err(refused)?;
    Ok(of(ring, Tx::open(device, &TxOptions::default()).map_err(refused)?, device))
}

/// The two directions of open sockets.
pub fn of(ring: RxRing, tx: Tx, device: &str) -> (PacketIn, PacketOut) {
    let input = PacketIn { ring, device: device.to_string(), pending: VecDeque::new() };
    (input, PacketOut { tx, is_blocked: false, n_refused: 0 })
}

impl Input for PacketIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, _poller: &mut Poller) -> Receipt {
        while self.pending.len() < max {
            let Some(block) = self.ring.poll_block() else { break };
            let packets =
                block.frames().map(|frame| from_frame(&frame, packet::DEFAULT_HEADROOM, usize::MAX));
            self.pending.extend(packets);
        }
        let n = self.pending.len().min(max);
        self.pending.drain(..n).for_each(|mut packet| {
            packet.set_mac_offset(0);
            batch.push(packet);
        });
        if !batch.is_empty() {
            return Receipt::Packets;
        }
        match self.ring.take_error() {
            Ok(()) => Receipt::Nothing,
            // It may come up again.
            Err(error) if error.errno() == Some(ENETDOWN) => Receipt::Nothing,
            Err(error) => Receipt::Fault(format!("{}: {}", self.device, words(&error))),
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.ring.as_fd(), Interest::READ)
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.ring.as_fd());
    }

    fn joint(&self) -> &'static str {
        "device"
    }

    fn is_stream(&self) -> bool {
        false
    }
}

impl Output for PacketOut {
    fn send(&mut self, waiting: &mut Ring, _poller: &mut Poller) -> Dispatch {
        while !waiting.is_empty() {
            let frames: Vec<TxFrame<'_>> = waiting
                .iter()
                .take(BATCH)
                .map(|packet| TxFrame { vnet: vnet::header_of(packet), data: packet.data() })
                .collect();
            match self.tx.send_batch(&frames) {
                Ok(0) => return Dispatch::Blocked,
                Ok(n) => (0..n).for_each(|_| drop(waiting.pop_front())),
                Err(_) => self.give_up_first(waiting),
            }
        }
        Dispatch::All
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.tx.as_fd(), Interest::default())
    }

    fn set_blocked(&mut self, poller: &mut Poller, is_blocked: bool) {
        watch_room(poller, self.tx.as_fd(), &mut self.is_blocked, is_blocked);
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.tx.as_fd());
    }

    fn woken(&mut self) {
        // Being down is told once and passes.
        let _ = self.tx.take_error();
    }

    fn joint(&self) -> &'static str {
        "device"
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn n_bad(&self) -> u64 {
        self.n_refused
    }
}

impl PacketOut {
    /// The first packet was refused. One with offload metadata is tried again, segmented here.
    fn give_up_first(&mut self, waiting: &mut Ring) {
        let Some(packet) = waiting.pop_front() else { return };
        if !packet.has_offload() {
            self.n_refused += 1;
            return;
        }
        let mut parts = Vec::new();
        segment(&packet, |part| parts.push(part));
        parts.into_iter().rev().for_each(|part| waiting.push_front(part));
    }
}
