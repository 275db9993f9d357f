//! Fast paths behind several outputs of an element, which end at one place.

use packet::Batch;

use super::{Egress, FastPath};
use crate::Verdict;

/// The fast path behind each output. Packets for an output without one, or that are to be dropped, are not plain.
#[derive(Clone, Debug)]
pub struct Fan {
    paths: Vec<Option<Egress>>,
    /// How many of the first outputs have paths along which nothing is done to any packet.
    n_straight: usize,
}

impl FromIterator<Option<FastPath>> for Fan {
    fn from_iter<I: IntoIterator<Item = Option<FastPath>>>(paths: I) -> Fan {
        let egress = |path| match path {
            Some(FastPath::Egress(path)) => Some(path),
            _ => None,
        };
        let paths: Vec<Option<Egress>> = paths.into_iter().map(egress).collect();
        let is_straight = |path: &&Option<Egress>| path.as_ref().is_some_and(Egress::takes_all);
        let n_straight = paths.iter().take_while(is_straight).count();
        Fan { paths, n_straight }
    }
}

impl Fan {
    /// Takes packets along the paths of the outputs that their verdicts say, of which `most` is the highest, up to the first that is
    /// not plain. How many it took.
    #[inline(never)]
    pub fn take(&self, batch: &mut Batch, verdicts: &[Verdict], most: Verdict) -> usize {
        if (most.0 as usize) < self.n_straight {
            return batch.len();
        }
        let mut packets = batch.iter_mut().zip(verdicts);
        let special = packets.position(|(packet, verdict)| {
            path(&self.paths, *verdict).is_none_or(|path| !path.take_one(packet))
        });
        special.unwrap_or(batch.len())
    }
}

/// The path behind the output that a verdict says.
#[inline(always)]
fn path(paths: &[Option<Egress>], verdict: Verdict) -> Option<&Egress> {
    paths.get(verdict.output()?)?.as_ref()
}
