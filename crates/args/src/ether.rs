//! Ethernet addresses.

use std::fmt;
use std::str::FromStr;

use crate::names::Scope;
use crate::parse_error;

/// An Ethernet address; prints as `00-1A-2B-3C-4D-5E`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct EtherAddr(pub [u8; 6]);

impl EtherAddr {
    /// The address that all stations listen to.
    pub const BROADCAST: EtherAddr = EtherAddr([0xff; 6]);

    /// Whether it addresses a group of stations.
    pub fn is_group(&self) -> bool {
        self.0[0] & 1 != 0
    }

    /// Whether it is all ones.
    pub fn is_broadcast(&self) -> bool {
        *self == EtherAddr::BROADCAST
    }

    /// The address with colons between its bytes.
    pub fn with_colons(&self) -> String {
        self.joined(":")
    }

    fn joined(&self, separator: &str) -> String {
        self.0.map(|byte| format!("{byte:02X}")).join(separator)
    }
}

impl fmt::Display for EtherAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.joined("-"))
    }
}

impl fmt::Debug for EtherAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EtherAddr({self})")
    }
}

/// Parses an Ethernet address, with `:` or `-` between its bytes, or its name.
pub fn ether(text: &str, scope: &Scope<'_>) -> Result<EtherAddr, String> {
    text.parse().or_else(|error| scope.ether(text).ok_or(error))
}

/// An address that is no name.
impl FromStr for EtherAddr {
    type Err = String;

    fn from_str(text: &str) -> Result<EtherAddr, String> {
        literal(text, ':').or_else(|| literal(text, '-')).ok_or_else(parse_error)
    }
}

fn literal(text: &str, separator: char) -> Option<EtherAddr> {
    let mut bytes = [0; 6];
    let mut slots = bytes.iter_mut();
    for part in text.split(separator) {
        if part.len() > 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        *slots.next()? = u8::from_str_radix(part, 16).ok()?;
    }
    slots.next().is_none().then_some(EtherAddr(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn either_separator_is_read_and_dashes_are_printed() {
        let parse = |text| ether(text, &Scope::builtin()).map(|addr| addr.to_string());
        assert_eq!(parse("0:1a:2B:3:4:5"), Ok("00-1A-2B-03-04-05".into()));
        assert_eq!(parse("00-1A-2B-03-04-05"), Ok("00-1A-2B-03-04-05".into()));
        for text in [
            "0:1:2:3:4",
            "0:1:2:3:4:5:6",
            "0:1-2:3:4:5",
            "0:1:2:3:4:",
            "0:1:2:3:4:555",
            "g:1:2:3:4:5",
            "+1:1:2:3:4:5",
            "",
        ] {
            assert_eq!(parse(text), Err("parse error".into()), "{text}");
        }
        assert_eq!(EtherAddr::BROADCAST.with_colons(), "FF:FF:FF:FF:FF:FF");
    }

    proptest! {
        #[test]
        fn printed_addresses_parse(bytes: [u8; 6]) {
            let scope = Scope::builtin();
            prop_assert_eq!(ether(&EtherAddr(bytes).to_string(), &scope), Ok(EtherAddr(bytes)));
            prop_assert_eq!(ether(&EtherAddr(bytes).with_colons(), &scope), Ok(EtherAddr(bytes)));
        }

        #[test]
        fn any_text_is_an_address_or_not(text in "[0-9a-g:+é-]{0,20}") {
            let _ = ether(&text, &Scope::builtin());
        }
    }
}
