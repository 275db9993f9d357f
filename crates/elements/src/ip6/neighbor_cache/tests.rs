use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits {
    entries: 4,
    unanswered: 2,
    packets: 4,
    entry_packets: 2,
    reachable_ms: 30_000,
    retransmit_ms: 1_000,
};
const MAC: MacAddress = [2, 0, 0, 0, 0, 2];
const OTHER_MAC: MacAddress = [2, 0, 0, 0, 0, 3];

fn ip(number: u16) -> Ipv6Addr {
    Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, number)
}

fn cache() -> NeighborCache {
    NeighborCache::new(LIMITS)
}

fn said(number: u16, mac: Option<MacAddress>, is_solicited: bool, overrides: bool) -> Advertisement {
    Advertisement { target: ip(number), mac, is_router: false, is_solicited, overrides }
}

fn packet(byte: u8) -> Packet {
    Packet::from_bytes(&[byte])
}

fn bytes(packets: impl IntoIterator<Item = Packet>) -> Vec<u8> {
    packets.into_iter().map(|packet| packet.data()[0]).collect()
}

fn states(cache: &NeighborCache, now: i64) -> String {
    let table = cache.table(now);
    let states: Vec<&str> = table.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    states.join(" ")
}

/// What is due at a time, in words.
fn due(cache: &mut NeighborCache, now: i64) -> String {
    let told = std::iter::from_fn(|| cache.take_due(now)).map(|due| match due {
        Due::Ask(ip) => format!("ask {ip}"),
        Due::Probe(ip, mac) => format!("probe {ip} {}", mac[5]),
        Due::GiveUp(packets) => format!("give up {:?}", bytes(packets)),
    });
    told.collect::<Vec<String>>().join(", ")
}

#[test]
fn who_does_not_answer_three_times_is_given_up() {
    let mut cache = cache();
    assert!(cache.wait(ip(1), packet(1), 0));
    assert!(!cache.wait(ip(1), packet(2), 10));
    assert_eq!(cache.lookup(ip(1), 10), None);
    assert_eq!(due(&mut cache, 999), "");
    assert_eq!(due(&mut cache, 1_000), "ask 2001:db8::1");
    assert_eq!(due(&mut cache, 2_000), "ask 2001:db8::1");
    assert_eq!(cache.next_due(), Some(3_000));
    assert_eq!(due(&mut cache, 3_000), "give up [1, 2]");
    assert_eq!((cache.n_neighbors(), cache.n_packets(), cache.next_due()), (0, 0, None));
}

#[test]
fn who_answers_is_reachable_until_it_is_asked_again() {
    let mut cache = cache();
    cache.wait(ip(1), packet(1), 0);
    assert_eq!(bytes(cache.advertised(&said(1, Some(MAC), true, true), 50)), [1]);
    assert_eq!((cache.lookup(ip(1), 30_050), cache.next_due()), (Some(MAC), None));
    assert_eq!(states(&cache, 30_051), "stale");
    assert_eq!(cache.lookup(ip(1), 31_000), Some(MAC));
    assert_eq!(states(&cache, 31_000), "delay");
    assert_eq!(due(&mut cache, 36_000), "probe 2001:db8::1 2");
    assert_eq!(cache.lookup(ip(1), 36_000), Some(MAC));
    cache.advertised(&said(1, None, true, false), 36_010);
    assert_eq!((states(&cache, 36_010).as_str(), cache.next_due()), ("reachable", None));
    cache.lookup(ip(1), 70_000);
    assert_eq!(due(&mut cache, 75_000), "probe 2001:db8::1 2");
    assert_eq!(due(&mut cache, 76_000), "probe 2001:db8::1 2");
    assert_eq!(due(&mut cache, 77_000), "probe 2001:db8::1 2");
    assert_eq!(due(&mut cache, 78_000), "give up []");
    assert_eq!(cache.lookup(ip(1), 78_000), None);
}

#[test]
fn who_asks_is_known_but_not_sure_to_be_reachable() {
    let mut cache = cache();
    cache.asked_by(ip(1), MAC, 0);
    assert_eq!(states(&cache, 0), "stale");
    cache.wait(ip(2), packet(2), 0);
    assert_eq!(bytes(cache.asked_by(ip(2), MAC, 1)), [2]);
    assert_eq!(states(&cache, 1), "stale delay");
    cache.advertised(&said(1, Some(MAC), true, true), 2);
    cache.asked_by(ip(1), MAC, 3);
    assert_eq!(states(&cache, 3), "reachable delay");
    cache.asked_by(ip(1), OTHER_MAC, 4);
    assert_eq!((states(&cache, 4).as_str(), cache.lookup(ip(1), 4)), ("stale delay", Some(OTHER_MAC)));
}

