//! Frames of PPPoE: reading them, and making those that answer.

use element::Packet;
use wire::{ethertype, MacAddress, BROADCAST};

/// Bytes of the Ethernet and the PPPoE header.
pub const HEADER_LEN: usize = 20;
/// Bytes of both headers but the PPPoE length, which is their end.
pub const PREFIX_LEN: usize = HEADER_LEN - 2;
/// Bytes of both headers and of the PPP protocol number.
pub const PPP_LEN: usize = HEADER_LEN + 2;

/// Version 1 and type 1, which is all there is (RFC 2516, section 4).
const VERSION_TYPE: u8 = 0x11;

/// Codes of discovery frames (RFC 2516, section 5).
pub mod code {
    /// Whoever is there?
    pub const PADI: u8 = 0x09;
    /// An offer.
    pub const PADO: u8 = 0x07;
    /// A session is asked for.
    pub const PADR: u8 = 0x19;
    /// A session is given.
    pub const PADS: u8 = 0x65;
    /// A session is over.
    pub const PADT: u8 = 0xa7;
}

/// Numbers of PPP protocols.
pub mod ppp {
    /// IPv4.
    pub const IPV4: u16 = 0x0021;
    /// IP Control Protocol.
    pub const IPCP: u16 = 0x8021;
    /// Link Control Protocol.
    pub const LCP: u16 = 0xc021;
    /// Password Authentication Protocol.
    pub const PAP: u16 = 0xc023;
    /// Challenge Handshake Authentication Protocol.
    pub const CHAP: u16 = 0xc223;
}

/// A PPPoE frame that was taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The sender.
    pub source: MacAddress,
    /// Whether it is a frame of the discovery stage.
    pub is_discovery: bool,
    /// What a discovery frame is.
    pub code: u8,
    /// The session's number.
    pub session: u16,
    /// What the length field covers.
    pub payload: &'a [u8],
}

/// Why a frame is no PPPoE frame for this station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Another protocol, or another station's.
    Foreign,
    /// The headers contradict themselves, or the frame ends early.
    Malformed,
}

impl<'a> Frame<'a> {
    /// Takes a frame apart that station `own` received.
    #[inline]
    pub fn parse(bytes: &'a [u8], own: MacAddress) -> Result<Frame<'a>, Fault> {
        let Some(header) = bytes.first_chunk::<HEADER_LEN>() else { return Err(Fault::Foreign) };
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1, version_type, code, i0, i1, l0, l1] =
            *header;
        let destination = [d0, d1, d2, d3, d4, d5];
        let is_discovery = match u16::from_be_bytes([t0, t1]) {
            ethertype::PPPOE_SESSION => false,
            ethertype::PPPOE_DISCOVERY => true,
            _ => return Err(Fault::Foreign),
        };
        if destination != own && !(is_discovery && destination == BROADCAST) {
            return Err(Fault::Foreign);
        }
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        let payload = bytes.get(HEADER_LEN..HEADER_LEN + len);
        let source = [s0, s1, s2, s3, s4, s5];
        match payload {
            Some(payload) if version_type == VERSION_TYPE && s0 & 1 == 0 => {
                Ok(Frame { source, is_discovery, code, session: u16::from_be_bytes([i0, i1]), payload })
            }
            _ => Err(Fault::Malformed),
        }
    }
}

/// The first bytes of every session frame to `peer`.
pub fn prefix(own: MacAddress, peer: MacAddress, session: u16) -> [u8; PREFIX_LEN] {
    header(own, peer, ethertype::PPPOE_SESSION, 0, session)
}

fn header(own: MacAddress, peer: MacAddress, protocol: u16, code: u8, session: u16) -> [u8; PREFIX_LEN] {
    let [d0, d1, d2, d3, d4, d5] = peer;
    let [s0, s1, s2, s3, s4, s5] = own;
    let ([t0, t1], [i0, i1]) = (protocol.to_be_bytes(), session.to_be_bytes());
    [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, t0, t1, VERSION_TYPE, code, i0, i1]
}

/// Makes frames to one station and collects them.
pub struct Sender<'a> {
    /// Where the frames go.
    pub out: &'a mut Vec<Packet>,
    /// This station.
    pub own: MacAddress,
    /// The station that they are for.
    pub peer: MacAddress,
    /// The session.
    pub session: u16,
}

impl Sender<'_> {
    /// Sends a discovery frame with these tags.
    pub fn discovery(&mut self, code: u8, tags: &[u8]) {
        let header = header(self.own, self.peer, ethertype::PPPOE_DISCOVERY, code, self.session);
        self.send(header, &[tags]);
    }

    /// Sends a frame of a PPP protocol.
    pub fn ppp(&mut self, protocol: u16, body: &[u8]) {
        self.send(prefix(self.own, self.peer, self.session), &[&protocol.to_be_bytes(), body]);
    }

    /// Sends a packet of a control protocol (RFC 1661, section 5).
    pub fn control(&mut self, protocol: u16, code: u8, id: u8, data: &[u8]) {
        let [l0, l1] = (data.len() as u16 + 4).to_be_bytes();
        self.ppp(protocol, &[&[code, id, l0, l1], data].concat());
    }

    fn send(&mut self, header: [u8; PREFIX_LEN], parts: &[&[u8]]) {
        let body = parts.concat();
        // What is sent answers frames of at most 64 KiB and is no longer than they are.
        let len = u16::try_from(body.len()).unwrap_or(u16::MAX).to_be_bytes();
        self.out.push(Packet::from_bytes(&[&header[..], &len, &body].concat()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OWN: MacAddress = [2, 0, 0, 0, 0, 1];
    const PEER: MacAddress = [2, 0, 0, 0, 0, 2];

    #[test]
    fn what_is_sent_is_read_by_the_other_side() {
        let mut out = Vec::new();
        let mut sender = Sender { out: &mut out, own: OWN, peer: PEER, session: 7 };
        sender.discovery(code::PADS, b"tags");
        sender.control(ppp::LCP, 9, 3, b"magic");
        let read = |packet: &Packet| {
            let frame = Frame::parse(packet.data(), PEER).unwrap();
            (frame.source, frame.is_discovery, frame.code, frame.session, frame.payload.to_vec())
        };
        assert_eq!(read(&out[0]), (OWN, true, code::PADS, 7, b"tags".to_vec()));
        assert_eq!(read(&out[1]), (OWN, false, 0, 7, b"\xc0\x21\x09\x03\x00\x09magic".to_vec()));
        assert_eq!(Frame::parse(out[1].data(), OWN), Err(Fault::Foreign));
        assert_eq!(Frame::parse(&out[1].data()[..24], PEER), Err(Fault::Malformed));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_not(bytes: Vec<u8>) {
            let _ = Frame::parse(&bytes, OWN);
        }
    }
}
