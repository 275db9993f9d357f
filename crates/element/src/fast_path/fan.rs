//! Fast paths behind several outputs of an element, which end at one place.

use packet::Batch;

use super::{Egress, FastPath};
use crate::Verdict;

/// The fast path behind each output. Packets for an output without one, or that are to be dropped, are not plain.
#[derive(Clone, Debug)]
pub enum Fan {
    /// Nothing is done to any packet; whether each output ends there, and how many of the first all do.
    Straight(Vec<bool>, usize),
    /// Each packet goes along the path of its output.
    Lanes(Vec<Option<Egress>>),
}

impl FromIterator<Option<FastPath>> for Fan {
    fn from_iter<I: IntoIterator<Item = Option<FastPath>>>(paths: I) -> Fan {
        let egress = |path| match path {
            Some(FastPath::Egress(path)) => Some(path),
            _ => None,
        };
        let paths: Vec<Option<Egress>> = paths.into_iter().map(egress).collect();
        if !paths.iter().flatten().all(Egress::takes_all) {
            return Fan::Lanes(paths);
        }
        let n_first = paths.iter().take_while(|path| path.is_some()).count();
        Fan::Straight(paths.iter().map(Option::is_some).collect(), n_first)
    }
}

impl Fan {
    /// Takes packets along the paths of the outputs that their verdicts say, of which `most` is the highest, up to the first that is
    /// not plain. How many it took.
    #[inline(never)]
    pub fn take(&self, batch: &mut Batch, verdicts: &[Verdict], most: Verdict) -> usize {
        let mut packets = batch.iter_mut().zip(verdicts);
        let special = match self {
            Fan::Straight(_, n_first) if (most.0 as usize) < *n_first => None,
            Fan::Straight(ends, _) => packets.position(|(_, verdict)| !is_end(ends, *verdict)),
            Fan::Lanes(paths) => packets.position(|(packet, verdict)| {
                path(paths, *verdict).is_none_or(|path| !path.take_one(packet))
            }),
        };
        special.unwrap_or(batch.len())
    }
}

/// Whether the output that a verdict says ends where all do.
#[inline(always)]
fn is_end(ends: &[bool], verdict: Verdict) -> bool {
    verdict.output().and_then(|output| ends.get(output)).is_some_and(|is_end| *is_end)
}

/// The path behind the output that a verdict says.
#[inline(always)]
fn path(paths: &[Option<Egress>], verdict: Verdict) -> Option<&Egress> {
    paths.get(verdict.output()?)?.as_ref()
}
