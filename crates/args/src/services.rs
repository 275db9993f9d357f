//! The host's tables of protocols and services.

use std::collections::HashMap;

use crate::names::NameKind;
use crate::tables;

/// Transport protocols whose ports have names: TCP, UDP, DCCP and SCTP.
const TRANSPORTS: [u8; 4] = [6, 17, 33, 132];

/// Names from `/etc/protocols` and `/etc/services`.
pub(crate) struct Services {
    protocols: HashMap<String, u32>,
    ports: HashMap<(u8, String), u32>,
}

impl Services {
    pub fn parse(protocols: &str, services: &str) -> Services {
        let mut tables = Services { protocols: HashMap::new(), ports: HashMap::new() };
        lines(protocols).for_each(|words| tables.add_protocol(&words));
        lines(services).for_each(|words| tables.add_service(&words));
        tables
    }

    pub fn lookup(&self, kind: NameKind, name: &str) -> Option<u32> {
        match kind {
            NameKind::Protocol => self.protocols.get(name).copied(),
            NameKind::Port(protocol) => self.ports.get(&(protocol, name.to_string())).copied(),
            _ => None,
        }
    }

    /// Whether a name consists of digits, dots and slashes.
    pub fn has_numeric(&self) -> bool {
        let ports = self.ports.keys().map(|(_, name)| name);
        self.protocols.keys().chain(ports).any(|name| filter::is_numeric(name))
    }

    /// Takes a line such as `tcp 6 TCP`.
    fn add_protocol(&mut self, words: &[&str]) {
        let [name, number, aliases @ ..] = words else { return };
        let Ok(number) = number.parse::<u8>() else { return };
        for name in std::iter::once(name).chain(aliases) {
            self.protocols.insert(name.to_string(), u32::from(number));
        }
    }

    /// Takes a line such as `domain 53/udp nameserver`.
    fn add_service(&mut self, words: &[&str]) {
        let [name, port, aliases @ ..] = words else { return };
        let Some((port, protocol)) = port.split_once(['/', ',']) else { return };
        let Ok(port) = port.parse::<u16>() else { return };
        let number =
            tables::lookup(NameKind::Protocol, protocol).or_else(|| self.protocols.get(protocol).copied());
        let Some(protocol) = number.and_then(|n| u8::try_from(n).ok()).filter(|n| TRANSPORTS.contains(n))
        else {
            return;
        };
        for name in std::iter::once(name).chain(aliases) {
            self.ports.insert((protocol, name.to_string()), u32::from(port));
        }
    }
}

/// The words of each line, without the comment.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split('#').next().unwrap_or("").split_ascii_whitespace().collect())
}
