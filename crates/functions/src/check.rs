//! What is wrong with a value, beyond what its type in the schema says: the types of module `weir` by name.

use std::net::{Ipv4Addr, Ipv6Addr};

use args::{Prefix, Prefix6, Scope};
use yang::{Base, Type};

use crate::rate::{self, Burst, Rate};

/// What is wrong with a leaf's value, and what would be right.
pub fn check(ty: &Type, text: &str) -> Result<(), String> {
    if text.contains('\0') {
        return Err("a text holds a null character".to_string());
    }
    match ty.typedef.as_deref() {
        Some("ipv4-address") => ipv4_address(text),
        Some("ipv4-network") => ipv4_network(text),
        Some("ipv4-interface") => ipv4_interface(text),
        Some("ipv6-address") => ipv6_address(text),
        Some("ipv6-network") => ipv6_network(text),
        Some("ipv6-interface") => ipv6_interface(text),
        Some("ipv6-next-hop") => ipv6_next_hop(text),
        Some("ethernet-address") => ethernet_address(text),
        Some("time") => time(text),
        Some("holding-time") => holding_time(text),
        Some("probability") => rate::probability(text).map(drop),
        Some("rate") => Rate::parse(text).map(drop),
        Some("burst") => Burst::parse(text).map(drop),
        Some("port-range") => port_range(text),
        Some("capture-filter") => capture_filter(text),
        Some("pattern") => pattern(text),
        Some("file-name") => file_name(text),
        _ => by_base(ty, text),
    }
}

fn by_base(ty: &Type, text: &str) -> Result<(), String> {
    match ty.base {
        Base::Enumeration if !ty.words.iter().any(|word| word == text) => {
            Err(format!("expected one of {}", ty.words.join(", ")))
        }
        Base::Integer | Base::BigInteger => {
            // Nobody else looks at what an action is given.
            let ranges = if ty.range.is_empty() { ty.holds.as_slice() } else { &ty.range };
            let number = text.parse::<i128>().ok();
            let fits = |number: &i128| ranges.iter().any(|(min, max)| (min..=max).contains(&number));
            if number.filter(fits).is_some() {
                return Ok(());
            }
            let bounds: Vec<String> =
                ranges.iter().map(|(min, max)| format!("from {min} to {max}")).collect();
            Err(format!("expected a number {}", bounds.join(" or ")).trim_end().to_string())
        }
        Base::Boolean if text != "true" && text != "false" => Err("expected true or false".to_string()),
        Base::Reference => ty.members.iter().try_for_each(|member| check(member, text)),
        Base::Union if !ty.members.is_empty() => {
            let mut told = Vec::new();
            for member in &ty.members {
                match check(member, text) {
                    Ok(()) => return Ok(()),
                    Err(message) => told.push(message),
                }
            }
            Err(told.join("; or "))
        }
        _ => Ok(()),
    }
}

fn ipv4_address(text: &str) -> Result<(), String> {
    let address = text.parse::<Ipv4Addr>().map_err(|_| "expected an IPv4 address such as 10.0.0.1")?;
    if address.is_unspecified() || address.is_broadcast() || address.is_multicast() {
        return Err("expected the address of a single host, such as 10.0.0.1".to_string());
    }
    Ok(())
}

fn ipv4_network(text: &str) -> Result<(), String> {
    if text == "default" {
        return Ok(());
    }
    let prefix = with_length(text).ok_or("expected an IPv4 network such as 10.0.0.0/24")?;
    if prefix.network() == prefix.addr {
        return Ok(());
    }
    let len = prefix.len().unwrap_or(32);
    Err(format!("the address has bits behind the prefix; for its network say {}/{len}", prefix.network()))
}

fn ipv4_interface(text: &str) -> Result<(), String> {
    const EXPECTED: &str = "expected an address with the length of its network's prefix, such as 10.0.0.1/24";
    if with_length6(text).is_some() {
        return Err(format!("this is IPv6, not IPv4: {EXPECTED}"));
    }
    let prefix = with_length(text).ok_or(EXPECTED)?;
    ipv4_address(&prefix.addr.to_string())?;
    let len = prefix.len().unwrap_or(32);
    let last = Ipv4Addr::from(u32::from(prefix.network()) | !u32::from(prefix.mask));
    if len < 31 && (prefix.addr == prefix.network() || prefix.addr == last) {
        return Err(format!(
            "{} names the network or all its hosts; give the address of one host in it",
            prefix.addr
        ));
    }
    Ok(())
}

