//! Answers TCP packets as a server might that takes everything and keeps no state.
//!
//! A SYN is answered by a SYN with an acknowledgement, a FIN by a FIN, and data by an acknowledgement and the same data. The packet
//! must begin with its IPv4 header; its addresses and ports are exchanged, its checksums computed anew, and the destination
//! annotation is set. All other packets are dropped.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPFilter(allow tcp && dst port 99) -> TCPReflector -> Discard;
//! ```

use element::{offload, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};
use wire::{checksum, tcp_flag, Tcp};

/// The class.
pub const CLASS: Class = Class::new::<TCPReflector>("TCPReflector", "1/1", "a/a", "x/x").drops(DROPS);

const NO_ANSWER: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-answer", "There is nothing to answer.")];

const IP: usize = 20;
const TTL: u8 = 250;
const WINDOW: u16 = 60 * 1024;

/// See the page above.
pub struct TCPReflector;

impl Element for TCPReflector {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPReflector, Failed> {
        conf.finish()?;
        Ok(TCPReflector)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        answer_all(ctx, &mut batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        answer_all(ctx, &mut batch);
        batch
    }
}

/// Keeps the packets that are answered, as their answers.
fn answer_all(ctx: &mut Ctx<'_>, batch: &mut Batch) {
    let mut others = Batch::new();
    batch.split(|packet| u32::from(answer(ctx, packet).is_none()), |_, packet| others.push(packet));
    ctx.drop_batch(NO_ANSWER, others);
}

/// Makes a packet its answer, if it has one.
fn answer(ctx: &mut Ctx<'_>, packet: &mut Packet) -> Option<()> {
    offload::settle(packet);
    let bytes = packet.data_mut();
    let len = bytes.len();
    let (ip, rest) = bytes.split_first_chunk_mut::<IP>()?;
    let header_len = usize::from(ip[0] & 0x0f) * 4;
    let tcp = rest.get_mut(header_len.checked_sub(IP)?..)?.first_chunk_mut::<20>()?;
    let offset = usize::from(tcp[12] >> 4) * 4;
    answer_tcp(ctx, tcp, (len as i64 - header_len as i64 - offset as i64) as i32)?;
    let (source, destination) = ([ip[12], ip[13], ip[14], ip[15]], [ip[16], ip[17], ip[18], ip[19]]);
    ip[12..16].copy_from_slice(&destination);
    ip[16..20].copy_from_slice(&source);
    ip[8] = TTL;
    ip[2..4].copy_from_slice(&(len as u16).to_be_bytes());
    // As Click: of longer headers the options count for TCP, and not for IP.
    let segment_len = (len as u16).wrapping_sub(IP as u16);
    let pseudo = checksum::pseudo_ipv4(destination.into(), source.into(), ip[9], segment_len);
    ip[10..12].fill(0);
    let sum = !checksum::sum_20(ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let sum = checksum::transport(pseudo, rest).to_be_bytes();
    let at = header_len - IP + Tcp::CHECKSUM_AT;
    rest.get_mut(at..at + 2)?.copy_from_slice(&sum);
    packet.set_dst_ip(source.into());
    Some(())
}

/// Turns the TCP header of a packet with so many bytes of payload into that of its answer, with a checksum of 0; `None`
/// if it has no answer.
fn answer_tcp(ctx: &mut Ctx<'_>, tcp: &mut [u8; 20], payload_len: i32) -> Option<()> {
    let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    let acknowledged = u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]);
    let flags = tcp[13] & !tcp_flag::PSH;
    let behind = sequence.wrapping_add_signed(payload_len);
    let has_fin = flags & tcp_flag::FIN != 0;
    let (flags, sequence, acknowledged) = match flags {
        tcp_flag::SYN => {
            // Click writes the number as the machine keeps it, the low byte first.
            let first = ctx.random_between(0, u32::MAX).swap_bytes();
            (tcp_flag::SYN | tcp_flag::ACK, first, sequence.wrapping_add(1))
        }
        flags if flags & (tcp_flag::SYN | tcp_flag::RST) != 0 => return None,
        _ if has_fin => (tcp_flag::ACK | tcp_flag::FIN, acknowledged, behind.wrapping_add(1)),
        _ if payload_len > 0 => (tcp_flag::ACK, acknowledged, behind),
        _ => return None,
    };
    tcp.copy_within(0..2, 16);
    tcp.copy_within(2..4, 0);
    tcp.copy_within(16..18, 2);
    tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
    tcp[8..12].copy_from_slice(&acknowledged.to_be_bytes());
    tcp[13] = flags;
    tcp[14..16].copy_from_slice(&WINDOW.to_be_bytes());
    tcp[16..18].fill(0);
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn whatever_wants_an_answer_gets_one() {
        check(
            r#"FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport tcp_flags tcp_seq tcp_ack payload
1.0.0.1 1 2.0.0.2 80 A 100 200 \"\"
1.0.0.1 1 2.0.0.2 80 PA 100 200 \"hello\"
1.0.0.1 1 2.0.0.2 80 F 100 200 \"\"
1.0.0.1 1 2.0.0.2 80 FA 100 200 \"bye\"
1.0.0.1 1 2.0.0.2 80 SA 100 200 \"\"
1.0.0.1 1 2.0.0.2 80 R 100 200 \"\"
", STOP true, CHECKSUM true) -> TCPReflector -> CheckIPHeader -> CheckTCPHeader
                 -> IPPrint(PAYLOAD ascii) -> Discard"#,
            expect![[r#"
                0.000000: 2.0.0.2.80 > 1.0.0.1.1: . 200:205(5,45,45) ack 105 win 61440
                  hello
                0.000000: 2.0.0.2.80 > 1.0.0.1.1: F 200:201(1,40,40) ack 101 win 61440
                0.000000: 2.0.0.2.80 > 1.0.0.1.1: F 200:204(4,43,43) ack 104 win 61440
                  bye
            "#]],
        );
    }

    #[test]
    fn a_connection_is_accepted() {
        check(
            r#"FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport tcp_flags tcp_seq
1.0.0.1 1 2.0.0.2 80 S 100
", STOP true) -> TCPReflector -> CheckIPHeader -> CheckTCPHeader -> IPFilter(allow tcp opt syn and tcp opt ack)
                 -> StoreData(24, xxxx) -> StoreData(36, xx) -> Print(p, -1) -> Discard"#,
            expect![[r#"
                p:   40 | 45000028 00000000 fa06bdcd 02000002 01000001 00500001 78787878 00000065 5012f000 78780000
            "#]],
        );
    }
}
