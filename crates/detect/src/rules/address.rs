//! Sets of addresses: lists, negations, networks and variables.

use std::net::IpAddr;

use super::parse::Variables;
use super::text::{Mistake, Piece};

/// A set of addresses; empty lists mean all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addresses {
    within: Vec<Network>,
    without: Vec<Network>,
}

/// The addresses that have a prefix; IPv4 addresses are those of RFC 4291, section 2.5.5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    base: u128,
    mask: u128,
}

/// An address as a number.
pub fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_ipv6_mapped()),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// The address that a number stands for.
pub fn address(number: u128) -> IpAddr {
    IpAddr::V6(number.into()).to_canonical()
}

impl Addresses {
    /// Whether all addresses belong to it.
    pub fn is_any(&self) -> bool {
        self.within.is_empty() && self.without.is_empty()
    }

    /// Whether an address belongs to it.
    #[inline]
    pub fn contains(&self, address: u128) -> bool {
        let has = |networks: &[Network]| networks.iter().any(|net| address & net.mask == net.base);
        (self.within.is_empty() || has(&self.within)) && !has(&self.without)
    }

    /// Reads a set, such as `any`, `!10.0.0.0/8` or `[$HOME_NET,!10.0.0.1]`.
    pub fn parse(piece: Piece<'_>, variables: &Variables) -> Result<Addresses, (usize, Mistake)> {
        let mut addresses = Addresses::default();
        addresses.add(piece, false, variables)?;
        // No list is all there is.
        if addresses.within.iter().any(|net| net.mask == 0) {
            addresses.within.clear();
        }
        if addresses.within.is_empty() && addresses.without.iter().any(|net| net.mask == 0) {
            let mistake = Mistake::new("no address is left: `!any` excludes all", "name what is meant");
            return Err((piece.offset, mistake));
        }
        Ok(addresses)
    }

    fn add(
        &mut self,
        piece: Piece<'_>,
        is_negated: bool,
        variables: &Variables,
    ) -> Result<(), (usize, Mistake)> {
        if let Some(rest) = piece.after("!") {
            return self.add(rest, !is_negated, variables);
        }
        if let Some(list) = piece.inside_brackets() {
            let items = list.split_list();
            let n_excluded = items.iter().filter(|item| item.after("!").is_some()).count();
            if is_negated && n_excluded > 0 && n_excluded < items.len() {
                let mistake = Mistake::new(
                    "a list that both includes and excludes addresses cannot be negated",
                    "write what is meant as a list of its own",
                );
                return Err((piece.offset, mistake));
            }
            return list.split_list().into_iter().try_for_each(|item| self.add(item, is_negated, variables));
        }
        if let Some(name) = piece.after("$") {
            let value = variables.addresses(name).map_err(|mistake| (piece.offset, mistake))?;
            return self.include(&value, is_negated).map_err(|mistake| (piece.offset, mistake));
        }
        if piece.text.eq_ignore_ascii_case("any") {
            self.list(is_negated).push(Network { base: 0, mask: 0 });
            return Ok(());
        }
        let network = Network::parse(piece.text).map_err(|mistake| (piece.offset, mistake))?;
        self.list(is_negated).push(network);
        Ok(())
    }

    fn list(&mut self, is_negated: bool) -> &mut Vec<Network> {
        match is_negated {
            true => &mut self.without,
            false => &mut self.within,
        }
    }

    fn include(&mut self, value: &Addresses, is_negated: bool) -> Result<(), Mistake> {
        if !is_negated && value.is_any() {
            self.within.push(Network { base: 0, mask: 0 });
        } else if !is_negated {
            self.within.extend(&value.within);
            self.without.extend(&value.without);
        } else if value.without.is_empty() && !value.within.is_empty() {
            self.without.extend(&value.within);
        } else if value.within.is_empty() && !value.without.is_empty() {
            self.within.extend(&value.without);
        } else if value.is_any() {
            self.without.push(Network { base: 0, mask: 0 });
        } else {
            return Err(Mistake::new(
                "a variable that both includes and excludes addresses cannot be negated",
                "write the list out",
            ));
        }
        Ok(())
    }
}

impl Network {
    fn parse(text: &str) -> Result<Network, Mistake> {
        let wrong = || {
            Mistake::new(
                format!("`{text}` is no address or network"),
                "write `10.0.0.1`, `10.0.0.0/8`, `2001:db8::/32`, `any`, `$NAME` or a list in brackets",
            )
        };
        let (base, length) = text.split_once('/').map_or((text, None), |(base, length)| (base, Some(length)));
        let base: IpAddr = base.parse().map_err(|_| wrong())?;
        let n_bits = if base.is_ipv4() { 32 } else { 128 };
        let length = match length {
            None => n_bits,
            Some(text) => match text.parse::<std::net::Ipv4Addr>() {
                Ok(mask) if base.is_ipv4() => u32::from(mask).leading_ones(),
                _ => text.parse().ok().filter(|length| *length <= n_bits).ok_or_else(wrong)?,
            },
        };
        let mask = u128::MAX.checked_shl(n_bits - length).unwrap_or(0);
        let mask = if base.is_ipv4() { mask | u128::MAX << 32 } else { mask };
        Ok(Network { base: number(base) & mask, mask })
    }
}
