//! One connection of a web client, and the segments it sends and receives.

use std::net::Ipv4Addr;

use element::{Ctx, Packet};
use wire::{checksum, protocol};

use crate::ip6::segment::renew_checksum;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const HEADERS: usize = IP_HEADER + TCP_HEADER;
/// Bytes of a TCP header with ports, sequence number and acknowledgement.
const NUMBERS: usize = 12;
/// Bytes that a packet must have room for in front, to be used for another one.
const HEADROOM: usize = 34;
const TTL: u8 = 250;
const WINDOW: u16 = 60 * 1024;
/// Ports of clients: the first, and how many.
const PORTS: (u16, u32) = (1024, 60_000);

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const RST: u8 = 0x04;
const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// The request; its digits are filled in.
const REQUEST: [u8; 30] = *b"GET /spec/D/D-C-F HTTP/1.0\r\n\r\n";
const REQUEST_LEN: u32 = REQUEST.len() as u32;

/// One connection.
pub(super) struct Connection {
    /// When something was last sent.
    pub sent_ns: i64,
    /// How often it was sent again.
    pub n_resends: u8,
    /// Whether both sides have sent their FIN.
    pub is_closed: bool,
    first: u32,
    acknowledged: u32,
    next: u32,
    /// What comes next of the server's.
    expected: u32,
    is_connected: bool,
    has_their_fin: bool,
    has_sent_fin: bool,
    /// Whether something has come that is to be answered.
    owes_answer: bool,
    /// Digits of the request.
    directory: u8,
    class: u8,
    file: u8,
}

/// What became of a segment that was heard.
pub(super) enum Heard {
    /// The connection is over.
    Reset,
    /// There may be something to send.
    Segment,
}

impl Connection {
    /// A new connection, and its port.
    pub fn begin(ctx: &mut Ctx<'_>) -> (Connection, u16) {
        let first = ctx.random() & 0x0fff_ffff;
        let port = PORTS.0 + (ctx.random() % PORTS.1) as u16;
        let mut digit = |last| ctx.random_between(0, last) as u8;
        let (directory, file, class) = (digit(9), digit(8), digit(2));
        let connection = Connection {
            sent_ns: 0,
            n_resends: 0,
            is_closed: false,
            first,
            acknowledged: first,
            next: first,
            expected: 0,
            is_connected: false,
            has_their_fin: false,
            has_sent_fin: false,
            owes_answer: false,
            directory,
            class,
            file,
        };
        (connection, port)
    }

    /// Takes in a segment of the server's.
    pub fn hear(&mut self, segment: &Segment) -> Heard {
        let end = segment.sequence.wrapping_add_signed(segment.payload_len);
        let greets = segment.flags & (ACK | RST) == ACK && segment.acknowledged == self.first.wrapping_add(1);
        if greets && !self.is_connected {
            self.next = self.first.wrapping_add(1);
            self.acknowledged = self.next;
            self.expected = segment.sequence.wrapping_add(1);
            (self.is_connected, self.owes_answer) = (true, true);
        } else if segment.payload_len > 0 {
            self.owes_answer = true;
            self.expected = self.expected.max(end);
        }
        if segment.flags & ACK != 0 {
            self.acknowledged = self.acknowledged.max(segment.acknowledged);
        }
        if segment.flags & FIN != 0 && end == self.expected && !self.has_their_fin {
            self.expected = self.expected.wrapping_add(1);
            (self.has_their_fin, self.owes_answer) = (true, true);
        }
        if segment.flags & RST != 0 {
            return Heard::Reset;
        }
        Heard::Segment
    }

    /// What there is to send now; its ends are for the caller to say.
    pub fn next_segment(&mut self) -> Option<Outgoing> {
        let begin = self.first.wrapping_add(1);
        let asks = self.is_connected && self.acknowledged.wrapping_sub(begin) < REQUEST_LEN;
        let sequence = match asks {
            true => {
                self.next = begin.wrapping_add(REQUEST_LEN);
                begin
            }
            false => self.next.wrapping_add(u32::from(self.has_sent_fin)),
        };
        if self.is_connected && !self.owes_answer && !asks {
            return None;
        }
        self.owes_answer = false;
        let (flags, acknowledged) = match self.is_connected {
            false => (SYN, 0),
            true => {
                let request = if asks { PUSH | FIN } else { 0 };
                let end = if self.has_their_fin { FIN } else { 0 };
                (ACK | request | end, self.expected)
            }
        };
        self.has_sent_fin |= flags & FIN != 0;
        self.is_closed |= self.has_sent_fin && self.has_their_fin;
        let payload = asks.then(|| self.request());
        Some(Outgoing { sequence, acknowledged, flags, payload, ..Outgoing::default() })
    }

    fn request(&self) -> [u8; REQUEST.len()] {
        let mut request = REQUEST;
        let digits = [(10, self.directory), (12, self.directory), (14, self.class), (16, self.file)];
        for (at, digit) in digits {
            request[at] = b'0' + digit;
        }
        request
    }
}

