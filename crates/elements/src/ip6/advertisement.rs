//! What a router advertises to the hosts of a link (RFC 4861, section 4.2).

use std::net::Ipv6Addr;

use args::{Prefix6, Scope};
use wire::{icmpv6, MacAddress};

use super::discovery::source_option;

/// Options (RFC 4861, sections 4.6.2 and 4.6.4; RFC 8106, section 5.1).
const PREFIX_OPTION: u8 = 3;
const MTU_OPTION: u8 = 5;
const DNS_OPTION: u8 = 25;

const MANAGED: u8 = 0x80;
const OTHER: u8 = 0x40;
const ON_LINK: u8 = 0x80;
const AUTONOMOUS: u8 = 0x40;

/// Most prefixes and servers: the message must fit into what every link carries.
pub const PREFIXES_MAX: usize = 24;
/// See [`PREFIXES_MAX`].
pub const SERVERS_MAX: usize = 16;

/// What is advertised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// What hosts put into their packets' hop limit.
    pub hop_limit: u8,
    /// Whether hosts get their addresses by DHCPv6.
    pub is_managed: bool,
    /// Whether hosts get other things by DHCPv6.
    pub has_other: bool,
    /// For how many seconds this is a default router; 0 for none.
    pub lifetime_s: u16,
    /// The link's MTU; 0 for none that is told.
    pub mtu: u32,
    /// Networks.
    pub prefixes: Vec<AdvertisedPrefix>,
    /// Name servers.
    pub servers: Vec<Ipv6Addr>,
    /// For how many seconds these are.
    pub servers_lifetime_s: u32,
}

/// A network that is advertised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdvertisedPrefix {
    /// The network.
    pub prefix: Prefix6,
    /// For how many seconds addresses in it are valid.
    pub valid_s: u32,
    /// For how many seconds they are used for what is new.
    pub preferred_s: u32,
    /// Whether all its hosts are on the link.
    pub is_on_link: bool,
    /// Whether hosts make addresses in it for themselves.
    pub is_autonomous: bool,
}

impl AdvertisedPrefix {
    /// Parses `PREFIX VALID PREFERRED` and perhaps `onlink` and `autonomous`.
    pub fn parse(text: &str, scope: &Scope<'_>) -> Result<AdvertisedPrefix, String> {
        let words = args::split_words(text);
        let (Some(prefix), Some(valid), Some(preferred)) = (words.first(), words.get(1), words.get(2)) else {
            return Err("expected PREFIX VALID PREFERRED [onlink] [autonomous]".to_string());
        };
        let seconds =
            |word: &str| args::integer::<u32>(word).map_err(|_| format!("`{word}` is no number of seconds"));
        let prefix = args::prefix6(prefix, scope)?;
        let (valid_s, preferred_s) = (seconds(valid)?, seconds(preferred)?);
        let mut found =
            AdvertisedPrefix { prefix, valid_s, preferred_s, is_on_link: false, is_autonomous: false };
        for word in words.iter().skip(3) {
            match word.as_str() {
                "onlink" => found.is_on_link = true,
                "autonomous" => found.is_autonomous = true,
                _ => return Err(format!("`{word}` is neither `onlink` nor `autonomous`")),
            }
        }
        // RFC 4861, section 6.2.1.
        match preferred_s <= valid_s {
            true => Ok(found),
            false => Err("the preferred lifetime is longer than the valid one".to_string()),
        }
    }

    fn option(&self) -> [u8; 32] {
        let mut option = [0; 32];
        let flags =
            if self.is_on_link { ON_LINK } else { 0 } | if self.is_autonomous { AUTONOMOUS } else { 0 };
        option[..4].copy_from_slice(&[PREFIX_OPTION, 4, self.prefix.len, flags]);
        option[4..8].copy_from_slice(&self.valid_s.to_be_bytes());
        option[8..12].copy_from_slice(&self.preferred_s.to_be_bytes());
        option[16..].copy_from_slice(&self.prefix.network().octets());
        option
    }
}

impl Advertised {
    /// The message, its checksum not set, of a router with this Ethernet address.
    pub fn message(&self, mac: MacAddress) -> Vec<u8> {
        let flags = if self.is_managed { MANAGED } else { 0 } | if self.has_other { OTHER } else { 0 };
        let [high, low] = self.lifetime_s.to_be_bytes();
        let mut message = vec![icmpv6::ROUTER_ADVERTISEMENT, 0, 0, 0, self.hop_limit, flags, high, low];
        // How long neighbors are reachable, and how long answers take, is left to hosts.
        message.extend([0; 8]);
        message.extend(source_option(mac));
        if self.mtu != 0 {
            message.extend([MTU_OPTION, 1, 0, 0]);
            message.extend(self.mtu.to_be_bytes());
        }
        message.extend(self.prefixes.iter().flat_map(AdvertisedPrefix::option));
        if !self.servers.is_empty() {
            message.extend([DNS_OPTION, 1 + 2 * self.servers.len() as u8, 0, 0]);
            message.extend(self.servers_lifetime_s.to_be_bytes());
            message.extend(self.servers.iter().flat_map(Ipv6Addr::octets));
        }
        message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_as_long_as_they_say() {
        let prefix =
            AdvertisedPrefix::parse("2001:db8::/64 3 2 onlink autonomous", &Scope::builtin()).unwrap();
        let advertised = Advertised {
            hop_limit: 64,
            is_managed: true,
            has_other: true,
            lifetime_s: 0x0102,
            mtu: 1400,
            prefixes: vec![prefix; PREFIXES_MAX],
            servers: vec!["2001:db8::53".parse().unwrap(); SERVERS_MAX],
            servers_lifetime_s: 9,
        };
        let message = advertised.message([2, 0, 0, 0, 0, 1]);
        assert_eq!(message[..8], [134, 0, 0, 0, 64, 0xc0, 1, 2]);
        let mut kinds = Vec::new();
        let mut rest = &message[16..];
        while let [kind, len, ..] = *rest {
            kinds.push(kind);
            rest = &rest[usize::from(len) * 8..];
        }
        assert_eq!((kinds.len(), &kinds[..3], kinds.last()), (27, &[1, 5, 3][..], Some(&25)));
        assert!(message.len() + 40 <= 1280, "{}", message.len());
        assert_eq!(prefix.option()[..16], [3, 4, 64, 0xc0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 0]);
    }

    #[test]
    fn prefixes_that_cannot_be_are_refused() {
        for text in
            ["2001:db8::/64", "x 3 2", "2001:db8::/64 2 3", "2001:db8::/64 3 2 off", "2001:db8::/64 3 -1"]
        {
            assert!(AdvertisedPrefix::parse(text, &Scope::builtin()).is_err(), "{text}");
        }
    }
}
