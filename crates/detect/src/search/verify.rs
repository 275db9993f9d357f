//! Applies a rule's tests to a payload.
//!
//! Of each test all places are kept that a later one can be relative to, so that no choice is ever taken back: the work
//! is bounded by the payload's length times the number of tests, and by some starts of each regular expression.

use super::http::Message;
use crate::rules::payload::{Content, Part, Pattern, PayloadKind, PayloadTest};

/// Most places from which a relative pattern is tried.
const MAX_PATTERN_STARTS: usize = 32;

/// Storage for the work, and what is known of the payload at hand.
#[derive(Debug, Default)]
pub struct Verifier {
    /// Where what was found so far ends, in order.
    ends: Vec<usize>,
    next: Vec<usize>,
    /// The payload in lower case, as far as it was needed.
    folded: Vec<u8>,
}

impl Verifier {
    /// Forgets the payload; the next one is another.
    pub fn begin(&mut self) {
        self.folded.clear();
    }

    /// Whether all tests pass for the bytes of `buf` from `origin` on. `buf` is the same since [`Verifier::begin`].
    pub fn passes(&mut self, tests: &[PayloadTest], buf: &[u8], origin: usize) -> bool {
        self.ends.clear();
        self.ends.push(origin);
        tests.iter().all(|test| {
            self.test(test, buf, origin);
            !self.ends.is_empty()
        })
    }

    /// As [`Verifier::passes`], for tests of parts of the HTTP message that begins at `origin`; or that began before `buf`,
    /// of which then all is the body.
    pub fn passes_in_parts(
        &mut self,
        tests: &[PayloadTest],
        buf: &[u8],
        origin: usize,
        is_continued: bool,
    ) -> bool {
        let message = Message::of(buf, origin).filter(|_| !is_continued);
        self.ends.clear();
        self.ends.push(origin);
        let mut last = Part::All;
        tests.iter().all(|test| {
            let range = match (test.part, &message) {
                (Part::All, _) => Some(origin..buf.len()),
                (Part::Body, None) if is_continued => Some(origin..buf.len()),
                (part, message) => message.as_ref().and_then(|message| message.part(buf, part)),
            };
            // What is not there does not hold anything.
            let Some(range) = range else { return test.is_negated };
            if std::mem::replace(&mut last, test.part) != test.part {
                self.ends.clear();
                self.ends.push(range.start);
            }
            self.test(test, buf.get(..range.end).unwrap_or(buf), range.start);
            !self.ends.is_empty()
        })
    }

    /// Applies a test: afterwards `ends` has the places where it passed.
    fn test(&mut self, test: &PayloadTest, buf: &[u8], origin: usize) {
        match &test.kind {
            PayloadKind::Content(content) => self.content(test, content, buf, origin),
            PayloadKind::Pattern(pattern) => self.pattern(test, pattern, buf, origin),
            PayloadKind::HasMore(n) => {
                self.keep(test, origin, |at| buf.len() > at.saturating_add(*n as usize));
            }
            // Where there is no number, neither the test passes nor its contrary.
            PayloadKind::Number(number) => {
                self.keep(test, origin, |at| number.passes(buf, at).unwrap_or(test.is_negated));
            }
            PayloadKind::Len(range) => {
                let len = u32::try_from(buf.len().saturating_sub(origin)).unwrap_or(u32::MAX);
                self.keep(test, origin, |_| range.contains(len));
            }
            PayloadKind::Jump(jump) => {
                let (ends, next) = (&self.ends, &mut self.next);
                next.clear();
                match test.is_relative {
                    true => next.extend(ends.iter().filter_map(|at| jump.target(buf, *at, origin))),
                    false => next.extend(jump.target(buf, origin, origin)),
                }
                self.take_next();
            }
        }
    }

    /// Keeps the places where a test passes that does not move; all or none if it is not relative.
    fn keep(&mut self, test: &PayloadTest, origin: usize, passes: impl Fn(usize) -> bool) {
        match test.is_relative {
            true => self.ends.retain(|at| passes(*at) != test.is_negated),
            false if passes(origin) == test.is_negated => self.ends.clear(),
            false => {}
        }
    }

    fn take_next(&mut self) {
        self.next.sort_unstable();
        self.next.dedup();
        std::mem::swap(&mut self.ends, &mut self.next);
    }

    fn content(&mut self, test: &PayloadTest, content: &Content, buf: &[u8], origin: usize) {
        if content.ignores_case && self.folded.len() < buf.len() {
            let known = self.folded.len();
            self.folded.extend_from_slice(buf.get(known..).unwrap_or_default());
            self.folded.get_mut(known..).unwrap_or_default().make_ascii_lowercase();
        }
        let hay = match content.ignores_case {
            true => self.folded.get(..buf.len()).unwrap_or_default(),
            false => buf,
        };
        let search = Search { content, hay, origin };
        let ends = &mut self.ends;
        match (test.is_negated, test.is_relative) {
            (true, true) => search.keep_without(ends),
            (true, false) => {
                if search.first(origin).is_some() {
                    ends.clear();
                }
            }
            (false, false) => {
                ends.clear();
                match test.wants_all {
                    true => search.all(&[origin], ends),
                    false => ends.extend(search.first(origin)),
                }
            }
            (false, true) => {
                self.next.clear();
                search.all(ends, &mut self.next);
                std::mem::swap(&mut self.ends, &mut self.next);
            }
        }
    }

