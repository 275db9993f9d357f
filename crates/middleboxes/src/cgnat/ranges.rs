//! The external addresses: a list of ranges, each address with an index.

use std::net::Ipv4Addr;

use args::Scope;

/// Most addresses of a pool.
const MOST_ADDRESSES: u64 = 1 << 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: u32,
    last: u32,
    first_index: u32,
}

/// Ranges of addresses, ascending and apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges {
    list: Vec<Range>,
    len: u32,
}

impl Ranges {
    /// Parses addresses, prefixes and ranges `FIRST-LAST`, separated by spaces.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<Ranges, String> {
        let mut ends: Vec<(u32, u32)> = Vec::new();
        for word in args::split_words(text) {
            ends.push(range(&word, scope).ok_or_else(|| format!("bad addresses '{word}'"))?);
        }
        ends.sort_unstable();
        let is_apart = ends.windows(2).all(|pair| pair[0].1 < pair[1].0);
        let n_addresses: u64 = ends.iter().map(|(first, last)| u64::from(last - first) + 1).sum();
        match n_addresses {
            0 => Err("no addresses".to_string()),
            _ if !is_apart => Err("addresses are given twice".to_string()),
            _ if n_addresses > MOST_ADDRESSES => Err(format!("more than {MOST_ADDRESSES} addresses")),
            _ => Ok(Ranges::of(&ends)),
        }
    }

    fn of(ends: &[(u32, u32)]) -> Ranges {
        let mut ranges = Ranges::default();
        for &(first, last) in ends {
            ranges.list.push(Range { first, last, first_index: ranges.len });
            ranges.len += last - first + 1;
        }
        ranges
    }

    /// Number of addresses.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The index of an address.
    #[inline(always)]
    pub fn index(&self, address: u32) -> Option<u32> {
        let range = match self.list.as_slice() {
            [range] => range,
            list => list.get(list.partition_point(|range| range.last < address))?,
        };
        (range.first <= address && address <= range.last).then(|| range.first_index + (address - range.first))
    }

    /// The address with an index; 0.0.0.0 if there is none.
    #[inline]
    pub fn address(&self, index: u32) -> u32 {
        let behind = self.list.partition_point(|range| range.first_index <= index);
        let range = behind.checked_sub(1).and_then(|at| self.list.get(at));
        range.map_or(0, |range| range.first.saturating_add(index - range.first_index).min(range.last))
    }
}

fn range(word: &str, scope: &Scope<'_>) -> Option<(u32, u32)> {
    if let Some((first, last)) = word.split_once('-') {
        let ends = (args::ip(first, scope).ok()?.to_bits(), args::ip(last, scope).ok()?.to_bits());
        return (ends.0 <= ends.1).then_some(ends);
    }
    let prefix = args::prefix_or_address(word, scope).ok()?;
    prefix.len()?;
    let first = prefix.network().to_bits();
    Some((first, first | !prefix.mask.to_bits()))
}

/// Parses prefixes and addresses separated by spaces.
pub fn prefixes(text: &str, scope: &Scope<'_>) -> Result<Vec<args::Prefix>, String> {
    let words = args::split_words(text);
    words
        .iter()
        .map(|word| args::prefix_or_address(word, scope).map_err(|_| format!("bad prefix '{word}'")))
        .collect()
}

/// Whether an address is in one of the prefixes.
pub fn contain(prefixes: &[args::Prefix], address: u32) -> bool {
    prefixes.iter().any(|prefix| prefix.contains(Ipv4Addr::from(address)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Ranges, String> {
        Ranges::parse(text, &Scope::builtin())
    }

    #[test]
    fn addresses_have_indexes_in_order_and_back() {
        let ranges = parse("203.0.113.64-203.0.113.66 198.51.100.0/30 203.0.113.9").unwrap();
        let addresses: Vec<String> =
            (0..ranges.len()).map(|index| Ipv4Addr::from(ranges.address(index)).to_string()).collect();
        assert_eq!(
            addresses.join(" "),
            "198.51.100.0 198.51.100.1 198.51.100.2 198.51.100.3 203.0.113.9 203.0.113.64 203.0.113.65 203.0.113.66"
        );
        for index in 0..ranges.len() {
            assert_eq!(ranges.index(ranges.address(index)), Some(index));
        }
        for outside in
            ["198.51.99.255", "198.51.100.4", "203.0.113.8", "203.0.113.67", "0.0.0.0", "255.255.255.255"]
        {
            assert_eq!(ranges.index(outside.parse::<Ipv4Addr>().unwrap().to_bits()), None, "{outside}");
        }
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(parse(""), Err("no addresses".to_string()));
        assert_eq!(parse("10.0.0.1 x"), Err("bad addresses 'x'".to_string()));
        assert_eq!(parse("10.0.0.2-10.0.0.1"), Err("bad addresses '10.0.0.2-10.0.0.1'".to_string()));
        assert_eq!(parse("10.0.0.0/8"), Err("more than 65536 addresses".to_string()));
        assert_eq!(parse("10.0.0.0/30 10.0.0.3"), Err("addresses are given twice".to_string()));
    }
}
