//! What a packet does to its flow, and which bytes are searched because of it.

use wire::tcp_flag;

use crate::flows::{Flow, Phase};
use crate::memory::Memory;
use crate::packet::{TcpFields, View};
use crate::search::evaluate::{Context, Evaluator, Of, Unit};
use crate::search::Program;
use crate::stream::{Offer, StreamCounts, LOOK_BACK};

/// Notes what a packet says of its flow; whether it goes to the server.
pub fn track(flow: &mut Flow, view: &View<'_>, is_high: bool) -> bool {
    let is_first = flow.has_sent == [false; 2];
    let has = |flag| view.tcp.is_some_and(|tcp| tcp.has(flag));
    if is_first {
        let from_server = match view.tcp {
            Some(_) if has(tcp_flag::SYN) => has(tcp_flag::ACK),
            // The beginning was missed: the lower port is taken for the server's.
            Some(_) => view.source_port < view.destination_port,
            None => false,
        };
        flow.client_is_high = is_high != from_server;
        if view.tcp.is_some() && !has(tcp_flag::SYN) {
            flow.phase = Phase::Established;
        }
    }
    if let Some(sent) = flow.has_sent.get_mut(usize::from(is_high)) {
        *sent = true;
    }
    if flow.phase == Phase::New && flow.has_sent == [true; 2] {
        flow.phase = Phase::Established;
    }
    if let Some(tcp) = &view.tcp {
        end(flow, tcp, view.payload.len(), usize::from(is_high));
    }
    is_high == flow.client_is_high
}

/// Notes what a segment of so many bytes says of its connection's end. Only what is in sequence does: its receiver takes no
/// RST anywhere else (RFC 5961, section 3.2), and waits for what is before a FIN.
fn end(flow: &mut Flow, tcp: &TcpFields, len: usize, side: usize) {
    let (Some(stream), Some(finished)) = (flow.streams.get(side), flow.has_finished.get_mut(side)) else {
        return;
    };
    *finished |= tcp.has(tcp_flag::FIN) && stream.is_next(tcp.sequence.wrapping_add(tcp.syn_len()), len);
    let resets = tcp.has(tcp_flag::RST) && stream.is_next(tcp.sequence, 0);
    if resets || flow.has_finished == [true; 2] {
        flow.phase = Phase::Closed;
    }
}

/// What one packet is worked at with.
pub struct Work<'a> {
    /// The rules.
    pub program: &'a Program,
    /// What evaluates them.
    pub evaluator: &'a mut Evaluator,
    /// The packet's flow.
    pub flow: &'a mut Flow,
    /// The memory of streams.
    pub memory: &'a mut Memory,
    /// What happens to streams.
    pub counts: &'a mut StreamCounts,
    /// Whether the packet goes to the server.
    pub to_server: bool,
    /// Bytes of a stream that are searched, 0 for all.
    pub depth: u64,
}

