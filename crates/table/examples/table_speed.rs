//! Prints what every operation of this crate costs in nanoseconds: `cargo run --release -p table --example table_speed [part]`.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use foldhash::quality::RandomState;
use table::flow::FlowTable;
use table::lpm::{Address, Lpm, Lpm4, Lpm6, Prefix};
use table::symmetric::{symmetric_hash, symmetric_hash6};
use table::timeout::TimeWheel;

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let parts: [(&str, fn()); 4] =
        [("lpm", lpm), ("flow", flow), ("timeout", timeout), ("symmetric", symmetric)];
    for (name, run) in parts {
        if name.starts_with(&part) {
            run();
        }
    }
}

fn lpm() {
    let mut random = Random(1);
    for n_routes in [1, 10, 100, 1000, 65_536, 1 << 20] {
        let n_addrs = if n_routes <= 1000 { 4096 } else { 1 << 20 };
        let mut lpm = Lpm4::<u32>::new();
        let lens = [16, 19, 20, 21, 22, 22, 23, 24, 24, 24, 24, 24, 24, 24, 24, 28, 32];
        let prefixes: Vec<_> = random_prefixes(n_routes, &lens, || random.next() as u32);
        let addrs = addresses(&prefixes, n_addrs, &mut random, |low| low as u32);
        measure_lpm("Lpm4", &mut lpm, &prefixes, &addrs);
    }
    for n_routes in [10, 1000, 65_536, 200_000] {
        let n_addrs = if n_routes <= 1000 { 4096 } else { 1 << 20 };
        let mut lpm = Lpm6::<u32>::new();
        let lens = [29, 32, 32, 36, 40, 44, 48, 48, 48, 48, 56, 64];
        // As allocated: few blocks, many networks in each.
        let prefixes: Vec<_> = random_prefixes(n_routes, &lens, || {
            let bits = random.next();
            u128::from(0x2001 + bits % 8) << 112
                | u128::from(bits >> 16 & 0x3fff) << 96
                | u128::from(bits) << 32
        });
        let addrs = addresses(&prefixes, n_addrs, &mut random, u128::from);
        measure_lpm("Lpm6", &mut lpm, &prefixes, &addrs);
    }
}

fn random_prefixes<A: Address>(n: usize, lens: &[u8], mut addr: impl FnMut() -> A) -> Vec<Prefix<A>> {
    (0..n).filter_map(|i| Prefix::new(addr(), lens[i % lens.len()])).collect()
}

/// Nine of ten addresses lie in a route, the others anywhere.
fn addresses<A: Address + std::ops::BitOr<Output = A>>(
    prefixes: &[Prefix<A>],
    n: usize,
    random: &mut Random,
    low: impl Fn(u64) -> A,
) -> Vec<A> {
    let mut addr = |i: usize| {
        let prefix = prefixes[random.below(prefixes.len())];
        if i.is_multiple_of(10) {
            low(random.next())
        } else {
            prefix.addr() | low(random.next() & (u64::from(u32::MAX) >> prefix.bits().min(31)))
        }
    };
    (0..n).map(&mut addr).collect()
}

fn measure_lpm<A: Address, const STRIDE: u32>(
    name: &str,
    lpm: &mut Lpm<A, STRIDE, u32>,
    prefixes: &[Prefix<A>],
    addrs: &[A],
) {
    let n = prefixes.len();
    let insert_ns = ns_each(n, || {
        prefixes.iter().enumerate().for_each(|(i, prefix)| keep(lpm.insert(*prefix, i as u32 % 251)));
    });
    let n_rounds = (1 << 22) / addrs.len();
    let single_ns = best_ns_each(n_rounds * addrs.len(), || {
        for _ in 0..n_rounds {
            addrs.iter().for_each(|addr| keep(lpm.lookup(*addr)));
        }
    });
    let mut out = vec![0; addrs.len()];
    let batch_ns = best_ns_each(n_rounds * addrs.len(), || {
        for _ in 0..n_rounds {
            for (addrs, out) in addrs.chunks(64).zip(out.chunks_mut(64)) {
                lpm.lookup_batch(addrs, out);
            }
            black_box(&out);
        }
    });
    let memory = lpm.memory() >> 10;
    let mut longest_ns = 0;
    let change_ns = ns_each(n.min(1000), || {
        for prefix in prefixes.iter().take(1000) {
            let start = Instant::now();
            let value = lpm.remove(*prefix);
            longest_ns = longest_ns.max(start.elapsed().as_nanos());
            keep(value.map(|value| lpm.insert(*prefix, value)));
        }
    });
    println!(
        "{name} {n:>8} routes, {:>7} addresses: lookup {single_ns:.1}, in batches {batch_ns:.1}; insert {insert_ns:.0}, \
         remove and insert {change_ns:.0}, longest removal {longest_ns} ns; {memory} KiB reserved",
        addrs.len()
    );
}

