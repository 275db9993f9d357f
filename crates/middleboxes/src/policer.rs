//! Polices packets: tells those within a rate from those above it, for all together or for each address.
//!
//! A token bucket holds BURST and fills at RATE. A packet for which there are enough tokens takes them and leaves by output 0;
//! another one takes none and leaves by output 1, or is dropped if that is not connected. Nothing waits. With RATE in bits or
//! bytes per second a packet takes its length, with RATE in packets per second it takes one token. A packet longer than BURST
//! passes when the bucket is full, and what it took too much is made up for before the next one.
//!
//! With PER, each source or destination address has a bucket of its own: the IP header must then be marked. PREFIX and PREFIX6
//! say how many bits of IPv4 and IPv6 addresses count. What an address is owed is forgotten when its bucket is full again;
//! while CAPACITY addresses are followed, packets of others pass and are counted as untracked, and so are those without a
//! marked header.
//!
//! ```click
//! // At most a hundred connections a second to each host.
//! FromDump(in.pcap) -> CheckIPHeader(14) -> syn :: IPClassifier(syn and not ack, -);
//! syn[0] -> p :: Policer(100pps, BURST 200, PER destination) -> all :: Null -> Discard;
//! p[1] -> too_many :: Counter -> Discard;
//! syn[1] -> all;
//! ```

mod address;
mod bucket;
mod rate;

use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};
use table::flow::FlowTable;

use address::{Address, Masks, Per};
use bucket::Bucket;
use rate::{Limit, Rate};

/// The class.
pub const CLASS: Class =
    Class::new::<Policer>("Policer", "1/1-2", "h/h", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS).live();