/// What matters of a segment that has come.
pub(super) struct Segment {
    pub source: Ipv4Addr,
    pub source_port: u16,
    pub destination: Ipv4Addr,
    pub destination_port: u16,
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    /// Negative where the header's length is beyond the packet's.
    payload_len: i32,
}

impl Segment {
    /// The segment in a packet that begins with the IPv4 header.
    pub fn of(bytes: &[u8]) -> Option<Segment> {
        let ip = bytes.first_chunk::<IP_HEADER>().filter(|_| bytes.len() >= HEADERS)?;
        let len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let header_len = usize::from(ip[0] & 0xf) * 4;
        if header_len < IP_HEADER || header_len > len || len > bytes.len() {
            return None;
        }
        let bytes = bytes.get(header_len..)?;
        // As in Click, what comes behind the numbers need not be there: other protocols are refused, too.
        let tcp = bytes.first_chunk::<NUMBERS>()?;
        let [tcp_words, flags] = bytes.get(NUMBERS..)?.first_chunk().copied().unwrap_or_default();
        let tcp_len = i32::from(tcp_words >> 4) * 4;
        Some(Segment {
            source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
            source_port: u16::from_be_bytes([tcp[0], tcp[1]]),
            destination: Ipv4Addr::new(ip[16], ip[17], ip[18], ip[19]),
            destination_port: u16::from_be_bytes([tcp[2], tcp[3]]),
            sequence: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            acknowledged: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
            flags,
            payload_len: (len - header_len) as i32 - tcp_len,
        })
    }

    /// The RST for it.
    pub fn refusal(&self) -> Outgoing {
        Outgoing {
            source: (self.destination, self.destination_port),
            destination: (self.source, self.source_port),
            sequence: self.acknowledged,
            acknowledged: self.sequence,
            flags: RST,
            payload: None,
        }
    }
}

/// A segment to be sent.
pub(super) struct Outgoing {
    source: (Ipv4Addr, u16),
    destination: (Ipv4Addr, u16),
    sequence: u32,
    acknowledged: u32,
    flags: u8,
    payload: Option<[u8; REQUEST.len()]>,
}

impl Default for Outgoing {
    fn default() -> Outgoing {
        let nowhere = (Ipv4Addr::UNSPECIFIED, 0);
        let (sequence, acknowledged, flags) = (0, 0, 0);
        Outgoing { source: nowhere, destination: nowhere, sequence, acknowledged, flags, payload: None }
    }
}

impl Outgoing {
    /// The same with these ends.
    pub fn between(self, source: (Ipv4Addr, u16), destination: (Ipv4Addr, u16)) -> Outgoing {
        Outgoing { source, destination, ..self }
    }

    /// Its packet: the one that is given, with its annotations, if that has room.
    pub fn packet(&self, id: u16, packet: Option<Packet>) -> Packet {
        let payload = self.payload.as_ref().map_or(&[][..], |bytes| bytes);
        let len = HEADERS + payload.len();
        let fits = |packet: &Packet| {
            !packet.is_shared() && packet.headroom() >= HEADROOM && packet.len() + packet.tailroom() >= len
        };
        let mut packet = packet.filter(fits).unwrap_or_else(|| Packet::zeroed(len));
        let missing = len.saturating_sub(packet.len());
        packet.append(missing);
        packet.truncate(len);
        if let Some((ip, tcp)) = packet.data_mut().split_first_chunk_mut::<IP_HEADER>() {
            *ip = self.ip_header(len as u16, id);
            if let Some((header, rest)) = tcp.split_first_chunk_mut::<TCP_HEADER>() {
                *header = self.tcp_header();
                rest.copy_from_slice(payload);
            }
            let ends = (self.source.0, self.destination.0);
            let pseudo = checksum::pseudo_ipv4(ends.0, ends.1, protocol::TCP, tcp.len() as u16);
            renew_checksum(tcp, protocol::TCP, pseudo);
        }
        packet.set_network_header(0, IP_HEADER);
        packet.set_dst_ip(self.destination.0);
        packet
    }

    fn ip_header(&self, len: u16, id: u16) -> [u8; IP_HEADER] {
        let mut ip = [0; IP_HEADER];
        [ip[0], ip[8], ip[9]] = [0x45, TTL, protocol::TCP];
        ip[2..4].copy_from_slice(&len.to_be_bytes());
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        ip[12..16].copy_from_slice(&self.source.0.octets());
        ip[16..20].copy_from_slice(&self.destination.0.octets());
        let sum = checksum::checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip
    }

    fn tcp_header(&self) -> [u8; TCP_HEADER] {
        let mut tcp = [0; TCP_HEADER];
        tcp[..2].copy_from_slice(&self.source.1.to_be_bytes());
        tcp[2..4].copy_from_slice(&self.destination.1.to_be_bytes());
        tcp[4..8].copy_from_slice(&self.sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&self.acknowledged.to_be_bytes());
        [tcp[12], tcp[13]] = [0x50, self.flags];
        tcp[14..16].copy_from_slice(&WINDOW.to_be_bytes());
        tcp
    }
}
