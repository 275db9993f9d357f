//! TCP packets without payload, made from nothing.

use element::Packet;
use wire::{checksum, protocol};

use crate::rewriter::flow_id::FlowId;

const LEN: usize = 40;
const IP: usize = 20;
const TTL: u8 = 255;
const WINDOW: u16 = 32120;

/// What sets one segment apart from others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Segment {
    pub flow: FlowId,
    pub sequence: u32,
    pub acknowledged: u32,
    pub flags: u8,
}

impl Segment {
    /// A packet with this segment, its header marked, without checksums.
    pub fn packet(&self, type_of_service: u8) -> Packet {
        let mut packet = Packet::zeroed(LEN);
        let FlowId { src, dst, sport, dport } = self.flow;
        if let Some(bytes) = packet.data_mut().first_chunk_mut::<LEN>() {
            [bytes[0], bytes[1], bytes[3], bytes[6]] = [0x45, type_of_service, LEN as u8, 0x40];
            [bytes[8], bytes[9]] = [TTL, protocol::TCP];
            bytes[12..16].copy_from_slice(&src.to_be_bytes());
            bytes[16..20].copy_from_slice(&dst.to_be_bytes());
            bytes[20..22].copy_from_slice(&sport.to_be_bytes());
            bytes[22..24].copy_from_slice(&dport.to_be_bytes());
            bytes[24..28].copy_from_slice(&self.sequence.to_be_bytes());
            bytes[28..32].copy_from_slice(&self.acknowledged.to_be_bytes());
            [bytes[32], bytes[33]] = [0x50, self.flags];
            bytes[34..36].copy_from_slice(&WINDOW.to_be_bytes());
        }
        packet.set_network_header(0, IP);
        packet
    }

    /// The same with checksums.
    pub fn packet_with_checksums(&self, type_of_service: u8) -> Packet {
        let mut packet = self.packet(type_of_service);
        let (source, destination) = (self.flow.src.into(), self.flow.dst.into());
        if let Some((ip, tcp)) = packet.data_mut().split_first_chunk_mut::<IP>() {
            let sum = !checksum::sum_20(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            let pseudo = checksum::pseudo_ipv4(source, destination, protocol::TCP, tcp.len() as u16);
            let sum = checksum::transport(pseudo, tcp);
            tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }
}