/// Hashed as two words, as a derived `Hash` of addresses and ports is.
type Key = (u64, u64);

/// With the key and what the table adds, 64 bytes.
type Value = [u64; 5];

fn flow() {
    for n_flows in [100, 10_000, 100_000, 1_000_000] {
        let mut random = Random(2);
        let keys: Vec<Key> = (0..n_flows).map(|_| (random.next(), random.next())).collect();
        let mut table = FlowTable::<Key, Value>::new(u32::MAX);
        let insert_ns = ns_each(n_flows, || keys.iter().for_each(|key| keep(table.insert(*key, [0; 5]))));
        let slowest_ns = slowest_inserts_ns(&keys);
        let order: Vec<Key> = (0..1 << 20).map(|_| keys[random.below(n_flows)]).collect();
        println!(
            "FlowTable {n_flows:>7} flows: hit {:.1}, by two prefetches {:.1}, miss {:.1}; insert {insert_ns:.0}, \
             slowest inserts {slowest_ns:?}; remove and insert {:.0}; {} bytes a flow reserved; std's HashMap, hit {:.1}",
            hits_ns(&mut table, &order),
            prefetched_hits_ns(&mut table, &order),
            misses_ns(&table, &order),
            churn_ns(&mut table, &order),
            table.memory() / n_flows,
            standard_hits_ns(&keys, &order),
        );
    }
}

/// The five longest insertions while a table grows, and how long a loop that does nothing was held up at most: what
/// exceeds an insertion's own work is the machine's (interrupts, first use of memory).
fn slowest_inserts_ns(keys: &[Key]) -> ([u128; 5], u128) {
    let mut table = FlowTable::<Key, Value>::new(u32::MAX);
    let (mut slowest, mut idle_ns) = ([0; 5], 0);
    for key in keys {
        let start = Instant::now();
        keep(table.insert(*key, [0; 5]));
        let inserted = Instant::now();
        let insert_ns = (inserted - start).as_nanos();
        idle_ns = idle_ns.max(inserted.elapsed().as_nanos());
        if insert_ns > slowest[0] {
            slowest[0] = insert_ns;
            slowest.sort();
        }
    }
    (slowest, idle_ns)
}

fn standard_hits_ns(keys: &[Key], order: &[Key]) -> f64 {
    let mut map: HashMap<Key, Value, RandomState> = keys.iter().map(|key| (*key, [0; 5])).collect();
    best_ns_each(order.len(), || {
        for key in order {
            if let Some(value) = map.get_mut(key) {
                value[0] += 1;
            }
        }
        black_box(&mut map);
    })
}

fn touch(table: &mut FlowTable<Key, Value>, idx: u32) {
    if let Some((_, value)) = table.get_mut(idx) {
        value[0] += 1;
    }
}

fn hits_ns(table: &mut FlowTable<Key, Value>, order: &[Key]) -> f64 {
    best_ns_each(order.len(), || {
        for key in order {
            if let Some(idx) = table.find(key) {
                touch(table, idx);
            }
        }
    })
}

