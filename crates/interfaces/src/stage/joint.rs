//! Shared memory between two stages: both directions of an upgraded pipe.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use element::{annotation, Batch, Packet, BATCH_MAX};
use packet::{Ring, FRAME_MAX};
use ring::{Consumer, Header, Producer, Record, Refused, Side};
use sys::buffer::LONGEST_PACKET;
use sys::memfd::Memfd;
use sys::poll::{Interest, Poller, Waker};
use sys::span::{Sink, Source};
use sys::tap::Received;
use sys::vnet::VnetHeader;

use super::relay::{self, Relayed};
use super::{unwatch_fd, watch_fd, Dispatch, Input, Output, Receipt};
use crate::segment::{is_for_kernel, segment, MAX_SEGMENTS};
use crate::vnet;

/// Bytes of each ring.
pub const CAPACITY: usize = 2 << 20;
/// Most bytes of a pair of rings that a neighbour may send.
pub const MAX_PAIR: usize = 2 * (4096 + ring::CAPACITY_MAX);
/// Packets after which they are shown to the reader, though more follow.
const PUBLISH: usize = 64;
/// Packets at once that a reader need not be woken for at once: whoever sends as many is busy, and has more to send.
const MANY: usize = 32;
/// Bytes that wait when a reader who sleeps is woken though the writer has more to do.
const WAKE_BYTES: usize = 32 << 10;

/// The connection over which two neighbours agreed; it tells when the other process is gone.
pub type Line = Arc<OwnedFd>;

/// What wakes either side of one direction.
#[derive(Clone)]
pub struct Bells {
    /// Rung when there are packets.
    pub data: Waker,
    /// Rung when there is room.
    pub room: Waker,
}

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

/// The end of a ring that packets are written to.
pub struct RingOut {
    producer: Producer,
    bells: Bells,
    line: Line,
    is_blocked: bool,
    is_finished: bool,
    /// The reader sleeps, and was not woken yet.
    owes_wake: bool,
    /// Segments of a packet that was too long for the ring.
    parts: Ring,
    n_bad: u64,
}

/// Both ends that one process has.
pub fn ends(memory: &Memfd, side: Side, bells: [Bells; 2], line: &Line) -> Result<(RingIn, RingOut), String> {
    let capacity = ring::capacity_of_pair(memory.len()).ok_or("its size is not that of two rings")?;
    let region = memory.map().map_err(|error| error.to_string())?;
    let (producer, consumer) = ring::ends(region, capacity, side).map_err(|error| error.to_string())?;
    let [forward, backward] = bells;
    let (own, other) = match side {
        Side::First => (forward, backward),
        Side::Second => (backward, forward),
    };
    let input = RingIn { consumer, bells: other, line: line.clone(), waits: false, n_bad: 0 };
    let output = RingOut {
        producer,
        bells: own,
        line: line.clone(),
        is_blocked: false,
        is_finished: false,
        owes_wake: false,
        parts: Ring::new(),
        n_bad: 0,
    };
    Ok((input, output))
}

/// Whether the process at the other end of the line is gone. Only for that the line is watched: what else a neighbour says on it now is
/// not listened to.
fn is_gone(line: &Line) -> bool {
    sys::pipe::is_unread(line)
}

impl RingIn {
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

impl RingOut {
    /// Tells the neighbour to read the ring after the pipe; false if it is gone.
    pub fn announce(&self) -> bool {
        super::neighbour::announce(&self.line)
    }

    /// Whether the neighbour has not been told yet, though it will be.
    pub fn is_unannounced(&self) -> bool {
        sys::unix::has_unreceived(self.line.as_fd())
    }

    /// Makes the own poller look.
    pub fn call_self(&self) {
        self.bells.room.wake();
    }

    /// Puts a packet in.
    #[inline(always)]
    fn push(&mut self, packet: &Packet) -> Result<(), Refused> {
        if packet.has_offload() || packet.anno_u32(annotation::EXTRA_LENGTH) != 0 {
            return self.push_with_header(packet);
        }
        self.producer.push_plain(packet.timestamp_ns(), packet.data())
    }

    #[cold]
    fn push_with_header(&mut self, packet: &Packet) -> Result<(), Refused> {
        if !is_for_kernel(packet) {
            // The reader may be a kernel. Its segments go instead.
            return Err(Refused::TooLong);
        }
        let wire_len = packet.len() as u64 + u64::from(packet.anno_u32(annotation::EXTRA_LENGTH));
        let header = Header {
            wire_len: u32::try_from(wire_len).unwrap_or(u32::MAX),
            timestamp_ns: packet.timestamp_ns(),
            vnet: if packet.has_offload() { vnet::header_of(packet) } else { VnetHeader::default() },
        };
        self.producer.push(&header, packet.data())
    }

    /// Puts packets in until one is refused, and shows them to the reader: which one was refused, and why.
    #[inline(always)]
    fn push_all(&mut self, batch: &Batch) -> Option<(usize, Refused)> {
        let mut refused = None;
        for (idx, packet) in batch.iter().enumerate() {
            if let Err(why) = self.push(packet) {
                refused = Some((idx, why));
                break;
            }
            if idx % PUBLISH == PUBLISH - 1 {
                self.publish();
            }
        }
        self.publish();
        if batch.len() < MANY {
            self.wake_reader();
        }
        refused
    }

