//! The path of subscribers' packets: out of their frames and into them.

use element::{annotation, offload, Packet};
use table::prefetch::prefetch_whole;
use wire::{ethertype, Ipv4};

use super::frame::{ppp, Fault, Frame, HEADER_LEN, PPP_LEN, PREFIX_LEN};
use super::server::Server;
use crate::accounting::Now;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on.
    Pass,
    /// It was for the concentrator itself.
    Control,
    /// It is no PPPoE frame for this station.
    Foreign,
    /// Its headers contradict themselves.
    Malformed,
    /// The session does not exist, is another station's, or carries no IP packets yet.
    NoSession,
    /// Its source is not the subscriber's address.
    Spoofed,
    /// It is over the session's rate.
    OverRate,
    /// It is larger than the subscriber takes.
    TooBig,
}

impl Server {
    /// Starts loading the session of a frame.
    #[inline(always)]
    pub fn prefetch_frame(&self, packet: &Packet) {
        if let Some([i0, i1]) = packet.data().get(PREFIX_LEN - 2..PREFIX_LEN) {
            if let Some(session) = self.sessions.get(usize::from(u16::from_be_bytes([*i0, *i1]))) {
                prefetch_whole(session);
            }
        }
    }

    /// Takes a subscriber's packet out of its frame.
    #[inline(always)]
    pub fn take_out(&mut self, packet: &mut Packet, now: impl FnOnce() -> Now) -> Outcome {
        let frame = match Frame::parse(packet.data(), self.settings.own) {
            Ok(frame) => frame,
            Err(Fault::Foreign) => return Outcome::Foreign,
            Err(Fault::Malformed) => return Outcome::Malformed,
        };
        let Some(([p0, p1], body)) = frame.payload.split_first_chunk::<2>() else {
            return self.keep(&frame, now());
        };
        if frame.is_discovery || frame.code != 0 || u16::from_be_bytes([*p0, *p1]) != ppp::IPV4 {
            return self.keep(&frame, now());
        }
        let Some(session) = self.sessions.get_mut(usize::from(frame.session)) else {
            return Outcome::NoSession;
        };
        if session.station() != frame.source || session.address == 0 {
            return Outcome::NoSession;
        }
        let Some(ip) = Ipv4::new(body) else { return Outcome::Malformed };
        let (len, header_len) = (usize::from(ip.total_len()), ip.header_len());
        if len < header_len || len > body.len() {
            return Outcome::Malformed;
        }
        if ip.source().to_bits() != session.address {
            session.n_spoofed += 1;
            return Outcome::Spoofed;
        }
        let destination = ip.destination();
        if !session.up.take(len, now().steady_ns) {
            return Outcome::OverRate;
        }
        let id = u32::from(frame.session);
        packet.set_mac_offset(0);
        packet.strip(PPP_LEN);
        packet.truncate(len);
        packet.set_network_header(0, header_len);
        packet.set_dst_ip(destination);
        packet.set_anno_u32(annotation::AGGREGATE, id);
        Outcome::Pass
    }

    /// A frame for the concentrator itself.
    #[cold]
    #[inline(never)]
    fn keep(&mut self, frame: &Frame<'_>, now: Now) -> Outcome {
        if frame.is_discovery {
            self.discover(frame, now);
            return Outcome::Control;
        }
        let Some(([p0, p1], body)) = frame.payload.split_first_chunk::<2>() else {
            return Outcome::Malformed;
        };
        if frame.code != 0 {
            return Outcome::Malformed;
        }
        if !self.belongs(frame.session, frame.source) {
            return Outcome::NoSession;
        }
        self.control(frame.session, u16::from_be_bytes([*p0, *p1]), body, now);
        Outcome::Control
    }

    /// The hash by which [`Server::put_in`] finds the session of an IP packet.
    #[inline(always)]
    pub fn hash_of(&self, packet: &Packet) -> u64 {
        let hash = self.by_address.hash_of(&destination(packet.data()));
        self.by_address.prefetch(hash);
        hash
    }

    /// Starts loading what [`Server::put_in`] reads.
    #[inline(always)]
    pub fn prefetch_packet(&self, hash: u64) {
        self.by_address.prefetch_entry(hash);
    }

    /// Puts an IP packet into a frame for the subscriber that it is for.
    #[inline(always)]
    pub fn put_in(&mut self, packet: &mut Packet, hash: u64, now_ns: i64) -> Outcome {
        let (destination, len) = (destination(packet.data()), packet.len());
        let found = self.by_address.find_hashed(hash, &destination).and_then(|idx| self.by_address.get(idx));
        let Some((_, id)) = found else { return Outcome::NoSession };
        let Some(session) = self.sessions.get_mut(usize::from(*id)) else { return Outcome::NoSession };
        if session.address != destination || destination == 0 {
            return Outcome::NoSession;
        }
        if offload::frame_len(packet) > usize::from(session.mru) {
            return Outcome::TooBig;
        }
        if !session.down.take(len, now_ns) {
            return Outcome::OverRate;
        }
        // The length counts the protocol number and is at most that of an MRU.
        let [l0, l1] = (len as u16 + 2).to_be_bytes();
        let [p0, p1] = ppp::IPV4.to_be_bytes();
        if let Some(header) = packet.prepend(PPP_LEN).first_chunk_mut::<PPP_LEN>() {
            if let Some((prefix, rest)) = header.split_first_chunk_mut::<PREFIX_LEN>() {
                *prefix = session.prefix;
                rest.copy_from_slice(&[l0, l1, p0, p1]);
            }
        }
        packet.set_mac_offset(0);
        Outcome::Pass
    }
}

/// The destination of an IPv4 packet; 0 if it is none.
#[inline(always)]
fn destination(packet: &[u8]) -> u32 {
    match packet.first_chunk::<20>() {
        Some(header) if header[0] >> 4 == 4 => {
            u32::from_be_bytes([header[16], header[17], header[18], header[19]])
        }
        _ => 0,
    }
}

const _: () = assert!(HEADER_LEN + 2 == PPP_LEN && ethertype::PPPOE_SESSION == 0x8864);
