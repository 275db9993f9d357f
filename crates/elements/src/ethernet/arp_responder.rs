//! Answers ARP requests.
//!
//! Each argument lists IPv4 prefixes or addresses and the Ethernet address that is told for them. A request for an address in one of
//! them becomes the reply, which keeps the request's VLAN annotation. Everything else leaves by output 1 if there is one, else it is
//! dropped.
//!
//! ```click
//! FromDevice(eth0) -> arp :: Classifier(12/0806 20/0001, -);
//! arp[0] -> ARPResponder(18.26.4.24 18.26.7.0/24 00:00:C0:AE:67:EF) -> Queue -> ToDevice(eth0);
//! arp[1] -> Discard;
//! ```

use std::cmp::Ordering;
use std::fmt::Write;
use std::net::Ipv4Addr;

use args::{EtherAddr, Prefix, Scope};
use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Refusal, Verdict,
};
use wire::{ethertype, Arp, Ethernet, ARP_REQUEST};

use super::arp_frame::{self, FRAME};

/// The class.
pub const CLASS: Class = Class::new::<ARPResponder>("ARPResponder", "1/1-2", "a/ah", "x/x")
    .lengthens(42)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Failed), ("add", Refusal::Failed)])
    .live();

const ARGS: &[Arg] =
    &[Arg::rest("ENTRIES", "IP prefixes and an Ethernet address", "What is told for which addresses.")];

const HANDLERS: &[Handler] = &[
    Handler::read("table", "The entries: prefix and Ethernet address, a line each."),
    Handler::read_param("lookup", "The Ethernet address told for an address; empty if there is none."),
    Handler::write("add", "Adds entries: prefixes and an Ethernet address."),
    Handler::write("remove", "Removes the entry of a prefix."),
];

const NO_ANSWER: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("no-answer", "The packet is no ARP request, or its address is in no entry.")];

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Without host bits.
    prefix: Prefix,
    address: EtherAddr,
}

/// See the page above.
pub struct ARPResponder {
    entries: Vec<Entry>,
}

impl Element for ARPResponder {
    fn configure(conf: &mut Configure<'_>) -> Result<ARPResponder, Failed> {
        let mut entries = Vec::new();
        for (i, text) in conf.args.rest().iter().enumerate() {
            match parse(text, conf.scope) {
                Ok(more) => entries.extend(more),
                Err(message) => conf.error(format!("argument {i}: {message}")),
            }
        }
        conf.finish()?;
        let (entries, duplicates) = sorted(entries);
        for prefix in duplicates {
            conf.warning(format!("multiple entries for {prefix}"));
        }
        Ok(ARPResponder { entries })
    }

