//! Tuple space search: conjunctions that compare the same masked words share a hash table.
//!
//! A table has buckets of eight entries. A bucket keeps two bytes of each entry's hash, all of which are compared at once: a packet
//! that no entry suits costs one look and no guess of the processor.

use super::conjunctions::{Conjunction, Conjunctions};
use super::words::{Headers, Layout, Place, Words, N_WORDS};
use crate::mixing::Mixing;
use crate::program::NEVER;
use std::collections::HashMap;
use wide::{i16x8, CmpEq};

/// No table.
const NONE: u32 = u32::MAX;
/// Entries of a bucket.
const WAYS: usize = 8;
/// Most pairs of words that can be compared.
const MAX_PAIRS: usize = N_WORDS / 2;
/// For hashing pairs of words: odd numbers without a pattern, of which the hash is a sum of products (Carter and Wegman's multilinear
/// hashing; the highest bits are the good ones).
const FACTORS: [u64; MAX_PAIRS] = [
    0x9e37_79b9_7f4a_7c15,
    0xd1b5_4a32_d192_ed03,
    0xaef1_7502_108e_f2d9,
    0xf135_7aea_2e62_a9c5,
    0x8cb9_2ba7_2f3d_8dd7,
    0xc2b2_ae3d_27d4_eb4f,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
];

/// Finds where an IP packet goes.
pub type Finder = fn(&Tuples, &Layout, &Headers) -> i32;

/// The hash tables, each for conjunctions that compare the same masked words.
#[derive(Clone, Debug)]
pub struct Tuples {
    /// In the order of the first conjunction in each.
    tuples: Vec<Tuple>,
    /// Where packets go that suit none.
    otherwise: i32,
    conjunctions: Conjunctions,
    /// Whether all words have fixed places in IP headers.
    is_fixed: bool,
}

#[derive(Clone, Debug)]
struct Tuple {
    /// The words in the key, two by two; a single one has a partner without bits.
    pairs: Vec<[Field; 2]>,
    /// For each place of each bucket two bytes of the hash of its entry, never 0; 0 where there is none.
    tags: Vec<[i16; WAYS]>,
    shift: u32,
    /// The entry at each place.
    entries: Vec<u32>,
    /// The values of the entries, a key after another.
    keys: Vec<u64>,
    /// For each entry, where its conjunctions are in `members`, up to the next entry's.
    starts: Vec<u32>,
    /// Indexes of conjunctions, ascending within an entry.
    members: Vec<u32>,
    first: u32,
}

/// Bits of a word.
#[derive(Clone, Copy, Debug)]
struct Field {
    /// Where the word is in the packet, if that is fixed.
    at: Place,
    place: u8,
    mask: u32,
}

/// Whether the conjunctions would need no more than `most` hash tables.
pub fn suit(conjunctions: &Conjunctions, most: usize) -> bool {
    let mut different: Vec<Conjunction> = Vec::new();
    for one in conjunctions.iter().take_while(|one| !holds_always(one)) {
        if !different.iter().any(|other| fields(other).eq(fields(&one))) {
            different.push(one);
            if different.len() > most {
                return false;
            }
        }
    }
    true
}

