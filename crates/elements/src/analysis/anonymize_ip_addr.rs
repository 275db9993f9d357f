//! Makes the addresses of IPv4 packets anonymous.
//!
//! Each address gets a random one in its stead, the same each time; addresses that share their first bits still do so.
//! 0.0.0.0 and 255.255.255.255 stay. The checksum of the IP header follows, and so do the addresses and the checksum in ICMP errors;
//! those of TCP and UDP do not. Packets without a marked IPv4 header leave by output 1 if there is one, else they are dropped.
//!
//! Who knows some of the addresses can find out about others, as with tcpdpriv's option -A50.
//!
//! ```click
//! FromDump(in.pcap, STOP true, FORCE_IP true) -> AnonymizeIPAddr(CLASS 4, PRESERVE_8 10 127) -> ToDump(out.pcap, ENCAP IP);
//! ```

use args::Raw;
use element::{
    llrpc, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, LlrpcError, Packet, Verdict,
};
use wire::{checksum, icmp_type as icmp, protocol};

use super::address_tree::{AddressTree, Draw};

/// The class.
pub const CLASS: Class =
    Class::new::<AnonymizeIpAddr>("AnonymizeIPAddr", "1/1-2", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword(
        "CLASS",
        "0 to 32",
        "How many leading ones of an address stay: 4 keeps classes A to D. Default 0.",
    ),
    Arg::keyword(
        "PRESERVE_8",
        "list of integers",
        "Networks of 8 bits that addresses do not leave or enter.",
    ),
    Arg::keyword("SEED", "boolean", "Not used."),
];

const NO_HEADER: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-ipv4", "No IPv4 header is marked.")];

/// Bytes of an ICMP header, and of a datagram that an ICMP error holds at least behind the IP header (RFC 792).
const ICMP_HEADER: usize = 8;
const EMBEDDED: usize = 8;

/// See the page above.
pub struct AnonymizeIpAddr {
    n_ones: u32,
    networks: Vec<u8>,
    tree: AddressTree,
}

impl Element for AnonymizeIpAddr {
    fn configure(conf: &mut Configure<'_>) -> Result<AnonymizeIpAddr, Failed> {
        let n_ones: i32 = conf.args.get_or("CLASS", 0);
        let Raw(list) = conf.args.get_or("PRESERVE_8", Raw::default());
        conf.args.get::<bool>("SEED");
        conf.finish()?;
        // Click takes 99 for 32, and goes on with numbers that are too large.
        if n_ones > 32 && n_ones != 99 {
            conf.note("CLASS must be between 0 and 32");
        }
        let networks: Option<Vec<u8>> =
            args::split_words(&list).iter().map(|word| args::integer(word).ok()).collect();
        let Some(networks) = networks else {
            return Err("PRESERVE_8 expects integer between 0 and 255".into());
        };
        let n_ones = n_ones.clamp(0, 32).unsigned_abs();
        let tree = AddressTree::new(n_ones, &networks, &mut || 0);
        Ok(AnonymizeIpAddr { n_ones, networks, tree })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.tree = AddressTree::new(self.n_ones, &self.networks, &mut || random(ctx));
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.anonymize(ctx, &mut batch);
        ctx.push_each(batch, verdict);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        self.anonymize(ctx, &mut batch);
        ctx.keep_each(&mut batch, verdict);
        batch
    }

    fn llrpc(&mut self, ctx: &mut Ctx<'_>, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        let address = data.first_chunk_mut::<4>().filter(|_| number == llrpc::MAP_IP_ADDRESS);
        let address = address.ok_or(LlrpcError::Invalid)?;
        *address = self.tree.map(u32::from_be_bytes(*address), &mut || random(ctx)).to_be_bytes();
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AnonymizeIpAddr>(ctx, old) else { return };
        if (old.n_ones, &old.networks) == (self.n_ones, &self.networks) {
            self.tree = old.tree;
        }
    }
}

/// A number of 32 bits.
fn random(ctx: &mut Ctx<'_>) -> u32 {
    ctx.random_between(0, u32::MAX)
}

fn has_header(packet: &Packet) -> bool {
    packet.network().first_chunk::<20>().is_some_and(|header| header[0] >> 4 == 4)
}

fn verdict(packet: &mut Packet) -> Verdict {
    if has_header(packet) {
        Verdict::PASS
    } else {
        Verdict::port_or_drop(1, NO_HEADER)
    }
}

