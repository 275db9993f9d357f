//! Reads packets from a trace in ERF format, as DAG cards write it.
//!
//! A record has a header of 16 bytes: a time, a type (1 HDLC, 2 Ethernet, 3 ATM, 4 AAL5), its own length and the packet's on the wire.
//! The annotation for extra length tells what the trace has not kept. Old traces have cells of 64 bytes without a type; ENCAP says
//! what is in them, ATM if nothing is said. With FORCE_IP, packets that are not IP leave by output 1, or are dropped.
//!
//! The file may be compressed with gzip or bzip2. What stands before a fault in it is emitted, then the fault and its place are told.
//!
//! ```click
//! FromDAGDump(trace.erf, STOP true, FORCE_IP true) -> IPPrint -> Discard;
//! ```

use args::Word;
use element::{Arg, Class, Configure, Failed, Handler, Packet, Role};

use crate::capture::link;
use crate::mark_ip::mark_ip;
use crate::trace::{self, Cell, Doubt, Trace, TraceSource};

/// The class.
pub const CLASS: Class = Class::new::<TraceSource<Dag>>("FromDAGDump", "0/1-2", "a/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(trace::DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    trace::MMAP,
    trace::FILENAME,
    trace::STOP,
    trace::ACTIVE,
    trace::FORCE_IP,
    trace::START,
    trace::START_AFTER,
    trace::END,
    trace::END_AFTER,
    trace::INTERVAL,
    trace::END_CALL,
    trace::SAMPLE,
    trace::TIMING,
    Arg::keyword("ENCAP", "link type", "What old cells hold: IP, ATM, SUNATM, ETHER, HDLC, PPP, PPP_HDLC."),
];

const HANDLERS: &[Handler] = &[
    trace::SAMPLING_PROB,
    trace::IS_ACTIVE,
    Handler::read("encap", "The last packet's link type.").flags("alike"),
    Handler::write("stop", "Becomes inactive and stops the driver."),
    trace::EXTEND_INTERVAL,
    trace::FILE[0],
    trace::FILE[1],
    trace::FILE[2],
    trace::TASK[0],
    trace::TASK[1],
    trace::TASK[2],
];

/// Bytes of a record's header.
const HEADER: usize = 16;
/// Bytes of an old cell.
const CELL: usize = 64;
/// Bytes between the header and an Ethernet frame.
const ETHERNET_PADDING: usize = 2;
/// Bytes of the frame check sequence, which the length on the wire counts.
const ETHERNET_FCS: u32 = 4;
const NS_PER_S: u64 = 1_000_000_000;

const LEGACY: u8 = 0;
const ETHERNET: u8 = 2;
const ATM: u8 = 3;
const AAL5: u8 = 4;

/// Link types that ENCAP can be.
const ENCAPS: [u32; 7] =
    [link::SUNATM, link::C_HDLC, link::ETHERNET, link::ATM_RFC1483, link::PPP, link::PPP_HDLC, link::RAW];

/// The format.
pub struct Dag {
    forces_ip: bool,
    /// ENCAP as it is written.
    encap: String,
    /// Link type of old cells, once it is known that there are any.
    base: Option<u32>,
    /// The last packet's link type.
    link_type: u32,
}

impl Trace for Dag {
    const STARTS: &'static str = "'START' and 'START_AFTER' are mutually exclusive";

    fn new() -> Dag {
        Dag { forces_ip: false, encap: String::new(), base: None, link_type: link::NONE }
    }

    fn configure(&mut self, conf: &mut Configure<'_>, after: &str) {
        match after {
            "ACTIVE" => self.forces_ip = conf.args.get_or("FORCE_IP", false),
            "TIMING" => Word(self.encap) = conf.args.get("ENCAP").unwrap_or_default(),
            _ => {}
        }
    }

    fn check(&mut self, _conf: &mut Configure<'_>, _filename: &str) -> Result<(), Failed> {
        if !self.encap.is_empty() {
            self.base = link::parse(&self.encap).filter(|base| ENCAPS.contains(base));
            if self.base.is_none() {
                return Err("bad encapsulation type".into());
            }
        }
        Ok(())
    }