#[test]
fn advertisements_are_believed_as_the_standard_says() {
    let mut cache = cache();
    // Nobody has asked for it.
    cache.advertised(&said(1, Some(MAC), true, true), 0);
    assert_eq!(cache.n_neighbors(), 0);
    cache.wait(ip(1), packet(1), 0);
    // It does not tell what is asked for.
    assert!(cache.advertised(&said(1, None, true, true), 1).is_empty());
    assert_eq!(bytes(cache.advertised(&said(1, Some(MAC), false, false), 1)), [1]);
    assert_eq!(states(&cache, 1), "delay");
    cache.advertised(&said(1, Some(MAC), true, false), 2);
    assert_eq!(states(&cache, 2), "reachable");
    // Another station without the override flag makes it doubtful, but does not replace it.
    cache.advertised(&said(1, Some(OTHER_MAC), true, false), 3);
    assert_eq!((states(&cache, 3).as_str(), cache.lookup(ip(1), 3)), ("stale", Some(MAC)));
    cache.advertised(&said(1, Some(OTHER_MAC), false, true), 4);
    assert_eq!((states(&cache, 4).as_str(), cache.lookup(ip(1), 4)), ("stale", Some(OTHER_MAC)));
}

#[test]
fn the_newest_packets_wait() {
    let mut cache = cache();
    for n in 1..=3 {
        cache.wait(ip(1), packet(n), 0);
    }
    assert_eq!(bytes(cache.take_dropped()), [1]);
    for n in 4..=6 {
        cache.wait(ip(2), packet(n), 0);
    }
    assert_eq!((bytes(cache.take_dropped()), cache.n_packets()), (vec![4], 4));
    // As many as may wait at all.
    cache.advertised(&said(2, Some(MAC), true, true), 0);
    cache.wait(ip(2), packet(7), 0);
    assert_eq!(cache.n_packets(), 3);
}

#[test]
fn those_that_do_not_answer_push_nobody_out_that_has_answered() {
    let mut cache = cache();
    for n in 1..=2 {
        cache.note(ip(n), MAC, 0);
    }
    for n in 10..100 {
        assert!(cache.wait(ip(n), packet(n as u8), 0));
    }
    assert_eq!(states(&cache, 0), "reachable reachable incomplete incomplete");
    assert_eq!(bytes(cache.take_dropped()).len(), 88);
    for n in 3..=5 {
        cache.asked_by(ip(n), MAC, 1);
    }
    assert_eq!(states(&cache, 1), "reachable stale stale stale");
}

#[test]
fn the_forgotten_leave_nothing() {
    let mut cache = cache();
    cache.wait(ip(1), packet(1), 0);
    cache.note(ip(2), MAC, 0);
    cache.retain(|address| address == ip(2));
    assert_eq!((bytes(cache.take_dropped()), cache.next_due()), (vec![1], None));
    assert_eq!(cache.table(1500), "2001:db8::2 reachable 02:00:00:00:00:02 host 1 0\n");
}

proptest! {
    #[test]
    fn counts_agree_and_limits_hold(steps in prop::collection::vec((0..7u8, 0..6u16, 0..3_000i64), 0..200)) {
        let mut cache = cache();
        let (mut now, mut n_given, mut n_back) = (0, 0, 0);
        for (what, number, passed) in steps {
            now += passed;
            let back = match what {
                0 | 1 => {
                    if cache.lookup(ip(number), now).is_none() {
                        cache.wait(ip(number), packet(0), now);
                        n_given += 1;
                    }
                    VecDeque::new()
                }
                2 => cache.asked_by(ip(number), MAC, now),
                3 => cache.advertised(&said(number, Some(OTHER_MAC), passed % 2 == 0, passed % 3 == 0), now),
                4 => cache.remove(ip(number)),
                5 => cache.note(ip(number), MAC, now),
                _ => std::iter::from_fn(|| cache.take_due(now))
                    .flat_map(|due| if let Due::GiveUp(packets) = due { packets } else { VecDeque::new() })
                    .collect(),
            };
            n_back += back.len() + cache.take_dropped().len();
            let waiting: usize = cache.neighbors.values().map(|neighbor| neighbor.waiting.len()).sum();
            prop_assert_eq!((waiting, n_given), (cache.n_packets(), waiting + n_back));
            prop_assert!(waiting <= LIMITS.packets && cache.n_neighbors() <= LIMITS.entries);
            prop_assert!(cache.unanswered.len() <= LIMITS.unanswered);
            prop_assert_eq!(cache.unanswered.len() + cache.answered.len(), cache.n_neighbors());
            let due: BTreeSet<_> = cache.neighbors.iter().filter_map(|(ip, one)| Some((one.due_at?, *ip))).collect();
            prop_assert_eq!(&due, &cache.due);
            // Whoever is asked for is asked for again, or given up.
            let is_asked = |one: &Neighbor| matches!(one.state, State::Incomplete | State::Delay | State::Probe);
            prop_assert!(cache.neighbors.values().all(|one| is_asked(one) == one.due_at.is_some()));
        }
    }
}
