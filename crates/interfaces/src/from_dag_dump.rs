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
    Arg::keyword("FORCE_IP", "bool", "Whether to emit only IP packets, headers marked. Default false."),
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
    Handler::read("encap", "The last packet's link type."),
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

    fn configure(conf: &mut Configure<'_>) -> Dag {
        let forces_ip = conf.args.get_or("FORCE_IP", false);
        let Word(encap) = conf.args.get("ENCAP").unwrap_or_default();
        Dag { forces_ip, encap, base: None, link_type: link::NONE }
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
        let number = |at: usize| header.get(at..at + 2).map_or(0, |two| u16::from_be_bytes([two[0], two[1]]));
        let ty = header.get(8).copied().unwrap_or(LEGACY);
        let mut told_len = 0;
        if ty > AAL5 && self.base.is_none() {
            tell(odd_type(ty));
            self.base = Some(link::ATM_RFC1483);
            // As in Click, this one cell is taken to tell a length.
            told_len = u32::from(number(14));
        }
        if ty == LEGACY || self.base.is_some() {
            let wire_len = |at: usize| u32::from(number(at));
            let base = self.base.unwrap_or(link::ATM_RFC1483);
            self.link_type = base;
            let (n_header, wire_len) = match base {
                link::ATM_RFC1483 | link::PPP | link::PPP_HDLC => (16, told_len),
                link::C_HDLC => (16, wire_len(10)),
                link::SUNATM => (12, 0),
                link::ETHERNET => (10, wire_len(8)),
                _ => (8, 0),
            };
            return Ok(Cell { n_header, n_padding: 0, n_data: CELL - HEADER, wire_len });
        }
        let (record_len, wire_len) = (usize::from(number(10)), u32::from(number(14)));
        let (link_type, n_padding, n_wire) = match ty {
            ATM | AAL5 => (link::SUNATM, 0, wire_len),
            // The length on the wire counts the frame check sequence.
            ETHERNET => (link::ETHERNET, ETHERNET_PADDING, wire_len.wrapping_sub(ETHERNET_FCS)),
            _ => (link::C_HDLC, 0, wire_len),
        };
        self.link_type = link_type;
        match record_len.checked_sub(HEADER + n_padding) {
            Some(n_data) => Ok(Cell { n_header: HEADER, n_padding, n_data, wire_len: n_wire }),
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

fn odd_type(ty: u8) -> Doubt {
    let advice = "(To avoid this warning, specify an explicit ENCAP.)".to_string();
    let later = format!(
        "DAG cell with odd type {ty}, assuming old-style\n  ATM encapsulation for rest of dump.  Packets may have been read \
         incorrectly!\n  {advice}"
    );
    Doubt { at_start: [format!("odd DAG cell type {ty}, assuming old-style ATM encapsulation"), advice], later }
}
