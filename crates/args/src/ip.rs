//! IPv4 addresses, prefixes and ports.

use std::fmt;
use std::net::Ipv4Addr;

use crate::names::{NameKind, Scope};
use crate::number::{integer, integer_in_base};
use crate::parse_error;
use crate::split::split_words;

/// An IPv4 address with a mask; the host bits are kept as they were written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    /// Address, with its host bits.
    pub addr: Ipv4Addr,
    /// Mask; need not be that of a prefix.
    pub mask: Ipv4Addr,
}

/// An argument that is an IPv4 prefix, or a bare address, which stands for its `/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PrefixOrAddress(pub Prefix);

impl Prefix {
    /// The prefix of `len` bits (at most 32) of an address.
    pub fn new(addr: Ipv4Addr, len: u32) -> Prefix {
        Prefix { addr, mask: mask(len) }
    }

    /// Length of the prefix, if its mask is that of a prefix.
    pub fn len(&self) -> Option<u32> {
        mask_len(self.mask)
    }

    /// Whether every address matches.
    pub fn is_empty(&self) -> bool {
        self.mask.is_unspecified()
    }

    /// The address without its host bits.
    pub fn network(&self) -> Ipv4Addr {
        Ipv4Addr::from(self.addr.to_bits() & self.mask.to_bits())
    }

    /// Whether an address lies in the prefix.
    pub fn contains(&self, addr: Ipv4Addr) -> bool {
        (addr.to_bits() ^ self.addr.to_bits()) & self.mask.to_bits() == 0
    }
}

/// The mask of a prefix of `len` bits (at most 32).
pub fn mask(len: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::MAX.checked_shl(32u32.saturating_sub(len)).unwrap_or(0))
}

/// The prefix length of a mask, if it is that of a prefix.
pub fn mask_len(mask: Ipv4Addr) -> Option<u32> {
    let (bits, ones) = (mask.to_bits(), mask.to_bits().leading_ones());
    (bits.count_ones() == ones).then_some(ones)
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            Some(len) => write!(f, "{}/{len}", self.addr),
            None => write!(f, "{}/{}", self.addr, self.mask),
        }
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefix({self})")
    }
}

/// Parses an IPv4 address or its name.
pub fn ip(text: &str, scope: &Scope<'_>) -> Result<Ipv4Addr, String> {
    match dotted(text) {
        Some((bytes, 4)) => Ok(Ipv4Addr::from(bytes)),
        _ => scope.ip(text).ok_or_else(parse_error),
    }
}

/// Parses IPv4 addresses or their names, separated by spaces.
pub fn ip_list(text: &str, scope: &Scope<'_>) -> Result<Vec<Ipv4Addr>, String> {
    split_words(text).iter().map(|word| ip(word, scope)).collect()
}

/// Parses an IPv4 prefix such as `18.26.4/24` or `18.26.4.0/255.255.255.0`, or its name.
pub fn prefix(text: &str, scope: &Scope<'_>) -> Result<Prefix, String> {
    let slashed = text.rsplit_once('/').and_then(|(addr, mask)| slashed_prefix(addr, mask, scope));
    slashed.or_else(|| scope.prefix(text)).ok_or_else(parse_error)
}

/// Parses an IPv4 prefix as [`prefix`], or a bare address, which stands for its `/32`.
pub fn prefix_or_address(text: &str, scope: &Scope<'_>) -> Result<Prefix, String> {
    let slashed = text.rsplit_once('/').and_then(|(addr, mask)| slashed_prefix(addr, mask, scope));
    let bare = || ip(text, scope).ok().map(|addr| Prefix::new(addr, 32));
    slashed.or_else(bare).or_else(|| scope.prefix(text)).ok_or_else(parse_error)
}

/// Parses the number or the name of a port of a transport protocol.
pub fn port(text: &str, scope: &Scope<'_>, protocol: u8) -> Result<u16, String> {
    let port = scope.integer_or_number(NameKind::Port(protocol), text).ok_or_else(parse_error)?;
    u16::try_from(port).map_err(|_| "overflow, range 0-65535".to_string())
}

/// Parses a number or a name of some kind.
pub fn named_integer(text: &str, scope: &Scope<'_>, kind: NameKind) -> Result<i32, String> {
    match scope.integer(kind, text) {
        Some(value) => Ok(value as i32),
        None => integer(text),
    }
}

