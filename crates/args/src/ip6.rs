//! IPv6 addresses and prefixes.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::names::Scope;
use crate::number::integer_in_base;
use crate::{ip, parse_error};

/// An IPv6 address with a prefix length; the host bits are kept as they were written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix6 {
    /// Address, with its host bits.
    pub addr: Ipv6Addr,
    /// Length in bits, at most 128.
    pub len: u8,
}

/// An argument that is an IPv6 prefix, or a bare address, which stands for its `/128`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix6OrAddress(pub Prefix6);

impl Prefix6 {
    /// The mask.
    pub fn mask(&self) -> Ipv6Addr {
        let n_host_bits = 128u32.saturating_sub(u32::from(self.len));
        Ipv6Addr::from(u128::MAX.checked_shl(n_host_bits).unwrap_or(0))
    }

    /// The address without its host bits.
    pub fn network(&self) -> Ipv6Addr {
        Ipv6Addr::from(self.addr.to_bits() & self.mask().to_bits())
    }

    /// Whether an address lies in the prefix.
    pub fn contains(&self, addr: Ipv6Addr) -> bool {
        (addr.to_bits() ^ self.addr.to_bits()) & self.mask().to_bits() == 0
    }
}

impl fmt::Display for Prefix6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", unparse_ip6(self.addr), self.len)
    }
}

impl fmt::Debug for Prefix6 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Prefix6({self})")
    }
}

/// The text of an IPv6 address.
///
/// As RFC 5952, but all of `::/96` except `::` prints with a dotted IPv4 part, as do mapped addresses.
pub fn unparse_ip6(addr: Ipv6Addr) -> String {
    let bits = addr.to_bits();
    match (u32::try_from(bits), addr.to_ipv4_mapped()) {
        (Ok(0), _) => "::".to_string(),
        (Ok(low), _) => format!("::{}", Ipv4Addr::from(low)),
        (Err(_), Some(mapped)) => format!("::ffff:{mapped}"),
        (Err(_), None) => addr.to_string(),
    }
}

/// Parses an IPv6 address or its name; the last 32 bits may be an IPv4 address or its name.
pub fn ip6(text: &str, scope: &Scope<'_>) -> Result<Ipv6Addr, String> {
    literal(text, scope).or_else(|| scope.ip6(text)).ok_or_else(parse_error)
}

/// Parses an IPv6 prefix, with a length or a mask after the slash, or its name.
pub fn prefix6(text: &str, scope: &Scope<'_>) -> Result<Prefix6, String> {
    match slashed(text, scope) {
        Some(prefix) => prefix,
        None => scope.prefix6(text).ok_or_else(parse_error),
    }
}

/// Parses an IPv6 prefix as [`prefix6`], or a bare address, which stands for its `/128`.
pub fn prefix6_or_address(text: &str, scope: &Scope<'_>) -> Result<Prefix6, String> {
    let bare = || ip6(text, scope).ok().map(|addr| Prefix6 { addr, len: 128 });
    match slashed(text, scope) {
        Some(prefix) => prefix,
        None => bare().or_else(|| scope.prefix6(text)).ok_or_else(parse_error),
    }
}

/// A prefix with a slash: `None` if there is no address before a slash.
fn slashed(text: &str, scope: &Scope<'_>) -> Option<Result<Prefix6, String>> {
    let (addr, mask) = text.rsplit_once('/').filter(|(addr, mask)| !addr.is_empty() && !mask.is_empty())?;
    let addr = ip6(addr, scope).ok()?;
    let number = integer_in_base::<u8>(mask, 10).ok().filter(|&len| len <= 128);
    let len = number.or_else(|| mask_len(ip6(mask, scope).ok()?));
    Some(len.map(|len| Prefix6 { addr, len }).ok_or_else(parse_error))
}

fn mask_len(mask: Ipv6Addr) -> Option<u8> {
    let (bits, ones) = (mask.to_bits(), mask.to_bits().leading_ones());
    if bits.count_ones() == ones {
        u8::try_from(ones).ok()
    } else {
        None
    }
}

fn literal(text: &str, scope: &Scope<'_>) -> Option<Ipv6Addr> {
    if !text.contains(':') {
        return None;
    }
    let (head, tail) = match text.split_once("::") {
        Some((head, tail)) => (head, Some(tail)),
        None => (text, None),
    };
    let mut high = groups(head);
    let low = tail.map(|tail| groups_with_ip4(tail, scope));
    match low {
        None => {
            high = groups_with_ip4(head, scope);
            Some(Ipv6Addr::from(<[u16; 8]>::try_from(high?).ok()?))
        }
        Some(low) => {
            let (high, low) = (high?, low?);
            // `::` stands for at least one group.
            let n_zeros = 8usize.checked_sub(high.len() + low.len()).filter(|&n| n > 0)?;
            let all = high.into_iter().chain(std::iter::repeat_n(0, n_zeros)).chain(low);
            Some(Ipv6Addr::from(<[u16; 8]>::try_from(all.collect::<Vec<_>>()).ok()?))
        }
    }
}

