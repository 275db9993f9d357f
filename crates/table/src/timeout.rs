//! Expiry of entries: a hierarchical timer wheel of entry indexes.
//!
//! An index is in the wheel at most once. Moving its deadline later, the usual case, writes one word: the wheel meets
//! the index at its former place and puts it on then. All else moves list links.
//!
//! - Schedule, cancel: O(1). Advance: O(1) amortised for each index, whatever the time that passed: empty places are
//!   skipped by bitmaps. The work of one call is limited by its caller.
//! - Memory: 3 KiB, and 24 bytes for each index up to the largest ever scheduled. It is allocated when a larger index
//!   than before is scheduled, 2048 indexes at a time.

use crate::chunks::Chunks;

/// Each level has a place for each value of 6 more bits of the tick; 11 levels cover 64 bits.
const LEVEL_BITS: u32 = 6;
const LEVEL_PLACES: usize = 1 << LEVEL_BITS;
const N_LEVELS: usize = u64::BITS.div_ceil(LEVEL_BITS) as usize;
/// The list of indexes whose time has come, or that are to be placed anew.
const DUE: usize = N_LEVELS * LEVEL_PLACES;
const N_PLACES: usize = DUE + 1;

const NIL: u32 = u32::MAX;
const NOWHERE: u16 = u16::MAX;

/// Deadlines of entries named by index.
///
/// Times are in nanoseconds from any fixed origin. Deadlines are rounded up to whole ticks: nothing expires early, and
/// an index expires less than a tick late.
pub struct TimeWheel {
    tick_ns: u64,
    /// All ticks up to this one are done, but for the list of what is due.
    now_tick: u64,
    /// First index of each place's list.
    heads: Box<[u32; N_PLACES]>,
    /// For each level, one bit a place with a list.
    occupied: [u64; N_LEVELS],
    nodes: Chunks<Node>,
    limit: u32,
    len: usize,
}

#[derive(Clone, Copy)]
struct Node {
    deadline_tick: u64,
    before: u32,
    after: u32,
    place: u16,
}

impl TimeWheel {
    /// An empty wheel at time 0 for indexes below `limit`; a tick of 0 counts as 1 ns.
    pub fn new(tick_ns: u64, limit: u32) -> Self {
        TimeWheel {
            tick_ns: tick_ns.max(1),
            now_tick: 0,
            heads: Box::new([NIL; N_PLACES]),
            occupied: [0; N_LEVELS],
            nodes: Chunks::new(),
            limit,
            len: 0,
        }
    }

    /// Sets the deadline of an index, whether it has one or not. Refuses (false) an index at or beyond the limit.
    #[inline]
    pub fn schedule(&mut self, idx: u32, deadline_ns: u64) -> bool {
        let deadline_tick = deadline_ns.div_ceil(self.tick_ns);
        if let Some(node) = self.nodes.get_mut(idx as usize) {
            if node.place != NOWHERE && deadline_tick >= node.deadline_tick {
                node.deadline_tick = deadline_tick;
                return true;
            }
        }
        self.place_anew(idx, deadline_tick)
    }

    /// Forgets the deadline of an index. Returns whether it had one.
    pub fn cancel(&mut self, idx: u32) -> bool {
        let is_scheduled = self.unlink(idx);
        self.len = self.len.saturating_sub(usize::from(is_scheduled));
        is_scheduled
    }

    /// The deadline of an index, rounded up to a tick.
    pub fn deadline_ns(&self, idx: u32) -> Option<u64> {
        let node = self.nodes.get(idx as usize).filter(|node| node.place != NOWHERE)?;
        Some(node.deadline_tick.saturating_mul(self.tick_ns))
    }

    /// Moves time to `now_ns` and appends the indexes that expired, which have no deadline any more.
    ///
    /// Touches at most `n_visits` indexes and returns whether that was enough; if not, call again. Time does not go
    /// backwards: an earlier `now_ns` counts as the latest one.
    pub fn advance(&mut self, now_ns: u64, n_visits: usize, expired: &mut Vec<u32>) -> bool {
        let target = (now_ns / self.tick_ns).max(self.now_tick);
        for _ in 0..n_visits {
            if !self.make_due(target) {
                return true;
            }
            let idx = self.head(DUE);
            let Some(node) = self.nodes.get(idx as usize).copied() else { return true };
            self.unlink(idx);
            if node.deadline_tick <= self.now_tick {
                self.len = self.len.saturating_sub(1);
                expired.push(idx);
            } else {
                self.link(idx, node.deadline_tick);
            }
        }
        !self.make_due(target)
    }

