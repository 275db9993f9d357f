//! Which flows take which next hop: weighted rendezvous hashing.

use std::net::Ipv4Addr;

use args::Scope;
use element::Configure;
use wire::protocol;

use crate::load_balancer::maglev::mix;

/// Most hops: what other routers have, and computing the places stays a matter of milliseconds.
pub const MAX_HOPS: usize = 256;
/// The largest weight.
pub const MAX_WEIGHT: u32 = 255;

/// Kinds of flows that go the same way together: so many that the least share differs little from what weights say.
const BITS: u32 = 12;
const N_PLACES: usize = 1 << BITS;

/// A next hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop<A> {
    /// Its address.
    pub address: A,
    /// Its share of flows, relative to other hops'.
    pub weight: u32,
}

/// An address of a next hop.
pub trait Address: Clone + Ord {
    /// A number that another address hardly has.
    fn hash(&self) -> u64;
}

impl Address for Ipv4Addr {
    fn hash(&self) -> u64 {
        mix(u64::from(self.to_bits()))
    }
}

/// The number of the hop for each kind of flow.
pub struct Places(Box<[u16; N_PLACES]>);

/// Parses an address, of which `expected` is said, and perhaps a weight.
pub fn parse<A>(
    text: &str,
    expected: &str,
    address: impl FnOnce(&str) -> Result<A, String>,
) -> Result<Hop<A>, String> {
    let (word, rest) = args::next_word(text);
    let (weight, rest) = args::next_word(rest);
    let expected = || format!("expected {expected}, and perhaps a weight from 1 to {MAX_WEIGHT}");
    let address = address(word).map_err(|_| expected())?;
    let weight = match weight {
        "" => 1,
        word => args::bounded_integer(word, 1u32, MAX_WEIGHT).map_err(|_| expected())?,
    };
    match args::next_word(rest).0 {
        "" => Ok(Hop { address, weight }),
        _ => Err(expected()),
    }
}

