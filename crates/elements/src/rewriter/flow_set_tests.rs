use super::*;
use crate::rewriter::timeouts::Timeouts;
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug)]
enum Change {
    Store { from: u8, to: u8 },
    Renew { from: u8 },
    Wait(u8),
    Shrink,
    Capacity(u8),
    DestroyOwned(bool),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        10 => (0..40u8, 0..40u8).prop_map(|(from, to)| Change::Store { from, to }),
        10 => (0..40u8).prop_map(|from| Change::Renew { from }),
        6 => (0..8u8).prop_map(Change::Wait),
        2 => Just(Change::Shrink),
        1 => (3..30u8).prop_map(Change::Capacity),
        1 => any::<bool>().prop_map(Change::DestroyOwned),
    ]
}

fn id(host: u8) -> FlowId {
    FlowId { src: host.into(), dst: 1000, sport: 1, dport: 2 }
}

fn rewritten(host: u8) -> FlowId {
    FlowId { src: 500 + u32::from(host), dst: 1000, sport: 1, dport: 2 }
}

/// What a flow is known by: to whom its replies go, whose it is, when its guarantee and it itself end.
#[derive(Clone, Copy, Debug)]
struct Known {
    to: u8,
    owner: u32,
    guaranteed_until: i64,
}

const PLAIN_MS: i64 = 20;
const GUARANTEE_MS: i64 = 5;

impl Known {
    fn ends(&self) -> i64 {
        self.guaranteed_until + PLAIN_MS - GUARANTEE_MS
    }
}

proptest! {
    /// Every lookup, count and size is that of a plain map, and guaranteed flows stay.
    #[test]
    fn agrees_with_a_plain_map(changes in prop::collection::vec(change(), 0..300)) {
        let mut set = FlowSet::new();
        let space = set.add_space(Timeouts::plain(PLAIN_MS, GUARANTEE_MS)).unwrap();
        let first = set.add_owners(2);
        let mut known = BTreeMap::<u8, Known>::new();
        let mut now_ms = 0;
        for change in changes {
            match change {
                Change::Store { from, to } if set.find(&id(from), space).is_none() => {
                    let owner = first + u32::from(from % 2);
                    let new = NewFlow {
                        ids: [id(from), rewritten(to)],
                        outputs: [0, 1],
                        deltas: [0, 0],
                        space,
                        protocol: 0,
                        owner,
                    };
                    let stored = set.store(&new, now_ms);
                    known.retain(|_, flow| flow.to != to);
                    if stored.is_some() {
                        known.insert(from, Known { to, owner, guaranteed_until: now_ms + GUARANTEE_MS });
                    }
                }
                Change::Store { .. } => {}
                Change::Renew { from } => {
                    if let Some(link) = set.find(&id(from), space) {
                        set.renew(link, now_ms);
                        known.get_mut(&from).unwrap().guaranteed_until = now_ms + GUARANTEE_MS;
                    }
                }
                Change::Wait(ms) => now_ms += i64::from(ms),
                Change::Shrink => {
                    set.shrink(now_ms);
                    known.retain(|_, flow| now_ms < flow.ends());
                }
                Change::Capacity(capacity) => {
                    set.capacity = capacity.into();
                    set.shrink(now_ms);
                    known.retain(|_, flow| now_ms < flow.ends());
                }
                Change::DestroyOwned(which) => {
                    set.destroy_owned(first + u32::from(which));
                    known.retain(|_, flow| flow.owner != first + u32::from(which));
                }
            }
            // Of flows without a guarantee, those that end first may have made room.
            known.retain(|from, flow| {
                let is_there = set.find(&id(*from), space).is_some();
                assert!(is_there || flow.guaranteed_until <= now_ms || known_is_shrunk(&set));
                is_there
            });
            prop_assert_eq!(set.len(), known.len());
            prop_assert!(set.len() as i32 <= set.capacity);
            for owner in first..first + 2 {
                let n = known.values().filter(|flow| flow.owner == owner).count();
                prop_assert_eq!(set.count(owner) as usize, n);
            }
            for (from, flow) in &known {
                let link = set.find(&id(*from), space).unwrap();
                prop_assert_eq!(set.find(&rewritten(flow.to).reverse(), space), Some(link ^ 1));
                prop_assert_eq!(set.flow(link).unwrap().rewritten(0), rewritten(flow.to));
            }
            prop_assert_eq!(set.list(space).len(), known.len() * 2);
        }
        set.clear(now_ms);
        prop_assert_eq!(set.len(), 0);
    }
}

/// A capacity that was made smaller removes guaranteed flows as well; the set is then exactly full.
fn known_is_shrunk(set: &FlowSet) -> bool {
    set.len() as i32 == set.capacity
}

/// Large sets let their keys lag behind, and still give up the flow that ends first.
#[test]
fn flows_leave_in_the_order_of_their_ends() {
    let mut set = FlowSet::new();
    let space = set.add_space(Timeouts::plain(10_000, 0)).unwrap();
    let owner = set.add_owners(1);
    let flow = |host: u32| NewFlow {
        ids: [FlowId { src: host, ..id(0) }, FlowId { src: host + 100_000, ..id(0) }],
        outputs: [0, 0],
        deltas: [0, 0],
        space,
        protocol: 0,
        owner,
    };
    for host in 0..2000u32 {
        assert!(set.store(&flow(host), i64::from(host)).is_some());
    }
    // The first thousand is used again, in reverse order, so that the second thousand ends first.
    for host in (0..1000u32).rev() {
        let link = set.find(&FlowId { src: host, ..id(0) }, space).unwrap();
        set.renew(link, 3000 - i64::from(host));
    }
    set.capacity = 2000;
    for (n, host) in (1000..2000u32).chain((0..1000).rev()).enumerate() {
        assert!(set.find(&FlowId { src: host, ..id(0) }, space).is_some(), "{host} left too early");
        assert!(set.store(&flow(5000 + n as u32), 5000).is_some());
        assert!(set.find(&FlowId { src: host, ..id(0) }, space).is_none(), "{host} stayed too long");
    }
}
