//! The order in which Click lists mappings.
//!
//! Click's tables are listed bucket by bucket. Which bucket a mapping is in, and where in it, follows from the order of
//! insertions and the moments at which the table grew; both are known, so that the order can be worked out when somebody
//! asks.

use super::flow_id::FlowId;

/// The growth of one of Click's tables.
#[derive(Default)]
pub struct Buckets {
    /// Sequence numbers of the flows after which the table grew.
    grown_at: Vec<u64>,
}

impl Buckets {
    /// Lets the table grow if it must with so many entries, the next flow being number `next`.
    pub fn grow(&mut self, n_entries: u64, next: u64) {
        // There is one bucket at first, and one more than twice as many after each growth.
        let n_buckets = 1u64.checked_shl(self.grown_at.len() as u32 + 1).map_or(u64::MAX, |n| n - 1);
        if n_entries > n_buckets.saturating_mul(2) {
            self.grown_at.push(next);
        }
    }

    /// The links of entries, sorted by the sequence numbers of their flows and their directions, in the order of the table.
    pub fn order(&self, entries: &[((u64, u32), u32, FlowId)]) -> Vec<u32> {
        let mut table = vec![Vec::new()];
        let mut entries = entries.iter().peekable();
        for grown_at in self.grown_at.iter().copied().chain([u64::MAX]) {
            while let Some((_, link, id)) = entries.next_if(|((sequence, _), ..)| *sequence < grown_at) {
                add(&mut table, *link, *id);
            }
            if grown_at != u64::MAX {
                table = rehashed(table);
            }
        }
        // Each bucket's list is kept with its head last.
        table.into_iter().flat_map(|bucket| bucket.into_iter().rev().map(|(link, _)| link)).collect()
    }
}

type Bucket = Vec<(u32, FlowId)>;

fn add(table: &mut [Bucket], link: u32, id: FlowId) {
    let at = click_hash(&id).checked_rem(u32::try_from(table.len()).unwrap_or(u32::MAX)).unwrap_or(0);
    if let Some(bucket) = table.get_mut(at as usize) {
        bucket.push((link, id));
    }
}

fn rehashed(old: Vec<Bucket>) -> Vec<Bucket> {
    let mut table = vec![Vec::new(); old.len() * 2 + 1];
    for (link, id) in old.into_iter().flat_map(|bucket| bucket.into_iter().rev()) {
        add(&mut table, link, id);
    }
    table
}

/// Click's hash of a flow identifier.
fn click_hash(id: &FlowId) -> u32 {
    let (src, dst) = (id.src.swap_bytes(), id.dst.swap_bytes());
    let src = src.rotate_left(u32::from(id.sport % 16) + 1);
    let dst = dst.rotate_left(31 - u32::from(id.dport % 16));
    src ^ dst ^ (u32::from(id.dport) << 16 | u32::from(id.sport))
}