fn prefetched_hits_ns(table: &mut FlowTable<Key, Value>, order: &[Key]) -> f64 {
    let mut seen = [(0, 0); 32];
    best_ns_each(order.len(), || {
        for keys in order.chunks(32) {
            for (key, (hash, _)) in keys.iter().zip(&mut seen) {
                *hash = table.hash_of(key);
                table.prefetch(*hash);
            }
            seen.iter_mut().for_each(|(hash, near)| *near = table.prefetch_entry(*hash));
            for (key, (hash, near)) in keys.iter().zip(seen) {
                if let Some(idx) = table.find_near(near, hash, key) {
                    touch(table, idx);
                }
            }
        }
    })
}

fn misses_ns(table: &FlowTable<Key, Value>, order: &[Key]) -> f64 {
    best_ns_each(order.len(), || {
        order.iter().for_each(|key| keep(table.find(&(key.1, key.0))));
    })
}

fn churn_ns(table: &mut FlowTable<Key, Value>, order: &[Key]) -> f64 {
    ns_each(order.len(), || {
        for key in order {
            if let Some((key, value)) = table.remove_key(key) {
                keep(table.insert(key, value));
            }
        }
    })
}

fn timeout() {
    const TIMEOUT_NS: u64 = 60_000_000_000;
    for n in [10_000u32, 1_000_000] {
        let mut random = Random(3);
        let mut wheel = TimeWheel::new(1_000_000, u32::MAX);
        let first_ns = ns_each(n as usize, || {
            (0..n).for_each(|idx| keep(wheel.schedule(idx, TIMEOUT_NS + u64::from(idx) * 1000)));
        });
        let order: Vec<u32> = (0..1 << 20).map(|_| random.below(n as usize) as u32).collect();
        let mut now_ns = 0;
        let mut expired = Vec::with_capacity(n as usize);
        // One packet a microsecond: each puts its flow's deadline off, and every 64 packets time advances.
        let later_ns = ns_each(order.len() * 8, || {
            for _ in 0..8 {
                for idxs in order.chunks(64) {
                    now_ns += 64_000;
                    idxs.iter().for_each(|idx| keep(wheel.schedule(*idx, now_ns + TIMEOUT_NS)));
                    wheel.advance(now_ns, 64, &mut expired);
                }
            }
        });
        let earlier_ns = ns_each(order.len(), || {
            for (i, idx) in order.iter().enumerate() {
                wheel.schedule(*idx, now_ns + 1_000_000_000 - i as u64 * 900);
            }
        });
        let n_left = wheel.len();
        let expire_ns = ns_each(n_left, || while !wheel.advance(u64::MAX, 1024, &mut expired) {});
        println!(
            "TimeWheel {n:>8} entries: schedule {first_ns:.1}, put off and advance {later_ns:.1}, bring forward \
             {earlier_ns:.1}, expire {expire_ns:.1}; {} KiB reserved",
            wheel.memory() >> 10
        );
    }
}

fn symmetric() {
    let n = 1 << 24;
    let ipv4_ns = best_ns_each(n, || {
        (0..n as u32).for_each(|i| keep(symmetric_hash(black_box(i), 1, 2, 3, 6)));
    });
    let ipv6_ns = best_ns_each(n, || {
        (0..n as u128).for_each(|i| keep(symmetric_hash6(black_box(i), 1, 2, 3, 6)));
    });
    println!("symmetric_hash {ipv4_ns:.1}, symmetric_hash6 {ipv6_ns:.1}");
}

/// Makes the optimiser compute a value that is not used.
fn keep<T>(value: T) {
    black_box(value);
}

fn ns_each(n: usize, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_nanos() as f64 / n as f64
}

/// The best of five, as other processes only ever add time.
fn best_ns_each(n: usize, mut run: impl FnMut()) -> f64 {
    (0..5).map(|_| ns_each(n, &mut run)).fold(f64::MAX, f64::min)
}

/// A linear congruential generator: the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = u128::from(self.0) * 0x9e37_79b9_7f4a_7c15;
        (mixed >> 64) as u64 ^ mixed as u64
    }

    fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next()) * n as u128) >> 64) as usize
    }
}
