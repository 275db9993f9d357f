//! Packets that come in through a socket.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Result};

use element::{annotation, Batch, Ctx, Packet, TimerId, BATCH_MAX};
use socket2::{SockAddr, Socket};
use sys::datagrams::Inbox;

use crate::transport::Receiving;

/// Bytes that are read of a stream at once, if packets are shorter.
const STREAM_LEN: usize = 1 << 16;

/// Where bytes are received, and the packets that were made of them and are not yet emitted.
pub struct Intake {
    receiving: Receiving,
    room: Room,
    pending: VecDeque<Packet>,
    /// Expires to go on with what is pending, when the driver was about to stop.
    resume: TimerId,
}

enum Room {
    Stream(Vec<u8>),
    Datagrams(Inbox),
}

impl Intake {
    /// An intake of bytes, a packet for as many as there are at a time.
    pub fn of_stream(ctx: &mut Ctx<'_>, receiving: Receiving) -> Intake {
        let n_packets = STREAM_LEN / receiving.snaplen.max(1);
        let room = Room::Stream(vec![0; receiving.snaplen * n_packets.max(1)]);
        Intake { receiving, room, pending: VecDeque::new(), resume: ctx.new_timer() }
    }

    /// An intake of datagrams, a packet for each.
    pub fn of_datagrams(ctx: &mut Ctx<'_>, receiving: Receiving) -> Intake {
        let room = Room::Datagrams(Inbox::new(receiving.snaplen));
        Intake { receiving, room, pending: VecDeque::new(), resume: ctx.new_timer() }
    }

    /// Whether something is still to be emitted, which comes before anything else is received.
    pub fn is_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Reads what there is of a stream; how many bytes, `None` if there is nothing now.
    pub fn read(&mut self, ctx: &mut Ctx<'_>, socket: &Socket) -> Result<Option<usize>> {
        let Room::Stream(buffer) = &mut self.room else { return Ok(None) };
        let mut socket = socket;
        let n = match socket.read(buffer) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(None)
            }
            other => other?,
        };
        for bytes in buffer.get(..n).unwrap_or(&[]).chunks(self.receiving.snaplen.max(1)) {
            let packet = self.receiving.packet(ctx, bytes, bytes.len());
            self.pending.push_back(packet);
        }
        Ok(Some(n))
    }

    /// Receives the datagrams that there are and keeps those that `admits` wants, by their senders.
    pub fn receive(
        &mut self,
        ctx: &mut Ctx<'_>,
        socket: &Socket,
        mut admits: impl FnMut(&mut Ctx<'_>, &SockAddr) -> bool,
    ) -> Result<()> {
        let Room::Datagrams(inbox) = &mut self.room else { return Ok(()) };
        inbox.receive(socket)?;
        for datagram in inbox.datagrams() {
            if admits(ctx, datagram.sender) {
                let packet = self.receiving.packet(ctx, datagram.data, datagram.len);
                self.pending.push_back(packet);
            }
        }
        Ok(())
    }

    /// What is pending, to be changed.
    pub fn retain(&mut self, keep: impl FnMut(&mut Packet) -> bool) {
        self.pending.retain_mut(keep);
    }

    /// Emits what is pending by output 0, a burst at a time, until somebody stops the driver.
    pub fn emit(&mut self, ctx: &mut Ctx<'_>) {
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        while !self.pending.is_empty() {
            let mut batch = Batch::new();
            for packet in self.pending.drain(..burst.min(self.pending.len())) {
                batch.push(packet);
            }
            if self.pending.is_empty() {
                return ctx.emit(0, batch);
            }
            ctx.emit_now(0, batch);
            if ctx.runtime().runcount() <= 0 {
                return ctx.schedule_now(self.resume);
            }
        }
    }

    /// Takes what another intake has not emitted, to emit it soon.
    pub fn take_over(&mut self, ctx: &mut Ctx<'_>, old: &mut Intake) {
        self.pending.append(&mut old.pending);
        if self.is_pending() {
            ctx.schedule_now(self.resume);
        }
    }
}

impl Receiving {
    fn packet(&self, ctx: &mut Ctx<'_>, data: &[u8], whole_len: usize) -> Packet {
        let mut packet = Packet::with_headroom(self.headroom, data);
        if whole_len > data.len() {
            let extra = u32::try_from(whole_len - data.len()).unwrap_or(u32::MAX);
            packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
        }
        if self.stamps {
            packet.set_timestamp_ns(ctx.now_ns());
        }
        packet
    }
}
