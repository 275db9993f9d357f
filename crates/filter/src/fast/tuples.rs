//! Tuple space search: conjunctions that compare the same masked words share a hash table.

use super::conjunctions::Conjunction;
use super::words::{Words, N_WORDS};
use crate::program::NEVER;

const EMPTY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct Tuples {
    /// In the order of the first conjunction in each.
    tuples: Vec<Tuple>,
    conjunctions: Vec<Conjunction>,
}

#[derive(Clone, Debug)]
struct Tuple {
    /// Place and mask of the words in the key.
    fields: Vec<(u8, u32)>,
    /// Index of an entry, or `EMPTY`; collisions go to the next slot.
    slots: Vec<u32>,
    shift: u32,
    /// The values of the entries, a key after another.
    keys: Vec<u32>,
    /// For each entry, where its conjunctions are in `members`, up to the next entry's.
    starts: Vec<u32>,
    /// Indexes of conjunctions, ascending within an entry.
    members: Vec<u32>,
    first: u32,
}

/// How many hash tables the conjunctions would need.
pub fn count(conjunctions: &[Conjunction]) -> usize {
    group(conjunctions).len()
}

type Group = (Vec<(u8, u32)>, Vec<u32>);

fn group(conjunctions: &[Conjunction]) -> Vec<Group> {
    let mut number_of = std::collections::HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (idx, conjunction) in conjunctions.iter().enumerate() {
        let fields: Vec<_> = conjunction.equals.iter().map(|equal| (equal.place, equal.mask)).collect();
        let number = *number_of.entry(fields.clone()).or_insert(groups.len());
        if number == groups.len() {
            groups.push((fields, Vec::new()));
        }
        groups[number].1.push(idx as u32);
    }
    groups
}

impl Tuples {
    pub fn new(conjunctions: Vec<Conjunction>) -> Tuples {
        let groups = group(&conjunctions).into_iter();
        let tuples = groups.map(|(fields, members)| Tuple::new(fields, members, &conjunctions)).collect();
        Tuples { tuples, conjunctions }
    }

    #[inline]
    pub fn classify(&self, words: &Words) -> i32 {
        let (mut best, mut jump) = (u32::MAX, NEVER);
        for tuple in &self.tuples {
            if tuple.first >= best {
                break;
            }
            for &member in tuple.find(words) {
                if member >= best {
                    break;
                }
                let Some(conjunction) = self.conjunctions.get(member as usize) else { break };
                if conjunction.ranges_hold(words) {
                    (best, jump) = (member, conjunction.jump);
                    break;
                }
            }
        }
        jump
    }
}

impl Tuple {
    fn new(fields: Vec<(u8, u32)>, mut members: Vec<u32>, conjunctions: &[Conjunction]) -> Tuple {
        let first = members.first().copied().unwrap_or(EMPTY);
        let key = |member: u32| conjunctions[member as usize].equals.iter().map(|equal| equal.value);
        // Stable, so that members of an entry stay in order.
        members.sort_by(|&a, &b| key(a).cmp(key(b)));
        let mut tuple =
            Tuple { fields, slots: vec![], shift: 0, keys: vec![], starts: vec![], members, first };
        let mut hashes = Vec::new();
        for at in 0..tuple.members.len() {
            let member = tuple.members[at];
            if at == 0 || key(member).ne(key(tuple.members[at - 1])) {
                tuple.keys.extend(key(member));
                tuple.starts.push(at as u32);
                hashes.push(key(member).fold(0, mix));
            }
        }
        tuple.starts.push(tuple.members.len() as u32);
        let n_slots = (4 * hashes.len()).next_power_of_two();
        tuple.shift = 64 - n_slots.trailing_zeros();
        tuple.slots = vec![EMPTY; n_slots];
        for (entry, hash) in hashes.into_iter().enumerate() {
            let mut slot = tuple.slot(hash);
            while tuple.slots[slot] != EMPTY {
                slot = (slot + 1) % n_slots;
            }
            tuple.slots[slot] = entry as u32;
        }
        tuple
    }

    fn slot(&self, hash: u64) -> usize {
        (hash >> self.shift) as usize
    }

    /// The conjunctions whose values are those of the packet.
    #[inline]
    fn find(&self, words: &Words) -> &[u32] {
        let fields = self.fields.iter().map(|&(place, mask)| words[usize::from(place) % N_WORDS] & mask);
        let mut slot = self.slot(fields.clone().fold(0, mix));
        loop {
            let entry = self.slots.get(slot).copied().unwrap_or(EMPTY) as usize;
            let n_fields = self.fields.len();
            if entry == EMPTY as usize {
                return &[];
            }
            let Some(key) = self.keys.get(entry * n_fields..(entry + 1) * n_fields) else { return &[] };
            if fields.clone().zip(key).all(|(word, &value)| word == value) {
                let Some(&[start, end]) = self.starts.get(entry..entry + 2) else { return &[] };
                return self.members.get(start as usize..end as usize).unwrap_or_default();
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }
}

/// Multiplicative hashing: the top bits are the good ones.
#[inline]
fn mix(hash: u64, word: u32) -> u64 {
    (hash.rotate_left(29) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
