//! Parameters of functions: plain named values with a type, a default and a sentence of help.

use std::net::Ipv4Addr;

use args::{EtherAddr, Prefix, Scope, Timestamp};

/// A parameter of a function.
#[derive(Clone, Copy)]
pub struct Leaf {
    /// Its name, which is that of the flag.
    pub name: &'static str,
    /// What its values are.
    pub ty: Type,
    /// What it is for.
    pub help: &'static str,
    /// Its value if none is given.
    pub default: Option<&'static str>,
    /// How often and where it stands on a command line.
    pub place: Place,
    /// A letter that stands for it.
    pub short: Option<char>,
}

/// Where a parameter stands on a command line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `--name VALUE`, once.
    Option,
    /// `--name VALUE`, as often as wanted.
    Repeated,
    /// A word without a flag.
    Word,
    /// All words without a flag.
    Words,
}

/// What a parameter's values are.
#[derive(Clone, Copy)]
pub enum Type {
    /// Given or not.
    Flag,
    /// Text.
    Text(&'static str),
    /// A path.
    File,
    /// An IPv4 address.
    Address,
    /// An IPv4 network.
    Network,
    /// An IPv4 address and the length of its network's prefix.
    AddressInNetwork,
    /// An Ethernet address.
    Ethernet,
    /// A time.
    Time,
    /// A number within bounds.
    Unsigned { min: u32, max: u32 },
    /// One of some words.
    Choice(&'static [&'static str]),
    /// Something of the function's own: what values are called, and what is wrong with one.
    Own(&'static str, fn(&str) -> Result<(), String>),
}

impl Leaf {
    /// An optional parameter.
    pub const fn new(name: &'static str, ty: Type, help: &'static str) -> Leaf {
        Leaf { name, ty, help, default: None, place: Place::Option, short: None }
    }

    /// With a value if none is given.
    pub const fn default(self, value: &'static str) -> Leaf {
        Leaf { default: Some(value), ..self }
    }

    /// Standing elsewhere on the command line.
    pub const fn place(self, place: Place) -> Leaf {
        Leaf { place, ..self }
    }

    /// With a letter for the command line.
    pub const fn short(self, letter: char) -> Leaf {
        Leaf { short: Some(letter), ..self }
    }

    /// Whether it stands without a flag.
    pub fn is_word(&self) -> bool {
        matches!(self.place, Place::Word | Place::Words)
    }

    /// What names it on the command line.
    pub fn flag(&self) -> String {
        if self.is_word() {
            return self.ty.value_name().to_string();
        }
        format!("--{}", self.name)
    }
}

impl Type {
    /// What help calls a value.
    pub fn value_name(&self) -> &'static str {
        match self {
            Type::Flag => "",
            Type::Text(name) | Type::Own(name, _) => name,
            Type::File => "FILE",
            Type::Address => "ADDRESS",
            Type::Network => "PREFIX",
            Type::AddressInNetwork => "ADDRESS/LENGTH",
            Type::Ethernet => "MAC",
            Type::Time => "TIME",
            Type::Unsigned { .. } => "N",
            Type::Choice(_) => "WORD",
        }
    }

    /// What is wrong with a value, and what would be right.
    pub fn check(&self, text: &str) -> Result<(), String> {
        match self {
            Type::Flag | Type::Text(_) => Ok(()),
            Type::File if text.is_empty() => Err("expected the name of a file".to_string()),
            Type::File => Ok(()),
            Type::Address => address(text).map(drop),
            Type::Network => network(text).map(drop),
            Type::AddressInNetwork => address_in_network(text).map(drop),
            Type::Ethernet => ethernet(text).map(drop),
            Type::Time => time(text).map(drop),
            Type::Unsigned { min, max } => unsigned(text, *min, *max).map(drop),
            Type::Choice(words) if words.contains(&text) => Ok(()),
            Type::Choice(words) => Err(format!("expected one of {}", words.join(", "))),
            Type::Own(_, check) => check(text),
        }
    }
}

/// An IPv4 address that a host can have.
pub fn address(text: &str) -> Result<Ipv4Addr, String> {
    let address = text.parse::<Ipv4Addr>().map_err(|_| "expected an IPv4 address such as 10.0.0.1")?;
    if address.is_unspecified() || address.is_broadcast() || address.is_multicast() {
        return Err("expected the address of a single host, such as 10.0.0.1".to_string());
    }
    Ok(address)
}

