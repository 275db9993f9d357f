//! Names that arguments may use for values: addresses, ports, protocols, annotations and more.
//!
//! A name is defined in a compound element (the element name up to its last slash) and seen there and in all that is
//! inside it; an inner definition hides an outer one. Built-in tables and the host's names come last.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use crate::ether::EtherAddr;
use crate::ip::Prefix;
use crate::ip6::Prefix6;
use crate::services::Services;
use crate::tables;

/// What an integer name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// Tickets of an element's task.
    Schedule,
    /// Packet annotation: size << 16 | offset.
    Annotation,
    /// Spin lock.
    Spinlock,
    /// IP protocol number.
    Protocol,
    /// Port of a transport protocol.
    Port(u8),
    /// ICMP type.
    IcmpType,
    /// Code of an ICMP type.
    IcmpCode(u8),
    /// Rewriter pattern.
    RewriterPattern,
    /// A kind that an element class keeps for itself.
    Own(&'static str),
}

/// What the host knows: devices, services and users. Every answer may be `None`.
pub trait Host: Send + Sync {
    /// First IPv4 address of a device.
    fn ip(&self, _device: &str) -> Option<Ipv4Addr> {
        None
    }
    /// First IPv4 address of a device with its mask.
    fn prefix(&self, _device: &str) -> Option<Prefix> {
        None
    }
    /// Gateway of the default route through a device.
    fn gateway(&self, _device: &str) -> Option<Ipv4Addr> {
        None
    }
    /// Ethernet address of a device.
    fn ether(&self, _device: &str) -> Option<EtherAddr> {
        None
    }
    /// What other programs that were asked for answers have told people since it was last looked at, a line each.
    fn said(&self) -> Vec<String> {
        Vec::new()
    }
    /// The text of `/etc/protocols`.
    fn protocols(&self) -> Option<String> {
        None
    }
    /// The text of `/etc/services`.
    fn services(&self) -> Option<String> {
        None
    }
    /// Home directory of a user, or of the user who runs the program.
    fn home(&self, _user: Option<&str>) -> Option<String> {
        None
    }
}

/// The names of a router.
#[derive(Default)]
pub struct Names {
    defined: RwLock<Defined>,
    host: Option<Arc<dyn Host>>,
    services: OnceLock<Services>,
}

/// Where an argument is read: the router's names, and the element that reads.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The router's names.
    pub names: &'a Names,
    /// Full name of the element, such as `nat/rw`.
    pub element: &'a str,
}

#[derive(Default)]
struct Defined {
    integers: HashMap<NameKind, Table<u32>>,
    ips: Table<Ipv4Addr>,
    prefixes: Table<Prefix>,
    ethers: Table<EtherAddr>,
    ip6s: Table<Ipv6Addr>,
    prefixes6: Table<Prefix6>,
    /// Whether a name of any kind consists of digits, dots and slashes.
    has_numeric: bool,
}

/// Names of one kind, by compound element.
struct Table<T>(HashMap<String, BTreeMap<String, T>>);

struct NoHost;

impl Names {
    /// No names but the built-in ones and those of a host.
    pub fn new(host: Box<dyn Host>) -> Names {
        Names { host: Some(host.into()), ..Names::default() }
    }

    /// As [`Names::new`], for another router on the same host.
    pub fn of_same_host(&self) -> Names {
        Names { host: self.host.clone(), ..Names::default() }
    }

    /// The host.
    pub fn host(&self) -> &dyn Host {
        self.host.as_deref().unwrap_or(&NoHost)
    }

    fn read<R>(&self, read: impl FnOnce(&Defined) -> R) -> R {
        read(&self.defined.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn define(&self, name: &str, define: impl FnOnce(&mut Defined)) {
        let mut defined = self.defined.write().unwrap_or_else(PoisonError::into_inner);
        defined.has_numeric |= filter::is_numeric(name);
        define(&mut defined);
    }

    fn services(&self) -> &Services {
        self.services.get_or_init(|| {
            let host = self.host();
            Services::parse(&host.protocols().unwrap_or_default(), &host.services().unwrap_or_default())
        })
    }
}

impl<'a> Scope<'a> {
    /// The scope of an element.
    pub fn new(names: &'a Names, element: &'a str) -> Scope<'a> {
        Scope { names, element }
    }

    /// A scope with nothing but the built-in names.
    pub fn builtin() -> Scope<'static> {
        static NAMES: OnceLock<Names> = OnceLock::new();
        Scope { names: NAMES.get_or_init(Names::default), element: "" }
    }

