//! Cuts TCP segments that are too long into several.
//!
//! Of a packet whose payload has at least MTU bytes less those of its headers, pieces of that length leave, each with the headers,
//! those in front of the IPv4 header too. Lengths, sequence numbers and checksums are set; FIN stays with the end. What is
//! not TCP with a marked IPv4 header, or not all there, passes.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> TCPFragmenter(MTU 576) -> ToDump(out.pcap);
//! ```

use element::{
    offload, same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal,
};
use wire::{checksum, tcp_flag, Tcp};

use super::segment::Outer;
use crate::ip::pieces::Pieces;

/// The class.
pub const CLASS: Class = Class::new::<TCPFragmenter>("TCPFragmenter", "1/1", "h/h", "x/x")
    .causes(Causes::MORE)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::keyword("MTU", "0 to 65535", "Most bytes of an IPv4 packet; 0 is no limit. Default 0."),
    Arg::keyword("MTU_ANNO", "anno", "An annotation of two bytes that, unless 0, lowers the MTU."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("fragments", "Packets that were made by cutting."),
    Handler::read("fragmented_count", "Packets that were cut."),
    Handler::read("count", "Packets."),
];

/// See the page above.
pub struct TCPFragmenter {
    mtu: u16,
    mtu_anno: Option<usize>,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    packets: u32,
    cut: u32,
    pieces: u32,
}

/// Where a packet is to be cut.
#[derive(Clone, Copy)]
struct Plan {
    mtu: usize,
    /// Where the payload begins in the packet; all of it is there.
    payload_at: usize,
    payload_len: usize,
    piece_len: usize,
}