/// An IPv4 network; host bits must be 0. `default` is all addresses.
pub fn network(text: &str) -> Result<Prefix, String> {
    const EXPECTED: &str = "expected an IPv4 network such as 10.0.0.0/24";
    if text == "default" {
        return Ok(Prefix::new(Ipv4Addr::UNSPECIFIED, 0));
    }
    let prefix = with_length(text).ok_or(EXPECTED)?;
    if prefix.network() != prefix.addr {
        return Err(format!(
            "the address has bits behind the prefix; for its network say {}/{}",
            prefix.network(),
            prefix.len().unwrap_or(32)
        ));
    }
    Ok(prefix)
}

/// An address of a host with its network.
pub fn address_in_network(text: &str) -> Result<Prefix, String> {
    const EXPECTED: &str = "expected an address with the length of its network's prefix, such as 10.0.0.1/24";
    let prefix = with_length(text).ok_or(EXPECTED)?;
    address(&prefix.addr.to_string())?;
    let len = prefix.len().unwrap_or(32);
    if len < 31 && (prefix.addr == prefix.network() || prefix.addr == last_address(&prefix)) {
        return Err(format!(
            "{} names the network or all its hosts; give the address of one host in it",
            prefix.addr
        ));
    }
    Ok(prefix)
}

/// An address and a prefix length, which must be given.
fn with_length(text: &str) -> Option<Prefix> {
    let (address, len) = text.split_once('/')?;
    let len = len.parse::<u32>().ok().filter(|len| *len <= 32)?;
    Some(Prefix::new(address.parse().ok()?, len))
}

/// The last address of a network, to which broadcasts go.
pub fn last_address(prefix: &Prefix) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(prefix.network()) | !u32::from(prefix.mask))
}

/// The Ethernet address of a station.
pub fn ethernet(text: &str) -> Result<EtherAddr, String> {
    let address = args::ether(text, &Scope::builtin())
        .map_err(|_| "expected an Ethernet address such as 02:00:00:00:00:01")?;
    if address.is_group() || address == EtherAddr::default() {
        return Err("expected the address of a single station, such as 02:00:00:00:00:01".to_string());
    }
    Ok(address)
}

/// A time, with a unit or in seconds.
pub fn time(text: &str) -> Result<Timestamp, String> {
    let time = args::timestamp(text).map_err(|_| "expected a time such as 20ms, 1.5s or 2min")?;
    if time.is_negative() {
        return Err("expected a time that is not negative".to_string());
    }
    Ok(time)
}

/// A number.
pub fn unsigned(text: &str, min: u32, max: u32) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("expected a number from {min} to {max}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_are_refused_with_what_would_be_right() {
        let number = Type::Unsigned { min: 1, max: 9 };
        for (ty, text, told) in [
            (Type::Address, "10.0.0", "an IPv4 address such as"),
            (Type::Address, "224.0.0.1", "of a single host"),
            (Type::Network, "10.0.0.1/24", "say 10.0.0.0/24"),
            (Type::Network, "10.0.0.0", "a network such as"),
            (Type::Network, "10.0.0.0/33", "an IPv4 network such as"),
            (Type::AddressInNetwork, "10.0.0.1", "such as 10.0.0.1/24"),
            (Type::AddressInNetwork, "10.0.0.0/24", "one host in it"),
            (Type::AddressInNetwork, "10.0.0.255/24", "one host in it"),
            (Type::Ethernet, "ff:ff:ff:ff:ff:ff", "of a single station"),
            (Type::Ethernet, "x", "such as 02:"),
            (Type::Time, "20 parsec", "such as 20ms"),
            (Type::Time, "-1s", "20ms"),
            (number, "10", "from 1 to 9"),
            (number, "-1", "from 1 to 9"),
            (Type::Choice(&["a", "b"]), "c", "one of a, b"),
            (Type::File, "", "a file"),
        ] {
            let error = ty.check(text).expect_err(text);
            let words_there = told.split(' ').all(|word| error.contains(word));
            assert!(words_there, "{text}: {error}");
        }
    }

    #[test]
    fn values_that_can_be_are_taken() {
        for (ty, text) in [
            (Type::Address, "10.0.0.1"),
            (Type::Network, "default"),
            (Type::Network, "10.0.0.0/8"),
            (Type::AddressInNetwork, "10.0.0.0/31"),
            (Type::AddressInNetwork, "10.0.0.1/32"),
            (Type::Ethernet, "2:0:0:0:0:1"),
            (Type::Time, "20ms"),
            (Type::Time, "0"),
            (Type::Unsigned { min: 0, max: 0 }, "0"),
        ] {
            assert_eq!(ty.check(text), Ok(()), "{text}");
        }
    }
}