impl Work<'_> {
    /// A TCP segment from end `side`.
    pub fn segment(&mut self, view: &View<'_>, tcp: &TcpFields, side: usize) {
        let sequence = tcp.sequence.wrapping_add(tcp.syn_len());
        if tcp.has(tcp_flag::SYN) && !self.synchronize(view, tcp, sequence, side) {
            return self.alone(view, view.payload, true, true, Of::All);
        }
        if tcp.has(tcp_flag::ACK) {
            self.acknowledge(view, tcp.acknowledgment, 1 - side);
            self.evaluator.begin_segment(&self.flow.bits);
        }
        if view.payload.is_empty() {
            self.alone(view, view.payload, true, true, Of::All);
        } else {
            self.data(view, sequence, side);
        }
        if tcp.has(tcp_flag::FIN) {
            let end = sequence.wrapping_add(view.payload.len() as u32);
            if let Some(stream) = self.flow.streams.get_mut(side) {
                stream.finish(end);
            }
        }
    }

    /// SYN tells where a stream begins. Until the other side answers, the latest one without data counts; the answer tells
    /// which of them was taken, and begins both streams anew if they are another connection's between the same ports.
    /// Whether the segment counts: its receiver ignores SYN within a connection (RFC 9293, section 3.10.7.4), and so an
    /// answer to what was not asked.
    fn synchronize(&mut self, view: &View<'_>, tcp: &TcpFields, sequence: u32, side: usize) -> bool {
        if tcp.has(tcp_flag::ACK) {
            return self.answer(view, tcp.acknowledgment, sequence, side);
        }
        let Work { flow, memory, counts, .. } = self;
        let Some([first, second]) = flow.streams.first_chunk_mut() else { return false };
        let (own, other) = if side == 0 { (first, second) } else { (second, first) };
        if own.first() == Some(sequence) {
            if own.position() == 0 {
                own.open_with(view.payload.len());
            }
            return !other.has_begun();
        }
        if own.has_begun() && (other.has_begun() || !own.is_open()) {
            own.ask(sequence, view.payload.len());
            return false;
        }
        own.begin_instead(sequence, memory, counts);
        own.open_with(view.payload.len());
        true
    }

    /// SYN with ACK answers SYN. Whether it does.
    fn answer(&mut self, view: &View<'_>, acknowledged: u32, sequence: u32, side: usize) -> bool {
        let Work { flow, memory, counts, .. } = self;
        let Some([first, second]) = flow.streams.first_chunk_mut() else { return false };
        let (own, other) = if side == 0 { (first, second) } else { (second, first) };
        if other.is_answered_by(acknowledged) {
            if !own.is_open() {
                return false;
            }
            let is_first = !own.has_begun();
            if own.first() != Some(sequence) {
                own.begin(sequence, memory, counts);
            }
            if is_first && other.answer(acknowledged) {
                self.search_opening(view, 1 - side);
            }
            return true;
        }
        // Nothing else is known of the connection.
        let is_first = !own.has_begun() || !other.has_begun() && own.first() == Some(sequence);
        let may_begin = is_first && own.is_open() && other.is_open();
        if !may_begin && !other.was_asked_for(acknowledged) {
            return false;
        }
        if other.has_begun() {
            flow.has_finished = [false; 2];
            flow.phase = Phase::Established;
        }
        other.begin_instead(acknowledged, memory, counts);
        own.begin(sequence, memory, counts);
        true
    }

    /// Searches what came with SYN once more, as now the connection is established.
    fn search_opening(&mut self, view: &View<'_>, side: usize) {
        self.for_other_side(view, |work, reversed| work.search_stream(reversed, side, 0, None, Of::Streams));
    }

    /// Works on what the other side sent before the packet.
    fn for_other_side(&mut self, view: &View<'_>, work: impl FnOnce(&mut Self, &View<'_>)) {
        self.to_server = !self.to_server;
        self.evaluator.is_reversed = true;
        work(self, &view.reversed());
        self.evaluator.is_reversed = false;
        self.to_server = !self.to_server;
    }

    /// Bytes of a TCP segment.
    fn data(&mut self, view: &View<'_>, sequence: u32, side: usize) {
        let Work { flow, depth, .. } = self;
        let Some(stream) = flow.streams.get_mut(side) else { return };
        if flow.spoke_last != side as u8 {
            flow.spoke_last = side as u8;
            stream.begin_message();
        }
        if *depth != 0 && stream.position() >= *depth {
            stream.pass(sequence, view.payload.len());
            return self.alone(view, view.payload, false, true, Of::All);
        }
        if stream.was_claimed(sequence) {
            self.deliver_ready(view, side, Some(sequence));
        }
        let Work { flow, memory, counts, .. } = self;
        let Some(stream) = flow.streams.get_mut(side) else { return };
        let offer = stream.offer(sequence, view.payload, memory, counts);
        self.place(view, view.payload, offer, side, true);
        self.deliver_ready(view, side, None);
    }

    /// Searches what is to be searched of a segment's bytes: the packet's, or those of one that waited.
    fn place(&mut self, view: &View<'_>, bytes: &[u8], offer: Offer, side: usize, is_packet: bool) {
        self.evaluator.begin_segment(&self.flow.bits);
        let new = |skip: usize| bytes.get(skip..).unwrap_or_default();
        // What waited was searched as a packet when it came.
        let of = if is_packet { Of::All } else { Of::Streams };
        match offer {
            Offer::Next(skip) => self.deliver(view, new(skip), side, is_packet),
            Offer::Differs(skip) => {
                self.alone(view, bytes, true, is_packet, of);
                self.deliver(view, new(skip), side, false);
            }
            Offer::Alone => self.alone(view, bytes, true, is_packet, of),
            Offer::Seen => self.alone(view, bytes, false, is_packet, of),
            Offer::Early => self.alone(view, bytes, self.program.has_packet_rules, is_packet, Of::Packets),
        }
    }

    /// The other side has everything up to `acknowledged` of what `side` sent.
    fn acknowledge(&mut self, view: &View<'_>, acknowledged: u32, side: usize) {
        let depth = self.depth;
        let stream = self.flow.streams.get_mut(side);
        let stream = stream.filter(|stream| depth == 0 || stream.position() < depth);
        if let Some(until) = stream.and_then(|stream| stream.lacks(acknowledged)) {
            self.for_other_side(view, |work, reversed| work.deliver_ready(reversed, side, Some(until)));
        }
    }

    /// Delivers what has waited and is next now, behind a gap if that is not going to be filled.
    fn deliver_ready(&mut self, view: &View<'_>, side: usize, acknowledged: Option<u32>) {
        loop {
            let Some(stream) = self.flow.streams.get_mut(side) else { return };
            match stream.take_ready(self.counts) {
                Some((bytes, offer)) => {
                    self.place(view, &bytes, offer, side, false);
                    self.memory.give(bytes);
                }
                None if stream.close_gap(acknowledged, self.memory, self.counts) => {}
                None => return,
            }
        }
    }

    /// Searches the next bytes of a stream.
    fn deliver(&mut self, view: &View<'_>, bytes: &[u8], side: usize, is_packet: bool) {
        // A packet that is searched in parts is searched as a whole for the rules of packets.
        let is_long = is_packet && bytes.len() > LOOK_BACK;
        if is_long && self.program.has_packet_rules {
            self.alone(view, bytes, true, true, Of::Packets);
        }
        let of = if is_packet && !is_long { Of::All } else { Of::Streams };
        for (i, part) in bytes.chunks(LOOK_BACK).enumerate() {
            let Work { flow, memory, counts, .. } = self;
            let Some(stream) = flow.streams.get_mut(side) else { return };
            let Some(fresh) = stream.append(part, memory) else {
                counts.unbuffered += 1;
                self.alone(view, part, true, of == Of::All, of);
                continue;
            };
            self.search_stream(view, side, fresh, fresh.checked_sub(i * LOOK_BACK), of);
        }
    }

    /// Searches a stream from its byte `fresh` on; the packet's begin at `packet_at`.
    fn search_stream(
        &mut self,
        view: &View<'_>,
        side: usize,
        fresh: usize,
        packet_at: Option<usize>,
        of: Of,
    ) {
        let flow = &mut *self.flow;
        let Some(stream) = flow.streams.get_mut(side) else { return };
        let message_at = stream.message_at();
        let (buffer, mut marks) = stream.take_out();
        if flow.phase == Phase::Closed {
            marks.hurry();
        }
        let unit = Unit { buf: &buffer, fresh, packet_at, message_at, is_first: of == Of::All, of };
        let is_established = flow.phase != Phase::New;
        let mut context = Context { bits: &mut flow.bits, is_established, to_server: self.to_server };
        self.evaluator.search(self.program, view, &mut context, &unit, Some(&mut marks));
        stream.put_back(buffer, marks);
    }

    /// Searches bytes by themselves if it `scans`, and looks at rules that have no pattern if it is the packet's turn
    /// (`is_first`).
    pub fn alone(&mut self, view: &View<'_>, bytes: &[u8], scans: bool, is_first: bool, of: Of) {
        let fresh = if scans { 0 } else { bytes.len() };
        let unit = Unit { buf: bytes, fresh, packet_at: Some(0), message_at: Some(0), is_first, of };
        let is_established = self.flow.phase != Phase::New;
        let mut context = Context { bits: &mut self.flow.bits, is_established, to_server: self.to_server };
        self.evaluator.search(self.program, view, &mut context, &unit, None);
    }
}
