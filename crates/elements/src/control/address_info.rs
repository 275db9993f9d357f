//! Gives names to addresses.
//!
//! Each argument is a name and its addresses: IPv4 and IPv6 addresses and prefixes, and Ethernet addresses. Other elements'
//! arguments may then use the name wherever they want an address of one of these kinds. `NAME:ip`, `NAME:ipnet`, `NAME:ip6`,
//! `NAME:ip6net` and `NAME:eth` say which is meant, `NAME:bcast` is the broadcast address of the prefix and `NAME:gw` the
//! gateway: that of the device of this name, or else the first address of the prefix. A prefix with host bits names both a
//! prefix and an address.
//!
//! Names are seen in the compound element they are defined in and inside of it. A name without a definition is that of a
//! network device.
//!
//! ```click
//! AddressInfo(inside 10.0.0.1/24 02:00:00:00:00:01);
//! Idle -> EtherEncap(0x0800, inside, ff:ff:ff:ff:ff:ff) -> Discard;
//! ```

use args::Scope;
use element::{Arg, Class, Configure, Element, Failed, Phase};

/// The class.
pub const CLASS: Class =
    Class::new::<AddressInfo>("AddressInfo", "0/0", "a/a", "x/x").args(ARGS).phase(Phase(0));

const ARGS: &[Arg] = &[Arg::rest("NAME ADDRESS...", "name and addresses", "A name and what it stands for.")];

/// See the page above.
pub struct AddressInfo;

/// The kinds of addresses that a name has been given.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Kinds(u8);

const ETHER: u8 = 1;
const IP: u8 = 2;
const PREFIX: u8 = 4;
const IP6: u8 = 8;
const PREFIX6: u8 = 16;

impl Kinds {
    /// Whether an address of several kinds defines this one: not if the name has it already.
    fn takes(self, kind: u8, of: u8) -> bool {
        of & kind != 0 && (of.count_ones() == 1 || self.0 & kind == 0)
    }
}

impl Element for AddressInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<AddressInfo, Failed> {
        for argument in conf.args.rest() {
            let words = args::split_words(&argument);
            let Some((name, addresses)) = words.split_first() else { continue };
            if addresses.is_empty() {
                conf.error("expected 'NAME [ADDRS]'");
            }
            let mut kinds = Kinds::default();
            for address in addresses {
                let found = define(conf.scope, name, address, kinds);
                kinds.0 |= found;
                if found == 0 {
                    conf.error(format!("'{address}' is not a recognizable address"));
                }
            }
        }
        conf.finish()?;
        Ok(AddressInfo)
    }
}

/// Defines a name as an address; gives the kinds of address that the text can be.
fn define(scope: &Scope<'_>, name: &str, text: &str, known: Kinds) -> u8 {
    let ether = args::ether(text, scope).ok();
    let mut ip = args::ip(text, scope).ok();
    let prefix = if ip.is_some() { None } else { args::prefix(text, scope).ok() };
    ip = ip.or(prefix.filter(|prefix| prefix.addr != prefix.network()).map(|prefix| prefix.addr));
    let mut ip6 = args::ip6(text, scope).ok();
    let prefix6 = if ip6.is_some() { None } else { args::prefix6(text, scope).ok() };
    ip6 = ip6.or(prefix6.filter(|prefix| prefix.addr != prefix.network()).map(|prefix| prefix.addr));
    let bit = |is_some: bool, kind: u8| if is_some { kind } else { 0 };
    let found = bit(ether.is_some(), ETHER)
        | bit(ip.is_some(), IP)
        | bit(prefix.is_some(), PREFIX)
        | bit(ip6.is_some(), IP6)
        | bit(prefix6.is_some(), PREFIX6);
    if let Some(ether) = ether.filter(|_| known.takes(ETHER, found)) {
        scope.define_ether(name, ether);
    }
    if let Some(ip) = ip.filter(|_| known.takes(IP, found)) {
        scope.define_ip(name, ip);
    }
    if let Some(prefix) = prefix.filter(|_| known.takes(PREFIX, found)) {
        scope.define_prefix(name, prefix);
    }
    if let Some(ip6) = ip6.filter(|_| known.takes(IP6, found)) {
        scope.define_ip6(name, ip6);
    }
    if let Some(prefix6) = prefix6.filter(|_| known.takes(PREFIX6, found)) {
        scope.define_prefix6(name, prefix6);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use args::Names;
    use expect_test::expect;

    #[test]
    fn a_name_has_an_address_of_each_kind() {
        let names = Names::default();
        let scope = Scope::new(&names, "in/info");
        let mut kinds = Kinds::default();
        for address in ["10.0.0.1/24", "1:2:3:4:5:6", "fe80::1/64", "10.0.0.9"] {
            kinds.0 |= define(&scope, "a", address, kinds);
        }
        let user = Scope::new(&names, "in/side/user");
        assert_eq!(args::ip("a", &user).unwrap().to_string(), "10.0.0.9");
        assert_eq!(args::prefix("a:ipnet", &user).unwrap().to_string(), "10.0.0.1/24");
        assert_eq!(args::ip("a:bcast", &user).unwrap().to_string(), "10.0.0.255");
        assert_eq!(args::ether("a:eth", &user).unwrap().to_string(), "01-02-03-04-05-06");
        assert_eq!(args::ip6("a", &user).unwrap().to_string(), "fe80::1");
        assert!(args::ip("a", &Scope::new(&names, "out")).is_err());
        assert_eq!(define(&scope, "b", "10.1.0.0/16", Kinds::default()), PREFIX);
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "AddressInfo(a 1.2.3.4, , c, d 5.6.7.8/33 foo)",
            expect![[r#"
                config:1: While configuring 'AddressInfo@1 :: AddressInfo':
                  expected 'NAME [ADDRS]'
                  '5.6.7.8/33' is not a recognizable address
                  'foo' is not a recognizable address
                Router could not be initialized!
            "#]],
        );
    }
}
