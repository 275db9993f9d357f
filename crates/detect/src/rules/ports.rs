//! Sets of ports: lists, ranges, negations and variables.

use super::parse::Variables;
use super::text::{Mistake, Piece};

const N_PORTS: u32 = 1 << 16;

/// A set of ports, as ranges in order that do not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ports {
    ranges: Vec<(u16, u16)>,
}

impl Default for Ports {
    /// All ports.
    fn default() -> Ports {
        Ports { ranges: vec![(0, u16::MAX)] }
    }
}

impl Ports {
    /// Whether all ports belong to it.
    pub fn is_any(&self) -> bool {
        self.ranges == [(0, u16::MAX)]
    }

    /// Whether a port belongs to it.
    #[inline]
    pub fn contains(&self, port: u16) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&port))
    }

    /// The ports, if there are at most `most`.
    pub fn few(&self, most: usize) -> Option<Vec<u16>> {
        let n_ports: usize = self.ranges.iter().map(|(first, last)| usize::from(last - first) + 1).sum();
        (n_ports <= most).then(|| self.ranges.iter().flat_map(|(first, last)| *first..=*last).collect())
    }

    /// Reads a set, such as `any`, `80`, `1024:`, `!21` or `[80,8000:8100,!8080]`.
    pub fn parse(piece: Piece<'_>, variables: &Variables) -> Result<Ports, (usize, Mistake)> {
        let (mut within, mut without) = (Vec::new(), Vec::new());
        add(piece, false, variables, &mut within, &mut without)?;
        if within.is_empty() {
            within.push((0, u16::MAX));
        }
        let ports = Ports { ranges: subtract(&within, &without) };
        if ports.ranges.is_empty() {
            return Err((piece.offset, Mistake::new("no port is left", "name what is meant")));
        }
        Ok(ports)
    }
}

fn add(
    piece: Piece<'_>,
    is_negated: bool,
    variables: &Variables,
    within: &mut Vec<(u16, u16)>,
    without: &mut Vec<(u16, u16)>,
) -> Result<(), (usize, Mistake)> {
    if let Some(rest) = piece.after("!") {
        return add(rest, !is_negated, variables, within, without);
    }
    if let Some(list) = piece.inside_brackets() {
        let mut items = list.split_list().into_iter();
        return items.try_for_each(|item| add(item, is_negated, variables, within, without));
    }
    let list = if is_negated { without } else { within };
    if let Some(name) = piece.after("$") {
        let ports = variables.ports(name).map_err(|mistake| (piece.offset, mistake))?;
        list.extend(&ports.ranges);
    } else {
        list.push(range(piece.text).map_err(|mistake| (piece.offset, mistake))?);
    }
    Ok(())
}

fn range(text: &str) -> Result<(u16, u16), Mistake> {
    let wrong = || {
        Mistake::new(
            format!("`{text}` is no port"),
            "write `80`, `8000:8100`, `:1023`, `1024:`, `any`, `$NAME` or a list in brackets",
        )
    };
    if text.eq_ignore_ascii_case("any") {
        return Ok((0, u16::MAX));
    }
    let port = |text: &str, default: u16| match text.trim() {
        "" => Ok(default),
        text => text.parse().map_err(|_| wrong()),
    };
    let (first, last) = match text.split_once(':') {
        Some((first, last)) => (port(first, 0)?, port(last, u16::MAX)?),
        None if text.is_empty() => return Err(wrong()),
        None => (port(text, 0)?, port(text, 0)?),
    };
    (first <= last).then_some((first, last)).ok_or_else(wrong)
}

/// The ports of `within` that are not in `without`, in ranges that do not touch.
fn subtract(within: &[(u16, u16)], without: &[(u16, u16)]) -> Vec<(u16, u16)> {
    let has = |ranges: &[(u16, u16)], port: u16| ranges.iter().any(|(a, b)| (*a..=*b).contains(&port));
    // Membership changes at the ends of ranges only.
    let mut edges: Vec<u32> = within
        .iter()
        .chain(without)
        .flat_map(|(first, last)| [u32::from(*first), u32::from(*last) + 1])
        .chain([0, N_PORTS])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for pair in edges.windows(2) {
        let [from, to] = *pair else { continue };
        let (Ok(first), Ok(last)) = (u16::try_from(from), u16::try_from(to - 1)) else { continue };
        if !has(within, first) || has(without, first) {
            continue;
        }
        match ranges.last_mut() {
            Some(range) if u32::from(range.1) + 1 == from => range.1 = last,
            _ => ranges.push((first, last)),
        }
    }
    ranges
}