/// Parses the hops of an element's arguments, one each; what is wrong is told.
pub fn parse_all<A: Address + std::fmt::Display>(
    conf: &mut Configure<'_>,
    hop: impl Fn(&str, &Scope<'_>) -> Result<Hop<A>, String>,
) -> Vec<Hop<A>> {
    let mut hops: Vec<Hop<A>> = Vec::new();
    for text in conf.args.rest() {
        match hop(&text, conf.args.scope()) {
            Ok(hop) if hops.iter().any(|other| other.address == hop.address) => {
                conf.args.fail(format!("{} is a hop already", hop.address));
            }
            Ok(hop) => hops.push(hop),
            Err(message) => conf.args.fail(format!("`{text}`: {message}")),
        }
    }
    if hops.is_empty() && conf.args.is_ok() {
        conf.args.fail(format!("expected 1 to {MAX_HOPS} hops"));
    } else if hops.len() > MAX_HOPS {
        conf.args.fail(format!("{} hops are too many; {MAX_HOPS} is most", hops.len()));
    }
    hops
}

impl<A: Address> Hop<A> {
    /// How much the hop wants a place, compared with others: the largest gets it. With u evenly spread between 0 and 1,
    /// weight / -ln(u) is largest as often as the weight is part of all weights (C. Schindelhauer and G. Schomaker,
    /// "Weighted Distributed Hash Tables", SPAA 2005).
    fn claim(&self, place: usize) -> f64 {
        let hash = mix(self.address.hash() ^ place as u64);
        // Between 0 and 1 with neither of them.
        let u = ((hash >> 12) as f64 + 0.5) / (1u64 << 52) as f64;
        f64::from(self.weight) / -u.ln()
    }
}

impl Places {
    /// Gives each place to the hop that wants it most.
    pub fn of<A: Address>(hops: &[Hop<A>]) -> Places {
        let mut places = Box::new([0; N_PLACES]);
        for (place, number) in places.iter_mut().enumerate() {
            let claims = (0u16..).zip(hops).map(|(number, hop)| (number, hop.claim(place)));
            // Equal claims do not depend on the order in which hops were given.
            let better = |a: &(u16, f64), b: &(u16, f64)| {
                let address = |number: u16| hops.get(usize::from(number)).map(|hop| &hop.address);
                a.1.total_cmp(&b.1).then_with(|| address(a.0).cmp(&address(b.0)))
            };
            *number = claims.max_by(better).map_or(0, |(number, _)| number);
        }
        Places(places)
    }

    /// A line for each hop: address, weight, how often it was taken, share of all flows in percent.
    pub fn listing<A: std::fmt::Display>(&self, hops: &[Hop<A>], counts: &[u64]) -> String {
        let shares = self.shares(hops.len());
        let line = |((hop, count), share): ((&Hop<A>, &u64), f64)| {
            format!("{} {} {count} {:.1}\n", hop.address, hop.weight, share * 100.0)
        };
        hops.iter().zip(counts).zip(shares).map(line).collect()
    }

    /// The number of the hop for flows with this hash.
    #[inline]
    pub fn hop_of(&self, hash: u64) -> usize {
        self.0[(hash >> (64 - BITS)) as usize % N_PLACES].into()
    }

    /// The part of all flows that each of the first `n` hops gets.
    pub fn shares(&self, n: usize) -> Vec<f64> {
        let mut shares = vec![0.0; n];
        for number in self.0.iter() {
            if let Some(share) = shares.get_mut(usize::from(*number)) {
                *share += 1.0 / N_PLACES as f64;
            }
        }
        shares
    }
}

/// The counts of the hops, which go on where those of the same addresses were.
pub fn counts_after<A: Address>(hops: &[Hop<A>], old: &[Hop<A>], old_counts: &[u64]) -> Vec<u64> {
    let known = |hop: &Hop<A>| old.iter().zip(old_counts).find(|(other, _)| other.address == hop.address);
    hops.iter().map(|hop| known(hop).map_or(0, |(_, count)| *count)).collect()
}

/// Whether a transport protocol's header begins with two ports.
#[inline]
pub fn has_ports(number: u8) -> bool {
    matches!(number, protocol::TCP | protocol::UDP | protocol::DCCP | protocol::SCTP | protocol::UDPLITE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hops(weights: &[u32]) -> Vec<Hop<Ipv4Addr>> {
        let address = |number: u32| Ipv4Addr::from_bits(0x0a00_0001 + (number << 8));
        (0..).zip(weights).map(|(number, weight)| Hop { address: address(number), weight: *weight }).collect()
    }

    /// The address of the hop at each place.
    fn by_place(hops: &[Hop<Ipv4Addr>]) -> Vec<Ipv4Addr> {
        Places::of(hops).0.iter().map(|number| hops[usize::from(*number)].address).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn who_goes_moves_nobody_elses_flows(weights in prop::collection::vec(1..=MAX_WEIGHT, 2..12), gone in any::<prop::sample::Index>()) {
            let mut all = hops(&weights);
            let before = by_place(&all);
            let gone = all.remove(gone.index(weights.len())).address;
            for (old, new) in before.iter().zip(by_place(&all)) {
                prop_assert!(*old == gone && new != gone || *old == new);
            }
        }

        #[test]
        fn a_larger_weight_takes_flows_and_moves_no_others(weights in prop::collection::vec(1..100u32, 2..12), which in any::<prop::sample::Index>()) {
            let mut all = hops(&weights);
            let before = by_place(&all);
            let which = which.index(weights.len());
            all[which].weight += 50;
            for (old, new) in before.iter().zip(by_place(&all)) {
                prop_assert!(*old == new || new == all[which].address);
            }
        }

        #[test]
        fn the_order_of_hops_does_not_matter(weights in prop::collection::vec(1..=MAX_WEIGHT, 1..12), by in 0..12usize) {
            let mut all = hops(&weights);
            let before = by_place(&all);
            all.rotate_left(by % weights.len());
            prop_assert_eq!(before, by_place(&all));
        }

        #[test]
        fn shares_follow_weights(weights in prop::collection::vec(1..20u32, 1..12)) {
            let shares = Places::of(&hops(&weights)).shares(weights.len());
            let all = f64::from(weights.iter().sum::<u32>());
            for (weight, share) in weights.iter().zip(shares) {
                let part = f64::from(*weight) / all;
                // Five standard deviations of as many throws of a die.
                let slack = 5.0 * (part * (1.0 - part) / N_PLACES as f64).sqrt() + 1e-9;
                prop_assert!((share - part).abs() <= slack, "{} instead of {}", share, part);
            }
        }
    }
}