    per_packet!();

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        match name {
            "table" => {
                let mut text = String::new();
                for entry in &self.entries {
                    let _ = writeln!(text, "{} {}", entry.prefix, entry.address);
                }
                Ok(text)
            }
            "lookup" => {
                let address = args::ip(param, &ctx.scope()).map_err(|_| "expected IP address")?;
                Ok(self.lookup(address).map_or(String::new(), |address| address.to_string()))
            }
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "add" => {
                let mut entries = self.entries.clone();
                entries.extend(parse(value, &ctx.scope())?);
                self.entries = sorted(entries).0;
            }
            "remove" => {
                let prefix = args::prefix_or_address(value, &ctx.scope());
                let prefix = without_host_bits(prefix.map_err(|_| "expected IP/MASK")?);
                let at = self.entries.iter().position(|entry| entry.prefix == prefix);
                self.entries.remove(at.ok_or_else(|| format!("{prefix} not found"))?);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl ARPResponder {
    fn lookup(&self, address: Ipv4Addr) -> Option<EtherAddr> {
        self.entries.iter().find(|entry| entry.prefix.contains(address)).map(|entry| entry.address)
    }

    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.answer(packet.data()) {
            Some(mut answer) => {
                answer.set_anno(annotation::VLAN_TCI, packet.anno::<2>(annotation::VLAN_TCI));
                // What is told of the answer stands where the request was.
                answer.set_place(packet.place());
                *packet = answer;
                Verdict::PASS
            }
            None => Verdict::port_or_drop(1, NO_ANSWER),
        }
    }

    fn answer(&self, frame: &[u8]) -> Option<Packet> {
        let request = frame.first_chunk::<FRAME>()?;
        let is_arp = Ethernet::new(&request[..])?.ethertype() == ethertype::ARP;
        let body = request.get(Ethernet::LEN..)?;
        let kind = [u16::from_be_bytes([body[0], body[1]]), u16::from_be_bytes([body[2], body[3]])];
        let operation = u16::from_be_bytes([body[6], body[7]]);
        if !is_arp || kind != [Arp::ETHERNET, ethertype::IPV4] || operation != ARP_REQUEST {
            return None;
        }
        let [sender @ .., _, _, _, _, _, _, t0, t1, t2, t3] = body.get(8..)?.first_chunk::<20>()?;
        let target = Ipv4Addr::new(*t0, *t1, *t2, *t3);
        let [m0, m1, m2, m3, m4, m5, i0, i1, i2, i3] = *sender;
        let mine = self.lookup(target)?.0;
        let theirs = [m0, m1, m2, m3, m4, m5];
        Some(arp_frame::reply((theirs, Ipv4Addr::new(i0, i1, i2, i3)), (mine, target)))
    }
}

/// The entries of one argument. A name may stand for an IPv4 and an Ethernet address at once.
fn parse(text: &str, scope: &Scope<'_>) -> Result<Vec<Entry>, String> {
    let words = args::split_words(text);
    let mut prefixes = Vec::new();
    let mut address = None;
    for word in &words {
        if let Ok(prefix) = args::prefix_or_address(word, scope) {
            prefixes.push(without_host_bits(prefix));
        } else {
            let parsed = args::ether(word, scope).map_err(|_| "expected IP/MASK ETH")?;
            if address.replace(parsed).is_some() {
                return Err("more than one ETH".to_string());
            }
        }
    }
    let address = address.or_else(|| words.iter().find_map(|word| args::ether(word, scope).ok()));
    if prefixes.is_empty() {
        return Err("missing IP/MASK".to_string());
    }
    let address = address.ok_or("missing ETH")?;
    Ok(prefixes.into_iter().map(|prefix| Entry { prefix, address }).collect())
}

fn without_host_bits(prefix: Prefix) -> Prefix {
    Prefix { addr: prefix.network(), mask: prefix.mask }
}

/// The entries in the order in which they are tried, and the prefixes that had several, of which the last stays.
fn sorted(entries: Vec<Entry>) -> (Vec<Entry>, Vec<Prefix>) {
    let mut in_order: Vec<(usize, Entry)> = entries.into_iter().enumerate().collect();
    sort(&mut in_order);
    let (mut kept, mut duplicates) = (Vec::<Entry>::new(), Vec::new());
    for (_, entry) in in_order {
        if kept.last().is_some_and(|last| last.prefix == entry.prefix) {
            duplicates.push(entry.prefix);
        } else {
            kept.push(entry);
        }
    }
    (kept, duplicates)
}

/// Sorts as Click does, by Bentley and McIlroy's quicksort: unrelated prefixes stand in the order of the configuration, which
/// makes the order intransitive, so that another way of sorting gives another result.
fn sort(mut items: &mut [(usize, Entry)]) {
    const SMALL: usize = 7;
    const LARGE: usize = 40;
    while items.len() >= SMALL {
        let (last, middle) = (items.len() - 1, items.len() / 2);
        let pivot = match items.len() {
            SMALL => middle,
            n if n <= LARGE => median(items, [0, middle, last]),
            n => {
                let step = n / 8;
                let low = median(items, [0, step, 2 * step]);
                let mid = median(items, [middle - step, middle, middle + step]);
                let high = median(items, [last - 2 * step, last - step, last]);
                median(items, [low, mid, high])
            }
        };
        items.swap(0, pivot);
        let (n_before, n_after) = partition(items);
        items.swap(0, n_before);
        let (before, rest) = items.split_at_mut(n_before);
        let after = rest.split_at_mut(rest.len() - n_after).1;
        let (shorter, longer) = if before.len() < after.len() { (before, after) } else { (after, before) };
        sort(shorter);
        items = longer;
    }
    for end in 1..items.len() {
        let mut at = end;
        while at > 0 && order(&items[at - 1], &items[at]) == Ordering::Greater {
            items.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Which of three places holds the median.
fn median(items: &[(usize, Entry)], [a, b, c]: [usize; 3]) -> usize {
    let is = |x: usize, y: usize, wanted: Ordering| order(&items[x], &items[y]) == wanted;
    let wanted = if is(a, b, Ordering::Less) { Ordering::Less } else { Ordering::Greater };
    if is(b, c, wanted) {
        b
    } else if is(a, c, wanted) {
        c
    } else {
        a
    }
}

/// Moves what goes before the first item to the places behind it; how many do, and how many go after.
fn partition(items: &mut [(usize, Entry)]) -> (usize, usize) {
    let (mut begin, mut end) = (1, items.len());
    loop {
        while begin < end && order(&items[begin], &items[0]) == Ordering::Less {
            begin += 1;
        }
        while begin < end && order(&items[end - 1], &items[0]) == Ordering::Greater {
            end -= 1;
        }
        if begin >= end {
            return (begin - 1, items.len() - begin);
        }
        items.swap(begin, end - 1);
        begin += 1;
        end -= 1;
    }
}

fn order((a_number, a): &(usize, Entry), (b_number, b): &(usize, Entry)) -> Ordering {
    if a.prefix == b.prefix {
        b_number.cmp(a_number)
    } else if b.prefix.contains(a.prefix.addr) {
        Ordering::Less
    } else if a.prefix.contains(b.prefix.addr) {
        Ordering::Greater
    } else {
        a_number.cmp(b_number)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn requests_are_answered() {
        let request =
            "ffffffffffff 020000000001 0806 0001 0800 06 04 0001 020000000001 01000001 000000000000";
        let config = format!(
            "r :: ARPResponder(1.0.0.0/24 2:2:2:2:2:2, 1.0.0.9 9:9:9:9:9:9) -> Print(answer, 42) -> Discard;
            r[1] -> Print(other, 4) -> Discard;
            InfiniteSource(DATA \\<{request} 01000002>, LIMIT 1) -> r;
            InfiniteSource(DATA \\<{request} 01000009>, LIMIT 1) -> r;
            InfiniteSource(DATA \\<{request} 02000009>, LIMIT 1) -> r;
            InfiniteSource(DATA \\<{request}>, LIMIT 1) -> r;"
        );
        check(
            &config,
            expect![[r#"
            answer:   42 | 02000000 00010202 02020202 08060001 08000604 00020202 02020202 01000002 02000000 00010100 0001
            answer:   42 | 02000000 00010909 09090909 08060001 08000604 00020909 09090909 01000009 02000000 00010100 0001
            other:   42 | ffffffff
            other:   38 | ffffffff
        "#]],
        );
    }

    #[test]
    fn entries_can_be_changed() {
        let config = "Idle -> r :: ARPResponder(1.0.0.0/24 2:2:2:2:2:2, 1.0.0.9 9:9:9:9:9:9, 1.0.0.9 8:8:8:8:8:8) -> Idle;
            DriverManager(write r.add 1.0.0.128/25 3.0.0.3 3:3:3:3:3:3, write r.remove 3.0.0.3, write r.remove 4.0.0.4,
                print $(r.lookup 1.0.0.200) $(r.lookup 4.0.0.4), stop)";
        check_reading(
            config,
            &["r.table"],
            expect![[r#"
                config:1: While configuring 'r :: ARPResponder':
                  warning: multiple entries for 1.0.0.9/32
                While calling 'r.remove 4.0.0.4':
                  4.0.0.4/32 not found
                r.table: 1.0.0.9/32 08-08-08-08-08-08
                1.0.0.128/25 03-03-03-03-03-03
                1.0.0.0/24 02-02-02-02-02-02

            "#]],
        );
    }

    #[test]
    fn wrong_entries_are_told() {
        let config =
            "Idle -> ARPResponder(1.2.3.4, 1:2:3:4:5:6, 1.2.3.4 1:2:3:4:5:6 6:5:4:3:2:1, nobody) -> Idle;";
        check(
            config,
            expect![[r#"
                config:1: While configuring 'ARPResponder@2 :: ARPResponder':
                  argument 0: missing ETH
                  argument 1: missing IP/MASK
                  argument 2: more than one ETH
                  argument 3: expected IP/MASK ETH
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn many_entries_are_in_clicks_order() {
        let config = "Idle -> r :: ARPResponder(18.26.4.24 1:1:1:1:1:1, 10.0.0.0/16 1.0.0.1/8 18.26.4.24 2:2:2:2:2:2,
            10.0.0.1/24 192.168.1.1/16 3:3:3:3:3:3, 0/0 4:4:4:4:4:4, 1.2.0.0/16 9.0.0.0/8 10.1.0.0/16 5:5:5:5:5:5) -> Idle";
        check_reading(
            config,
            &["r.table"],
            expect![[r#"
            r.table: 18.26.4.24/32 01-01-01-01-01-01
            10.0.0.0/16 02-02-02-02-02-02
            1.0.0.0/8 02-02-02-02-02-02
            18.26.4.24/32 02-02-02-02-02-02
            10.0.0.0/24 03-03-03-03-03-03
            192.168.0.0/16 03-03-03-03-03-03
            1.2.0.0/16 05-05-05-05-05-05
            9.0.0.0/8 05-05-05-05-05-05
            10.1.0.0/16 05-05-05-05-05-05
            0.0.0.0/0 04-04-04-04-04-04

        "#]],
        );
    }
}