/// An address and a prefix length, which must be given.
fn with_length(text: &str) -> Option<Prefix> {
    let (address, len) = text.split_once('/')?;
    let len = len.parse::<u32>().ok().filter(|len| *len <= 32)?;
    Some(Prefix::new(address.parse().ok()?, len))
}

fn ipv6_address(text: &str) -> Result<(), String> {
    let address = text.parse::<Ipv6Addr>().map_err(|_| "expected an IPv6 address such as 2001:db8::1")?;
    if address.is_unspecified() || address.is_multicast() {
        return Err("expected the address of a single host, such as 2001:db8::1".to_string());
    }
    Ok(())
}

fn ipv6_network(text: &str) -> Result<(), String> {
    if text == "default" {
        return Ok(());
    }
    let prefix = with_length6(text).ok_or("expected an IPv6 network such as 2001:db8::/32")?;
    if prefix.network() == prefix.addr {
        return Ok(());
    }
    Err(format!(
        "the address has bits behind the prefix; for its network say {}/{}",
        prefix.network(),
        prefix.len
    ))
}

fn ipv6_interface(text: &str) -> Result<(), String> {
    const EXPECTED: &str =
        "expected an address with the length of its network's prefix, such as 2001:db8::1/64";
    if with_length(text).is_some() {
        return Err(format!("this is IPv4, not IPv6: {EXPECTED}"));
    }
    let prefix = with_length6(text).ok_or(EXPECTED)?;
    ipv6_address(&prefix.addr.to_string())?;
    // RFC 4291, sections 2.5.3, 2.5.5 and 2.6.1.
    if prefix.addr.is_loopback() || prefix.addr.to_ipv4_mapped().is_some() {
        return Err(format!("{} is on no wire; give an address such as 2001:db8::1/64", prefix.addr));
    }
    if prefix.len < 127 && prefix.addr == prefix.network() {
        let address = prefix.addr;
        return Err(format!("{address} is that of any router in the network; give an address of its own"));
    }
    Ok(())
}

/// An address and a prefix length, which must be given, in decimal.
fn with_length6(text: &str) -> Option<Prefix6> {
    let (address, len) = text.split_once('/')?;
    let is_number = len.bytes().all(|byte| byte.is_ascii_digit());
    let len = len.parse::<u8>().ok().filter(|len| *len <= 128 && is_number)?;
    Some(Prefix6 { addr: address.parse().ok()?, len })
}

fn ipv6_next_hop(text: &str) -> Result<(), String> {
    let (address, zone) = text.split_once('%').map_or((text, None), |(address, zone)| (address, Some(zone)));
    ipv6_address(address)?;
    let is_link_local = address.parse::<Ipv6Addr>().is_ok_and(|address| address.is_unicast_link_local());
    match zone {
        None if is_link_local => {
            Err(format!("{address} is on each link; name the port that leads to it, as in {address}%left"))
        }
        Some(_) if !is_link_local => Err(format!("only a link-local address has a port; say {address}")),
        Some(zone)
            if zone.is_empty() || !zone.bytes().all(|c| c.is_ascii_alphanumeric() || b"_.-".contains(&c)) =>
        {
            Err(format!("expected a port's name behind `%`, as in {address}%left"))
        }
        _ => Ok(()),
    }
}

fn ethernet_address(text: &str) -> Result<(), String> {
    let address = args::ether(text, &Scope::builtin())
        .map_err(|_| "expected an Ethernet address such as 02:00:00:00:00:01")?;
    if address.is_group() || address == args::EtherAddr::default() {
        return Err("expected the address of a single station, such as 02:00:00:00:00:01".to_string());
    }
    Ok(())
}

