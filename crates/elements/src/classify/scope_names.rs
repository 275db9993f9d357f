//! The names of a graph, as filter expressions look them up.

use std::net::Ipv4Addr;

use args::{NameKind, Scope};
use filter::{BuiltInNames, Names};

/// Looks names up in a scope, then in the built-in tables.
pub struct ScopeNames<'a>(pub &'a Scope<'a>);

impl ScopeNames<'_> {
    fn integer<T: TryFrom<u32>>(&self, kind: NameKind, name: &str) -> Option<T> {
        self.0.integer(kind, name).and_then(|value| T::try_from(value).ok())
    }
}

impl Names for ScopeNames<'_> {
    fn has_numeric(&self) -> bool {
        self.0.has_numeric()
    }

    fn protocol(&self, name: &str) -> Option<i32> {
        self.integer(NameKind::Protocol, name).or_else(|| BuiltInNames.protocol(name))
    }

    fn port(&self, protocol: u8, name: &str) -> Option<u16> {
        self.integer(NameKind::Port(protocol), name).or_else(|| BuiltInNames.port(protocol, name))
    }

    fn icmp_type(&self, name: &str) -> Option<u8> {
        self.integer(NameKind::IcmpType, name).or_else(|| BuiltInNames.icmp_type(name))
    }

    fn ip(&self, name: &str) -> Option<Ipv4Addr> {
        self.0.ip(name)
    }

    fn prefix(&self, name: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
        self.0.prefix(name).map(|prefix| (prefix.addr, prefix.mask))
    }

    fn ethernet(&self, name: &str) -> Option<[u8; 6]> {
        self.0.ether(name).map(|address| address.0)
    }
}
