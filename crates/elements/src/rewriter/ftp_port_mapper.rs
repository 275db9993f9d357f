//! Makes FTP's PORT commands fit a rewriter, so that active FTP works through NAT (RFC 959).
//!
//! Expects packets of FTP control connections with marked headers on their way to CONTROL_REWRITER, an `IPRewriter` or `TCPRewriter`. If
//! such a packet begins with a PORT command and its flow has a mapping there, the data connection that the command announces gets
//! one in DATA_REWRITER, as if it came to input DATA_REWRITER_INPUT: to the server, from there on to the port before that of the control
//! connection. The command is rewritten to tell the mapping's address and port. Lengths and checksums are set, and
//! CONTROL_REWRITER is told how many bytes there are more or fewer, so that it shifts sequence numbers. Addresses and ports of the
//! packet itself stay.
//!
//! A command that is not all in one packet, or not the first in it, passes as it is, as all other packets do.
//!
//! ```click
//! rw :: IPRewriter(pattern 1.0.0.1 9000-14000 - - 0 1, drop);
//! inside :: Idle -> c :: IPClassifier(dst tcp port ftp, -);
//! c[0] -> FTPPortMapper(rw, rw, 0) -> [0]rw;    c[1] -> [0]rw;
//! outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use std::net::Ipv4Addr;

use element::{offload, Arg, Batch, Class, Configure, Ctx, Element, ElementIdx, Failed, Packet, Refusal};
use wire::word::{put_u16, u16_at};
use wire::{checksum, protocol};

use super::flow_id::FlowId;
use super::rewriters;
use super::style::u32_from;
use crate::standard::neighbours::{nearest, Towards};
use crate::tcpudp::segment::Outer;

/// The class.
pub const CLASS: Class = Class::new::<FTPPortMapper>("FTPPortMapper", "1/1", "a/a", "x/x")
    .args(ARGS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("CONTROL_REWRITER", "element", "The rewriter of control connections."),
    Arg::required("DATA_REWRITER", "element", "The rewriter of data connections."),
    Arg::required("DATA_REWRITER_INPUT", "int", "The input of DATA_REWRITER that makes their mappings."),
];

/// The classes that shift sequence numbers, by the name of what they have in common.
const TCP_REWRITERS: &[&str] = &["TCPRewriter", "IPRewriter"];
/// All rewriters, likewise.
const ALL_REWRITERS: &[&str] = &[
    "IPRewriterBase",
    "IPRewriter",
    "TCPRewriter",
    "UDPRewriter",
    "IPAddrPairRewriter",
    "IPAddrRewriter",
    "ICMPPingRewriter",
];

/// See the page above.
pub struct FTPPortMapper {
    control: ElementIdx,
    data: ElementIdx,
    data_input: usize,
}

