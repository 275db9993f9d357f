use super::*;
use expect_test::{expect, Expect};
use proptest::prelude::*;

/// Applies `+ADDR/LEN=VALUE`, `-ADDR/LEN` and `?ADDR` in turn and shows what each returns.
fn check(script: &str, expected: Expect) {
    let mut lpm = Lpm4::<u32>::new();
    let parse = |text: &str| {
        let (addr, len) = text.split_once('/').unwrap();
        let addr: std::net::Ipv4Addr = addr.parse().unwrap();
        Prefix::new(u32::from(addr), len.parse().unwrap()).unwrap()
    };
    let mut shown = String::new();
    for word in script.split_whitespace() {
        let rest = &word[1..];
        let result = match &word[..1] {
            "+" => {
                let (prefix, value) = rest.split_once('=').unwrap();
                format!("{:?}", lpm.insert(parse(prefix), value.parse().unwrap()))
            }
            "-" => format!("{:?}", lpm.remove(parse(rest))),
            _ => format!("{:?}", lpm.lookup(u32::from(rest.parse::<std::net::Ipv4Addr>().unwrap()))),
        };
        shown += &format!("{word} {result}\n");
    }
    expected.assert_eq(&shown);
}

#[test]
fn the_longest_prefix_answers_and_its_removal_uncovers_the_next() {
    check(
        "?1.2.3.4 +0.0.0.0/0=1 +1.2.0.0/16=2 +1.2.3.0/24=3 +1.2.3.4/32=4 ?1.2.3.4 ?1.2.3.5 ?1.2.9.9 ?9.9.9.9 \
         -1.2.3.0/24 ?1.2.3.5 -1.2.3.4/32 ?1.2.3.4 -1.2.0.0/16 ?1.2.3.4 -0.0.0.0/0 ?1.2.3.4 -0.0.0.0/0",
        expect![[r#"
            ?1.2.3.4 None
            +0.0.0.0/0=1 Ok(None)
            +1.2.0.0/16=2 Ok(None)
            +1.2.3.0/24=3 Ok(None)
            +1.2.3.4/32=4 Ok(None)
            ?1.2.3.4 Some(4)
            ?1.2.3.5 Some(3)
            ?1.2.9.9 Some(2)
            ?9.9.9.9 Some(1)
            -1.2.3.0/24 Some(3)
            ?1.2.3.5 Some(2)
            -1.2.3.4/32 Some(4)
            ?1.2.3.4 Some(2)
            -1.2.0.0/16 Some(2)
            ?1.2.3.4 Some(1)
            -0.0.0.0/0 Some(1)
            ?1.2.3.4 None
            -0.0.0.0/0 None
        "#]],
    );
}

#[test]
fn inserting_again_replaces_the_value_and_host_bits_are_ignored() {
    check(
        "+10.1.2.3/8=7 +10.0.0.0/8=8388607 ?10.255.0.1 +10.0.0.0/8=8388608 ?10.0.0.1 -10.9.9.9/8 ?10.0.0.1",
        expect![[r#"
            +10.1.2.3/8=7 Ok(None)
            +10.0.0.0/8=8388607 Ok(Some(7))
            ?10.255.0.1 Some(8388607)
            +10.0.0.0/8=8388608 Err(ValueTooLarge(8388608))
            ?10.0.0.1 Some(8388607)
            -10.9.9.9/8 Some(8388607)
            ?10.0.0.1 None
        "#]],
    );
}

#[test]
fn a_prefix_longer_than_an_address_does_not_exist() {
    assert_eq!(Prefix::new(1u32, 33), None);
    assert_eq!(Prefix::new(1u128, 129), None);
}

#[test]
fn nodes_are_given_back() {
    let mut lpm = Lpm4::<u32>::new();
    let hosts = || (0..2000u32).filter_map(|i| Prefix::new(i.wrapping_mul(0x9e37_79b9), 32));
    for round in 0..5 {
        for (i, prefix) in hosts().enumerate() {
            lpm.insert(prefix, i as u32).unwrap();
        }
        if round == 0 {
            let memory = lpm.memory();
            hosts().for_each(|prefix| assert!(lpm.remove(prefix).is_some()));
            hosts().enumerate().for_each(|(i, prefix)| assert_eq!(lpm.insert(prefix, i as u32), Ok(None)));
            // The list of free nodes is the only thing that grew.
            assert!(lpm.memory() < memory + memory / 64, "{} after {memory}", lpm.memory());
        }
    }
    hosts().for_each(|prefix| assert!(lpm.remove(prefix).is_some()));
    assert!(lpm.is_empty());
    assert!(hosts().all(|prefix| lpm.lookup(prefix.addr()).is_none()));
}

/// The same table as a list, searched from end to end.
struct Naive<A>(Vec<(Prefix<A>, u32)>);

impl<A: Address> Naive<A> {
    fn insert(&mut self, prefix: Prefix<A>, value: u32) -> Option<u32> {
        match self.0.iter_mut().find(|(known, _)| *known == prefix) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                self.0.push((prefix, value));
                None
            }
        }
    }

    fn remove(&mut self, prefix: Prefix<A>) -> Option<u32> {
        let found = self.0.iter().position(|(known, _)| *known == prefix)?;
        Some(self.0.swap_remove(found).1)
    }

    fn lookup(&self, addr: A) -> Option<(Prefix<A>, u32)> {
        let covering = self.0.iter().filter(|(prefix, _)| prefix.contains(addr));
        covering.max_by_key(|(prefix, _)| prefix.bits()).copied()
    }
}

/// Random changes on addresses that share parts, each followed by lookups around the changed prefix.
fn compare<A: Address, const STRIDE: u32>(changes: &[(bool, A, u8, u32)], probes: &[A]) {
    let mut lpm = Lpm::<A, STRIDE, u32>::new();
    let mut naive = Naive(Vec::new());
    for &(adds, addr, len, value) in changes {
        let Some(prefix) = Prefix::new(addr, len) else { continue };
        if adds {
            assert_eq!(lpm.insert(prefix, value), Ok(naive.insert(prefix, value)));
        } else {
            assert_eq!(lpm.remove(prefix), naive.remove(prefix));
        }
        assert_eq!(lpm.get(prefix), adds.then_some(value));
        assert_eq!(lpm.lookup(addr), naive.lookup(addr).map(|route| route.1));
    }
    let mut addrs = probes.to_vec();
    addrs.extend(changes.iter().map(|change| change.1));
    addrs.extend(changes.iter().map(|change| change.1.masked(change.2)));
    let mut out = vec![0; addrs.len()];
    lpm.lookup_batch(&addrs, &mut out);
    for (addr, out) in addrs.iter().zip(out) {
        let route = naive.lookup(*addr);
        assert_eq!(lpm.lookup(*addr), route.map(|route| route.1));
        assert_eq!(out, route.map_or(NO_ROUTE, |route| route.1));
    }
    naive.0.sort();
    assert_eq!(lpm.iter().collect::<Vec<_>>(), naive.0);
    assert_eq!(lpm.len(), naive.0.len());
}

/// Addresses with few different values in each part, so that prefixes nest and nodes fill and empty.
fn addr4() -> impl Strategy<Value = u32> {
    prop_oneof![
        prop::array::uniform4(prop::sample::select(vec![0u8, 1, 2, 127, 128, 255]))
            .prop_map(u32::from_be_bytes),
        any::<u32>(),
    ]
}

fn addr6() -> impl Strategy<Value = u128> {
    let part = prop::sample::select(vec![0u8, 1, 0x10, 0x80, 255]);
    prop_oneof![prop::array::uniform16(part).prop_map(u128::from_be_bytes), any::<u128>(), 0..300u128]
}

fn adds() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.65)
}

proptest! {
    #[test]
    fn ipv4_agrees_with_a_linear_search(
        changes in prop::collection::vec((adds(), addr4(), 0..33u8, 0..5u32), 0..120),
        probes in prop::collection::vec(addr4(), 0..70),
    ) {
        compare::<u32, 8>(&changes, &probes);
    }

    #[test]
    fn ipv6_agrees_with_a_linear_search(
        changes in prop::collection::vec((adds(), addr6(), 0..129u8, 0..5u32), 0..80),
        probes in prop::collection::vec(addr6(), 0..70),
    ) {
        compare::<u128, 4>(&changes, &probes);
    }

    #[test]
    fn dense_ipv4_agrees_with_a_linear_search(
        changes in prop::collection::vec((adds(), 0x0a00_0000..0x0a00_0400u32, 6..33u8, 0..3u32), 0..300),
    ) {
        compare::<u32, 8>(&changes, &[0, 0x0a00_0000, 0x0a00_01ff, u32::MAX]);
    }
}
