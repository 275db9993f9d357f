//! Puts Ethernet headers in front of IPv6 packets, asking for addresses by neighbor discovery.
//!
//! Packets on input 0 go to the host in their destination annotation. If its Ethernet address is known they leave by output 0 with a
//! header; else the newest of them waits, and a neighbor solicitation leaves by the last output. Advertisements, with their Ethernet
//! headers, come in on input 1. What they say is asked for again after a minute of use and forgotten after two. Packets to groups
//! need no asking.
//!
//! At most 2048 hosts are asked for at a time: one more, and the one that has not answered for longest is given up.
//!
//! ```click
//! Idle -> [0]nd :: IP6NDSolicitor(2001:db8::1, 00:e0:29:05:e5:6f) -> Queue -> ToDevice(eth0);
//! FromDevice(eth0) -> Classifier(12/86dd 20/3aff 54/88) -> [1]nd;
//! ```

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::net::Ipv6Addr;

use args::EtherAddr;
use element::{
    annotation, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    TimerId,
};
use wire::{ethertype, Ethernet};

use super::neighbor::{group_mac, read_advertisement, Solicitation};
use crate::ethernet::leaving::Leaving;
use crate::standard::jiffies;

/// The class.
pub const CLASS: Class = Class::new::<IP6NDSolicitor>("IP6NDSolicitor", "2/1-2", "h/h", "xy/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("IP", "IPv6 address", "This host's address."),
    Arg::required("ETH", "Ethernet address", "This host's Ethernet address."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("table", "The entries: host, 1 if its Ethernet address is known, that address."),
    Handler::read("stats", "Packets dropped and solicitations sent, in words."),
];

const WAITED: usize = 0;
const TABLE_FULL: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("waited", "A newer packet took its place, or the host was given up."),
    DropReason::new("table-full", "Too many hosts are known."),
];

const EXPIRY_INTERVAL_NS: i64 = 15_000_000_000;
const POLL_AGE: i32 = 60 * jiffies::PER_SECOND as i32;
const AGE_MAX: i32 = 120 * jiffies::PER_SECOND as i32;
const UNANSWERED_MAX: usize = 2048;
const ENTRIES_MAX: usize = 65_536;

/// What is known of a host.
struct Entry {
    /// Its Ethernet address, once it has answered.
    address: Option<EtherAddr>,
    /// Whether to ask again when the next packet comes.
    polls: bool,
    /// When it answered last, in jiffies.
    answered_at: u32,
    /// The packet that waits for the answer.
    waiting: Option<Packet>,
    /// Entries are numbered in the order in which they were made.
    number: u64,
}

/// See the page above.
pub struct IP6NDSolicitor {
    ip: Ipv6Addr,
    address: EtherAddr,
    entries: HashMap<Ipv6Addr, Entry>,
    /// The hosts that have not answered, by the numbers of their entries.
    unanswered: BTreeMap<u64, Ipv6Addr>,
    next_number: u64,
    n_queries: u32,
    n_killed: u32,
}

impl Element for IP6NDSolicitor {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6NDSolicitor, Failed> {
        let ip = conf.args.need("IP");
        let address = conf.args.need("ETH");
        conf.finish()?;
        Ok(IP6NDSolicitor {
            ip,
            address,
            entries: HashMap::new(),
            unanswered: BTreeMap::new(),
            next_number: 0,
            n_queries: 0,
            n_killed: 0,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, EXPIRY_INTERVAL_NS);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let now = jiffies::at(ctx.now_ns());
        self.entries.retain(|_, entry| {
            let age = now.wrapping_sub(entry.answered_at) as i32;
            entry.polls |= entry.address.is_some() && age > POLL_AGE;
            entry.address.is_none() || age <= AGE_MAX
        });
        ctx.schedule_after(timer, EXPIRY_INTERVAL_NS);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        // A question that a packet makes goes all its way before the packet does.
        let mut leaving = Leaving::new(ctx, batch.len() == 1);
        for packet in batch.drain() {
            let packet = if port == 0 { Some(packet) } else { self.receive(ctx, packet.data()) };
            if let Some(packet) = packet {
                self.route(ctx, packet, &mut leaving);
            }
            leaving.emit_if_due(ctx);
        }
        leaving.emit(ctx);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "table" => Ok(self.table()),
            "stats" => Ok(format!(
                "{} packets killed\n{} ND Solicitation Message sent\n",
                self.n_killed, self.n_queries
            )),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IP6NDSolicitor>(ctx, old) else { return };
        if (old.ip, old.address) == (self.ip, self.address) {
            self.entries = old.entries;
            self.unanswered = old.unanswered;
            self.next_number = old.next_number;
        }
        (self.n_queries, self.n_killed) = (old.n_queries, old.n_killed);
    }
}

impl IP6NDSolicitor {
    /// Notes what an advertisement says and gives the packet that waited for it.
    fn receive(&mut self, ctx: &mut Ctx<'_>, frame: &[u8]) -> Option<Packet> {
        let (target, mac) = read_advertisement(frame)?;
        let entry = self.entries.get_mut(&target)?;
        if entry.address.is_some_and(|known| known.0 != mac) {
            ctx.chatter("IP6NDSolicitor overwriting an entry");
        }
        entry.address = Some(EtherAddr(mac));
        entry.polls = false;
        entry.answered_at = jiffies::at(ctx.now_ns());
        self.unanswered.remove(&entry.number);
        entry.waiting.take()
    }