impl Element for FTPPortMapper {
    fn configure(conf: &mut Configure<'_>) -> Result<FTPPortMapper, Failed> {
        let control = rewriter(conf, "CONTROL_REWRITER", TCP_REWRITERS);
        let data = rewriter(conf, "DATA_REWRITER", ALL_REWRITERS);
        let data_input: i32 = conf.args.need("DATA_REWRITER_INPUT");
        conf.finish()?;
        let (control, data) = (control.ok_or_else(Failed::default)?, data.ok_or_else(Failed::default)?);
        let n_inputs = conf.environment.n_ports(data).0;
        let data_input = usize::try_from(data_input).ok().filter(|input| *input < n_inputs);
        let data_input = data_input.ok_or("DATA_REWRITER_INPUT out of range")?;
        Ok(FTPPortMapper { control, data, data_input })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let found = nearest(ctx, Towards::Outputs, 0, |ctx, idx| TCP_REWRITERS.contains(&ctx.class(idx)));
        if !found.contains(&self.control) {
            let declaration = ctx.declaration(self.control);
            ctx.warn(&format!("control packet rewriter '{declaration}' is not downstream"));
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        batch.iter_mut().for_each(|packet| self.process(ctx, packet));
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        batch.iter_mut().for_each(|packet| self.process(ctx, packet));
        batch
    }
}

/// The rewriter that an argument names.
fn rewriter(conf: &mut Configure<'_>, name: &'static str, classes: &[&str]) -> Option<ElementIdx> {
    if !conf.args.is_given(name) {
        let args::Raw(_) = conf.args.need(name);
    }
    conf.element(name, classes)
}

/// A PORT command: the place of its argument in the payload, and what that says.
#[derive(Debug, PartialEq, Eq)]
struct PortCommand {
    begin: usize,
    end: usize,
    address: u32,
    port: u16,
}

impl PortCommand {
    /// The command that a payload begins with.
    fn parse(payload: &[u8]) -> Option<PortCommand> {
        if !payload.get(..5)?.eq_ignore_ascii_case(b"PORT ") {
            return None;
        }
        let n_spaces = payload[5..].iter().take_while(|byte| **byte == b' ').count();
        let begin = 5 + n_spaces;
        let is_argument = |byte: &u8| byte.is_ascii_digit() || *byte == b',';
        let argument: &[u8] = &payload[begin..];
        let len = argument.iter().position(|byte| !is_argument(byte))?;
        if !matches!(argument[len], b'\r' | b'\n') {
            return None;
        }
        let mut numbers = argument[..len].split(|byte| *byte == b',').map(number);
        let mut next = || numbers.next().flatten();
        let address = Ipv4Addr::new(next()?, next()?, next()?, next()?);
        let port = u16::from_be_bytes([next()?, next()?]);
        if numbers.next().is_some() {
            return None;
        }
        Some(PortCommand { begin, end: begin + len, address: address.to_bits(), port })
    }
}

/// The number that digits make, modulo 2^32 as in Click; `None` if that is no byte.
fn number(digits: &[u8]) -> Option<u8> {
    let value = digits
        .iter()
        .fold(0u32, |value, digit| value.wrapping_mul(10).wrapping_add(u32::from(digit.wrapping_sub(b'0'))));
    u8::try_from(value).ok()
}

/// The argument of a PORT command that tells the source of a flow, and its length.
fn argument(source: &FlowId) -> ([u8; 24], usize) {
    let [a, b, c, d] = source.src.to_be_bytes();
    let [high, low] = source.sport.to_be_bytes();
    let mut text = [0; 24];
    let mut len = 0;
    for (n, byte) in [a, b, c, d, high, low].into_iter().enumerate() {
        let digits = [byte / 100, byte / 10 % 10, byte % 10];
        let n_zeros = digits.iter().take(2).take_while(|digit| **digit == 0).count();
        let comma = (n > 0).then_some(b',');
        for byte in comma.into_iter().chain(digits.iter().skip(n_zeros).map(|digit| b'0' + digit)) {
            text[len] = byte;
            len += 1;
        }
    }
    (text, len)
}

impl FTPPortMapper {
    fn process(&self, ctx: &mut Ctx<'_>, packet: &mut Packet) {
        self.rewrite(ctx, packet);
    }

