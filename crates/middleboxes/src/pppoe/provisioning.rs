//! What is provisioned: who may come in, which addresses there are, and sessions that last.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::Ipv4Addr;

use args::Scope;
use wire::MacAddress;

use crate::accounting::Rate;

/// Somebody who may come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// Secret, for PAP and CHAP.
    pub secret: String,
    /// The address of its own, if it has one.
    pub address: Option<Ipv4Addr>,
    /// Rates up and down, if it has its own.
    pub rates: Option<(Rate, Rate)>,
}

impl User {
    /// Reads `NAME SECRET [ADDRESS or * [UP [DOWN]]]`.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<User, String> {
        let words = args::split_words(text);
        let [name, secret, rest @ ..] = &words[..] else {
            return Err("expected `NAME SECRET [ADDRESS [UP [DOWN]]]`".to_string());
        };
        let address = match rest.first().map(String::as_str) {
            None | Some("*") => None,
            Some(address) => Some(args::ip(address, scope).map_err(|_| format!("bad address `{address}`"))?),
        };
        let rates = rest.get(1..).filter(|words| !words.is_empty()).map(Rate::parse_both).transpose()?;
        Ok(User { name: args::unquote_text(name), secret: args::unquote_text(secret), address, rates })
    }

    /// Reads lines; those that are empty or begin with `#` say nothing.
    pub fn parse_lines(text: &str, scope: &Scope<'_>) -> Result<Vec<User>, String> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let users = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        users.map(|(n, line)| User::parse(line, scope).map_err(|error| format!("{n}: {error}"))).collect()
    }
}

/// Those who may come in.
#[derive(Default)]
pub struct Users {
    by_name: HashMap<String, User>,
    addresses: HashSet<Ipv4Addr>,
}

impl Users {
    /// Of two with one name the later one counts.
    pub fn new(list: impl IntoIterator<Item = User>) -> Users {
        let by_name: HashMap<String, User> = list.into_iter().map(|user| (user.name.clone(), user)).collect();
        let addresses = by_name.values().filter_map(|user| user.address).collect();
        Users { by_name, addresses }
    }

    /// The user of this name.
    pub fn get(&self, name: &[u8]) -> Option<&User> {
        self.by_name.get(std::str::from_utf8(name).ok()?)
    }

    /// Whether the address is somebody's own.
    pub fn owns(&self, address: Ipv4Addr) -> bool {
        self.addresses.contains(&address)
    }

    /// Name, address and rates of each, a line each; no secrets.
    pub fn unparse(&self) -> String {
        let mut users: Vec<&User> = self.by_name.values().collect();
        users.sort_by(|a, b| a.name.cmp(&b.name));
        let line = |user: &&User| {
            let address = user.address.map_or("*".to_string(), |address| address.to_string());
            let rate = |rate: Rate| args::unparse_bandwidth(rate.0);
            let rates = user.rates.map(|(up, down)| format!(" {} {}", rate(up), rate(down)));
            format!("{} {address}{}\n", user.name, rates.unwrap_or_default())
        };
        users.iter().map(line).collect()
    }
}

/// Addresses to give away: those given back are given again last.
#[derive(Default)]
pub struct Pool {
    ranges: Vec<(u32, u32)>,
    /// The first address of each range that was never given.
    fresh: VecDeque<(u32, u32)>,
    returned: VecDeque<u32>,
    taken: HashSet<u32>,
}

impl Pool {
    /// Reads `PREFIX`, whose first and last address are left out, or `FIRST-LAST`.
    pub fn parse_range(text: &str, scope: &Scope<'_>) -> Result<(u32, u32), String> {
        if let Some((first, last)) = text.split_once('-') {
            let ends = (args::ip(first.trim(), scope)?.to_bits(), args::ip(last.trim(), scope)?.to_bits());
            return if ends.0 <= ends.1 { Ok(ends) } else { Err("ends before it begins".to_string()) };
        }
        let prefix = args::prefix_or_address(text, scope)?;
        let len = prefix.len().ok_or_else(|| "not a prefix".to_string())?;
        let first = prefix.network().to_bits();
        let last = first | !prefix.mask.to_bits();
        Ok(if len <= 30 { (first + 1, last - 1) } else { (first, last) })
    }

    /// Addresses of these ranges, from the first to the last.
    pub fn new(ranges: &[(u32, u32)]) -> Pool {
        Pool { ranges: ranges.to_vec(), fresh: ranges.iter().copied().collect(), ..Pool::default() }
    }

    /// Gives an address away that is not reserved, if there is one.
    pub fn allocate(&mut self, is_reserved: impl Fn(Ipv4Addr) -> bool) -> Option<Ipv4Addr> {
        while let Some((first, last)) = self.fresh.front_mut() {
            let address = *first;
            if first < last {
                *first += 1;
            } else {
                self.fresh.pop_front();
            }
            if is_reserved(address.into()) {
                self.returned.push_back(address);
            } else if self.taken.insert(address) {
                return Some(address.into());
            }
        }
        for _ in 0..self.returned.len() {
            let address = self.returned.pop_front()?;
            if !is_reserved(address.into()) && self.taken.insert(address) {
                return Some(address.into());
            }
            self.returned.push_back(address);
        }
        None
    }