    /// Sends a packet with a header on its way, or lets it wait.
    fn route(&mut self, ctx: &mut Ctx<'_>, packet: Packet, leaving: &mut Leaving) {
        let ip = Ipv6Addr::from(packet.anno::<16>(annotation::DST_IP6));
        let question = Solicitation { mac: self.address.0, source: self.ip, target: ip };
        if ip.is_multicast() {
            return leaving.send(self.with_header(packet, group_mac(ip)));
        }
        let Some(entry) = self.entries.get_mut(&ip) else {
            if self.entries.len() >= ENTRIES_MAX && self.unanswered.is_empty() {
                self.n_killed = self.n_killed.wrapping_add(1);
                return ctx.drop_packet(TABLE_FULL, packet);
            }
            self.begin(ctx, ip, packet);
            self.n_queries = self.n_queries.wrapping_add(1);
            return leaving.ask(ctx, Packet::from_bytes(&question.frame()));
        };
        if entry.address.is_none() || std::mem::take(&mut entry.polls) {
            self.n_queries = self.n_queries.wrapping_add(1);
            leaving.ask(ctx, Packet::from_bytes(&question.frame()));
        }
        if let Some(address) = entry.address {
            return leaving.send(self.with_header(packet, address.0));
        }
        if let Some(older) = entry.waiting.replace(packet) {
            self.n_killed = self.n_killed.wrapping_add(1);
            ctx.drop_packet(WAITED, older);
        }
    }

    /// Begins to ask for a host; if there are too many, the one that has not answered for longest is given up.
    fn begin(&mut self, ctx: &mut Ctx<'_>, ip: Ipv6Addr, packet: Packet) {
        if self.unanswered.len() >= UNANSWERED_MAX || self.entries.len() >= ENTRIES_MAX {
            let oldest = self.unanswered.pop_first().and_then(|(_, ip)| self.entries.remove(&ip));
            if let Some(waiting) = oldest.and_then(|entry| entry.waiting) {
                self.n_killed = self.n_killed.wrapping_add(1);
                ctx.drop_packet(WAITED, waiting);
            }
        }
        let number = self.next_number;
        self.next_number += 1;
        self.unanswered.insert(number, ip);
        let entry = Entry { address: None, polls: false, answered_at: 0, waiting: Some(packet), number };
        self.entries.insert(ip, entry);
    }

    #[inline]
    fn with_header(&self, mut packet: Packet, to: [u8; 6]) -> Packet {
        if let Some(header) = packet.prepend(Ethernet::LEN).first_chunk_mut::<{ Ethernet::LEN }>() {
            header[..6].copy_from_slice(&to);
            header[6..12].copy_from_slice(&self.address.0);
            header[12..].copy_from_slice(&ethertype::IPV6.to_be_bytes());
        }
        packet
    }