impl Element for TCPFragmenter {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPFragmenter, Failed> {
        let mtu = conf.args.get_or("MTU", 0);
        let mtu_anno = conf.args.get_with("MTU_ANNO", args::sized_anno(2));
        conf.finish()?;
        if mtu == 0 && mtu_anno.is_none() {
            return Err("At least one of MTU and MTU_ANNO must be set".into());
        }
        let mtu_anno = mtu_anno.map(|anno| usize::from(anno.offset));
        Ok(TCPFragmenter { mtu, mtu_anno, counts: Counts::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let mut out = Pieces::of(&batch);
        for mut packet in batch.drain() {
            self.counts.packets = self.counts.packets.wrapping_add(1);
            match self.plan(&packet) {
                Some(plan) => {
                    offload::settle(&mut packet);
                    self.cut(ctx, &mut out, packet, plan);
                }
                None => out.add(ctx, packet),
            }
        }
        out.send(ctx);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "fragments" => Ok(self.counts.pieces.to_string()),
            "fragmented_count" => Ok(self.counts.cut.to_string()),
            "count" => Ok(self.counts.packets.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<TCPFragmenter>(ctx, old) {
            self.counts = old.counts;
        }
    }
}

impl TCPFragmenter {
    fn mtu_of(&self, packet: &Packet) -> usize {
        let lower = self.mtu_anno.map_or(0, |offset| packet.anno_u16(offset));
        let is_lower = lower != 0 && (self.mtu == 0 || lower < self.mtu);
        usize::from(if is_lower { lower } else { self.mtu })
    }

    /// Where to cut a packet; `None` if it passes.
    #[inline]
    fn plan(&self, packet: &Packet) -> Option<Plan> {
        let (network, tcp) = (packet.network(), packet.transport().first_chunk::<20>()?);
        let ip = network.first_chunk::<20>()?;
        let mtu = self.mtu_of(packet);
        let headers_len = usize::from(ip[0] & 0x0f) * 4 + usize::from(tcp[12] >> 4) * 4;
        let total_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
        let payload_len = total_len.checked_sub(headers_len)?;
        let piece_len = mtu.checked_sub(headers_len).filter(|len| *len > 0)?;
        let payload_at = payload_at(packet);
        let is_there = total_len <= network.len() && payload_at + payload_len <= packet.len();
        let plan = Plan { mtu, payload_at, payload_len, piece_len };
        (payload_len >= piece_len && is_there).then_some(plan)
    }

    /// Adds the pieces of a packet to `out`.
    fn cut(&mut self, ctx: &mut Ctx<'_>, out: &mut Pieces, packet: Packet, plan: Plan) {
        self.counts.cut = self.counts.cut.wrapping_add(1);
        for offset in (0..plan.payload_len).step_by(plan.piece_len) {
            self.counts.pieces = self.counts.pieces.wrapping_add(1);
            out.add(ctx, plan.piece(packet.copy(), offset));
        }
    }
}

/// Where the payload begins in a packet that has a TCP header.
fn payload_at(packet: &Packet) -> usize {
    let tcp = packet.transport();
    let tcp_at = packet.len().saturating_sub(tcp.len());
    tcp_at + tcp.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4)
}

impl Plan {
    /// The piece that begins with byte `offset` of the payload of `packet`.
    fn piece(&self, mut packet: Packet, offset: usize) -> Packet {
        let len = self.piece_len.min(self.payload_len - offset);
        let at = self.payload_at;
        packet.data_mut().copy_within(at + offset..at + offset + len, at);
        packet.take(self.payload_len - len);
        let header_len = packet.network_header_len();
        let ip = packet.network_mut();
        let total_len = ip.len() as u16;
        if let Some(header) = ip.get_mut(..header_len.max(20)) {
            header[2..4].copy_from_slice(&total_len.to_be_bytes());
            header[10..12].fill(0);
            let sum = checksum::checksum(header);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        let segment_len = packet.transport().len() as u16;
        let pseudo = Outer::of(&packet).map_or(0, |outer| outer.pseudo_header_sum(segment_len));
        self.write_tcp(packet.transport_mut(), offset, pseudo);
        packet
    }

    /// Writes the fields of the header that change, as many of them as a piece still has: what is no TCP may tell of a header that is
    /// shorter than its fields.
    fn write_tcp(&self, segment: &mut [u8], offset: usize, pseudo: u16) {
        // As Click, which compares with the MTU instead of the piece.
        if let Some(flags) = segment.get_mut(13).filter(|_| offset + self.mtu < self.payload_len) {
            *flags &= !tcp_flag::FIN;
        }
        if let Some(field) = segment.get_mut(4..).and_then(<[u8]>::first_chunk_mut::<4>) {
            *field = u32::from_be_bytes(*field).wrapping_add(offset as u32).to_be_bytes();
        }
        write_sum(segment, 0);
        write_sum(segment, checksum::transport(pseudo, segment));
    }
}

/// Writes the checksum, or as much of it as there is.
fn write_sum(segment: &mut [u8], sum: u16) {
    let field = segment.iter_mut().skip(Tcp::CHECKSUM_AT);
    field.zip(sum.to_be_bytes()).for_each(|(place, byte)| *place = byte);
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check_reading;
    use expect_test::expect;

    const SOURCE: &str = r#"FromIPSummaryDump(DATA "!data ip_src sport tcp_flags tcp_seq payload
1.0.0.1 1 A 4294967290 \"abcdefghijklm\"
1.0.0.1 2 FA 20 \"abcdefgh\"
1.0.0.1 3 FA 20 \"abc\"
", STOP true, CHECKSUM true)"#;
    const SINK: &str = "CheckIPHeader -> CheckTCPHeader -> IPPrint(PAYLOAD ascii) -> Discard";

    #[test]
    fn long_segments_are_cut() {
        check_reading(
            &format!("{SOURCE} -> f :: TCPFragmenter(MTU 44) -> {SINK}"),
            &["f.count", "f.fragmented_count", "f.fragments"],
            expect![[r#"
                0.000000: 1.0.0.1.1 > 0.0.0.0.0: . 4294967290:4294967294(4,44,44) ack 0 win 0
                  abcd
                0.000000: 1.0.0.1.1 > 0.0.0.0.0: . 4294967294:2(4,44,44) ack 0 win 0
                  efgh
                0.000000: 1.0.0.1.1 > 0.0.0.0.0: . 2:6(4,44,44) ack 0 win 0
                  ijkl
                0.000000: 1.0.0.1.1 > 0.0.0.0.0: . 6:7(1,41,41) ack 0 win 0
                  m
                0.000000: 1.0.0.1.2 > 0.0.0.0.0: F 20:25(5,44,44) ack 0 win 0
                  abcd
                0.000000: 1.0.0.1.2 > 0.0.0.0.0: F 24:29(5,44,44) ack 0 win 0
                  efgh
                0.000000: 1.0.0.1.3 > 0.0.0.0.0: F 20:24(4,43,43) ack 0 win 0
                  abc
                f.count: 3
                f.fragmented_count: 2
                f.fragments: 6
            "#]],
        );
    }

    #[test]
    fn the_annotation_lowers_the_limit() {
        check_reading(
            &format!("{SOURCE} -> SetVLANAnno(48) -> f :: TCPFragmenter(MTU 1500, MTU_ANNO VLAN) -> {SINK}"),
            &["f.fragments"],
            expect![[r#"
                0.000000: 1.0.0.1.1 > 0.0.0.0.0: . 4294967290:7(13,53,53) ack 0 win 0
                  abcdefgh ijklm
                0.000000: 1.0.0.1.2 > 0.0.0.0.0: F 20:29(9,48,48) ack 0 win 0
                  abcdefgh
                0.000000: 1.0.0.1.3 > 0.0.0.0.0: F 20:24(4,43,43) ack 0 win 0
                  abc
                f.fragments: 0
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake("TCPFragmenter", expect!["At least one of MTU and MTU_ANNO must be set"]);
        check_mistake("TCPFragmenter(1400)", expect!["too many arguments"]);
        check_mistake(
            "TCPFragmenter(MTU 65536, MTU_ANNO PAINT)",
            expect!["MTU: out of range, bound 65535; MTU_ANNO: parse error"],
        );
    }
}