    /// Defines an integer name in the element's compound.
    pub fn define(&self, kind: NameKind, name: &str, value: u32) {
        self.names.define(name, |d| d.integers.entry(kind).or_default().define(self, name, value));
    }

    /// Defines an IPv4 address name in the element's compound.
    pub fn define_ip(&self, name: &str, value: Ipv4Addr) {
        self.names.define(name, |d| d.ips.define(self, name, value));
    }

    /// Defines an IPv4 prefix name in the element's compound.
    pub fn define_prefix(&self, name: &str, value: Prefix) {
        self.names.define(name, |d| d.prefixes.define(self, name, value));
    }

    /// Defines an Ethernet address name in the element's compound.
    pub fn define_ether(&self, name: &str, value: EtherAddr) {
        self.names.define(name, |d| d.ethers.define(self, name, value));
    }

    /// Defines an IPv6 address name in the element's compound.
    pub fn define_ip6(&self, name: &str, value: Ipv6Addr) {
        self.names.define(name, |d| d.ip6s.define(self, name, value));
    }

    /// Defines an IPv6 prefix name in the element's compound.
    pub fn define_prefix6(&self, name: &str, value: Prefix6) {
        self.names.define(name, |d| d.prefixes6.define(self, name, value));
    }

    /// Whether any name but a device's consists of digits, dots and slashes, as numbers, addresses and prefixes do.
    pub fn has_numeric(&self) -> bool {
        self.names.read(|d| d.has_numeric) || self.names.services().has_numeric()
    }

    /// Looks an integer name up.
    pub fn integer(&self, kind: NameKind, name: &str) -> Option<u32> {
        let defined = self.names.read(|d| d.integers.get(&kind).and_then(|table| table.lookup(self, name)));
        defined.or_else(|| tables::lookup(kind, name)).or_else(|| self.service(kind, name))
    }

    /// Looks an integer name up, or else takes it as a number.
    pub fn integer_or_number(&self, kind: NameKind, name: &str) -> Option<u32> {
        self.integer(kind, name).or_else(|| crate::integer(name).ok())
    }

    /// A name of a value: an inner one rather than an outer one.
    pub fn name_of(&self, kind: NameKind, value: u32) -> Option<String> {
        let defined = self.names.read(|d| d.integers.get(&kind).and_then(|table| table.name_of(self, value)));
        defined.or_else(|| tables::name_of(kind, value).map(str::to_string))
    }

    /// Looks an IPv4 address up: `NAME`, `NAME:ip`, `NAME:ip4`, `NAME:bcast`, `NAME:gw` or a device.
    pub fn ip(&self, name: &str) -> Option<Ipv4Addr> {
        let Some((base, suffix)) = name.rsplit_once(':') else {
            return self.plain_ip(name);
        };
        match suffix.to_ascii_lowercase().as_str() {
            "ip" | "ip4" => self.plain_ip(base),
            "bcast" => {
                self.prefix(base).map(|prefix| Ipv4Addr::from(prefix.addr.to_bits() | !prefix.mask.to_bits()))
            }
            "gw" => self.gateway(name, base),
            _ => None,
        }
    }

    /// Looks an IPv4 prefix up: `NAME`, `NAME:net`, `NAME:ipnet`, `NAME:ip4net` or a device.
    pub fn prefix(&self, name: &str) -> Option<Prefix> {
        let name = without_suffix(name, &["net", "ipnet", "ip4net"])?;
        self.defined_prefix(name).or_else(|| self.names.host().prefix(name))
    }

    /// Looks an Ethernet address up: `NAME`, `NAME:eth`, `NAME:ether`, `NAME:ethernet` or a device.
    pub fn ether(&self, name: &str) -> Option<EtherAddr> {
        let name = without_suffix(name, &["eth", "ether", "ethernet"])?;
        self.names.read(|d| d.ethers.lookup(self, name)).or_else(|| self.names.host().ether(name))
    }

