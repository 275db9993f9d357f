use super::*;
use proptest::prelude::*;
use std::collections::HashMap;

#[derive(Clone, Debug)]
enum Change {
    Insert(u16, u32),
    RemoveKey(u16),
    RemoveIdx(u32),
    SetLimit(u32),
    Clear,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        60 => (0..600u16, any::<u32>()).prop_map(|(key, value)| Change::Insert(key, value)),
        20 => (0..600u16).prop_map(Change::RemoveKey),
        10 => (0..700u32).prop_map(Change::RemoveIdx),
        1 => (300..500u32).prop_map(Change::SetLimit),
        1 => Just(Change::Clear),
    ]
}

/// Applies the changes to a table and to the standard map, with hashes of which only `hash_mask` is kept.
fn compare(changes: &[Change], hash_mask: u64) {
    let mut table = FlowTable::<u16, u32>::with_seed(400, 7);
    let mut naive = HashMap::<u16, u32>::new();
    let mut indexes = HashMap::<u16, u32>::new();
    let hash_of = |key: &u16| u64::from(*key).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7 & hash_mask;
    for change in changes {
        match *change {
            Change::Insert(key, value) => match table.insert_hashed(hash_of(&key), key, value) {
                Ok(idx) => {
                    naive.insert(key, value);
                    assert_eq!(*indexes.entry(key).or_insert(idx), idx, "an index changed");
                }
                Err(full) => {
                    assert_eq!(full, Full(key, value));
                    assert!(naive.len() >= table.limit() as usize && !naive.contains_key(&key));
                }
            },
            Change::RemoveKey(key) => {
                let idx = table.find_hashed(hash_of(&key), &key);
                assert_eq!(idx, indexes.remove(&key));
                assert_eq!(
                    idx.and_then(|idx| table.remove(idx)),
                    naive.remove(&key).map(|value| (key, value))
                );
            }
            Change::RemoveIdx(idx) => {
                let owner = indexes.iter().find(|(_, known)| **known == idx).map(|(key, _)| *key);
                let expected = owner.map(|key| (key, naive.remove(&key).unwrap()));
                owner.map(|key| indexes.remove(&key));
                assert_eq!(table.remove(idx), expected);
            }
            Change::SetLimit(limit) => table.set_limit(limit),
            Change::Clear => {
                table.clear();
                naive.clear();
                indexes.clear();
            }
        }
    }
    assert_eq!(table.len(), naive.len());
    for key in 0..600 {
        let idx = table.find_hashed(hash_of(&key), &key);
        assert_eq!(idx, indexes.get(&key).copied());
        // Whatever was there when it was looked at.
        for near in [table.prefetch_entry(hash_of(&key)), u32::from(key ^ 5), NO_ENTRY] {
            assert_eq!(table.find_near(near, hash_of(&key), &key), idx);
        }
        assert_eq!(idx.and_then(|idx| table.get(idx)), naive.get_key_value(&key));
    }
    assert_eq!(table.iter().map(|(_, key, value)| (*key, *value)).collect::<HashMap<_, _>>(), naive);
    let from_5 = table.iter().map(|entry| entry.0).filter(|idx| *idx >= 5);
    assert!(table.iter_from(5).map(|entry| entry.0).eq(from_5));
}

proptest! {
    #[test]
    fn agrees_with_the_standard_map(changes in prop::collection::vec(change(), 0..1500)) {
        compare(&changes, u64::MAX);
    }

    #[test]
    fn agrees_with_the_standard_map_when_hashes_collide(
        changes in prop::collection::vec(change(), 0..400),
        hash_mask in prop::sample::select(vec![0, 1, 0x80, 0xff00]),
    ) {
        compare(&changes, hash_mask);
    }
}

#[test]
fn prefetches_change_nothing_of_what_is_found() {
    let mut table = FlowTable::<u64, u64>::new(u32::MAX);
    for key in 0..5000 {
        table.insert(key * 3, key).unwrap();
    }
    for key in 0..15_100 {
        let hash = table.hash_of(&key);
        table.prefetch(hash);
        let near = table.prefetch_entry(hash);
        let found = table.find(&key);
        assert_eq!(table.find_near(near, hash, &key), found);
        let value = key / 3;
        let expected = (key % 3 == 0 && value < 5000).then_some((&key, &value));
        assert_eq!(found.and_then(|idx| table.get(idx)), expected);
    }
    table.iter_mut().for_each(|(_, key, value)| *value = key + 1);
    assert!(table.iter().all(|(_, key, value)| *value == key + 1));
    assert_eq!(table.remove_key(&9), Some((9, 10)));
    assert_eq!(table.remove_key(&9), None);
}

#[test]
fn memory_is_reused_by_entries_that_come_and_go() {
    let mut table = FlowTable::<u64, [u64; 4]>::new(u32::MAX);
    let mut fill_and_empty = |first: u64| {
        (first..first + 10_000).for_each(|key| assert!(table.insert(key, [key; 4]).is_ok()));
        let memory = table.memory();
        (first..first + 10_000).for_each(|key| assert!(table.remove_key(&key).is_some()));
        assert!(table.is_empty());
        memory
    };
    let first = fill_and_empty(0);
    for round in 1..10 {
        let memory = fill_and_empty(round * 1_000_000);
        assert!(memory <= first + first / 8, "{memory} after {first}");
    }
}

#[test]
fn an_empty_table_is_small() {
    let table = FlowTable::<u64, u64>::new(1_000_000);
    assert!(table.memory() <= 8192, "{}", table.memory());
}

#[test]
fn hashes_differ_between_tables() {
    let (a, b) = (FlowTable::<u64, ()>::new(1), FlowTable::<u64, ()>::new(1));
    assert!((0..8).any(|key| a.hash_of(&key) != b.hash_of(&key)));
}
