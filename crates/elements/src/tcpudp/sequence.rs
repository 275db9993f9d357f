//! What a TCP packet says of the order of bytes.

use element::Packet;
use wire::tcp_flag;

/// The numbers of a TCP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Sequence number of its first byte.
    pub begin: u32,
    /// How many sequence numbers it takes: its bytes, and one for SYN or FIN.
    pub len: u32,
    /// What it acknowledges.
    pub acknowledged: u32,
    /// Its flags.
    pub flags: u8,
}

impl Sequence {
    /// The numbers of a packet with marked headers; `None` if those are not there.
    pub fn of(packet: &Packet) -> Option<Sequence> {
        let ip = packet.network().first_chunk::<20>()?;
        let tcp = packet.transport().first_chunk::<20>()?;
        let total_len = u32::from(u16::from_be_bytes([ip[2], ip[3]]));
        let headers_len = u32::from(ip[0] & 0x0f) * 4 + u32::from(tcp[12] >> 4) * 4;
        let takes_one = tcp[13] & (tcp_flag::SYN | tcp_flag::FIN) != 0;
        Some(Sequence {
            begin: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
            len: total_len.wrapping_sub(headers_len).wrapping_add(u32::from(takes_one)),
            acknowledged: u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]),
            flags: tcp[13],
        })
    }

    /// The sequence number behind its last byte.
    pub fn end(&self) -> u32 {
        self.begin.wrapping_add(self.len)
    }
}

/// Whether a sequence number comes before another one (RFC 9293, section 3.4).
pub fn is_before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}