const ARGS: &[Arg] = &[
    Arg::required("RATE", "rate", "`10Mbps`, `1MBps` or `5000pps`; below 2^32 bytes or packets per second."),
    Arg::keyword("BURST", "unsigned", "What the bucket holds, in bytes or packets. Default what comes in 20 ms, at least 3000 bytes or 1 packet."),
    Arg::keyword("PER", "word", "What has a bucket of its own: `all`, `source` or `destination`. Default all."),
    Arg::keyword("PREFIX", "0 to 32", "Bits of IPv4 addresses that count. Default 32."),
    Arg::keyword("PREFIX6", "0 to 128", "Bits of IPv6 addresses that count. Default 64."),
    Arg::keyword("CAPACITY", "unsigned", "Most addresses at a time, 1 to 16777216. Default 65536."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("conforming", "Packets within the rate."),
    Handler::read("conforming_bytes", "Bytes of these packets."),
    Handler::read("exceeding", "Packets above the rate."),
    Handler::read("exceeding_bytes", "Bytes of these packets."),
    Handler::read("untracked", "Packets of addresses that were not followed, which passed."),
    Handler::read("followed", "Addresses that are followed."),
    Handler::read("table", "A line for each address that had packets above the rate: address, their number.")
        .flags("expensive"),
    Handler::read_write("rate", "The rate.").flags("setting"),
    Handler::read_write("burst", "What the bucket holds.").flags("setting"),
    Handler::write("reset_counts", "Sets the counts to 0.").flags("button"),
    Handler::write("forget", "Fills all buckets and forgets all addresses.").flags("button"),
];

const DROPS: &[DropReason] = &[DropReason::new("above-rate", "The packet came above the rate.")];
const ABOVE: usize = 0;

/// Addresses that are looked at for room when the table is full.
const N_VISITS: usize = 64;

/// An address's bucket, and the packets that it had no tokens for.
#[derive(Clone, Copy, Default)]
struct Entry {
    bucket: Bucket,
    n_exceeding: u64,
}

/// Packets and bytes.
#[derive(Clone, Copy, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

/// See the page above.
pub struct Policer {
    limit: Limit,
    per: Per,
    masks: Masks,
    bucket: Bucket,
    table: FlowTable<Address, Entry>,
    /// Where the last search for room has ended.
    cursor: u32,
    conforming: Count,
    exceeding: Count,
    n_untracked: u64,
}

impl Element for Policer {
    fn configure(conf: &mut Configure<'_>) -> Result<Policer, Failed> {
        let rate = conf.args.need_with("RATE", |text, _| Rate::parse(text)).unwrap_or(Rate::Packets(1));
        let burst = conf.args.get_with("BURST", args::bounded(1u32, u32::MAX));
        let per = match conf.args.get_with("PER", args::choice(&["all", "source", "destination"])) {
            Some(1) => Per::Source,
            Some(2) => Per::Destination,
            _ => Per::All,
        };
        let v4 = conf.args.get_with("PREFIX", args::bounded(0u32, 32)).unwrap_or(32);
        let v6 = conf.args.get_with("PREFIX6", args::bounded(0u32, 128)).unwrap_or(64);
        let capacity = conf.args.get_with("CAPACITY", args::bounded(1u32, 1 << 24)).unwrap_or(65536);
        conf.finish()?;
        Ok(Policer {
            limit: Limit::new(rate, burst),
            per,
            masks: Masks::new(v4, v6),
            bucket: Bucket::default(),
            table: FlowTable::new(capacity),
            cursor: 0,
            conforming: Count::default(),
            exceeding: Count::default(),
            n_untracked: 0,
        })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let now_ns = ctx.recent_steady_ns().max(0) as u64;
        ctx.push_each(batch, |packet| self.police(packet, now_ns));
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "conforming" => self.conforming.packets.to_string(),
            "conforming_bytes" => self.conforming.bytes.to_string(),
            "exceeding" => self.exceeding.packets.to_string(),
            "exceeding_bytes" => self.exceeding.bytes.to_string(),
            "untracked" => self.n_untracked.to_string(),
            "followed" => self.table.len().to_string(),
            "table" => self.listing(),
            "rate" => self.limit.rate.to_string(),
            "burst" => self.limit.burst.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "rate" => {
                let rate = Rate::parse(value.trim())?;
                self.set_limit(Limit::new(rate, None));
            }
            "burst" => {
                let burst = args::bounded_integer(value.trim(), 1u32, u32::MAX)?;
                self.set_limit(Limit::new(self.limit.rate, Some(burst)));
            }
            "reset_counts" => {
                (self.conforming, self.exceeding, self.n_untracked) = (Count::default(), Count::default(), 0);
                self.table.iter_mut().for_each(|(_, _, entry)| entry.n_exceeding = 0);
            }
            "forget" => self.forget(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Policer>(ctx, old) else { return };
        (self.conforming, self.exceeding, self.n_untracked) =
            (old.conforming, old.exceeding, old.n_untracked);
        if !old.limit.rate.has_unit_of(self.limit.rate) || (old.per, old.masks) != (self.per, self.masks) {
            return;
        }
        self.bucket = old.bucket;
        let capacity = self.table.limit();
        self.table = old.table;
        self.table.set_limit(capacity);
        self.fit();
    }
}

impl Policer {
    #[inline(always)]
    fn police(&mut self, packet: &mut Packet, now_ns: u64) -> Verdict {
        let len = packet.len() as u64;
        let n_tokens = self.limit.rate.tokens(len);
        let conforms = match self.per {
            Per::All => self.bucket.take(&self.limit, n_tokens, now_ns),
            Per::Source | Per::Destination => self.police_address(packet, n_tokens, now_ns),
        };
        let count = if conforms { &mut self.conforming } else { &mut self.exceeding };
        count.packets += 1;
        count.bytes += len;
        if conforms {
            Verdict::PASS
        } else {
            Verdict::port_or_drop(1, ABOVE)
        }
    }

    fn police_address(&mut self, packet: &Packet, n_tokens: u64, now_ns: u64) -> bool {
        let Some(address) = self.masks.address(packet, self.per) else {
            self.n_untracked += 1;
            return true;
        };
        let hash = self.table.hash_of(&address);
        let idx = self.table.find_hashed(hash, &address).or_else(|| {
            self.make_room(now_ns);
            self.table.insert_hashed(hash, address, Entry::default()).ok()
        });
        let Some((_, entry)) = idx.and_then(|idx| self.table.get_mut(idx)) else {
            self.n_untracked += 1;
            return true;
        };
        let conforms = entry.bucket.take(&self.limit, n_tokens, now_ns);
        entry.n_exceeding += u64::from(!conforms);
        conforms
    }

    /// Forgets some addresses whose buckets are full again, if the table is full.
    fn make_room(&mut self, now_ns: u64) {
        if !self.table.is_full() {
            return;
        }
        let mut full = [0; N_VISITS];
        let (mut n_full, mut last) = (0, None);
        for (idx, _, entry) in self.table.iter_from(self.cursor).take(N_VISITS) {
            last = Some(idx);
            if entry.bucket.is_full(&self.limit, now_ns) {
                full[n_full] = idx;
                n_full += 1;
            }
        }
        self.cursor = last.map_or(0, |idx| idx + 1);
        for idx in &full[..n_full] {
            self.table.remove(*idx);
        }
    }

    /// Buckets keep what was taken from them, as far as they hold it.
    fn set_limit(&mut self, limit: Limit) {
        if !limit.rate.has_unit_of(self.limit.rate) {
            self.forget();
        }
        self.limit = limit;
        self.fit();
    }

    fn fit(&mut self) {
        self.bucket.fit(&self.limit);
        self.table.iter_mut().for_each(|(_, _, entry)| entry.bucket.fit(&self.limit));
    }

    fn forget(&mut self) {
        self.bucket = Bucket::default();
        self.table.clear();
        self.cursor = 0;
    }

    fn listing(&self) -> String {
        let limited = self.table.iter().filter(|(_, _, entry)| entry.n_exceeding > 0);
        let mut lines: Vec<(Address, u64)> =
            limited.map(|(_, address, entry)| (*address, entry.n_exceeding)).collect();
        lines.sort_by_key(|(address, n)| (std::cmp::Reverse(*n), address.bits()));
        lines.iter().map(|(address, n)| format!("{address} {n}\n")).collect()
    }
}

#[cfg(test)]
mod tests;