    /// When to call [`Self::advance`] next: nothing expires before, though something need not expire then.
    pub fn next_ns(&self) -> Option<u64> {
        if self.head(DUE) != NIL {
            return Some(self.now_tick.saturating_mul(self.tick_ns));
        }
        self.next_place().map(|(_, start_tick)| start_tick.saturating_mul(self.tick_ns))
    }

    /// Number of indexes with a deadline.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no index has a deadline.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes reserved, of which the operating system provides what was written.
    pub fn memory(&self) -> usize {
        self.nodes.memory() + size_of_val(&*self.heads) + size_of_val(&self.occupied)
    }

    #[inline(never)]
    fn place_anew(&mut self, idx: u32, deadline_tick: u64) -> bool {
        if idx >= self.limit {
            return false;
        }
        while self.nodes.len() <= idx as usize {
            self.nodes.push(Node { deadline_tick: 0, before: NIL, after: NIL, place: NOWHERE });
        }
        if !self.unlink(idx) {
            self.len += 1;
        }
        self.link(idx, deadline_tick);
        true
    }

    /// Makes the list of what is due non-empty if anything is placed up to `target`; else moves time there.
    fn make_due(&mut self, target: u64) -> bool {
        if self.head(DUE) != NIL {
            return true;
        }
        match self.next_place() {
            Some((place, start_tick)) if start_tick <= target => {
                self.now_tick = start_tick;
                let first = self.head(place);
                self.set_head(place, NIL);
                self.set_head(DUE, first);
                true
            }
            _ => {
                self.now_tick = target;
                false
            }
        }
    }

    /// The next place with a list, and the first tick it stands for. The lower the level, the earlier.
    fn next_place(&self) -> Option<(usize, u64)> {
        self.occupied.iter().enumerate().find_map(|(level, occupied)| {
            let shift = level as u32 * LEVEL_BITS;
            let digit = (self.now_tick >> shift) as u32 % LEVEL_PLACES as u32;
            let later = occupied & (u64::MAX << digit) & !(1 << digit);
            let place = later.checked_ilog2().map(|_| later.trailing_zeros())?;
            let above = self.now_tick.checked_shr(shift + LEVEL_BITS).unwrap_or(0);
            let start_tick = above.checked_shl(shift + LEVEL_BITS).unwrap_or(0) | u64::from(place) << shift;
            Some((level * LEVEL_PLACES + place as usize, start_tick))
        })
    }

    /// Place of a deadline: the level is that of the highest digit in which it differs from the current tick.
    fn place_of(&self, deadline_tick: u64) -> usize {
        if deadline_tick <= self.now_tick {
            return DUE;
        }
        let level = (deadline_tick ^ self.now_tick).checked_ilog2().unwrap_or(0) / LEVEL_BITS;
        let digit = (deadline_tick >> (level * LEVEL_BITS)) as usize % LEVEL_PLACES;
        level as usize * LEVEL_PLACES + digit
    }

    fn head(&self, place: usize) -> u32 {
        self.heads.get(place).copied().unwrap_or(NIL)
    }

    fn set_head(&mut self, place: usize, idx: u32) {
        if let Some(head) = self.heads.get_mut(place) {
            *head = idx;
        }
        if let Some(occupied) = self.occupied.get_mut(place / LEVEL_PLACES) {
            let bit = 1 << (place % LEVEL_PLACES);
            *occupied = if idx == NIL { *occupied & !bit } else { *occupied | bit };
        }
    }

    fn link(&mut self, idx: u32, deadline_tick: u64) {
        let place = self.place_of(deadline_tick);
        let after = self.head(place);
        if let Some(next) = self.nodes.get_mut(after as usize) {
            next.before = idx;
        }
        if let Some(node) = self.nodes.get_mut(idx as usize) {
            *node = Node { deadline_tick, before: NIL, after, place: place as u16 };
        }
        self.set_head(place, idx);
    }