fn time(text: &str) -> Result<(), String> {
    let time = args::timestamp(text).map_err(|_| "expected a time such as 20ms, 1.5s or 2min")?;
    if time.is_negative() {
        return Err("expected a time that is not negative".to_string());
    }
    Ok(())
}

fn holding_time(text: &str) -> Result<(), String> {
    const LIMIT_S: i64 = 1000;
    time(text)?;
    match args::timestamp(text).is_ok_and(|time| time.sec() < LIMIT_S) {
        true => Ok(()),
        false => Err(format!("expected a time below {LIMIT_S} s")),
    }
}

fn port_range(text: &str) -> Result<(), String> {
    const EXPECTED: &str = "expected a range of ports such as 1024-65535";
    let port = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    match text.split_once('-').and_then(|(low, high)| Some((port(low)?, port(high)?))) {
        Some((low, high)) if low <= high => Ok(()),
        _ => Err(EXPECTED.to_string()),
    }
}

fn capture_filter(text: &str) -> Result<(), String> {
    const ETHERNET: i32 = 1;
    let Err(error) = sys::bpf::compile(text, ETHERNET, 0) else { return Ok(()) };
    let remedy = error.remedy().map(|remedy| format!("\n  help: {remedy}")).unwrap_or_default();
    let message = error.to_string();
    // The value is told by who asks.
    let message = message.strip_prefix(&format!("filter `{text}`: ")).unwrap_or(&message);
    Err(format!("{message}{remedy}"))
}

/// Alone among commas and parentheses, a pattern can also not become part of the text around it in a graph.
fn pattern(text: &str) -> Result<(), String> {
    let arguments = args::split_args(text);
    let one = match arguments.as_slice() {
        [one] if args::uncomment(one).trim() == text.trim() => one,
        _ => return Err(format!("`{text}` is not one pattern")),
    };
    let diagnostics = filter::IpFilter::check(&[format!("0 {one}")], 1, &filter::BuiltInNames);
    match diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        Some(error) => Err(format!("{} (`weir help IPClassifier` describes patterns)", error.message.trim())),
        None => Ok(()),
    }
}