impl AnonymizeIpAddr {
    fn anonymize(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        for packet in batch.iter_mut().filter(|packet| has_header(packet)) {
            self.process(packet, &mut || random(ctx));
        }
    }

    fn process(&mut self, packet: &mut Packet, draw: Draw<'_>) {
        let Some(header) = packet.network_mut().first_chunk_mut::<20>() else { return };
        let sum = self.replace(header, u16::from_be_bytes([header[10], header[11]]), draw);
        [header[10], header[11]] = sum.to_be_bytes();
        if header[9] == protocol::ICMP {
            self.process_error(packet.transport_mut(), draw);
        }
    }

    /// The addresses of the datagram in an ICMP error.
    fn process_error(&mut self, message: &mut [u8], draw: Draw<'_>) {
        let is_error = matches!(
            message.first(),
            Some(
                &(icmp::UNREACHABLE
                    | icmp::SOURCE_QUENCH
                    | icmp::REDIRECT
                    | icmp::TIME_EXCEEDED
                    | icmp::PARAMETER_PROBLEM)
            )
        );
        let header_len = message.get(ICMP_HEADER).map_or(0, |first| usize::from(first & 15) * 4);
        if !is_error || header_len < 20 || message.len() < ICMP_HEADER + header_len + EMBEDDED {
            return;
        }
        let (outer, inner) = message.split_at_mut(ICMP_HEADER);
        let Some(inner) = inner.first_chunk_mut::<20>() else { return };
        if let Some(place) = outer.get_mut(2..).and_then(|rest| rest.first_chunk_mut::<2>()) {
            *place = self.replace(inner, u16::from_be_bytes(*place), draw).to_be_bytes();
        }
    }

    /// Replaces the addresses of a header; what becomes of a checksum over them.
    fn replace(&mut self, header: &mut [u8; 20], sum: u16, draw: Draw<'_>) -> u16 {
        let Some((places, [])) = header.get_mut(12..).map(|places| places.as_chunks_mut::<4>()) else {
            return sum;
        };
        places.iter_mut().fold(sum, |sum, place| {
            let old = u32::from_be_bytes(*place);
            let new = self.tree.map(old, draw);
            *place = new.to_be_bytes();
            checksum::update_u32(sum, old, new)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn checksums_stay_right() {
        let ip = "45000038 00000000 40010000 01000001 02000002";
        let error = "0301 0000 00000000 45000020 00000000 40110000 03000003 04000004 00010002 000c0000";
        check_reading(
            &format!(
                "InfiniteSource(DATA \\<{ip} {error}>, LIMIT 20) -> MarkIPHeader -> SetIPChecksum -> s :: SetICMPSum -> Discard"
            ).replace("s :: SetICMPSum", "AnonymizeIPAddr -> CheckIPHeader -> ok :: Counter"),
            &["ok.count"],
            expect![[r#"
                ok.count: 20
            "#]],
        );
    }

    #[test]
    fn special_addresses_and_kept_networks_stay() {
        check(
            "FromIPSummaryDump(DATA \"!data ip_src ip_dst\n0.0.0.0 255.255.255.255\n\", STOP true) -> AnonymizeIPAddr -> IPPrint
             -> Strip(40) -> Strip(1) -> a :: AnonymizeIPAddr -> Discard; a[1] -> Print(x) -> Discard;
             InfiniteSource(DATA abc, LIMIT 1) -> a",
            expect![[r#"
                0.000000: 0.0.0.0.0 > 255.255.255.255.0: . 0:0(0,40,40) win 0
                Packet::pull 1 > length 0
                x:    3 | 616263
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check("Idle -> AnonymizeIPAddr(CLASS 33) -> AnonymizeIPAddr(PRESERVE_8 18 256) -> AnonymizeIPAddr(SEED x) -> Discard", expect![[r#"
            config:1: While configuring 'AnonymizeIPAddr@2 :: AnonymizeIPAddr':
              CLASS must be between 0 and 32
            config:1: While configuring 'AnonymizeIPAddr@3 :: AnonymizeIPAddr':
              PRESERVE_8 expects integer between 0 and 255
            config:1: While configuring 'AnonymizeIPAddr@4 :: AnonymizeIPAddr':
              SEED: parse error
            Router could not be initialized!
        "#]]);
    }
}