    /// Takes an index out of its list, if it is in one.
    fn unlink(&mut self, idx: u32) -> bool {
        let Some(node) = self.nodes.get_mut(idx as usize) else { return false };
        if node.place == NOWHERE {
            return false;
        }
        let Node { before, after, place, .. } = *node;
        node.place = NOWHERE;
        if let Some(next) = self.nodes.get_mut(after as usize) {
            next.before = before;
        }
        if let Some(previous) = self.nodes.get_mut(before as usize) {
            previous.after = after;
        } else {
            // The nodes of a list moved to what is due keep their former place: the head tells where the first is.
            let is_due = self.head(DUE) == idx;
            self.set_head(if is_due { DUE } else { usize::from(place) }, after);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Schedules (index, deadline) and shows what expires at each time.
    fn check(tick_ns: u64, deadlines: &[(u32, u64)], times: &[u64], expected: Expect) {
        let mut wheel = TimeWheel::new(tick_ns, 100);
        let mut shown = String::new();
        for (idx, deadline_ns) in deadlines {
            if !wheel.schedule(*idx, *deadline_ns) {
                shown += &format!("refused {idx}\n");
            }
        }
        for now_ns in times {
            let mut expired = Vec::new();
            wheel.advance(*now_ns, usize::MAX, &mut expired);
            expired.sort();
            shown += &format!("{now_ns}: {expired:?} next {:?}\n", wheel.next_ns());
        }
        expected.assert_eq(&shown);
    }

    #[test]
    fn indexes_expire_at_the_first_tick_from_their_deadline_on() {
        check(
            10,
            &[(1, 0), (2, 10), (3, 11), (4, 20), (5, 1_000_000), (100, 5)],
            &[0, 9, 10, 19, 20, 999_999, 1_000_000],
            expect![[r#"
                refused 100
                0: [1] next Some(10)
                9: [] next Some(10)
                10: [2] next Some(20)
                19: [] next Some(20)
                20: [3, 4] next Some(983040)
                999999: [] next Some(1000000)
                1000000: [5] next None
            "#]],
        );
    }

    #[test]
    fn a_later_schedule_replaces_an_earlier_one() {
        check(
            1,
            &[(1, 100), (1, 5000), (2, 5000), (2, 100), (3, u64::MAX)],
            &[100, 4999, 5000, u64::MAX - 1, u64::MAX],
            expect![[r#"
                100: [2] next Some(4096)
                4999: [] next Some(5000)
                5000: [1] next Some(17293822569102704640)
                18446744073709551614: [] next Some(18446744073709551615)
                18446744073709551615: [3] next None
            "#]],
        );
    }

    #[test]
    fn the_work_of_one_call_is_limited() {
        let mut wheel = TimeWheel::new(1, 1000);
        (0..1000).for_each(|idx| assert!(wheel.schedule(idx, 7)));
        let mut expired = Vec::new();
        assert!(!wheel.advance(10, 300, &mut expired));
        assert_eq!((expired.len(), wheel.len()), (300, 700));
        assert!(wheel.advance(10, 700, &mut expired));
        assert_eq!((expired.len(), wheel.len()), (1000, 0));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Schedule(u32, u64),
        Cancel(u32),
        Advance(u64, usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        let span =
            || prop_oneof![0..100u64, 0..5000u64, 0..1_000_000u64, any::<u64>().prop_map(|span| span >> 2)];
        prop_oneof![
            8 => (0..40u32, span()).prop_map(|(idx, span)| Step::Schedule(idx, span)),
            2 => (0..40u32).prop_map(Step::Cancel),
            4 => (span(), prop_oneof![Just(usize::MAX), 0..8usize]).prop_map(|(span, n)| Step::Advance(span, n)),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_a_list_of_deadlines(
            tick_ns in prop::sample::select(vec![1u64, 7, 1000]),
            steps in prop::collection::vec(step(), 0..200),
        ) {
            let mut wheel = TimeWheel::new(tick_ns, 40);
            let mut naive = BTreeMap::<u32, u64>::new();
            let mut now_ns = 0u64;
            for step in steps {
                match step {
                    Step::Schedule(idx, span) => {
                        let deadline_ns = now_ns.saturating_add(span);
                        prop_assert!(wheel.schedule(idx, deadline_ns));
                        naive.insert(idx, deadline_ns.div_ceil(tick_ns));
                    }
                    Step::Cancel(idx) => prop_assert_eq!(wheel.cancel(idx), naive.remove(&idx).is_some()),
                    Step::Advance(span, n_visits) => {
                        now_ns = now_ns.saturating_add(span);
                        let mut expired = Vec::new();
                        let is_done = wheel.advance(now_ns, n_visits, &mut expired);
                        for idx in expired {
                            let deadline_tick = naive.remove(&idx);
                            prop_assert!(deadline_tick.is_some_and(|tick| tick <= now_ns / tick_ns), "early {}", idx);
                        }
                        if is_done {
                            prop_assert!(naive.values().all(|tick| *tick > now_ns / tick_ns), "late");
                        }
                        prop_assert!(is_done || n_visits != usize::MAX);
                    }
                }
                prop_assert_eq!(wheel.len(), naive.len());
                prop_assert_eq!(wheel.next_ns().is_none(), naive.is_empty());
                let earliest = naive.values().min().map(|tick| tick.saturating_mul(tick_ns).max(now_ns));
                prop_assert!(wheel.next_ns() <= earliest);
                for idx in 0..40 {
                    let expected = naive.get(&idx).map(|tick| tick.saturating_mul(tick_ns));
                    prop_assert_eq!(wheel.deadline_ns(idx), expected);
                }
            }
        }
    }
}