fn file_name(text: &str) -> Result<(), String> {
    match text.is_empty() || text.chars().any(char::is_control) {
        true => Err("expected the name of a file".to_string()),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(base: Base, typedef: &str) -> Type {
        let (words, range) = (vec!["a".to_string(), "b".to_string()], vec![(1, 9)]);
        Type {
            base,
            typedef: Some(typedef.to_string()),
            words,
            range,
            holds: None,
            patterns: vec![],
            members: vec![],
        }
    }

    #[test]
    fn values_that_cannot_be_are_refused_with_what_would_be_right() {
        for (typedef, base, text, told) in [
            ("ipv4-address", Base::String, "10.0.0", "an IPv4 address such as"),
            ("ipv4-address", Base::String, "224.0.0.1", "of a single host"),
            ("ipv4-network", Base::String, "10.0.0.1/24", "say 10.0.0.0/24"),
            ("ipv4-network", Base::String, "10.0.0.0", "IPv4 network such as"),
            ("ipv4-network", Base::String, "10.0.0.0/33", "an IPv4 network such as"),
            ("ipv4-interface", Base::String, "10.0.0.1", "such as 10.0.0.1/24"),
            ("ipv4-interface", Base::String, "10.0.0.0/24", "one host in it"),
            ("ipv4-interface", Base::String, "2001:db8::1/64", "this is IPv6, not IPv4: expected"),
            ("ipv6-interface", Base::String, "10.0.0.1/24", "this is IPv4, not IPv6: expected"),
            ("ipv4-interface", Base::String, "10.0.0.255/24", "one host in it"),
            ("ipv6-address", Base::String, "ff02::1", "of a single host"),
            ("ipv6-network", Base::String, "2001:db8::1/32", "say 2001:db8::/32"),
            ("ipv6-network", Base::String, "2001:db8::", "such as 2001:db8::/32"),
            ("ipv6-network", Base::String, "2001:db8::/+32", "such as 2001:db8::/32"),
            ("ipv6-interface", Base::String, "2001:db8::1/129", "such as 2001:db8::1/64"),
            ("ipv6-interface", Base::String, "2001:db8::1", "such as 2001:db8::1/64"),
            ("ipv6-interface", Base::String, "2001:db8::/64", "any router in the network"),
            ("ipv6-interface", Base::String, "::1/128", "on no wire"),
            ("ipv6-interface", Base::String, "::ffff:10.0.0.1/128", "on no wire"),
            ("ipv6-next-hop", Base::String, "fe80::1", "as in fe80::1%left"),
            ("ipv6-next-hop", Base::String, "fe80::1%", "behind `%`"),
            ("ipv6-next-hop", Base::String, "fe80::1%a b", "behind `%`"),
            ("ipv6-next-hop", Base::String, "2001:db8::1%left", "say 2001:db8::1"),
            ("ipv6-next-hop", Base::String, "ff02::1%left", "of a single host"),
            ("ethernet-address", Base::String, "ff:ff:ff:ff:ff:ff", "of a single station"),
            ("ethernet-address", Base::String, "x", "such as 02:"),
            ("time", Base::String, "20 parsec", "such as 20ms"),
            ("time", Base::String, "-1s", "20ms"),
            ("pattern", Base::String, "tcp prt 80", "empty term near 'prt'"),
            ("pattern", Base::String, "tcp, 1 udp", "not one pattern"),
            ("pattern", Base::String, "tcp); Script(stop", "garbage after expression at ')'"),
            ("pattern", Base::String, "tcp // all", "not one pattern"),
            ("file-name", Base::String, "", "a file"),
            ("holding-time", Base::String, "1000", "below 1000 s"),
            ("probability", Base::String, "101%", "at most 100%"),
            ("probability", Base::String, "NaN", "at most 100%"),
            ("rate", Base::String, "fast", "such as 10Mbps"),
            ("burst", Base::String, "20s", "from 1ms to 10s"),
            ("port-range", Base::String, "9-1", "such as 1024-65535"),
            ("port-range", Base::String, "0-1", "such as 1024-65535"),
            ("capture-filter", Base::String, "udp prt", "man pcap-filter"),
            ("", Base::Integer, "10", "from 1 to 9"),
            ("", Base::Integer, "-1", "from 1 to 9"),
            ("", Base::Enumeration, "c", "one of a, b"),
            ("", Base::Boolean, "yes", "true or false"),
        ] {
            let error = check(&ty(base, typedef), text).expect_err(text);
            assert!(error.contains(told), "{text}: {error}");
        }
    }

    #[test]
    fn numbers_without_bounds_have_those_of_their_type() {
        let ty = Type { range: vec![], holds: Some((0, 255)), ..ty(Base::Integer, "") };
        assert_eq!(check(&ty, "255"), Ok(()));
        assert_eq!(check(&ty, "256"), Err("expected a number from 0 to 255".to_string()));
    }

    #[test]
    fn values_that_can_be_are_taken() {
        for (typedef, base, text) in [
            ("ipv4-address", Base::String, "10.0.0.1"),
            ("ipv4-network", Base::String, "default"),
            ("ipv4-network", Base::String, "10.0.0.0/8"),
            ("ipv4-interface", Base::String, "10.0.0.0/31"),
            ("ipv6-network", Base::String, "::/0"),
            ("ipv6-network", Base::String, "default"),
            ("ipv6-interface", Base::String, "fe80::1/64"),
            ("ipv6-interface", Base::String, "2001:DB8:0::/127"),
            ("ipv6-next-hop", Base::String, "2001:db8::1"),
            ("ipv6-next-hop", Base::String, "fe80::1%eth0.20"),
            ("ethernet-address", Base::String, "2:0:0:0:0:1"),
            ("time", Base::String, "20ms"),
            ("time", Base::String, "0"),
            ("pattern", Base::String, "tcp && (dst port 80 or 443)"),
            ("capture-filter", Base::String, ""),
            ("port-range", Base::String, "1-65535"),
            ("", Base::Integer, "9"),
        ] {
            assert_eq!(check(&ty(base, typedef), text), Ok(()), "{text}");
        }
    }
}
