//! Compresses the headers of TCP/IPv4 packets.
//!
//! For a link on which packets keep their order and seldom get lost, with `RFC2507Decomp` at its other end. The packet's data must
//! begin with its marked IPv4 header; link-layer headers, and what tells where a packet ends, are for others to add.
//!
//! Up to 14 flows at a time have a context, whose number is random; each other flow takes one away. A packet becomes a byte 0 and
//! the packet if it is not to be compressed (not TCP, a fragment, SYN, FIN, RST, no ACK, IP options); a byte 1, the context's number
//! and the packet if the context begins or a difference is too large; or a byte 2, the number, a byte of flags, the TCP checksum,
//! differences of urgent pointer, window, acknowledgement, sequence number and identification, and what follows 40 bytes of headers.
//! The flags of TCP other than PSH are not sent. Standard error tells of contexts and of packets that are sent whole.
//!
//! ```click
//! FromDump(in.pcap, FORCE_IP true) -> StripToNetworkHeader -> RFC2507Comp -> RFC2507Decomp -> IPPrint -> Discard;
//! ```

use element::{offload, Batch, Class, Configure, Ctx, Element, Failed, Packet};
use wire::protocol;

use super::compressed_header::{self as form, Headers, ID_FIELD, LEN, N_CONTEXTS, TCP_FIELDS};

/// The class.
pub const CLASS: Class = Class::new::<RFC2507Comp>("RFC2507Comp", "1/1", "a/a", "x/x");

const FIN_SYN_RST_ACK: u8 = 0x17;
const ACK: u8 = 0x10;
const PUSH: u8 = 0x08;

/// See the page above.
pub struct RFC2507Comp {
    /// The last headers of each flow, at the place of its number.
    contexts: [Option<Headers>; N_CONTEXTS],
    /// The differences of a packet.
    differences: Vec<u8>,
}

