//! Source routes in IPv4 headers (RFC 791, section 3.1) and the way back along them.

use wire::ip_option as option;

/// A source route option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceRoute<'p> {
    /// Where in the header it begins.
    at: usize,
    bytes: &'p [u8],
    /// Bytes of it up to the next address to go to: those gone through.
    n_passed: usize,
}

/// The first usable source route of a header.
pub fn find(header: &[u8]) -> Option<SourceRoute<'_>> {
    let mut at = 20;
    loop {
        let kind = *header.get(at)?;
        match kind {
            option::NOP => at += 1,
            option::END => return None,
            _ => {
                let len = usize::from(*header.get(at + 1)?);
                let bytes = header.get(at..at + len).filter(|bytes| bytes.len() >= 2)?;
                let pointer = bytes.get(2).map_or(0, |pointer| usize::from(*pointer));
                let is_route = matches!(kind, option::LOOSE_ROUTE | option::STRICT_ROUTE);
                if is_route && pointer >= 4 && pointer % 4 == 0 && pointer <= len + 1 {
                    return Some(SourceRoute { at, bytes, n_passed: pointer - 1 });
                }
                at += len;
            }
        }
    }
}

impl SourceRoute<'_> {
    /// Whether the byte at this offset from the start of the header is part of the option.
    pub fn covers(&self, offset: usize) -> bool {
        (self.at..self.at + self.bytes.len()).contains(&offset)
    }

    /// The option that leads back through the addresses gone through, with the end of options behind it: a multiple of 4 bytes.
    pub fn reversed(&self) -> impl Iterator<Item = u8> + '_ {
        let kind = self.bytes.first().copied().unwrap_or(option::LOOSE_ROUTE);
        let passed = self.bytes.get(3..self.n_passed).unwrap_or_default();
        let addresses = passed.chunks_exact(4).rev().flatten().copied();
        [kind, self.n_passed as u8, 4].into_iter().chain(addresses).chain([option::END])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(options: &[u8]) -> Vec<u8> {
        [&[0; 20], options].concat()
    }

    #[test]
    fn the_way_back_is_the_way_gone_reversed() {
        let header = header(&[1, 131, 15, 12, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
        let route = find(&header).expect("there is a route");
        assert_eq!(route.reversed().collect::<Vec<_>>(), [131, 11, 4, 2, 2, 2, 2, 1, 1, 1, 1, 0]);
        assert!(!route.covers(20) && route.covers(21) && route.covers(35) && !route.covers(36));
    }

    #[test]
    fn a_route_at_its_start_leads_back_to_nobody() {
        let header = header(&[137, 7, 4, 1, 1, 1, 1, 0]);
        assert_eq!(find(&header).map(|route| route.reversed().collect()), Some(vec![137, 3, 4, 0]));
    }

    #[test]
    fn routes_with_wrong_lengths_or_pointers_are_none() {
        for options in
            [&[131, 7, 5, 1, 1, 1, 1][..], &[131, 7, 12, 1, 1, 1, 1], &[131, 40, 4], &[7, 1], &[131], &[0]]
        {
            assert_eq!(find(&header(options)), None, "{options:?}");
        }
    }

    proptest! {
        #[test]
        fn any_options_have_a_route_or_not(options: Vec<u8>) {
            if let Some(route) = find(&header(&options)) {
                prop_assert_eq!(route.reversed().count() % 4, 0);
            }
        }
    }
}