    /// Takes an address, be it of the pool or not; false if it is taken.
    pub fn take(&mut self, address: Ipv4Addr) -> bool {
        self.taken.insert(address.to_bits())
    }

    /// Takes an address back.
    pub fn release(&mut self, address: Ipv4Addr) {
        let bits = address.to_bits();
        let is_ours = self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&bits));
        let is_fresh = self.fresh.iter().any(|(first, last)| (*first..=*last).contains(&bits));
        if self.taken.remove(&bits) && is_ours && !is_fresh && !self.returned.contains(&bits) {
            self.returned.push_back(bits);
        }
    }
}

/// A session that lasts, without discovery and PPP's negotiations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provision {
    /// The subscriber's station.
    pub station: MacAddress,
    /// The session's number.
    pub id: u16,
    /// The subscriber's address.
    pub address: Ipv4Addr,
    /// Rates up and down, if it has its own.
    pub rates: Option<(Rate, Rate)>,
}

/// Numbers of sessions: 0 stands for none, 0xffff is reserved (RFC 2516, section 4).
pub const MAX_ID: u16 = 0xfffe;

impl Provision {
    /// Reads `MAC ID ADDRESS [UP [DOWN]]`.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<Provision, String> {
        let words = args::split_words(text);
        let [station, id, address, rates @ ..] = &words[..] else {
            return Err("expected `MAC ID ADDRESS [UP [DOWN]]`".to_string());
        };
        let station = args::ether(station, scope).map_err(|_| format!("bad Ethernet address `{station}`"))?;
        let id: u16 = args::bounded_integer(id, 1, MAX_ID).map_err(|_| format!("bad session `{id}`"))?;
        let address = args::ip(address, scope).map_err(|_| format!("bad address `{address}`"))?;
        let rates = (!rates.is_empty()).then(|| Rate::parse_both(rates)).transpose()?;
        if station.is_group() || station.0 == [0; 6] || address.is_unspecified() {
            return Err("neither station nor address may be zero or a group's".to_string());
        }
        Ok(Provision { station: station.0, id, address, rates })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn users(text: &str) -> Result<String, String> {
        User::parse_lines(text, &Scope::builtin()).map(|list| Users::new(list).unparse())
    }

    #[test]
    fn users_are_lines_of_words() {
        let text = "# the first\n\nbob s3cret\nann \"se cret\" 1.0.0.9 1Mbps 8Mbps\nbob s * 2Mbps\n";
        assert_eq!(users(text).unwrap(), "ann 1.0.0.9 1Mbps 8Mbps\nbob * 2Mbps 2Mbps\n");
        let list = User::parse_lines(text, &Scope::builtin()).unwrap();
        assert_eq!(list[1].secret, "se cret");
        assert_eq!(users("x"), Err("1: expected `NAME SECRET [ADDRESS [UP [DOWN]]]`".to_string()));
        assert_eq!(users("\nx y 1.2"), Err("2: bad address `1.2`".to_string()));
    }

    #[test]
    fn addresses_rest_before_they_are_given_again() {
        let range = |text| Pool::parse_range(text, &Scope::builtin());
        let mut pool = Pool::new(&[range("1.0.0.0/30").unwrap(), range("2.0.0.7-2.0.0.8").unwrap()]);
        let mut next =
            || pool.allocate(|address| address == Ipv4Addr::new(2, 0, 0, 7)).map(|a| a.to_string());
        assert_eq!(
            [next(), next(), next(), next()].map(|a| a.unwrap_or_default()),
            ["1.0.0.1", "1.0.0.2", "2.0.0.8", ""]
        );
        pool.release(Ipv4Addr::new(1, 0, 0, 2));
        pool.release(Ipv4Addr::new(1, 0, 0, 1));
        assert_eq!(pool.allocate(|_| false), Some(Ipv4Addr::new(2, 0, 0, 7)));
        assert_eq!(pool.allocate(|_| false), Some(Ipv4Addr::new(1, 0, 0, 2)));
        assert!(!pool.take(Ipv4Addr::new(1, 0, 0, 2)) && pool.take(Ipv4Addr::new(1, 0, 0, 1)));
        assert_eq!(pool.allocate(|_| false), None);
        assert!(range("2.0.0.8-2.0.0.7").is_err());
    }

    proptest! {
        #[test]
        fn no_address_is_given_twice(steps in prop::collection::vec((0u8..3, 0u32..12), 0..200)) {
            let mut pool = Pool::new(&[(3, 9)]);
            let mut held = HashSet::new();
            for (step, n) in steps {
                let address = Ipv4Addr::from(n);
                match step {
                    0 => if let Some(given) = pool.allocate(|a| a.to_bits() == 5) {
                        prop_assert!(held.insert(given) && (3..=9).contains(&given.to_bits()));
                    } else {
                        prop_assert!([3u32, 4, 6, 7, 8, 9].iter().all(|n| held.contains(&Ipv4Addr::from(*n))));
                    },
                    1 => prop_assert_eq!(pool.take(address), held.insert(address)),
                    _ => {
                        held.remove(&address);
                        pool.release(address);
                    }
                }
            }
        }
    }
}
