//! The check of an IPv4 header that routers make of what they receive (RFC 1812, sections 4.2.2 and 5.2.2).

use std::net::Ipv4Addr;

use args::{prefix_or_address, split_words, Scope};
use element::{Arg, Configure, Packet};
use wire::checksum;

/// What is wrong with a header; also the index of the drop reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Shorter than a header.
    Tiny,
    /// Version is not 4.
    Version,
    /// Header length below 20.
    HeaderLen,
    /// Total length shorter than the header or longer than the packet.
    Len,
    /// Wrong checksum.
    Checksum,
    /// Source address that nobody may have.
    Source,
}

/// The faults in words, in order.
pub const FAULTS: &[&str] = &[
    "tiny packet",
    "bad IP version",
    "bad IP header length",
    "bad IP length",
    "bad IP checksum",
    "bad source address",
];

/// The argument `INTERFACES`.
pub const INTERFACES: Arg = Arg::keyword(
    "INTERFACES",
    "list of IP prefixes",
    "This host's addresses with their networks: their broadcast addresses, 0.0.0.0 and 255.255.255.255 are no sources \
     unless the destination is one of the addresses.",
);

/// The argument `BADSRC`.
pub const BADSRC: Arg = Arg::keyword(
    "BADSRC",
    "list of IP addresses",
    "Sources that are refused, unless INTERFACES is given. Default none.",
);

/// The argument `GOODDST`.
pub const GOODDST: Arg = Arg::keyword(
    "GOODDST",
    "list of IP addresses",
    "Destinations for which the source is not looked at, unless INTERFACES is given. Default none.",
);

/// Addresses that decide whether a source is refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    /// Sources refused.
    pub bad_sources: Vec<Ipv4Addr>,
    /// Destinations that excuse a bad source.
    pub good_destinations: Vec<Ipv4Addr>,
}

/// The check.
#[derive(Clone, Debug, Default)]
pub struct HeaderCheck {
    /// Where the header begins.
    pub offset: usize,
    /// Whether the checksum is looked at.
    pub has_checksum: bool,
    /// The source addresses that are refused.
    pub addresses: Addresses,
}

impl HeaderCheck {
    /// Checks a packet; marks its header, cuts it to its total length and sets its destination annotation.
    #[inline(always)]
    pub fn check(&self, packet: &mut Packet) -> Result<(), Fault> {
        let bytes = packet.data().get(self.offset..).unwrap_or_default();
        let header = bytes.first_chunk::<20>().ok_or(Fault::Tiny)?;
        let n_bytes = bytes.len();
        let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let destination = Ipv4Addr::new(header[16], header[17], header[18], header[19]);
        let header_len;
        if header[0] == 0x45 {
            header_len = 20;
            if len > n_bytes || len < 20 {
                return Err(Fault::Len);
            }
            if self.has_checksum && !checksum::is_valid_20(header) {
                return Err(Fault::Checksum);
            }
        } else {
            header_len = check_with_options(bytes, header[0], len, self.has_checksum)?;
        }
        if !self.addresses.bad_sources.is_empty() {
            let source = Ipv4Addr::new(header[12], header[13], header[14], header[15]);
            if self.addresses.refuse(source, destination) {
                return Err(Fault::Source);
            }
        }
        packet.set_network_header(self.offset, header_len);
        packet.take(n_bytes - len);
        packet.set_dst_ip(destination);
        Ok(())
    }
}

/// Checks a header whose first byte is not that of a header without options; gives its length.
#[inline(never)]
fn check_with_options(bytes: &[u8], first: u8, len: usize, has_checksum: bool) -> Result<usize, Fault> {
    let header_len = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 {
        return Err(Fault::Version);
    }
    if header_len < 20 {
        return Err(Fault::HeaderLen);
    }
    if len > bytes.len() || len < header_len {
        return Err(Fault::Len);
    }
    let header = bytes.get(..header_len).ok_or(Fault::Len)?;
    if has_checksum && !checksum::is_valid(header) {
        return Err(Fault::Checksum);
    }
    Ok(header_len)
}