    fn pattern(&mut self, test: &PayloadTest, pattern: &Pattern, buf: &[u8], origin: usize) {
        let end = |at: usize| {
            let found = pattern.regex.find(buf.get(at..)?)?;
            Some(at + found.end())
        };
        let is_there = |at: usize| buf.get(at..).is_some_and(|rest| pattern.regex.is_match(rest));
        match (test.is_negated, test.is_relative) {
            (true, _) => {
                if test.is_relative {
                    self.ends.truncate(MAX_PATTERN_STARTS);
                }
                self.keep(test, origin, is_there);
            }
            (false, true) => {
                self.next.clear();
                self.next.extend(self.ends.iter().take(MAX_PATTERN_STARTS).filter_map(|at| end(*at)));
                self.take_next();
            }
            (false, false) => {
                self.ends.clear();
                match test.wants_all {
                    true => self.ends.extend(end(origin)),
                    false => self.ends.extend(is_there(origin).then_some(origin)),
                }
            }
        }
    }
}

/// A search for a content.
struct Search<'a> {
    content: &'a Content,
    hay: &'a [u8],
    /// Where the payload begins.
    origin: usize,
}

impl Search<'_> {
    /// Where the content may begin, counted from `at`: the first place and the last.
    fn range(&self, at: usize) -> (usize, usize) {
        let len = self.content.bytes.len();
        let first = at.saturating_add_signed(self.content.offset as isize).max(self.origin);
        let from = at as i64 + i64::from(self.content.offset);
        let last = match self.content.depth {
            Some(depth) => usize::try_from(from + i64::from(depth) - len as i64).ok(),
            None => Some(usize::MAX),
        };
        let fits = self.hay.len().checked_sub(len);
        match (last, fits) {
            (Some(last), Some(fits)) => (first, last.min(fits)),
            // An empty range.
            _ => (1, 0),
        }
    }

    /// The first place in a range.
    fn next(&self, first: usize, last: usize) -> Option<usize> {
        let end = last.checked_add(self.content.bytes.len())?;
        if self.content.is_last {
            let place = self.hay.len().checked_sub(self.content.bytes.len())?;
            let is_there = self.hay.ends_with(&self.content.bytes);
            return (is_there && (first..=last).contains(&place)).then_some(place);
        }
        let found = self.content.finder.find(self.hay.get(first..end)?)?;
        Some(first + found)
    }

    /// The end of the first place, counted from `at`.
    fn first(&self, at: usize) -> Option<usize> {
        let (first, last) = self.range(at);
        self.next(first, last).map(|place| place + self.content.bytes.len())
    }

    /// Keeps those of `starts`, which are in order, from which the content is not found.
    fn keep_without(&self, starts: &mut Vec<usize>) {
        let Some(fits) = self.hay.len().checked_sub(self.content.bytes.len()) else { return };
        // The first place from some start on is that of all starts up to it.
        let mut place = Some(0);
        let mut is_known = false;
        starts.retain(|at| {
            let (first, last) = self.range(*at);
            // Nowhere: nothing is found, and it says nothing of where the next start's range begins.
            if first > last {
                return true;
            }
            if !is_known || place.is_some_and(|place| place < first) {
                (place, is_known) = (self.next(first, fits), true);
            }
            !place.is_some_and(|place| (first..=last).contains(&place))
        });
    }

    /// The ends of all places that count from any of `starts`, which are in order.
    fn all(&self, starts: &[usize], ends: &mut Vec<usize>) {
        let mut starts =
            starts.iter().map(|at| self.range(*at)).filter(|(first, last)| first <= last).peekable();
        let mut place = 0;
        while let Some((first, last)) = starts.peek().copied() {
            // Ranges are in order: what is before this one is behind none.
            match self.next(place.max(first), last) {
                Some(found) => {
                    ends.push(found + self.content.bytes.len());
                    place = found + 1;
                }
                None => {
                    place = place.max(last.saturating_add(1));
                    starts.next();
                    if last == usize::MAX {
                        break;
                    }
                }
            }
            while starts.peek().is_some_and(|(_, last)| *last < place) {
                starts.next();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use memchr::memmem::Finder;
    use proptest::prelude::*;

    use super::*;

    fn content(bytes: &str, offset: i32, depth: Option<u32>, is_last: bool) -> Content {
        let bytes = bytes.as_bytes().to_vec().into_boxed_slice();
        let finder = Finder::new(&bytes).into_owned();
        let (ignores_case, is_anchored, is_fast) = (false, false, false);
        Content { bytes, finder, ignores_case, offset, depth, is_last, is_anchored, is_fast }
    }

    #[test]
    fn a_place_whose_range_is_empty_says_nothing_of_the_next() {
        // Counted from 0, the content would have to begin before the payload.
        let content = content("bb", -3, Some(4), false);
        let mut kept = vec![0, 1];
        Search { content: &content, hay: b"bb", origin: 0 }.keep_without(&mut kept);
        assert_eq!(kept, [0]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]
        #[test]
        fn places_without_a_content_are_those_from_which_a_search_finds_none(
            hay in "[ab]{0,30}",
            bytes in "[ab]{1,3}",
            mut starts in proptest::collection::btree_set(0usize..30, 0..10),
            offset in -4i32..6,
            depth in proptest::option::of(3u32..9),
            is_last: bool,
        ) {
            let content = content(&bytes, offset, depth, is_last);
            starts.retain(|at| *at <= hay.len());
            let search = Search { content: &content, hay: hay.as_bytes(), origin: 0 };
            let mut kept: Vec<usize> = starts.iter().copied().collect();
            search.keep_without(&mut kept);
            let expected = starts.into_iter().filter(|at| search.first(*at).is_none());
            prop_assert_eq!(kept, expected.collect::<Vec<_>>());
        }
    }
}
