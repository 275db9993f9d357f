//! Prints ARP packets in words, a line each.
//!
//! The ARP packet begins at the network header, which must be marked; packets without a mark pass in silence. Prints LABEL, the
//! timestamp, with ETHER the addresses of the Ethernet header, and what is asked or answered.
//!
//! ```click
//! FromDump(in.pcap) -> MarkMACHeader(0, 14) -> Classifier(12/0806) -> ARPPrint(arp, TIMESTAMP false) -> Discard;
//! ```

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use args::{EtherAddr, Filename, Timestamp};
use element::{
    same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, RecordFile,
};
use wire::{ethertype, Arp};

/// The class.
pub const CLASS: Class = Class::new::<ARPPrint>("ARPPrint", "1/1", "a/a", "x/x")
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .shows_order();

const ARGS: &[Arg] = &[
    Arg::optional("LABEL", "string", "What to print first. Default nothing."),
    Arg::keyword("TIMESTAMP", "bool", "Whether to print the timestamp. Default true."),
    Arg::keyword("ETHER", "bool", "Whether to print the addresses of the Ethernet header. Default false."),
    Arg::keyword("ACTIVE", "bool", "Whether to print at all. Default true."),
    Arg::keyword(
        "OUTFILE",
        "filename",
        "Where to print, on core N > 0 with `.N` behind it. Default standard error.",
    ),
];

const HANDLERS: &[Handler] = &[Handler::read_write("active", "Whether packets are printed.")];

/// Bytes of the part that all ARP packets have.
const FIXED: usize = 8;

/// See the page above.
pub struct ARPPrint {
    label: String,
    has_timestamp: bool,
    has_ether: bool,
    is_active: bool,
    filename: String,
    file: Option<RecordFile>,
    /// Whether the file is one that another element has begun.
    goes_on: bool,
}