impl Addresses {
    /// Reads `INTERFACES`, `BADSRC` and `GOODDST`. As in Click, `INTERFACES` decides if it is given.
    pub fn read(conf: &mut Configure<'_>) -> Addresses {
        let interfaces = conf.args.get_with("INTERFACES", interfaces);
        let bad_sources = conf.args.get_or("BADSRC", Vec::new());
        let good_destinations = conf.args.get_or("GOODDST", Vec::new());
        interfaces.unwrap_or(Addresses { bad_sources, good_destinations })
    }

    #[inline(never)]
    fn refuse(&self, source: Ipv4Addr, destination: Ipv4Addr) -> bool {
        self.bad_sources.contains(&source) && !self.good_destinations.contains(&destination)
    }
}

/// Refused everywhere: "this host" and the limited broadcast (RFC 1812, section 4.2.2.11).
pub const NO_SOURCES: [Ipv4Addr; 2] = [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST];

fn interfaces(text: &str, scope: &Scope<'_>) -> Result<Addresses, String> {
    let mut addresses = Addresses::default();
    for word in split_words(text) {
        let prefix = prefix_or_address(&word, scope)?;
        let broadcast = Ipv4Addr::from(prefix.network().to_bits() | !prefix.mask.to_bits());
        addresses.bad_sources.push(broadcast);
        addresses.good_destinations.push(prefix.addr);
    }
    addresses.bad_sources.extend(NO_SOURCES);
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(bytes: &[u8], expect: Expect) {
        let mut packet = Packet::from_bytes(bytes);
        let addresses = interfaces("10.0.0.1/24", &Scope::builtin()).unwrap();
        let check = HeaderCheck { offset: 0, has_checksum: true, addresses };
        let text = match check.check(&mut packet) {
            Ok(()) => format!("{} bytes to {}", packet.len(), packet.dst_ip()),
            Err(fault) => FAULTS[fault as usize].to_string(),
        };
        expect.assert_eq(&text);
    }

    /// A header with `edit` applied, then its checksum set, and 4 bytes of data behind it.
    fn packet(edit: impl Fn(&mut [u8])) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 22, 0, 1, 0, 0, 64, 17, 0, 0, 10, 1, 1, 1, 10, 2, 2, 2, 1, 2, 3, 4];
        edit(&mut bytes);
        let sum = checksum::checksum(&bytes[..20]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    #[test]
    fn a_good_packet_is_cut_to_its_length() {
        check(&packet(|_| ()), expect!["22 bytes to 10.2.2.2"]);
    }

    #[test]
    fn each_fault_is_found_in_turn() {
        check(&packet(|_| ())[..19], expect!["tiny packet"]);
        check(&packet(|p| p[0] = 0x65), expect!["bad IP version"]);
        check(&packet(|p| p[0] = 0x44), expect!["bad IP header length"]);
        check(&packet(|p| p[3] = 25), expect!["bad IP length"]);
        check(&packet(|p| p[3] = 19), expect!["bad IP length"]);
        check(&packet(|p| p[0] = 0x46), expect!["bad IP length"]);
        let mut wrong = packet(|_| ());
        wrong[10] ^= 1;
        check(&wrong, expect!["bad IP checksum"]);
    }

    #[test]
    fn a_source_is_refused_unless_the_destination_excuses_it() {
        let from = |source: [u8; 4]| packet(move |p| p[12..16].copy_from_slice(&source));
        check(&from([10, 0, 0, 255]), expect!["bad source address"]);
        check(&from([255; 4]), expect!["bad source address"]);
        check(&from([10, 0, 0, 254]), expect!["22 bytes to 10.2.2.2"]);
        let to_us = packet(|p| {
            p[12..16].copy_from_slice(&[0; 4]);
            p[16..20].copy_from_slice(&[10, 0, 0, 1]);
        });
        check(&to_us, expect!["22 bytes to 10.0.0.1"]);
    }
}
