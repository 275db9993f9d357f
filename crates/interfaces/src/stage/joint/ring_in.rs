//! The end of a ring that packets are read from.

use std::os::fd::AsFd;

use element::{annotation, Batch, Packet};
use packet::FRAME_MAX;
use ring::{Consumer, Header, Record};
use sys::poll::{Interest, Poller};
use sys::span::Source;
use sys::vnet::VnetHeader;

use super::{is_gone, Bells, Line};
use crate::segment::MAX_SEGMENTS;
use crate::stage::relay::{self, Relayed};
use crate::stage::{unwatch_fd, watch_fd, Input, Receipt};
use crate::vnet;

/// The end of a ring that packets are read from.
pub struct RingIn {
    consumer: Consumer,
    bells: Bells,
    line: Line,
    /// Whether a wake-up was asked for.
    waits: bool,
    /// Packets whose metadata made no sense.
    n_bad: u64,
}

impl RingIn {
    pub(super) fn new(consumer: Consumer, bells: Bells, line: Line) -> RingIn {
        RingIn { consumer, bells, line, waits: false, n_bad: 0 }
    }

    /// Tells the writer that nobody will read.
    pub fn refuse(&mut self) {
        if self.consumer.close() {
            self.bells.room.wake();
        }
    }

    /// Makes the own poller look.
    pub fn call_self(&self) {
        self.bells.data.wake();
    }

    /// Forgets that its poller was called.
    pub fn hush(&self) {
        self.bells.data.reset();
    }

    /// Copies records out. What a neighbour may change at any time never reaches an element.
    fn take(&mut self, batch: &mut Batch, max: usize) -> Result<(), String> {
        let mut is_short = true;
        while batch.len() < max {
            if is_short {
                batch.fill(max - batch.len(), |room| self.consumer.copy_plain(room));
                if batch.len() == max {
                    break;
                }
            }
            match self.consumer.next() {
                Ok(Some(record)) => {
                    is_short = record.is_plain && record.len() <= FRAME_MAX;
                    batch.push(packet_of(&record, &mut self.n_bad));
                }
                Ok(None) => break,
                Err(corrupt) => return Err(corrupt.to_string()),
            }
        }
        self.release();
        Ok(())
    }

    /// Has `write` take packets, at most `max`, out of shared memory; whether it could take one it tells.
    pub fn relay_to(&mut self, mut write: impl FnMut(VnetHeader, Source<'_>) -> bool, max: usize) -> Relayed {
        self.stop_waiting();
        let mut relayed = Relayed::default();
        while relayed.traffic.packets < max as u64 {
            // What a neighbour does against the rules is told of where packets are received.
            let Ok(Some(record)) = self.consumer.next() else {
                relayed.is_all = relayed.traffic.packets > 0;
                break;
            };
            let header = record.header.vnet;
            if !is_sound(&header, record.len()) || !write(header, record.source()) {
                relayed.left = Some(packet_of(&record, &mut self.n_bad));
                break;
            }
            relayed.traffic.add_bytes(record.len());
        }
        self.release();
        relayed
    }

    /// Gives the room back of what was taken out.
    fn release(&mut self) {
        if self.consumer.release() {
            self.bells.room.wake();
        }
    }

    fn stop_waiting(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.consumer.cancel_wait();
        }
    }
}

impl Input for RingIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, _poller: &mut Poller) -> Receipt {
        self.stop_waiting();
        if let Err(message) = self.take(batch, max) {
            return Receipt::Fault(format!("the neighbour broke the rules of shared memory: {message}"));
        }
        if !batch.is_empty() {
            return Receipt::Packets;
        }
        if self.consumer.is_finished() {
            return Receipt::End;
        }
        // What was published before the neighbour went is still read.
        if is_gone(&self.line) {
            return match self.take(batch, max) {
                Ok(()) if !batch.is_empty() => Receipt::Packets,
                _ => Receipt::End,
            };
        }
        Receipt::Nothing
    }

    fn may_sleep(&mut self) -> bool {
        self.bells.data.reset();
        self.waits = self.consumer.prepare_to_wait();
        self.waits
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.bells.data.as_fd(), Interest::READ)?;
        watch_fd(poller, self.line.as_fd(), Interest::default())
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.bells.data.as_fd());
        unwatch_fd(poller, self.line.as_fd());
    }

    fn joint(&self) -> &'static str {
        "ring"
    }

    fn n_waiting_bytes(&self) -> usize {
        self.consumer.pending_bytes()
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn ends_with_neighbour(&self) -> bool {
        true
    }

    fn relay_end(&mut self) -> Option<relay::From<'_>> {
        Some(relay::From::Ring(self))
    }

    fn n_bad(&self) -> u64 {
        self.n_bad
    }
}

/// Copies a record out; counts in `n_bad` those whose metadata makes no sense.
#[inline(always)]
fn packet_of(record: &Record<'_>, n_bad: &mut u64) -> Packet {
    let mut packet = Packet::uninit(packet::DEFAULT_HEADROOM, record.len(), 0);
    record.copy_into_slice(packet.data_mut());
    packet.set_timestamp_ns(record.header.timestamp_ns);
    packet.set_mac_offset(0);
    if !record.is_plain {
        let is_sound = apply(&record.header, &mut packet);
        *n_bad += u64::from(!is_sound);
    }
    packet
}

/// Gives a packet what its header tells, but for the time; whether its virtio-net header made sense.
#[inline(never)]
fn apply(header: &Header, packet: &mut Packet) -> bool {
    let extra = header.wire_len as usize - packet.len();
    if extra > 0 {
        packet.set_anno_u32(annotation::EXTRA_LENGTH, extra as u32);
    }
    if header.vnet == VnetHeader::default() {
        return true;
    }
    let is_sound = is_sound(&header.vnet, packet.len());
    if is_sound {
        vnet::apply(packet, header.vnet);
    }
    is_sound
}

/// Whether a virtio-net header fits a packet of `len` bytes.
fn is_sound(header: &VnetHeader, len: usize) -> bool {
    let checksum_at = usize::from(header.csum_start) + usize::from(header.csum_offset);
    let has_checksum = !header.needs_csum() || checksum_at + 2 <= len;
    let has_segments = !header.is_gso()
        || (header.needs_csum()
            && len <= usize::from(header.gso_size) * MAX_SEGMENTS
            && usize::from(header.hdr_len) <= len);
    has_checksum && has_segments
}