    fn start(&self, keeps_time: bool) -> Result<(), String> {
        match self.forces_ip && keeps_time {
            true => Err("FORCE_IP and TIMING options are incompatible".to_string()),
            false => Ok(()),
        }
    }

    fn header_len(&self) -> usize {
        HEADER
    }

    fn time_ns(&self, header: &[u8]) -> i64 {
        let stamp = header.first_chunk().map_or(0, |stamp| u64::from_le_bytes(*stamp));
        // The lower half is a fraction of 2^32; it is rounded as the makers of the cards say.
        let scaled = (stamp & 0xffff_ffff) * NS_PER_S;
        let rounded = scaled + ((scaled & 0x8000_0000) << 1);
        let seconds = i64::from((stamp >> 32) as u32 as i32);
        seconds * NS_PER_S as i64 + (rounded >> 32) as i64
    }

    fn cell(&mut self, header: &[u8], tell: &mut dyn FnMut(Doubt)) -> Result<Cell, Option<String>> {
        let ty = header.get(8).copied().unwrap_or(LEGACY);
        let mut told_len = 0;
        if ty > AAL5 && self.base.is_none() {
            tell(odd_type(ty));
            self.base = Some(link::ATM_RFC1483);
            // As in Click, this one cell is taken to tell a length.
            told_len = u32::from(number(header, 14));
        }
        if ty == LEGACY || self.base.is_some() {
            self.link_type = self.base.unwrap_or(link::ATM_RFC1483);
            return Ok(old_cell(self.link_type, header, told_len));
        }
        let (record_len, wire_len) = (usize::from(number(header, 10)), u32::from(number(header, 14)));
        let (link_type, n_padding, wire_len) = match ty {
            ATM | AAL5 => (link::SUNATM, 0, wire_len),
            ETHERNET => (link::ETHERNET, ETHERNET_PADDING, wire_len.wrapping_sub(ETHERNET_FCS)),
            _ => (link::C_HDLC, 0, wire_len),
        };
        self.link_type = link_type;
        match record_len.checked_sub(HEADER + n_padding) {
            Some(n_data) => Ok(Cell { n_header: HEADER, n_padding, n_data, wire_len }),
            None => Err(Some(format!("record of {record_len} bytes, fewer than its header has"))),
        }
    }

    fn finish(&self, packet: &mut Packet, _header: &[u8]) -> bool {
        !self.forces_ip || mark_ip(packet, self.link_type)
    }

    fn encap(&self) -> String {
        link::unparse(self.link_type)
    }
}

/// What a cell without a type holds, some of it where others have more of the header.
fn old_cell(link_type: u32, header: &[u8], told_len: u32) -> Cell {
    let wire_len = |at: usize| u32::from(number(header, at));
    let (n_header, wire_len) = match link_type {
        link::ATM_RFC1483 | link::PPP | link::PPP_HDLC => (16, told_len),
        link::C_HDLC => (16, wire_len(10)),
        link::SUNATM => (12, told_len),
        link::ETHERNET => (10, wire_len(8)),
        _ => (8, told_len),
    };
    Cell { n_header, n_padding: 0, n_data: CELL - HEADER, wire_len }
}

/// A number of 16 bits in network order; 0 if it does not lie within the header.
fn number(header: &[u8], at: usize) -> u16 {
    wire::word::u16_at(header, at).unwrap_or(0)
}