/// Groups of up to four hexadecimal digits with colons between; none in an empty text.
fn groups(text: &str) -> Option<Vec<u16>> {
    let group = |part: &str| {
        let is_group = (1..=4).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
        if is_group {
            u16::from_str_radix(part, 16).ok()
        } else {
            None
        }
    };
    if text.is_empty() {
        Some(Vec::new())
    } else {
        text.split(':').map(group).collect()
    }
}

/// [`groups`], of which the last two may be written as an IPv4 address.
fn groups_with_ip4(text: &str, scope: &Scope<'_>) -> Option<Vec<u16>> {
    if let Some(groups) = groups(text) {
        return Some(groups);
    }
    let (head, last) = text.rsplit_once(':').unwrap_or(("", text));
    let low = ip::ip(last, scope).ok()?.to_bits();
    let mut groups = groups(head)?;
    groups.extend([(low >> 16) as u16, low as u16]);
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(text: &str, expect: Expect) {
        expect.assert_eq(&ip6(text, &Scope::builtin()).map_or_else(|e| e, unparse_ip6));
    }

    #[test]
    fn addresses_print_in_their_short_form() {
        check("1080:0:0:0:8:800:200C:417a", expect!["1080::8:800:200c:417a"]);
        check("1:0:0:2:0:0:0:3", expect!["1:0:0:2::3"]);
        check("::13.1.68.3", expect!["::13.1.68.3"]);
        check("::1", expect!["::0.0.0.1"]);
        check("::ffff:129.144.52.38", expect!["::ffff:129.144.52.38"]);
        check("ffff:ffff:ffff:ffff:ffff:ffff::", expect!["ffff:ffff:ffff:ffff:ffff:ffff::"]);
        check("::", expect!["::"]);
        check("8000::", expect!["8000::"]);
        check("1:2:3:4:5:6:7::", expect!["1:2:3:4:5:6:7:0"]);
        check("1:2:3:4:5:6:1.2.3.4", expect!["1:2:3:4:5:6:102:304"]);
        check("1:0:2:3:4:5:6:7", expect!["1:0:2:3:4:5:6:7"]);
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            ":::",
            "8000::1:1:1:1:1:1:1:1",
            "1:2:3:4:5:6:7:",
            "1:2:3:4:5:6:7",
            ":1::",
            "1::2::3",
            "12345::",
            "",
            "1",
            "1.2.3.4",
        ] {
            assert_eq!(ip6(text, &Scope::builtin()), Err("parse error".into()), "{text}");
        }
    }

    #[test]
    fn an_ip4_name_may_end_an_address() {
        let names = Names::default();
        let scope = Scope::new(&names, "e");
        scope.define_ip("ip4_addr", Ipv4Addr::new(1, 0, 0, 2));
        assert_eq!(ip6("0::ip4_addr", &scope).map(unparse_ip6), Ok("::1.0.0.2".into()));
        assert_eq!(ip6("0::ffff:ip4_addr", &scope).map(unparse_ip6), Ok("::ffff:1.0.0.2".into()));
        scope.define_ip6("six", Ipv6Addr::LOCALHOST);
        assert_eq!(ip6("six:ip6", &scope), Ok(Ipv6Addr::LOCALHOST));
    }

    #[test]
    fn prefixes_take_a_length_or_a_mask() {
        let scope = Scope::builtin();
        let parse = |text| prefix6(text, &scope).map(|p| p.to_string());
        assert_eq!(parse("1::2/64"), Ok("1::2/64".into()));
        assert_eq!(parse("1::2/ffff::"), Ok("1::2/16".into()));
        assert_eq!(parse("1::2/0:1::"), Err("parse error".into()));
        assert_eq!(parse("1::2/129"), Err("parse error".into()));
        assert_eq!(parse("1::2"), Err("parse error".into()));
        assert_eq!(prefix6_or_address("1::2", &scope).map(|p| p.len), Ok(128));
    }

    proptest! {
        #[test]
        fn printed_prefixes_parse(bits: u128, keep in 0u32..=128, len in 0u8..=128) {
            let addr = Ipv6Addr::from(bits.checked_shl(keep).unwrap_or(0));
            let value = Prefix6 { addr, len };
            prop_assert_eq!(prefix6(&value.to_string(), &Scope::builtin()), Ok(value));
            let low = Ipv6Addr::from(bits.checked_shr(keep).unwrap_or(0));
            prop_assert_eq!(ip6(&unparse_ip6(low), &Scope::builtin()), Ok(low));
        }

        #[test]
        fn any_text_is_an_address_or_not(text in "[0-9a-f:./é]{0,24}") {
            let _ = (prefix6(&text, &Scope::builtin()), prefix6_or_address(&text, &Scope::builtin()));
        }
    }
}