    /// Has `read` put packets, at most `max`, into shared memory.
    pub fn relay_from(
        &mut self,
        mut read: impl FnMut(Sink<'_>) -> sys::Result<Option<Received>>,
        max: usize,
        now_ns: i64,
    ) -> Relayed {
        let mut relayed = Relayed::default();
        let mut n_unseen = 0;
        while relayed.traffic.packets < max as u64 {
            // Whether there is no room, or nobody reads, is found out where packets are sent.
            let Ok(mut room) = self.producer.reserve(LONGEST_PACKET) else { break };
            // So is what went wrong.
            let Ok(received) = read(room.sink()) else { break };
            let Some(received) = received else {
                relayed.is_all = true;
                break;
            };
            if received.truncated {
                continue;
            }
            let (len, vnet) = (received.len, vnet::unverified(received.vnet));
            room.commit(&Header { wire_len: len as u32, timestamp_ns: now_ns, vnet }, len);
            relayed.traffic.add_bytes(len);
            n_unseen += len;
            if n_unseen >= WAKE_BYTES {
                self.publish();
                n_unseen = 0;
            }
        }
        self.publish();
        relayed
    }

    fn refused(&mut self, packet: Packet, why: Refused, waiting: &mut Ring) -> Option<Dispatch> {
        match why {
            Refused::NoRoom => {
                self.wake_reader();
                self.bells.room.reset();
                let may_sleep = self.producer.prepare_to_wait(packet.len());
                waiting.push_front(packet);
                // There may be room again already: then the loop goes on.
                may_sleep.then_some(Dispatch::Blocked)
            }
            Refused::TooLong if packet.has_offload() && self.parts.is_empty() => {
                segment(&packet, |part| self.parts.push_back(part));
                while let Some(part) = self.parts.pop_back() {
                    waiting.push_front(part);
                }
                None
            }
            Refused::TooLong => {
                self.n_bad += 1;
                None
            }
            Refused::Closed => {
                waiting.push_front(packet);
                Some(if is_gone(&self.line) { Dispatch::Closed } else { Dispatch::Unread })
            }
            Refused::Finished | Refused::Corrupt(_) => {
                waiting.push_front(packet);
                Some(Dispatch::Closed)
            }
        }
    }

    /// Shows the reader what was put in. Waking one that sleeps costs as much as hundreds of packets, and one that is as fast as the
    /// writer would have to be woken for each large batch: it may sleep until much waits, or the writer has nothing else to do.
    fn publish(&mut self) {
        self.owes_wake |= self.producer.publish();
        if self.owes_wake && self.producer.pending_bytes() >= WAKE_BYTES {
            self.wake_reader();
        }
    }
}

impl Drop for RingOut {
    fn drop(&mut self) {
        self.wake_reader();
    }
}

impl Output for RingOut {
    fn owes_wake(&self) -> bool {
        self.owes_wake
    }

    fn wake_reader(&mut self) {
        if std::mem::take(&mut self.owes_wake) {
            self.bells.data.wake();
        }
    }

    fn send_now(&mut self, batch: &mut Batch) {
        match self.push_all(batch) {
            // All at once: an atomic count of what packets share waits for everything that was written before it.
            None => batch.clear(),
            Some((n, _)) => drop(batch.drain_first(n)),
        }
    }

    fn send(&mut self, waiting: &mut Ring, _poller: &mut Poller) -> Dispatch {
        let mut batch = Batch::new();
        loop {
            waiting.pop_batch(&mut batch, BATCH_MAX);
            if batch.is_empty() {
                return Dispatch::All;
            }
            let refused = self.push_all(&batch).and_then(|(idx, why)| {
                (idx + 1..batch.len())
                    .for_each(|_| batch.pop().into_iter().for_each(|p| waiting.push_front(p)));
                Some((batch.pop()?, why))
            });
            batch.clear();
            let dispatch = refused.and_then(|(packet, why)| self.refused(packet, why, waiting));
            if let Some(dispatch) = dispatch {
                return if is_gone(&self.line) { Dispatch::Closed } else { dispatch };
            }
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.bells.room.as_fd(), Interest::READ)?;
        watch_fd(poller, self.line.as_fd(), Interest::default())
    }

    fn set_blocked(&mut self, _poller: &mut Poller, is_blocked: bool) {
        if self.is_blocked && !is_blocked {
            self.producer.cancel_wait();
        }
        self.is_blocked = is_blocked;
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.bells.room.as_fd());
        unwatch_fd(poller, self.line.as_fd());
    }

    fn woken(&mut self) {
        self.bells.room.reset();
    }

    fn is_closed(&mut self) -> bool {
        is_gone(&self.line)
    }

    fn finish(&mut self, _poller: &mut Poller) -> Dispatch {
        self.owes_wake |= !std::mem::replace(&mut self.is_finished, true) && self.producer.finish();
        self.wake_reader();
        Dispatch::All
    }

    fn joint(&self) -> &'static str {
        "ring"
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn ends_with_neighbour(&self) -> bool {
        true
    }

    fn relay_end(&mut self) -> Option<relay::To<'_>> {
        Some(relay::To::Ring(self))
    }

    fn n_bad(&self) -> u64 {
        self.n_bad
    }
}
