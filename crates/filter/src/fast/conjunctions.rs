//! Lists of conjunctions, of which the first that holds decides.

use super::words::{Words, N_WORDS};

/// Equality of a masked word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equal {
    pub place: u8,
    pub mask: u32,
    pub value: u32,
}

/// A masked word within a range, or outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub place: u8,
    pub mask: u32,
    pub low: u32,
    pub high: u32,
    pub negated: bool,
}

impl Equal {
    #[inline]
    fn holds(&self, words: &Words) -> bool {
        words[usize::from(self.place) % N_WORDS] & self.mask == self.value
    }
}

impl Range {
    pub fn contains(&self, word: u32) -> bool {
        let word = word & self.mask;
        (self.low <= word && word <= self.high) != self.negated
    }

    #[inline]
    fn holds(&self, words: &Words) -> bool {
        self.contains(words[usize::from(self.place) % N_WORDS])
    }
}

/// What a packet must fulfil to be sent to `jump`. At most one equality a word, in the order of words.
#[derive(Clone, Copy, Debug)]
pub struct Conjunction<'a> {
    pub equals: &'a [Equal],
    pub ranges: &'a [Range],
    pub jump: i32,
}

/// Conjunctions, in few pieces of memory however many they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conjunctions {
    equals: Vec<Equal>,
    ranges: Vec<Range>,
    /// Where each starts; the last entry is where another would.
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Entry {
    equals: u32,
    ranges: u32,
    jump: i32,
}

impl Conjunctions {
    pub fn new() -> Conjunctions {
        Conjunctions { equals: Vec::new(), ranges: Vec::new(), entries: vec![Entry::default()] }
    }

    pub fn len(&self) -> usize {
        self.entries.len() - 1
    }

    #[inline]
    pub fn get(&self, at: usize) -> Option<Conjunction<'_>> {
        let &[start, end] = self.entries.get(at..)?.first_chunk()?;
        Some(Conjunction {
            equals: self.equals.get(start.equals as usize..end.equals as usize)?,
            ranges: self.ranges.get(start.ranges as usize..end.ranges as usize)?,
            jump: start.jump,
        })
    }

    /// Where the conjunction leads, if the packet fulfils it.
    #[inline]
    pub fn decide(&self, at: usize, words: &Words) -> Option<i32> {
        let &[start, end] = self.entries.get(at..)?.first_chunk()?;
        if start.equals != end.equals {
            let equals = self.equals.get(start.equals as usize..end.equals as usize)?;
            if !equals.iter().all(|equal| equal.holds(words)) {
                return None;
            }
        }
        self.decide_between(start, end, words)
    }

    /// As `decide`, for a packet that fulfils all equalities.
    #[inline]
    pub fn decide_by_ranges(&self, at: usize, words: impl Fn() -> Words) -> Option<i32> {
        let &[start, end] = self.entries.get(at..)?.first_chunk()?;
        if start.ranges == end.ranges {
            return Some(start.jump);
        }
        self.decide_between(start, end, &words())
    }

    #[inline(always)]
    fn decide_between(&self, start: Entry, end: Entry, words: &Words) -> Option<i32> {
        if start.ranges != end.ranges {
            let ranges = self.ranges.get(start.ranges as usize..end.ranges as usize)?;
            if !ranges.iter().all(|range| range.holds(words)) {
                return None;
            }
        }
        Some(start.jump)
    }

    pub fn iter(&self) -> impl Iterator<Item = Conjunction<'_>> + Clone {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    pub fn push(
        &mut self,
        equals: impl IntoIterator<Item = Equal>,
        ranges: impl IntoIterator<Item = Range>,
        jump: i32,
    ) {
        if let Some(entry) = self.entries.last_mut() {
            entry.jump = jump;
        }
        self.equals.extend(equals);
        self.ranges.extend(ranges);
        let (equals, ranges) = (self.equals.len() as u32, self.ranges.len() as u32);
        self.entries.push(Entry { equals, ranges, jump: 0 });
    }

    /// Takes away the last ones that lead to `jump`.
    pub fn pop_while(&mut self, jump: i32) {
        while let [.., last, _] = self.entries.as_mut_slice() {
            if last.jump != jump {
                break;
            }
            last.jump = 0;
            self.entries.pop();
        }
        let end = self.entries.last().copied().unwrap_or_default();
        self.equals.truncate(end.equals as usize);
        self.ranges.truncate(end.ranges as usize);
    }
}