fn odd_type(ty: u8) -> Doubt {
    let advice = "(To avoid this warning, specify an explicit ENCAP.)".to_string();
    let later = format!(
        "DAG cell with odd type {ty}, assuming old-style\n  ATM encapsulation for rest of dump.  Packets may have been read \
         incorrectly!\n  {advice}"
    );
    Doubt {
        at_start: [format!("odd DAG cell type {ty}, assuming old-style ATM encapsulation"), advice],
        later,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading, run, Scratch};
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    /// An IPv4 packet with a datagram.
    const IP: [u8; 36] =
        *b"\x45\0\0\x24\0\x01\0\0\x40\x11\0\0\x01\0\0\x01\x02\0\0\x02\0\x35\0\x36\0\x10\0\0ABCDEFGH";
    const ETHER: [u8; 14] = *b"\x01\x02\x03\x04\x05\x06\x0a\x0b\x0c\x0d\x0e\x0f\x08\0";
    const LLC: [u8; 12] = *b"\0\0\0\x01\xaa\xaa\x03\0\0\0\x08\0";

    fn header(seconds: u32, fraction: u32, ty: u8, len: u16, wire_len: u16) -> Vec<u8> {
        let stamp = u64::from(seconds) << 32 | u64::from(fraction);
        let (len, wire_len) = (len.to_be_bytes(), wire_len.to_be_bytes());
        [&stamp.to_le_bytes()[..], &[ty, 0], &len, &[0, 0], &wire_len].concat()
    }

    fn record(seconds: u32, fraction: u32, ty: u8, parts: &[&[u8]], wire_len: u16) -> Vec<u8> {
        let data = parts.concat();
        [header(seconds, fraction, ty, 16 + data.len() as u16, wire_len), data].concat()
    }

    fn trace() -> Vec<u8> {
        [
            record(1000, 0x8000_0000, 2, &[&[0, 0], &ETHER, &IP], 104),
            record(1001, 0xffff_ffff, 1, &[b"\x0f\0\x08\0", &IP], 40),
            record(1002, 123_456_789, 3, &[&LLC, &IP, b"zzzzzzzz"], 0),
            record(1003, 1, 4, &[&LLC[..11], b"\x01", &IP], 60),
            record(1004, 0, 2, &[&[0, 0], &ETHER, &IP], 54),
        ]
        .concat()
    }

    /// Reads a trace and shows its packets, those of output 1 as `other`.
    fn read(bytes: &[u8], arguments: &str, expect: Expect) {
        let scratch = Scratch::new();
        let file = scratch.file("trace.erf", bytes);
        let config = format!(
            "f :: FromDAGDump({file}{arguments}) -> Print(x, 60, TIMESTAMP true, PRINTANNO true) -> Discard;
             f[1] -> Print(other, 4) -> Discard"
        );
        let reads = ["f.filepos", "f.filesize", "f.encap", "f.active", "f.sampling_prob"];
        expect.assert_eq(&run(&config, &reads).replace(&file, "FILE"));
    }

    #[test]
    fn records_tell_what_they_hold() {
        read(
            &trace(),
            "",
            expect![[r#"
            x: 1000.500000:   50 | 000000000000000000000000000000000000000000000000000000003200000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            x: 1002.000000:   40 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 0f000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1002.028744524:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 7a7a7a7a 7a7a7a7a
            x: 1003.000000:   48 | 000000000000000000000000000000000000000000000000000000000c00000000000000000000000000000000000000 | 00000001 aaaa0300 00000801 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1004.000000:   50 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            f.filepos: 328
            f.filesize: 328
            f.encap: ETHER
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
    }

    #[test]
    fn only_ip_may_be_wanted() {
        read(
            &trace(),
            ", FORCE_IP true, STOP true",
            expect![[r#"
            x: 1000.500000:   50 | 020000020000000000000000000000000000000000000000000000003200000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            x: 1002.000000:   40 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 0f000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1002.028744524:   56 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 7a7a7a7a 7a7a7a7a
            other:   48 | 00000001
            x: 1004.000000:   50 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            f.filepos: 328
            f.filesize: 328
            f.encap: ETHER
            f.active: false
            f.sampling_prob: 1
        "#]],
        );
    }

    #[test]
    fn a_part_of_a_trace_is_read() {
        read(
            &trace(),
            ", START_AFTER 1, END 1004",
            expect![[r#"
            x: 1002.000000:   40 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 0f000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1002.028744524:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 7a7a7a7a 7a7a7a7a
            x: 1003.000000:   48 | 000000000000000000000000000000000000000000000000000000000c00000000000000000000000000000000000000 | 00000001 aaaa0300 00000801 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            f.filepos: 328
            f.filesize: 328
            f.encap: ETHER
            f.active: false
            f.sampling_prob: 1
        "#]],
        );
        read(
            &trace(),
            ", SAMPLE 0, INTERVAL 1",
            expect![[r#"
            config:1: While configuring 'f :: FromDAGDump':
              warning: SAMPLE probability is 0; emitting no packets
            f.filepos: 124
            f.filesize: 328
            f.encap: HDLC
            f.active: false
            f.sampling_prob: 0
        "#]],
        );
    }

    #[test]
    fn old_cells_hold_what_is_said() {
        let cell = |seconds, from: usize, data: &[u8]| {
            let mut cell = [header(seconds, 0, 0, 61, 0x0708), vec![7; 48]].concat();
            let behind = cell.get_mut(from..from + data.len()).unwrap();
            behind.copy_from_slice(data);
            cell
        };
        read(
            &[cell(1, 16, &LLC[4..]), cell(2, 24, &IP)].concat(),
            ", FORCE_IP true",
            expect![[r#"
            other:   48 | aaaa0300
            other:   48 | 07070707
            f.filepos: 128
            f.filesize: 128
            f.encap: ATM
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &[cell(1, 10, &ETHER), cell(2, 8, &[1, 0])].concat(),
            ", ENCAP ETHER",
            expect![[r#"
            x: 1.000000:   54 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08000707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 0707
            x: 2.000000:   54 | 00000000000000000000000000000000000000000000000000000000ca00000000000000000000000000000000000000 | 003d0000 07080707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 0707
            f.filepos: 128
            f.filesize: 128
            f.encap: ETHER
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &[cell(1, 8, &IP), cell(2, 8, &IP)].concat(),
            ", ENCAP IP",
            expect![[r#"
            x: 1.000000:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 07070707 07070707 07070707 07070707 07070707
            x: 2.000000:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 07070707 07070707 07070707 07070707 07070707
            f.filepos: 128
            f.filesize: 128
            f.encap: IP
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &cell(1, 12, &LLC),
            ", ENCAP SUNATM",
            expect![[r#"
            x: 1.000000:   52 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707
            f.filepos: 64
            f.filesize: 64
            f.encap: SUNATM
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &cell(1, 16, b"\x0f\0\x08\0"),
            ", ENCAP HDLC",
            expect![[r#"
            x: 1.000000:   48 | 000000000000000000000000000000000000000000000000000000000d00000000000000000000000000000000000000 | 0f000800 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707 07070707
            f.filepos: 64
            f.filesize: 64
            f.encap: HDLC
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
    }

    #[test]
    fn odd_types_make_all_cells_old() {
        let cells = [record(1, 0, 9, &[&[b'q'; 48]], 99), record(2, 0, 1, &[&[b'r'; 48]], 0)].concat();
        read(
            &cells,
            "",
            expect![[r#"
            config:1: While initializing 'f :: FromDAGDump':
              warning: odd DAG cell type 9, assuming old-style ATM encapsulation
              (To avoid this warning, specify an explicit ENCAP.)
            x: 1.000000:   48 | 000000000000000000000000000000000000000000000000000000003300000000000000000000000000000000000000 | 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171
            x: 2.000000:   48 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272
            f.filepos: 128
            f.filesize: 128
            f.encap: ATM
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &[trace(), cells].concat(),
            "",
            expect![[r#"
            x: 1000.500000:   50 | 000000000000000000000000000000000000000000000000000000003200000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            x: 1002.000000:   40 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 0f000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1002.028744524:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 7a7a7a7a 7a7a7a7a
            x: 1003.000000:   48 | 000000000000000000000000000000000000000000000000000000000c00000000000000000000000000000000000000 | 00000001 aaaa0300 00000801 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1004.000000:   50 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            f :: FromDAGDump: DAG cell with odd type 9, assuming old-style
              ATM encapsulation for rest of dump.  Packets may have been read incorrectly!
              (To avoid this warning, specify an explicit ENCAP.)
            x: 1.000000:   48 | 000000000000000000000000000000000000000000000000000000003300000000000000000000000000000000000000 | 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171 71717171
            x: 2.000000:   48 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272 72727272
            f.filepos: 456
            f.filesize: 456
            f.encap: ATM
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
    }

    #[test]
    fn faults_are_told_behind_what_is_before_them() {
        let trace = trace();
        read(
            &trace[..trace.len() - 5],
            "",
            expect![[r#"
            x: 1000.500000:   50 | 000000000000000000000000000000000000000000000000000000003200000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            x: 1002.000000:   40 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 0f000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1002.028744524:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 7a7a7a7a 7a7a7a7a
            x: 1003.000000:   48 | 000000000000000000000000000000000000000000000000000000000c00000000000000000000000000000000000000 | 00000001 aaaa0300 00000801 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            FILE: byte 260: truncated record, 63 of at least 68 bytes
            f.filepos: 323
            f.filesize: 323
            f.encap: ETHER
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &[&trace[..], &header(5, 0, 1, 15, 0), &[0; 99]].concat(),
            "",
            expect![[r#"
            x: 1000.500000:   50 | 000000000000000000000000000000000000000000000000000000003200000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            x: 1002.000000:   40 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 0f000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1002.028744524:   56 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 00000001 aaaa0300 00000800 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748 7a7a7a7a 7a7a7a7a
            x: 1003.000000:   48 | 000000000000000000000000000000000000000000000000000000000c00000000000000000000000000000000000000 | 00000001 aaaa0300 00000801 45000024 00010000 40110000 01000001 02000002 00350036 00100000 41424344 45464748
            x: 1004.000000:   50 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 01020304 05060a0b 0c0d0e0f 08004500 00240001 00004011 00000100 00010200 00020035 00360010 00004142 43444546 4748
            FILE: byte 328: record of 15 bytes, fewer than its header has
            f.filepos: 344
            f.filesize: 443
            f.encap: HDLC
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
        read(
            &trace[..9],
            "",
            expect![[r#"
            FILE: byte 0: truncated record, 9 of at least 16 bytes
            f.filepos: 9
            f.filesize: 9
            f.encap: <none>
            f.active: true
            f.sampling_prob: 1
        "#]],
        );
    }

    #[test]
    fn the_end_can_be_put_off() {
        let scratch = Scratch::new();
        let file = scratch.file("trace.erf", &trace());
        check_reading(
            &format!(
                "f :: FromDAGDump({file}, END_AFTER 2) -> Print(x, 8, TIMESTAMP true) -> Discard;
                 DriverManager(wait 1s, read f.active, writeq f.extend_interval \"1 // s\", wait 1s, read f.active, write f.active true, wait 1s,
                     write f.active x, write f.extend_interval x, write f.stop)"
            ),
            &["f.active", "f.filepos"],
            expect![[r#"
                x: 1000.500000:   50 | 01020304 05060a0b
                x: 1002.000000:   40 | 0f000800 45000024
                x: 1002.028744524:   56 | 00000001 aaaa0300
                f.active:
                false
                x: 1003.000000:   48 | 00000001 aaaa0300
                f.active:
                false
                x: 1004.000000:   50 | 01020304 05060a0b
                While executing 'DriverManager@4 :: DriverManager':
                  While calling 'f.active x':
                    type mismatch
                  While calling 'f.extend_interval x':
                    'extend_interval' takes a time interval
                f.active: false
                f.filepos: 328
            "#]],
        );
    }

    #[test]
    fn compressed_traces_can_be_pulled_in_time() {
        let scratch = Scratch::new();
        let path = scratch.path("trace.erf.gz");
        let mut output = crate::capture::Output::create(&path).unwrap();
        std::io::Write::write_all(&mut output, &trace()).unwrap();
        output.finish().unwrap();
        check_reading(
            &format!(
                "f :: FromDAGDump({path}, TIMING true, END_CALL stop) -> SetTimestamp -> Print(x, 8, TIMESTAMP true) -> Discard"
            ),
            &["f.filepos", "f.filesize"],
            expect![[r#"
                x: 1000000000.000000002:   50 | 01020304 05060a0b
                x: 1000000001.500000002:   40 | 0f000800 45000024
                x: 1000000001.528744526:   56 | 00000001 aaaa0300
                x: 1000000002.500000002:   48 | 00000001 aaaa0300
                x: 1000000003.500000002:   50 | 01020304 05060a0b
                f.filepos: 328
                f.filesize: -
            "#]],
        );
        check_reading(
            &format!(
                "f :: FromDAGDump({path}, STOP true) -> Unqueue -> Print(x, 8, TIMESTAMP true) -> Discard"
            ),
            &["f.active"],
            expect![[r#"
                x: 1000.500000:   50 | 01020304 05060a0b
                x: 1002.000000:   40 | 0f000800 45000024
                x: 1002.028744524:   56 | 00000001 aaaa0300
                x: 1003.000000:   48 | 00000001 aaaa0300
                x: 1004.000000:   50 | 01020304 05060a0b
                f.active: false
            "#]],
        );
    }

    #[test]
    fn several_mistakes_are_told_in_clicks_order() {
        check(
            "FromDAGDump(x, ENCAP foo, SAMPLE 2, FOO 1, STOP a, TIMING b, BASE_TIME 1, START q, END z) -> Discard;
             FromDAGDump(SAMPLE -1, ENCAP IP, FOO 1) -> Discard",
            expect![[r#"
                config:1: While configuring 'FromDAGDump@1 :: FromDAGDump':
                  STOP: parse error
                  START: parse error
                  END: parse error
                  TIMING: parse error
                  FOO: unknown argument
                  BASE_TIME: unknown argument
                config:2: While configuring 'FromDAGDump@3 :: FromDAGDump':
                  FILENAME: parse error
                  FOO: unknown argument
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "FromDAGDump(x, START 1, START_AFTER 2) -> Discard; FromDAGDump(x, END 1, END_AFTER 2, SAMPLE 2) -> Discard;
             FromDAGDump(x, STOP true, END_CALL a.b, ENCAP y) -> Discard; FromDAGDump(x, ENCAP y) -> Discard;
             FromDAGDump(x, ENCAP PRISM) -> Discard; FromDAGDump(SAMPLE x, MMAP y) -> Discard; FromDAGDump() -> Discard",
            expect![[r#"
                config:1: While configuring 'FromDAGDump@1 :: FromDAGDump':
                  'START' and 'START_AFTER' are mutually exclusive
                config:1: While configuring 'FromDAGDump@3 :: FromDAGDump':
                  warning: SAMPLE probability reduced to 1
                  END, END_AFTER, and INTERVAL are mutually exclusive
                config:2: While configuring 'FromDAGDump@5 :: FromDAGDump':
                  END_CALL: no element named 'a'
                  END_CALL: parse error
                config:2: While configuring 'FromDAGDump@7 :: FromDAGDump':
                  bad encapsulation type
                config:3: While configuring 'FromDAGDump@9 :: FromDAGDump':
                  bad encapsulation type
                config:3: While configuring 'FromDAGDump@11 :: FromDAGDump':
                  FILENAME: parse error
                config:3: While configuring 'FromDAGDump@13 :: FromDAGDump':
                  FILENAME: required argument missing
                Router could not be initialized!
            "#]],
        );
        check(
            "FromDAGDump(/none/such) -> Discard; FromDAGDump(/dev/null) -> Discard",
            expect![[r#"
            config:1: While initializing 'FromDAGDump@1 :: FromDAGDump':
              /none/such: No such file or directory
            Router could not be initialized!
        "#]],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_are_read_to_their_end(bytes in prop::collection::vec(prop_oneof![0u8..5, any::<u8>()], 1..300), is_forced: bool) {
            let scratch = Scratch::new();
            let file = scratch.file("trace.erf", &bytes);
            let printed = run(&format!("f :: FromDAGDump({file}, STOP true, FORCE_IP {is_forced}) -> Discard"), &["f.active"]);
            prop_assert!(printed.ends_with("f.active: false\n"), "{printed}");
        }
    }
}