    /// Looks an IPv6 address up: `NAME` or `NAME:ip6`.
    pub fn ip6(&self, name: &str) -> Option<Ipv6Addr> {
        let name = without_suffix(name, &["ip6"])?;
        self.names.read(|d| d.ip6s.lookup(self, name))
    }

    /// Looks an IPv6 prefix up: `NAME` or `NAME:ip6net`.
    pub fn prefix6(&self, name: &str) -> Option<Prefix6> {
        let name = without_suffix(name, &["ip6net"])?;
        self.names.read(|d| d.prefixes6.lookup(self, name))
    }

    fn plain_ip(&self, name: &str) -> Option<Ipv4Addr> {
        self.names.read(|d| d.ips.lookup(self, name)).or_else(|| self.names.host().ip(name))
    }

    fn defined_prefix(&self, name: &str) -> Option<Prefix> {
        self.names.read(|d| d.prefixes.lookup(self, name))
    }

    /// The gateway: defined as such, or the host's, or the first address of the network.
    fn gateway(&self, suffixed: &str, base: &str) -> Option<Ipv4Addr> {
        if let Some(ip) = self.names.read(|d| d.ips.lookup(self, suffixed)) {
            return Some(ip);
        }
        let first = |prefix: Prefix| Ipv4Addr::from(prefix.addr.to_bits() & prefix.mask.to_bits() | 1);
        let host = self.names.host();
        let defined = self.defined_prefix(base).map(first);
        defined.or_else(|| host.gateway(base)).or_else(|| host.prefix(base).map(first))
    }

    fn service(&self, kind: NameKind, name: &str) -> Option<u32> {
        match kind {
            // A number is never looked up among the services.
            NameKind::Protocol | NameKind::Port(_) if crate::integer::<i32>(name).is_err() => {
                self.names.services().lookup(kind, name)
            }
            _ => None,
        }
    }

    /// The compound elements that enclose the element, innermost first, each with its final slash.
    fn compounds(&self) -> impl Iterator<Item = &'a str> {
        let element = self.element;
        let inner = element.rmatch_indices('/').filter_map(move |(at, _)| element.get(..=at));
        inner.chain(std::iter::once(""))
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table(HashMap::new())
    }
}

impl<T: Clone + PartialEq> Table<T> {
    fn define(&mut self, scope: &Scope<'_>, name: &str, value: T) {
        let compound = scope.compounds().next().unwrap_or("");
        if !name.is_empty() {
            self.0.entry(compound.to_string()).or_default().insert(name.to_string(), value);
        }
    }

    fn lookup(&self, scope: &Scope<'_>, name: &str) -> Option<T> {
        scope.compounds().find_map(|compound| self.0.get(compound)?.get(name).cloned())
    }

    fn name_of(&self, scope: &Scope<'_>, value: T) -> Option<String> {
        let find =
            |names: &BTreeMap<String, T>| names.iter().find(|(_, v)| **v == value).map(|(n, _)| n.clone());
        scope.compounds().find_map(|compound| find(self.0.get(compound)?))
    }
}

impl Host for NoHost {}