impl Element for ARPPrint {
    fn configure(conf: &mut Configure<'_>) -> Result<ARPPrint, Failed> {
        let label = conf.args.get_or("LABEL", String::new());
        let has_timestamp = conf.args.get_or("TIMESTAMP", true);
        let has_ether = conf.args.get_or("ETHER", false);
        let is_active = conf.args.get_or("ACTIVE", true);
        let Filename(filename) = conf.args.get_or("OUTFILE", Filename::default());
        let filename = conf.file_of_replica(filename);
        conf.finish()?;
        Ok(ARPPrint { label, has_timestamp, has_ether, is_active, filename, file: None, goes_on: false })
    }

    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.filename.is_empty() && !self.goes_on {
            self.file = Some(RecordFile::create(&self.filename)?);
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.print(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.print(ctx, &batch);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "active" => Ok(self.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => self.is_active = args::boolean(value).map_err(|_| "expected boolean")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(mut file) = self.file.take() {
            file.flush();
            file.tell_fault(ctx);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ARPPrint>(ctx, old) else { return };
        if self.goes_on {
            self.file = old.file.take();
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on =
            same_ref::<ARPPrint>(old).is_some_and(|old| old.file.is_some() && old.filename == self.filename);
    }
}

impl ARPPrint {
    fn print(&mut self, ctx: &mut Ctx<'_>, batch: &Batch) {
        if !self.is_active {
            return;
        }
        for packet in batch.iter() {
            let Some(line) = self.line(packet) else { continue };
            match &mut self.file {
                Some(file) => file.write((line + "\n").as_bytes()),
                None => ctx.chatter_of(packet.place(), &line),
            }
        }
        if let Some(file) = &mut self.file {
            file.tell_fault(ctx);
        }
    }

    /// What is printed of a packet.
    fn line(&self, packet: &Packet) -> Option<String> {
        let network_at = packet.network_offset()?;
        let mut line = String::new();
        if !self.label.is_empty() {
            let _ = write!(line, "{}: ", self.label);
        }
        if self.has_timestamp {
            let _ = write!(line, "{}: ", Timestamp::from_nanos(packet.timestamp_ns()));
        }
        let mac_at = packet.mac_offset();
        let frame = if mac_at.is_some() { packet.mac() } else { packet.data() };
        if self.has_ether && mac_at.unwrap_or(0) + 14 <= network_at {
            if let Some([d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, _, _]) = frame.first_chunk::<14>() {
                let source = EtherAddr([*s0, *s1, *s2, *s3, *s4, *s5]);
                let destination = EtherAddr([*d0, *d1, *d2, *d3, *d4, *d5]);
                let _ = write!(line, "{source} > {destination}: ");
            }
        }
        describe(&mut line, packet.network()).then_some(line)
    }
}

/// Adds an ARP packet in words; false if it is one that is not told of.
fn describe(line: &mut String, bytes: &[u8]) -> bool {
    if bytes.len() < FIXED {
        let _ = write!(line, "truncated-arp ({})", bytes.len());
        return true;
    }
    // What is missing of a longer packet reads as 0.
    let mut whole = [0; Arp::LEN];
    whole.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    let word = |at: usize| u16::from_be_bytes([whole[at], whole[at + 1]]);
    let mac = |at: usize| {
        EtherAddr([whole[at], whole[at + 1], whole[at + 2], whole[at + 3], whole[at + 4], whole[at + 5]])
    };
    let ip = |at: usize| Ipv4Addr::new(whole[at], whole[at + 1], whole[at + 2], whole[at + 3]);
    let [hardware, protocol, operation] = [word(0), word(2), word(6)];
    let [hardware_len, protocol_len] = [whole[4], whole[5]];
    let is_trailer = protocol == ethertype::TRAILER;
    if !(protocol == ethertype::IPV4 || is_trailer) || protocol_len != 4 || hardware_len == 0 {
        return false;
    }
    if is_trailer {
        line.push_str("trailer-");
    }
    let (sender, sender_ip, target, target_ip) = (mac(8), ip(14), mac(18), ip(24));
    let _ = match operation {
        1 => {
            let is_known = target.0.iter().take(hardware_len.into()).any(|byte| *byte != 0);
            let known = if is_known { format!(" ({target})") } else { String::new() };
            write!(line, "arp who-has {target_ip}{known} tell {sender_ip}")
        }
        2 => write!(line, "arp reply {sender_ip} is-at {sender}"),
        3 => write!(line, "rarp who-is {target} tell {sender}"),
        4 => write!(line, "rarp reply {target} at {target_ip}"),
        8 => write!(line, "invarp who-is {target} tell {sender}"),
        9 => write!(line, "invarp reply {target} at {target_ip}"),
        _ => write!(line, "arp-#{operation}"),
    };
    if hardware != Arp::ETHERNET {
        let _ = write!(line, "hardware #{hardware}");
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(header: [u16; 4], expect: Expect) {
        let mut bytes: Vec<u8> = header.into_iter().flat_map(u16::to_be_bytes).collect();
        bytes.extend([2, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 2]);
        let mut line = String::new();
        let is_told = describe(&mut line, &bytes);
        expect.assert_eq(&format!("{is_told} {line}"));
    }

    #[test]
    fn operations_have_their_words() {
        check([1, 0x800, 0x604, 1], expect!["true arp who-has 1.0.0.2 tell 1.0.0.1"]);
        check([1, 0x800, 0x604, 2], expect!["true arp reply 1.0.0.1 is-at 02-00-00-00-00-01"]);
        check([1, 0x800, 0x604, 3], expect!["true rarp who-is 00-00-00-00-00-00 tell 02-00-00-00-00-01"]);
        check([1, 0x800, 0x604, 4], expect!["true rarp reply 00-00-00-00-00-00 at 1.0.0.2"]);
        check([1, 0x800, 0x604, 8], expect!["true invarp who-is 00-00-00-00-00-00 tell 02-00-00-00-00-01"]);
        check([1, 0x800, 0x604, 9], expect!["true invarp reply 00-00-00-00-00-00 at 1.0.0.2"]);
        check([6, 0x1000, 0x604, 7], expect!["true trailer-arp-#7hardware #6"]);
        check([1, 0x86dd, 0x610, 1], expect!["false "]);
    }

    proptest! {
        #[test]
        fn any_packet_can_be_printed(bytes: Vec<u8>, at in 0usize..40) {
            let element = ARPPrint {
                label: "x".to_string(),
                has_timestamp: true,
                has_ether: true,
                is_active: true,
                filename: String::new(),
                file: None,
                goes_on: false,
            };
            let mut packet = Packet::from_bytes(&bytes);
            prop_assert_eq!(element.line(&packet), None);
            packet.set_mac_header(at, 14);
            if let Some(line) = element.line(&packet) {
                prop_assert!(line.starts_with("x: 0.000000: "));
            }
        }
    }
}