impl Element for RFC2507Comp {
    fn configure(conf: &mut Configure<'_>) -> Result<RFC2507Comp, Failed> {
        conf.finish()?;
        Ok(RFC2507Comp { contexts: [None; N_CONTEXTS], differences: Vec::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let compressed = self.compress_all(ctx, batch);
        ctx.emit(0, compressed);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.compress_all(ctx, batch)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = element::same::<RFC2507Comp>(ctx, old) else { return };
        self.contexts = old.contexts;
    }
}

impl RFC2507Comp {
    fn compress_all(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) -> Batch {
        let mut compressed = Batch::new();
        for mut packet in batch.drain() {
            offload::settle(&mut packet);
            compressed.push(self.compress(ctx, &packet));
        }
        compressed
    }

    fn compress(&mut self, ctx: &mut Ctx<'_>, packet: &Packet) -> Packet {
        let Some(headers) = compressible(packet) else {
            ctx.chatter("cannot compress packet");
            return joined(&[&[form::OTHER], packet.data()]);
        };
        let is_of_flow = |context: &Option<Headers>| context.is_some_and(|own| own.flow() == headers.flow());
        let known = self.contexts.iter().position(is_of_flow);
        let number = match known {
            Some(number) => number,
            None => {
                let number = ctx.random_between(1, N_CONTEXTS as u32 - 1) as usize;
                let port = |at: usize| u16::from_be_bytes([headers.0[at], headers.0[at + 1]]);
                ctx.chatter(&format!("sport {} dport {} added cid {number}", port(20), port(22)));
                number
            }
        };
        let last = self.contexts.get_mut(number).and_then(|context| context.replace(headers));
        if let (Some(_), Some(last)) = (known, last) {
            match self.differences(&last, &headers) {
                Ok(flags) => {
                    let sum = headers.tcp_checksum();
                    let front = [form::COMPRESSED, number as u8, flags, sum[0], sum[1]];
                    let behind = packet.data().get(LEN..).unwrap_or_default();
                    return joined(&[&front, &self.differences, behind]);
                }
                Err(reason) => ctx.chatter(reason),
            }
        }
        joined(&[&[form::FULL, number as u8], packet.data()])
    }

    /// Finds the differences, and their flags; or why there is no form for them.
    fn differences(&mut self, last: &Headers, headers: &Headers) -> Result<u8, &'static str> {
        self.differences.clear();
        if !headers.is_like(last) {
            return Err("full1");
        }
        let mut flags = 0;
        for (field, bit, reason) in TCP_FIELDS {
            if form::encode(last.get(field), headers.get(field), &mut self.differences).ok_or(reason)? {
                flags |= bit;
            }
        }
        let (old, new) = (last.get(ID_FIELD), headers.get(ID_FIELD));
        if new != old + 1 && form::encode(old, new, &mut self.differences).ok_or("full id")? {
            flags |= form::ID;
        }
        if headers.flags() & PUSH != 0 {
            flags |= form::PUSH;
        }
        Ok(flags)
    }
}

/// The headers of a packet, if they can be compressed.
fn compressible(packet: &Packet) -> Option<Headers> {
    let headers = Headers::of(packet.data()).filter(|_| packet.network_offset() == Some(0))?;
    let is_whole = headers.0[6] & 0x3f == 0 && headers.0[7] == 0;
    let is_plain = headers.0[0] == 0x45 && headers.0[9] == protocol::TCP;
    (is_plain && is_whole && headers.flags() & FIN_SYN_RST_ACK == ACK).then_some(headers)
}

/// A packet of these bytes.
pub(super) fn joined(parts: &[&[u8]]) -> Packet {
    let mut packet = Packet::zeroed(parts.iter().map(|part| part.len()).sum());
    let mut room = packet.data_mut();
    for part in parts {
        let (place, rest) = room.split_at_mut(part.len());
        place.copy_from_slice(part);
        room = rest;
    }
    packet
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    /// Packets that differ in many ways, some of which there is no form for.
    const SOURCES: &str = "RandomSeed(7);
        a :: FromIPSummaryDump(DATA '!data ip_src ip_dst sport dport tcp_seq tcp_ack tcp_window ip_id tcp_flags ip_ttl ip_proto payload\n
1.0.0.1 2.0.0.2 1 2 100 200 300 5 SA 64 T \"\"\n
1.0.0.1 2.0.0.2 1 2 100 200 300 6 A 64 T \"\"\n
1.0.0.1 2.0.0.2 1 2 101 200 300 7 PA 64 T \"abc\"\n
1.0.0.1 2.0.0.2 1 2 104 1200 300 9 A 64 T \"de\"\n
1.0.0.1 2.0.0.2 1 2 106 1200 299 10 A 64 T \"f\"\n
1.0.0.1 2.0.0.2 1 2 107 1200 400 10 AU 64 T \"\"\n
1.0.0.1 2.0.0.2 1 2 80000 1200 400 11 A 64 T \"\"\n
1.0.0.1 2.0.0.2 1 2 80000 1100 400 12 A 64 T \"\"\n
1.0.0.1 2.0.0.2 1 2 80000 1100 400 13 A 63 T \"\"\n
1.0.0.1 2.0.0.2 1 2 80000 1100 400 3 A 63 T \"\"\n
2.0.0.2 1.0.0.1 2 1 4294967290 7 65535 65535 A 9 T \"xyz\"\n
2.0.0.2 1.0.0.1 2 1 4294967295 8 65535 0 A 9 T \"xyz\"\n
2.0.0.2 1.0.0.1 2 1 3 9 65535 1 A 9 T \"xyz\"\n
2.0.0.2 1.0.0.1 2 1 4 9 65535 2 FA 9 T \"\"\n
3.0.0.3 1.0.0.1 53 54 0 0 0 2 . 9 U \"\"', CHECKSUM true, STOP true)";

    #[test]
    fn headers_come_back() {
        check(
            &format!("{SOURCES} -> Print(in, 60) -> RFC2507Comp -> Print(c, 60) -> RFC2507Decomp -> Print(out, 60) -> Discard"),
            expect![[r#"
                in:   40 | 45000028 00050000 400677c9 01000001 02000002 00010002 00000064 000000c8 5012012c aa750000
                cannot compress packet
                c:   41 | 00450000 28000500 00400677 c9010000 01020000 02000100 02000000 64000000 c8501201 2caa7500 00
                seq 100 len 0
                out:   40 | 45000028 00050000 400677c9 01000001 02000002 00010002 00000064 000000c8 5012012c aa750000
                in:   40 | 45000028 00060000 400677c8 01000001 02000002 00010002 00000064 000000c8 5010012c aa770000
                sport 1 dport 2 added cid 7
                c:   42 | 01074500 00280006 00004006 77c80100 00010200 00020001 00020000 00640000 00c85010 012caa77 0000
                2507d: got full header
                seq 100 len 0
                out:   40 | 45000028 00060000 400677c8 01000001 02000002 00010002 00000064 000000c8 5010012c aa770000
                in:   43 | 4500002b 00070000 400677c4 01000001 02000002 00010002 00000065 000000c8 5018012c e6080000 616263
                c:    9 | 020718e6 08016162 63
                seq 101 len 3
                out:   43 | 4500002b 00070000 400677c4 01000001 02000002 00010002 00000065 000000c8 5018012c e6080000 616263
                in:   42 | 4500002a 00090000 400677c3 01000001 02000002 00010002 00000068 000004b0 5010012c 42240000 6465
                c:   12 | 02072c42 240003e8 03026465
                seq 104 len 2
                out:   42 | 4500002a 00090000 400677c3 01000001 02000002 00010002 00000068 000004b0 5010012c 42240000 6465
                in:   41 | 45000029 000a0000 400677c3 01000001 02000002 00010002 0000006a 000004b0 5010012b 40890000 66
                full win
                c:   43 | 01074500 0029000a 00004006 77c30100 00010200 00020001 00020000 006a0000 04b05010 012b4089 000066
                2507d: got full header
                seq 106 len 1
                out:   41 | 45000029 000a0000 400677c3 01000001 02000002 00010002 0000006a 000004b0 5010012b 40890000 66
                in:   40 | 45000028 000a0000 400677c4 01000001 02000002 00010002 0000006b 000004b0 50300190 a6040000
                c:    7 | 02070aa6 046501
                seq 107 len 0
                 tcp cksum failed
                out:   40 | 45000028 000b0000 400677c3 01000001 02000002 00010002 0000006b 000004b0 50100190 a6040000
                in:   40 | 45000028 000b0000 400677c3 01000001 02000002 00010002 00013880 000004b0 50100190 6e0e0000
                full seq
                c:   42 | 01074500 0028000b 00004006 77c30100 00010200 00020001 00020001 38800000 04b05010 01906e0e 0000
                2507d: got full header
                seq 80000 len 0
                out:   40 | 45000028 000b0000 400677c3 01000001 02000002 00010002 00013880 000004b0 50100190 6e0e0000
                in:   40 | 45000028 000c0000 400677c2 01000001 02000002 00010002 00013880 0000044c 50100190 6e720000
                full ack
                c:   42 | 01074500 0028000c 00004006 77c20100 00010200 00020001 00020001 38800000 044c5010 01906e72 0000
                2507d: got full header
                seq 80000 len 0
                out:   40 | 45000028 000c0000 400677c2 01000001 02000002 00010002 00013880 0000044c 50100190 6e720000
                in:   40 | 45000028 000d0000 3f0678c1 01000001 02000002 00010002 00013880 0000044c 50100190 6e720000
                full1
                c:   42 | 01074500 0028000d 00003f06 78c10100 00010200 00020001 00020001 38800000 044c5010 01906e72 0000
                2507d: got full header
                seq 80000 len 0
                out:   40 | 45000028 000d0000 3f0678c1 01000001 02000002 00010002 00013880 0000044c 50100190 6e720000
                in:   40 | 45000028 00030000 3f0678cb 01000001 02000002 00010002 00013880 0000044c 50100190 6e720000
                full id
                c:   42 | 01074500 00280003 00003f06 78cb0100 00010200 00020001 00020001 38800000 044c5010 01906e72 0000
                2507d: got full header
                seq 80000 len 0
                out:   40 | 45000028 00030000 3f0678cb 01000001 02000002 00010002 00013880 0000044c 50100190 6e720000
                in:   43 | 4500002b ffff0000 0906aecb 02000002 01000001 00020001 fffffffa 00000007 5010ffff ba500000 78797a
                sport 2 dport 1 added cid 13
                c:   45 | 010d4500 002bffff 00000906 aecb0200 00020100 00010002 0001ffff fffa0000 00075010 ffffba50 00007879 7a
                2507d: got full header
                seq -6 len 3
                out:   43 | 4500002b ffff0000 0906aecb 02000002 01000001 00020001 fffffffa 00000007 5010ffff ba500000 78797a
                in:   43 | 4500002b 00000000 0906aecb 02000002 01000001 00020001 ffffffff 00000008 5010ffff ba4a0000 78797a
                full id
                c:   45 | 010d4500 002b0000 00000906 aecb0200 00020100 00010002 0001ffff ffff0000 00085010 ffffba4a 00007879 7a
                2507d: got full header
                seq -1 len 3
                out:   43 | 4500002b 00000000 0906aecb 02000002 01000001 00020001 ffffffff 00000008 5010ffff ba4a0000 78797a
                in:   43 | 4500002b 00010000 0906aeca 02000002 01000001 00020001 00000003 00000009 5010ffff ba460000 78797a
                c:   10 | 020d0cba 46010478 797a
                seq 3 len 3
                out:   43 | 4500002b 00010000 0906aeca 02000002 01000001 00020001 00000003 00000009 5010ffff ba460000 78797a
                in:   40 | 45000028 00020000 0906aecc 02000002 01000001 00020001 00000004 00000009 5011ffff acc10000
                cannot compress packet
                c:   41 | 00450000 28000200 000906ae cc020000 02010000 01000200 01000000 04000000 095011ff ffacc100 00
                seq 4 len 0
                out:   40 | 45000028 00020000 0906aecc 02000002 01000001 00020001 00000004 00000009 5011ffff acc10000
                in:   28 | 4500001c 00020000 0911adcc 03000003 01000001 00350036 0008fb6f
                cannot compress packet
                c:   29 | 00450000 1c000200 000911ad cc030000 03010000 01003500 360008fb 6f
                seq 588655 len -12
                out:   28 | 4500001c 00020000 0911adcc 03000003 01000001 00350036 0008fb6f
            "#]],
        );
    }

    #[test]
    fn packets_without_a_header_are_sent_as_they_are() {
        check(
            "InfiniteSource(DATA \\<45000028>, LIMIT 1) -> Queue -> RFC2507Comp -> Unqueue -> Print -> Discard;
             InfiniteSource(DATA \\<45000028>, LIMIT 1) -> MarkIPHeader(2) -> RFC2507Comp -> Print -> Discard; DriverManager(wait 1s)",
            expect![[r#"
                cannot compress packet
                   5 | 00450000 28
                cannot compress packet
                   5 | 00450000 28
            "#]],
        );
    }
}
