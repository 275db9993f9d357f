//! The order in which Click lists mappings.
//!
//! Click's tables are listed bucket by bucket. Which bucket a mapping is in, and where in it, follows from the order of
//! insertions and the moments at which the table grew; both are known, so that the order can be worked out when somebody
//! asks.

use super::flow_id::FlowId;

/// The growth of one of Click's tables.
pub struct Buckets {
    first: u32,
    now: u32,
    /// Sequence numbers of the flows after which the table grew.
    grown_at: Vec<u64>,
}

impl Buckets {
    /// A table with this many buckets.
    pub fn new(n: u32) -> Buckets {
        Buckets { first: n, now: n, grown_at: Vec::new() }
    }

    /// Lets the table grow if it must with so many entries, the next flow being number `next`.
    pub fn grow(&mut self, n_entries: u64, next: u64) {
        if n_entries > 2 * u64::from(self.now) {
            self.now = grown(self.now);
            self.grown_at.push(next);
        }
    }

    /// The links of entries, sorted by sequence number, in the order of the table.
    pub fn order(&self, entries: &[(u64, u32, FlowId)]) -> Vec<u32> {
        let mut table = vec![Vec::new(); self.first as usize];
        let mut entries = entries.iter().peekable();
        for grown_at in self.grown_at.iter().copied().chain([u64::MAX]) {
            while let Some((_, link, id)) = entries.next_if(|(sequence, ..)| *sequence < grown_at) {
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

fn grown(n: u32) -> u32 {
    n.saturating_mul(2).saturating_add(1)
}

fn add(table: &mut [Bucket], link: u32, id: FlowId) {
    let at = click_hash(&id).checked_rem(table.len() as u32).unwrap_or(0);
    if let Some(bucket) = table.get_mut(at as usize) {
        bucket.push((link, id));
    }
}

fn rehashed(old: Vec<Bucket>) -> Vec<Bucket> {
    let mut table = vec![Vec::new(); grown(old.len() as u32) as usize];
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