/// The name without its suffix, which must be one of `suffixes` if there is one.
fn without_suffix<'n>(name: &'n str, suffixes: &[&str]) -> Option<&'n str> {
    match name.rsplit_once(':') {
        None => Some(name),
        Some((base, suffix)) => suffixes.iter().any(|s| s.eq_ignore_ascii_case(suffix)).then_some(base),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lan;

    impl Host for Lan {
        fn ip(&self, device: &str) -> Option<Ipv4Addr> {
            self.prefix(device).map(|prefix| prefix.addr)
        }
        fn prefix(&self, device: &str) -> Option<Prefix> {
            let prefix = Prefix { addr: Ipv4Addr::new(10, 1, 2, 3), mask: Ipv4Addr::new(255, 255, 0, 0) };
            (device == "lan0").then_some(prefix)
        }
        fn ether(&self, device: &str) -> Option<EtherAddr> {
            (device == "lan0").then_some(EtherAddr([2, 0, 0, 0, 0, 1]))
        }
        fn protocols(&self) -> Option<String> {
            Some("ospf 89 OSPFIGP # Open Shortest Path First\n".into())
        }
        fn services(&self) -> Option<String> {
            Some("# services\ndomain 5353/udp\nweb 8080/tcp  alt # alternative\n".into())
        }
    }

    fn ip(text: &str) -> Option<Ipv4Addr> {
        text.parse().ok()
    }

    #[test]
    fn it_is_known_whether_numbers_are_names() {
        struct Odd;
        impl Host for Odd {
            fn services(&self) -> Option<String> {
                Some("3com 106/tcp 10.0/8\n".into())
            }
        }
        let names = Names::new(Box::new(Lan));
        let scope = Scope::new(&names, "");
        scope.define_ip("net10", Ipv4Addr::LOCALHOST);
        assert!(!scope.has_numeric());
        scope.define_ip("10/8", Ipv4Addr::LOCALHOST);
        assert!(scope.has_numeric());
        assert!(Scope::new(&Names::new(Box::new(Odd)), "").has_numeric());
    }

    #[test]
    fn inner_names_hide_outer_ones() {
        let names = Names::default();
        let at = |element| Scope::new(&names, element);
        at("top").define(NameKind::Own("x"), "n", 1);
        at("a/ai").define(NameKind::Own("x"), "n", 2);
        at("a/b/ai").define(NameKind::Own("x"), "m", 3);
        let lookup = |element, name| at(element).integer(NameKind::Own("x"), name);
        assert_eq!(lookup("other", "n"), Some(1));
        assert_eq!(lookup("a/x", "n"), Some(2));
        assert_eq!(lookup("a/b/c", "n"), Some(2));
        assert_eq!(lookup("ab/c", "n"), Some(1));
        assert_eq!(lookup("a/b/c", "m"), Some(3));
        assert_eq!(lookup("a/x", "m"), None);
        assert_eq!(at("a/x").name_of(NameKind::Own("x"), 1), Some("n".into()));
    }

    #[test]
    fn suffixes_choose_the_address() {
        let names = Names::new(Box::new(Lan));
        let scope = Scope::new(&names, "e");
        let net = Prefix { addr: Ipv4Addr::new(18, 26, 4, 9), mask: Ipv4Addr::new(255, 255, 255, 0) };
        scope.define_prefix("net", net);
        assert_eq!(scope.prefix("net:IPNET"), Some(net));
        assert_eq!(scope.ip("net"), None);
        assert_eq!(scope.ip("net:bcast"), ip("18.26.4.255"));
        assert_eq!(scope.ip("net:net:bcast"), ip("18.26.4.255"));
        assert_eq!(scope.ip("net:gw"), ip("18.26.4.1"));
        scope.define_ip("net:gw", Ipv4Addr::new(18, 26, 4, 254));
        assert_eq!(scope.ip("net:gw"), ip("18.26.4.254"));
        assert_eq!(scope.ip("lan0:ip4"), ip("10.1.2.3"));
        assert_eq!(scope.ip("lan0:gw"), ip("10.1.0.1"));
        assert_eq!(scope.ip("lan0:eth"), None);
        assert_eq!(scope.ether("lan0:eth").map(|e| e.to_string()), Some("02-00-00-00-00-01".into()));
        assert_eq!(scope.ether("lan0:ip"), None);
    }

    #[test]
    fn built_in_names_come_before_the_hosts() {
        let names = Names::new(Box::new(Lan));
        let scope = Scope::new(&names, "e");
        assert_eq!(scope.integer(NameKind::Port(17), "domain"), Some(53));
        assert_eq!(scope.integer(NameKind::Port(6), "web"), Some(8080));
        assert_eq!(scope.integer(NameKind::Port(6), "alt"), Some(8080));
        assert_eq!(scope.integer(NameKind::Port(17), "web"), None);
        assert_eq!(scope.integer(NameKind::Protocol, "ospf"), Some(89));
        assert_eq!(scope.integer(NameKind::Protocol, "OSPFIGP"), Some(89));
        assert_eq!(scope.integer_or_number(NameKind::Protocol, "0x11"), Some(17));
        assert_eq!(scope.integer(NameKind::IcmpCode(3), "port"), Some(3));
        assert_eq!(scope.name_of(NameKind::IcmpType, 8), Some("echo".into()));
    }
}