/// Whether all packets fulfil a conjunction; then it is the last.
fn holds_always(conjunction: &Conjunction<'_>) -> bool {
    conjunction.equals.is_empty() && conjunction.ranges.is_empty()
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
    for (member, conjunction) in (0..).zip(conjunctions.iter()).take_while(|(_, one)| !holds_always(one)) {
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
    pub fn new(conjunctions: Conjunctions, layout: &Layout) -> Tuples {
        let groups = group(&conjunctions).into_iter();
        let tuples: Vec<Tuple> = groups.map(|members| Tuple::new(&members, &conjunctions, layout)).collect();
        let otherwise = conjunctions.iter().find(holds_always).map_or(NEVER, |one| one.jump);
        let mut fields = tuples.iter().flat_map(|tuple| &tuple.pairs).flatten();
        let is_fixed = fields.all(|field| layout.fixed_place(field.place).is_some());
        Tuples { tuples, otherwise, conjunctions, is_fixed }
    }

    /// What finds where IP packets go, for tables of this shape.
    pub fn finder(&self) -> Finder {
        let n_pairs = |tuple: &Tuple| tuple.pairs.len();
        match self.tuples.as_slice() {
            [only] if self.is_fixed && n_pairs(only) == 1 => Tuples::find_in_one::<1>,
            [only] if self.is_fixed && n_pairs(only) == 2 => Tuples::find_in_one::<2>,
            [only] if self.is_fixed && n_pairs(only) == 3 => Tuples::find_in_one::<3>,
            _ if self.is_fixed => Tuples::find_in_headers,
            _ => Tuples::find_in_words,
        }
    }

    fn find_in_one<const N: usize>(&self, layout: &Layout, headers: &Headers) -> i32 {
        let read = |field: &Field| headers.word_at(field.at) & field.mask;
        let found = self.tuples.first().and_then(|tuple| Some((tuple, tuple.find_by::<N>(read)?)));
        match found {
            Some((tuple, entry)) => self.decide(tuple, entry, || layout.load_ip(headers)),
            None => self.otherwise,
        }
    }

    /// Where packets go that an entry of the only table suits.
    #[inline(never)]
    fn decide(&self, tuple: &Tuple, entry: usize, words: impl Fn() -> Words) -> i32 {
        let mut members = tuple.members_of(entry).iter();
        let found = members.find_map(|&member| self.conjunctions.decide_by_ranges(member as usize, &words));
        found.unwrap_or(self.otherwise)
    }

    fn find_in_headers(&self, layout: &Layout, headers: &Headers) -> i32 {
        self.find(|field| headers.word_at(field.at) & field.mask, || layout.load_ip(headers))
    }

    fn find_in_words(&self, layout: &Layout, headers: &Headers) -> i32 {
        self.classify(&layout.load_ip(headers))
    }

    /// Where a packet goes whose words were loaded.
    pub fn classify(&self, words: &Words) -> i32 {
        self.find(|field| words[usize::from(field.place) % N_WORDS] & field.mask, || *words)
    }

    #[inline(always)]
    fn find(&self, read: impl Fn(&Field) -> u32 + Copy, words: impl Fn() -> Words) -> i32 {
        let (mut best, mut jump) = (NONE, self.otherwise);
        for tuple in &self.tuples {
            if tuple.first >= best {
                break;
            }
            let Some(entry) = tuple.find_by_many(read) else { continue };
            for &member in tuple.members_of(entry) {
                if member >= best {
                    break;
                }
                if let Some(found) = self.conjunctions.decide_by_ranges(member as usize, &words) {
                    (best, jump) = (member, found);
                    break;
                }
            }
        }
        jump
    }
}

/// The sum of products that is the hash of a key.
#[inline(always)]
fn hash(key: &[u64]) -> u64 {
    key.iter().zip(&FACTORS).fold(0, |hash, (pair, factor)| hash.wrapping_add(pair.wrapping_mul(*factor)))
}

impl Tuple {
    /// The table of `members`, which compare the same words.
    fn new(members: &[u32], conjunctions: &Conjunctions, layout: &Layout) -> Tuple {
        let get = |member: u32| conjunctions.get(member as usize);
        let first = members.first().copied().unwrap_or(NONE);
        let fields = get(first).map_or(Vec::new(), |one| fields(&one).collect());
        let field = |&(place, mask): &(u8, u32)| Field {
            at: layout.fixed_place(place).unwrap_or(Place::ELSEWHERE),
            place,
            mask,
        };
        let fields: Vec<Field> = fields.iter().map(field).collect();
        let pair = |pair: &[Field]| [pair[0], *pair.get(1).unwrap_or(&Field { mask: 0, ..pair[0] })];
        let pairs: Vec<[Field; 2]> = fields.chunks(2).map(pair).collect();
        let n_buckets = (4 * members.len()).div_ceil(WAYS).next_power_of_two().max(2);
        let mut tuple = Tuple {
            pairs,
            tags: vec![[0; WAYS]; n_buckets],
            shift: 64 - n_buckets.trailing_zeros(),
            entries: vec![0; n_buckets * WAYS],
            keys: vec![],
            starts: vec![],
            members: vec![],
            first,
        };
        // How many members each entry has, and then where they end.
        let mut n_members: Vec<u32> = Vec::new();
        let entry_of = |&member: &u32| {
            let values: Vec<u32> =
                get(member).map_or(Vec::new(), |one| one.equals.iter().map(|equal| equal.value).collect());
            let pair = |pair: &[u32]| u64::from(pair[0]) | u64::from(*pair.get(1).unwrap_or(&0)) << 32;
            let key: Vec<u64> = values.chunks(2).map(pair).collect();
            let entry = tuple.entry(&key, n_members.len() as u32);
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
    fn entry(&mut self, key: &[u64], next: u32) -> u32 {
        if let Some(entry) = self.entry_of(key) {
            return entry as u32;
        }
        let (mut bucket, tag) = self.place(hash(key));
        let way = loop {
            match self.tags[bucket].iter().position(|&tag| tag == 0) {
                Some(way) => break way,
                None => bucket = (bucket + 1) % self.tags.len(),
            }
        };
        self.tags[bucket][way] = tag;
        self.entries[bucket * WAYS + way] = next;
        self.keys.extend(key);
        next
    }

    /// The bucket in which the search for a hash begins, and its tag.
    #[inline(always)]
    fn place(&self, hash: u64) -> (usize, i16) {
        ((hash >> self.shift) as usize, (hash >> 24) as i16 | 1)
    }

    /// The entry with this key.
    #[inline(always)]
    fn entry_of(&self, key: &[u64]) -> Option<usize> {
        let (mut bucket, tag) = self.place(hash(key));
        loop {
            let tags = i16x8::new(*self.tags.get(bucket)?);
            let mut same = tags.cmp_eq(i16x8::splat(tag)).move_mask();
            while same != 0 {
                let way = same.trailing_zeros() as usize;
                let entry = *self.entries.get(bucket * WAYS + way)? as usize;
                if self.keys.get(entry * key.len()..)?.starts_with(key) {
                    return Some(entry);
                }
                same &= same - 1;
            }
            // A bucket that is full goes on in the next one; places are four for each entry, so that there is room somewhere.
            if tags.cmp_eq(i16x8::ZERO).any() {
                return None;
            }
            bucket = (bucket + 1) & (self.tags.len() - 1);
        }
    }

    /// The entry whose values are those of a packet, of `N` pairs.
    #[inline(always)]
    fn find_by<const N: usize>(&self, read: impl Fn(&Field) -> u32) -> Option<usize> {
        let pairs = self.pairs.first_chunk::<N>()?;
        self.entry_of(&pairs.each_ref().map(|[low, high]| u64::from(read(low)) | u64::from(read(high)) << 32))
    }

    /// The entry whose values are those of a packet.
    #[inline(always)]
    fn find_by_many(&self, read: impl Fn(&Field) -> u32) -> Option<usize> {
        let mut key = [0; MAX_PAIRS];
        for (value, [low, high]) in key.iter_mut().zip(&self.pairs) {
            *value = u64::from(read(low)) | u64::from(read(high)) << 32;
        }
        self.entry_of(key.get(..self.pairs.len())?)
    }

    /// The conjunctions of an entry.
    #[inline(always)]
    fn members_of(&self, entry: usize) -> &[u32] {
        let Some(&[start, end]) = self.starts.get(entry..).and_then(<[u32]>::first_chunk) else { return &[] };
        self.members.get(start as usize..end as usize).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::conjunctions::Equal;

    #[test]
    fn entries_that_share_a_bucket_are_all_found() {
        const N: usize = 40;
        let shift = 64 - (4 * N).div_ceil(WAYS).next_power_of_two().trailing_zeros();
        let shares = |value: &u32| hash(&[u64::from(*value)]) >> shift == 0;
        let values: Vec<u32> = (0..).filter(shares).take(2 * N).collect();
        let (inside, outside) = values.split_at(N);
        let mut conjunctions = Conjunctions::new();
        for (&value, jump) in inside.iter().zip(0..) {
            conjunctions.push([Equal { place: 3, mask: u32::MAX, value }], [], -jump);
        }
        conjunctions.push([], [], -1000);
        let layout = Layout::ip(std::iter::empty()).unwrap();
        let tuples = Tuples::new(conjunctions, &layout);
        assert_eq!(tuples.tuples.len(), 1);
        assert!(tuples.tuples[0].tags[0].iter().all(|&tag| tag != 0), "the bucket is full");
        let check = |value: u32, jump: i32| {
            let mut words = [0; N_WORDS];
            words[3] = value;
            assert_eq!(tuples.classify(&words), jump);
            let network: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            let headers = Headers { mac: &[], network: &network, transport: 20 };
            assert_eq!(tuples.finder()(&tuples, &layout, &headers), jump);
        };
        inside.iter().zip(0..).for_each(|(&value, jump)| check(value, -jump));
        outside.iter().for_each(|&value| check(value, -1000));
    }
}
