//! Tuple space search: conjunctions that compare the same masked words share a hash table.

use super::conjunctions::{Conjunction, Conjunctions, Equal};
use super::words::{Words, N_WORDS};
use crate::mixing::{mix, Mixing};
use crate::program::NEVER;
use std::collections::HashMap;

const EMPTY: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub struct Tuples {
    /// In the order of the first conjunction in each.
    tuples: Vec<Tuple>,
    conjunctions: Conjunctions,
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

/// Whether the conjunctions would need no more than `most` hash tables.
pub fn suit(conjunctions: &Conjunctions, most: usize) -> bool {
    let mut different: Vec<Conjunction> = Vec::new();
    for one in conjunctions.iter() {
        if !different.iter().any(|other| fields(other).eq(fields(&one))) {
            different.push(one);
            if different.len() > most {
                return false;
            }
        }
    }
    true
}

/// The words that a conjunction compares.
fn fields<'c>(conjunction: &Conjunction<'c>) -> impl Iterator<Item = (u8, u32)> + 'c {
    conjunction.equals.iter().map(|equal| (equal.place, equal.mask))
}

/// The conjunctions that compare the same words, ascending.
fn group(conjunctions: &Conjunctions) -> Vec<Vec<u32>> {
    let mut number_of: HashMap<Vec<(u8, u32)>, usize, Mixing> = HashMap::default();
    let mut groups: Vec<Vec<u32>> = Vec::new();
    let mut key = Vec::new();
    for (member, conjunction) in (0..).zip(conjunctions.iter()) {
        key.clear();
        key.extend(fields(&conjunction));
        match number_of.get(&key) {
            Some(&number) => groups[number].push(member),
            None => {
                number_of.insert(key.clone(), groups.len());
                groups.push(vec![member]);
            }
        }
    }
    groups
}

impl Tuples {
    pub fn new(conjunctions: Conjunctions) -> Tuples {
        let groups = group(&conjunctions).into_iter();
        let tuples = groups.map(|members| Tuple::new(&members, &conjunctions)).collect();
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
                if let Some(found) = self.conjunctions.decide_by_ranges(member as usize, words) {
                    (best, jump) = (member, found);
                    break;
                }
            }
        }
        jump
    }
}

impl Tuple {
    /// The table of `members`, which compare the same words.
    fn new(members: &[u32], conjunctions: &Conjunctions) -> Tuple {
        let get = |member: u32| conjunctions.get(member as usize);
        let first = members.first().copied().unwrap_or(EMPTY);
        let fields = get(first).map_or(Vec::new(), |one| fields(&one).collect());
        let n_slots = (4 * members.len()).next_power_of_two();
        let shift = 64 - n_slots.trailing_zeros();
        let slots = vec![EMPTY; n_slots];
        let mut tuple = Tuple { fields, slots, shift, keys: vec![], starts: vec![], members: vec![], first };
        // How many members each entry has, and then where they end.
        let mut n_members: Vec<u32> = Vec::new();
        let entry_of = |&member: &u32| {
            let entry = tuple.entry(get(member).map_or(&[], |one| one.equals), n_members.len() as u32);
            match n_members.get_mut(entry as usize) {
                Some(n) => *n += 1,
                None => n_members.push(1),
            }
            entry
        };
        let entries: Vec<u32> = members.iter().map(entry_of).collect();
        tuple.starts = std::iter::once(0).chain(n_members).collect();
        (1..tuple.starts.len()).for_each(|entry| tuple.starts[entry] += tuple.starts[entry - 1]);
        let mut ends = tuple.starts.clone();
        tuple.members = vec![0; members.len()];
        for (&member, entry) in members.iter().zip(entries) {
            let end = &mut ends[entry as usize];
            tuple.members[*end as usize] = member;
            *end += 1;
        }
        tuple
    }

    /// The entry with this key, which is `next` if there was none.
    fn entry(&mut self, key: &[Equal], next: u32) -> u32 {
        let n_fields = self.fields.len();
        let values = key.iter().map(|equal| equal.value);
        let mut slot = self.slot(values.clone().fold(0, mix));
        loop {
            match self.slots[slot] {
                EMPTY => break,
                entry
                    if self.keys[entry as usize * n_fields..]
                        .iter()
                        .copied()
                        .take(n_fields)
                        .eq(values.clone()) =>
                {
                    return entry;
                }
                _ => slot = (slot + 1) % self.slots.len(),
            }
        }
        self.slots[slot] = next;
        self.keys.extend(values);
        next
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