    /// Rewrites a packet that begins with a PORT command; `None` if it is left alone.
    fn rewrite(&self, ctx: &mut Ctx<'_>, packet: &mut Packet) -> Option<()> {
        let (ip, tcp) = (packet.network().first_chunk::<20>()?, packet.transport());
        let tcp_header = tcp.first_chunk::<20>()?;
        if ip[9] != protocol::TCP {
            return None;
        }
        let offset = usize::from(tcp_header[12] >> 4) * 4;
        let payload = tcp.get(offset..)?;
        let command = PortCommand::parse(payload)?;
        let control = FlowId {
            src: u32_from(ip, 12),
            dst: u32_from(ip, 16),
            sport: u16_at(tcp, 0)?,
            dport: u16_at(tcp, 2)?,
        };
        // The data connection comes from the port before that of the control connection (RFC 959, section 3.2).
        let data = FlowId {
            src: command.address,
            dst: control.dst,
            sport: command.port,
            dport: control.dport.wrapping_sub(1),
        };
        let trigger = u32_from(tcp, 4).wrapping_add(payload.len() as u32);
        let at = packet.transport_offset().and_then(|at| usize::try_from(at).ok())? + offset;
        let reply_anno = rewriters::with(ctx, self.control, |base, _| {
            base.mapping(protocol::TCP, &control).map(|mapping| mapping.reply_anno)
        })??;
        let input = self.data_input;
        let mapping =
            rewriters::with(ctx, self.data, |base, ctx| base.tcp_mapping_or_new(ctx, &data, input))??;
        let (text, len) = argument(&mapping.rewritten);
        offload::settle(packet);
        replace(packet, at + command.begin..at + command.end, text.get(..len)?);
        let delta = len as i32 - (command.end - command.begin) as i32;
        rewriters::with(ctx, self.control, |base, _| base.shift_sequence(&control, trigger, delta));
        rewriters::with(ctx, self.data, |base, _| base.set_reply_anno(&data, reply_anno));
        set_lengths(packet)
    }
}

/// Puts other bytes in the place of some of a packet's.
fn replace(packet: &mut Packet, range: std::ops::Range<usize>, bytes: &[u8]) {
    let old_len = packet.len();
    let new_end = range.start + bytes.len();
    if new_end > range.end {
        packet.append(new_end - range.end);
    }
    let data = packet.data_mut();
    data.copy_within(range.end..old_len, new_end);
    data[range.start..new_end].copy_from_slice(bytes);
    packet.truncate(new_end + old_len - range.end);
}

/// Sets IPv4 length and both checksums of a packet whose payload has changed.
fn set_lengths(packet: &mut Packet) -> Option<()> {
    let ip = packet.network_mut();
    let new_len = ip.len() as u16;
    let (old_len, sum) = (u16_at(ip, 2)?, u16_at(ip, 10)?);
    put_u16(ip, 2, new_len);
    put_u16(ip, 10, checksum::update_u16(sum, old_len, new_len));
    let segment_len = packet.transport().len() as u16;
    let pseudo = Outer::of(packet)?.pseudo_header_sum(segment_len);
    let segment = packet.transport_mut();
    put_u16(segment, 16, 0);
    let sum = checksum::transport(pseudo, segment);
    put_u16(segment, 16, sum);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;
    use proptest::prelude::*;

    /// What the client says, what the server answers, and how it opens the data connection.
    const EXCHANGE: &str = r#"
        client :: FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport tcp_flags tcp_seq tcp_ack payload
10.0.0.2 6587 2.0.0.2 21 S 1000 0 \"\"
10.0.0.2 6587 2.0.0.2 21 A 1001 501 \"USER me\\r\\n\"
10.0.0.2 6587 2.0.0.2 21 PA 1010 501 \"PORT 10,0,0,2,3,9\\r\\n\"
10.0.0.2 6587 2.0.0.2 21 PA 1029 501 \"RETR file\\r\\n\"
10.0.0.2 6587 2.0.0.2 21 PA 1040 501 \"port   10,0,0,2,250,251\\nX\"
10.0.0.2 6587 2.0.0.2 21 PA 1066 501 \"QUIT\\r\\n\"
", STOP false, CHECKSUM true);
        server :: FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport tcp_flags tcp_seq tcp_ack payload
2.0.0.2 21 101.102.103.104 9000 A 501 1010 \"200\\r\\n\"
2.0.0.2 21 101.102.103.104 9000 A 506 1034 \"200\\r\\n\"
2.0.0.2 21 101.102.103.104 9000 A 511 1045 \"200\\r\\n\"
2.0.0.2 20 101.102.103.104 9001 S 7000 0 \"\"
2.0.0.2 20 101.102.103.104 9002 S 8000 0 \"\"
", STOP false, ACTIVE false, CHECKSUM true);
        rw :: IPRewriter(pattern 101.102.103.104 9000-9100# - - 0 1, drop);
        client -> m :: FTPPortMapper(rw, rw, 0) -> [0]rw; server -> [1]rw;
        Script(wait 1s, write server.active true, wait 1s, stop);
        rw[0] -> CheckIPHeader -> CheckTCPHeader -> out :: IPPrint(out, PAYLOAD ascii, MAXLENGTH 80) -> Discard;
        rw[1] -> CheckIPHeader -> CheckTCPHeader -> in :: IPPrint(in) -> Discard;"#;

    #[test]
    fn data_connections_find_their_way() {
        check(
            EXCHANGE,
            expect![[r#"
            out: 0.000000: 101.102.103.104.9000 > 2.0.0.2.21: S 1000:1001(1,40,40) win 0
            out: 0.000000: 101.102.103.104.9000 > 2.0.0.2.21: . 1001:1010(9,49,49) ack 501 win 0
              USER me. .
            out: 0.000000: 101.102.103.104.9000 > 2.0.0.2.21: P 1010:1038(28,68,68) ack 501 win 0
              PORT 101 ,102,103 ,104,35, 41..
            out: 0.000000: 101.102.103.104.9000 > 2.0.0.2.21: P 1038:1049(11,51,51) ack 501 win 0
              RETR fil e..
            out: 0.000000: 101.102.103.104.9000 > 2.0.0.2.21: P 1049:1079(30,70,70) ack 501 win 0
              port   1 01,102,1 03,104,3 5,42.X
            out: 0.000000: 101.102.103.104.9000 > 2.0.0.2.21: P 1080:1086(6,46,46) ack 501 win 0
              QUIT..
            in: 0.000000: 2.0.0.2.21 > 10.0.0.2.6587: . 501:506(5,45,45) ack 1010 win 0
            in: 0.000000: 2.0.0.2.21 > 10.0.0.2.6587: . 506:511(5,45,45) ack 1034 win 0
            in: 0.000000: 2.0.0.2.21 > 10.0.0.2.6587: . 511:516(5,45,45) ack 1036 win 0
            in: 0.000000: 2.0.0.2.20 > 10.0.0.2.777: S 7000:7001(1,40,40) win 0
            in: 0.000000: 2.0.0.2.20 > 10.0.0.2.64251: S 8000:8001(1,40,40) win 0
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake(
            "FTPPortMapper(a, b, 0)",
            expect!["CONTROL_REWRITER: does not name an element; DATA_REWRITER: does not name an element"],
        );
        check_mistake("FTPPortMapper", expect!["CONTROL_REWRITER: required argument missing; DATA_REWRITER: required argument missing; DATA_REWRITER_INPUT: required argument missing"]);
        let rewriters =
            "Idle -> rw :: IPRewriter(drop) -> Discard; Idle -> u :: UDPRewriter(drop) -> d :: Discard;";
        check(
            &format!("{rewriters} Idle -> FTPPortMapper(u, d, x) -> Discard"),
            expect![[r#"
            config:1: While configuring 'FTPPortMapper@8 :: FTPPortMapper':
              CONTROL_REWRITER: element type mismatch, expected TCPRewriter
              DATA_REWRITER: element type mismatch, expected IPRewriterBase
              DATA_REWRITER_INPUT: invalid number
            Router could not be initialized!
        "#]],
        );
        check(
            &format!("{rewriters} Idle -> FTPPortMapper(rw, u, 1) -> Discard"),
            expect![[r#"
            config:1: While configuring 'FTPPortMapper@8 :: FTPPortMapper':
              DATA_REWRITER_INPUT out of range
            Router could not be initialized!
        "#]],
        );
        check(
            &format!("{rewriters} Idle -> FTPPortMapper(rw, u, 0) -> Discard"),
            expect![[r#"
            config:1: While initializing 'FTPPortMapper@8 :: FTPPortMapper':
              warning: control packet rewriter 'rw :: IPRewriter' is not downstream
        "#]],
        );
    }

    #[test]
    fn only_whole_commands_count() {
        let port = |text: &str| PortCommand::parse(text.as_bytes()).map(|command| command.port);
        assert_eq!(port("PoRt   1,2,3,4,5,6\r"), Some(0x0506));
        assert_eq!(port("PORT ,,,,,\n"), Some(0));
        assert_eq!(port("PORT 1,2,3,4,5,4294967297\n"), Some(0x0501));
        for text in [
            "PORT 1,2,3,4,5,6",
            "PORT 1,2,3,4,5\r",
            "PORT 1,2,3,4,5,256\r",
            "PORT 1,2,3,4,5,6,7\r",
            "PORT",
            "PORTS 1,2,3,4,5,6\r",
        ] {
            assert_eq!(port(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arguments_are_read_as_written(src: u32, sport: u16, rest: String) {
            let (text, len) = argument(&FlowId { src, sport, ..FlowId::default() });
            let command = [b"PORT ", &text[..len], b"\r\n", rest.as_bytes()].concat();
            let expected = PortCommand { begin: 5, end: 5 + len, address: src, port: sport };
            prop_assert_eq!(PortCommand::parse(&command), Some(expected));
        }
    }
}