    /// The entries in Click's order: by hash bucket, the newest of a bucket first.
    fn table(&self) -> String {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_unstable_by_key(|(ip, entry)| {
            let [first, .., last] = ip.octets();
            (first.wrapping_add(last), Reverse(entry.number))
        });
        let mut text = String::new();
        for (ip, entry) in entries {
            let is_known = u8::from(entry.address.is_some());
            let address = entry.address.unwrap_or_default();
            let _ = writeln!(text, "{} {is_known} {address}", args::unparse_ip6(*ip));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn a_question_goes_all_its_way_before_the_packet_that_made_it() {
        check(
            "q :: IP6NDSolicitor(2001:db8::1, 1:1:1:1:1:1);
            TimedSource(50, DATA abc, LIMIT 3) -> SetIP6Address(2001:db8::9) -> q -> Print(a, 15) -> Print(b, 15)
                -> c :: Classifier(20/3a, -) -> IP6NDAdvertiser(2001:db8::/64 2:2:2:2:2:2) -> [1]q; c[1] -> Discard;
            Script(wait 160, stop)",
            expect![[r#"
                a:   86 | 3333ff00 00090101 01010101 86dd60
                b:   86 | 3333ff00 00090101 01010101 86dd60
                a:   17 | 02020202 02020101 01010101 86dd61
                b:   17 | 02020202 02020101 01010101 86dd61
                a:   17 | 02020202 02020101 01010101 86dd61
                b:   17 | 02020202 02020101 01010101 86dd61
                a:   86 | 3333ff00 00090101 01010101 86dd60
                b:   86 | 3333ff00 00090101 01010101 86dd60
                a:   17 | 02020202 02020101 01010101 86dd61
                b:   17 | 02020202 02020101 01010101 86dd61
            "#]],
        );
    }

    #[test]
    fn packets_wait_for_the_answer() {
        check_reading(
            "InfiniteSource(DATA abc, LIMIT 3) -> SetIP6Address(2001:db8::9) -> q :: IP6NDSolicitor(2001:db8::1, 1:1:1:1:1:1)
                -> Print(sent, 17) -> Discard;
            q[1] -> Print(query, -1) -> IP6NDAdvertiser(2001:db8::/64 2:2:2:2:2:2) -> [1]q;",
            &["q.table", "q.stats"],
            expect![[r#"
                query:   86 | 3333ff00 00090101 01010101 86dd6000 00000020 3aff2001 0db80000 00000000 00000000 0001ff02 00000000 00000000 0001ff00 00098700 1b170000 00002001 0db80000 00000000 00000000 00090101 01010101 0101
                sent:   17 | 02020202 02020101 01010101 86dd6162 63
                sent:   17 | 02020202 02020101 01010101 86dd6162 63
                sent:   17 | 02020202 02020101 01010101 86dd6162 63
                q.table: 
                q.stats: 0 packets killed
                1 ND Solicitation Message sent

            "#]],
        );
    }

    #[test]
    fn only_the_newest_packet_waits() {
        check_reading(
            "RatedSource(DATA abc, RATE 10, LIMIT 3) -> SetIP6Address(2001:db8::9) -> q :: IP6NDSolicitor(2001:db8::1, 1:1:1:1:1:1)
                -> Print(x, 14) -> Discard;
            InfiniteSource(LIMIT 1) -> SetIP6Address(2001:db8::a) -> q; InfiniteSource(LIMIT 1) -> SetIP6Address(ff02::1) -> q;
            Idle -> [1]q; Script(wait 20s, stop)",
            &["q.table", "q.stats"],
            expect![[r#"
                x:   86 | 3333ff00 00090101 01010101 86dd
                x:   86 | 3333ff00 000a0101 01010101 86dd
                x:   83 | 33330000 00010101 01010101 86dd
                x:   86 | 3333ff00 00090101 01010101 86dd
                x:   86 | 3333ff00 00090101 01010101 86dd
                q.table: 2001:db8::9 0 00-00-00-00-00-00
                2001:db8::a 0 00-00-00-00-00-00

                q.stats: 2 packets killed
                4 ND Solicitation Message sent

            "#]],
        );
    }

    #[test]
    fn addresses_are_asked_for_again_and_forgotten() {
        check_reading(
            "s :: RatedSource(DATA abc, RATE 1, LIMIT 100) -> SetIP6Address(2001:db8::9) -> q :: IP6NDSolicitor(2001:db8::1, 1:1:1:1:1:1)
                -> Discard;
            q[1] -> queries :: Counter -> IP6NDAdvertiser(2001:db8::/64 2:2:2:2:2:2) -> [1]q;
            Script(wait 50s, print queries.count, wait 49.9s, print queries.count, print q.table, wait 200s, print q.table, stop)",
            &["q.stats"],
            expect![[r#"
                q.stats: 0 packets killed
                2 ND Solicitation Message sent

            "#]],
        );
    }

    #[test]
    fn hosts_that_do_not_answer_are_given_up_when_there_are_too_many() {
        let ask = |host: usize| format!("InfiniteSource(LIMIT 1) -> SetIP6Address(2001:db8::{host:x}) -> q;");
        let asks: String = (1..=2050).map(ask).collect();
        let printed = crate::testing::run(
            &format!("q :: IP6NDSolicitor(2001:db8::1, 1:1:1:1:1:1) -> Discard; Idle -> [1]q; {asks} Script(wait 1s, stop)"),
            &["q.stats", "q.table"],
        );
        assert!(printed.starts_with("q.stats: 2 packets killed\n2050 ND Solicitation"), "{printed:.200}");
        assert_eq!(printed.lines().count(), 2 + 2048 + 2, "{printed:.200}");
    }
}
