//! Counting matches: `threshold` and `detection_filter`.

use table::flow::FlowTable;

use crate::packet::View;
use crate::rules::{Threshold, ThresholdKind, Track};

/// Most counts that are kept.
const MAX_COUNTS: u32 = 65_536;
const SECOND_NS: i64 = 1_000_000_000;

/// The counts of all rules.
pub struct Thresholds {
    table: FlowTable<(u32, u128), Count>,
    /// The index of the count that goes next if there are too many.
    hand: u32,
}

#[derive(Clone, Copy)]
struct Count {
    begin_ns: i64,
    n_matches: u32,
}

impl Default for Thresholds {
    fn default() -> Thresholds {
        Thresholds { table: FlowTable::new(MAX_COUNTS), hand: 0 }
    }
}

impl Thresholds {
    /// Counts a match of a rule; whether it is to be told.
    pub fn passes(&mut self, rule: u32, threshold: &Threshold, view: &View<'_>, now_ns: i64) -> bool {
        let host = match threshold.track {
            Track::Source => view.source,
            Track::Destination => view.destination,
            Track::Rule => 0,
        };
        let Some(count) = self.count(rule, host, now_ns) else { return true };
        // Where the clock was set back, no count waits for it.
        count.begin_ns = count.begin_ns.min(now_ns);
        if now_ns.saturating_sub(count.begin_ns) >= i64::from(threshold.seconds) * SECOND_NS {
            *count = Count { begin_ns: now_ns, n_matches: 0 };
        }
        count.n_matches = count.n_matches.saturating_add(1);
        match threshold.kind {
            ThresholdKind::Limit => count.n_matches <= threshold.count,
            ThresholdKind::Both => count.n_matches == threshold.count,
            ThresholdKind::After => count.n_matches > threshold.count,
            ThresholdKind::Threshold => {
                let is_told = count.n_matches >= threshold.count;
                if is_told {
                    count.n_matches = 0;
                }
                is_told
            }
        }
    }

    fn count(&mut self, rule: u32, host: u128, now_ns: i64) -> Option<&mut Count> {
        let key = (rule, host);
        let idx = match self.table.find(&key) {
            Some(idx) => idx,
            None => {
                if self.table.is_full() {
                    self.table.remove(self.hand);
                    self.hand = (self.hand + 1) % MAX_COUNTS;
                }
                self.table.insert(key, Count { begin_ns: now_ns, n_matches: 0 }).ok()?
            }
        };
        self.table.get_mut(idx).map(|(_, count)| count)
    }
}