fn slashed_prefix(addr: &str, mask_text: &str, scope: &Scope<'_>) -> Option<Prefix> {
    if addr.is_empty() || mask_text.is_empty() {
        return None;
    }
    let (addr, n_bytes) = match dotted(addr) {
        Some((bytes, n_bytes)) => (Ipv4Addr::from(bytes), n_bytes),
        None => (scope.ip(addr)?, 4),
    };
    let mask = match integer_in_base::<i32>(mask_text, 10).ok().and_then(|len| u32::try_from(len).ok()) {
        Some(len) if len <= 32 => mask(len),
        _ => ip(mask_text, scope).ok()?,
    };
    // The mask must not cover bytes that were not written.
    let written = self::mask(n_bytes * 8);
    (mask.to_bits() & !written.to_bits() == 0).then_some(Prefix { addr, mask })
}

/// Parses one to four decimal bytes with dots between; tells how many there were.
fn dotted(text: &str) -> Option<([u8; 4], u32)> {
    let (mut bytes, mut n_bytes) = ([0; 4], 0);
    let mut slots = bytes.iter_mut();
    for part in text.split('.') {
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *slots.next()? = part.parse().ok()?;
        n_bytes += 1;
    }
    Some((bytes, n_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&prefix(text, &Scope::builtin()).map_or_else(|e| e, |p| p.to_string()));
    }

    #[test]
    fn prefixes_keep_their_host_bits() {
        check("18.26.4/24", expect!["18.26.4.0/24"]);
        check("18.26.4.9/24", expect!["18.26.4.9/24"]);
        check("18.26.4.9/255.255.0.0", expect!["18.26.4.9/16"]);
        check("18.26.4.9/255.0.255.0", expect!["18.26.4.9/255.0.255.0"]);
        check("0/0", expect!["0.0.0.0/0"]);
        check("0.0.0.0/032", expect!["0.0.0.0/32"]);
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in [
            "18.26.4/28",
            "18.26.4.9",
            "18.26.4.9/33",
            "18.26.4.9/",
            "/8",
            "1.2.3.256/8",
            "1.2.3.4.5/8",
            "1..2/8",
        ] {
            assert_eq!(prefix(text, &Scope::builtin()), Err("parse error".into()), "{text}");
        }
    }

    #[test]
    fn a_bare_address_may_be_a_prefix() {
        let parse = |text| prefix_or_address(text, &Scope::builtin()).map(|p| p.to_string());
        assert_eq!(parse("1.2.3.4"), Ok("1.2.3.4/32".into()));
        assert_eq!(parse("1.2.3.4/8"), Ok("1.2.3.4/8".into()));
        assert_eq!(parse("1.2.3"), Err("parse error".into()));
    }

    #[test]
    fn addresses_may_be_names() {
        let names = Names::default();
        let scope = Scope::new(&names, "e");
        scope.define_ip("me", Ipv4Addr::new(1, 2, 3, 4));
        assert_eq!(ip_list("me  me:ip 5.6.7.8", &scope).map(|list| list.len()), Ok(3));
        assert_eq!(ip_list("me you", &scope), Err("parse error".into()));
        assert_eq!(prefix("me/8", &scope).map(|p| p.to_string()), Ok("1.2.3.4/8".into()));
        assert_eq!(ip("001.2.3.4", &scope), Ok(Ipv4Addr::new(1, 2, 3, 4)));
    }

    #[test]
    fn ports_have_names_and_a_range() {
        let scope = Scope::builtin();
        assert_eq!(port("domain", &scope, 17), Ok(53));
        assert_eq!(port("0x50", &scope, 6), Ok(80));
        assert_eq!(port("65536", &scope, 6), Err("overflow, range 0-65535".into()));
        assert_eq!(port("nosuch", &scope, 6), Err("parse error".into()));
        assert_eq!(named_integer("echo", &scope, NameKind::IcmpType), Ok(8));
        assert_eq!(named_integer("nosuch", &scope, NameKind::IcmpType), Err("invalid number".into()));
    }

    proptest! {
        #[test]
        fn printed_prefixes_parse(addr: u32, bits: u32, len in 0u32..=32) {
            let scope = Scope::builtin();
            for mask in [Ipv4Addr::from(bits), mask(len)] {
                let value = Prefix { addr: Ipv4Addr::from(addr), mask };
                prop_assert_eq!(prefix(&value.to_string(), &scope), Ok(value));
            }
            prop_assert_eq!(ip(&Ipv4Addr::from(addr).to_string(), &scope), Ok(Ipv4Addr::from(addr)));
        }

        #[test]
        fn any_text_is_a_prefix_or_not(text in "[0-9./:a-c é]{0,20}") {
            let scope = Scope::builtin();
            let _ = (prefix(&text, &scope), prefix_or_address(&text, &scope), ip_list(&text, &scope));
        }
    }
}
