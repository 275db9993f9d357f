//! Everything that is set for a device, to set it again for one that takes its place.

mod news;

use std::net::IpAddr;
use std::time::Duration;

use sys::link_request::{self, CableEnd, LINK_LEN};
use sys::netlink::{attributes, Message, Request as Change, Socket, APPEND, DUMP, REPLACE};

use crate::agent::{Reply, Request};
use crate::inside::Inside;
use crate::{Error, Result};

/// Everything that is set for a device: its number, link, addresses, routes, fixed neighbours and settings.
#[derive(Clone, Debug)]
pub struct Saved {
    name: String,
    index: u32,
    flags: u32,
    mac: Option<[u8; 6]>,
    mtu: Option<u32>,
    /// Other attributes of the link.
    link: Attributes,
    addresses: Vec<Entry>,
    neighbours: Vec<Entry>,
    /// All that the kernel did not make by itself, whichever device they lead to: some go with an address.
    routes: Vec<Entry>,
    /// As the agent tells them.
    settings: String,
}

type Attributes = Vec<(u16, Vec<u8>)>;

/// An entry of a table of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    fixed: Vec<u8>,
    attributes: Attributes,
}

impl Saved {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// The device as an end of a cable that takes its place.
    pub(crate) fn end(&self) -> CableEnd<'_> {
        CableEnd { index: self.index, mac: self.mac, mtu: self.mtu, ..CableEnd::new(&self.name) }
    }

    pub(crate) fn read(inside: &mut Inside, name: &str) -> Result<Self> {
        let tables = &mut inside.netlink;
        let answers = tables.ask(link_request::describe(name)?, name)?;
        let link = answers.first().and_then(|link| entry(link, LINK_LEN, |_| true));
        let link = link.ok_or_else(|| Error::no_interface(name))?;
        let (index, flags) = (word(&link.fixed, 4), word(&link.fixed, 8));
        let (mac, mtu) = (link.mac(), link.mtu());
        let addresses = addresses(tables, index)?;
        let neighbours = neighbours(tables, index)?;
        let routes = routes(tables)?;
        let Reply::Settings(settings) = inside.ask(&Request::Settings { name: name.into() })? else {
            return Err(Error::Silent);
        };
        let kept = link.attributes.into_iter().filter(|(kind, _)| KEPT_OF_LINK.contains(kind)).collect();
        let name = name.to_string();
        Ok(Self { name, index, flags, mac, mtu, link: kept, addresses, neighbours, routes, settings })
    }

    /// Sets the link of the device that took the place as it was, up if it was up.
    pub(crate) fn put_link_back(&self, inside: &mut Inside) -> Result<()> {
        // First, as some decide what happens when the device comes up.
        inside.ask(&Request::Set { settings: self.settings.clone() })?;
        for (kind, value) in &self.link {
            let mut change = link_request::change(self.index, 0, 0);
            change.attr(*kind, value);
            inside.netlink.apply(change, &self.name)?;
        }
        let change = link_request::change(self.index, self.flags & KEPT_FLAGS, KEPT_FLAGS);
        Ok(inside.netlink.apply(change, &self.name)?)
    }

    /// Adds what the kernel forgot with the device: addresses, neighbours and routes.
    pub(crate) fn put_tables_back(&self, inside: &mut Inside) -> Result<()> {
        let tables = &mut inside.netlink;
        for address in &self.addresses {
            self.apply(tables, address.request("RTM_NEWADDR", libc::RTM_NEWADDR, REPLACE))?;
        }
        for neighbour in &self.neighbours {
            self.apply(tables, neighbour.request("RTM_NEWNEIGH", libc::RTM_NEWNEIGH, REPLACE))?;
        }
        let left = routes(tables)?;
        let (direct, by_gateway): (Vec<&Entry>, Vec<&Entry>) =
            self.routes.iter().filter(|route| !left.contains(route)).partition(|route| !route.has_gateway());
        let mut by_others = Vec::new();
        for route in direct.into_iter().chain(by_gateway) {
            match self.put_route_back(tables, route) {
                Err(_) if route.leads_to_another(self.index) => by_others.push(route),
                result => result?,
            }
        }
        let left_out = self.put_back_in_time(tables, by_others);
        inside.left_out.extend(left_out);
        Ok(())
    }

    fn put_route_back(&self, tables: &mut Socket, route: &Entry) -> Result<()> {
        // A route by several ways may be there still, with fewer of them.
        let flags = if route.has(libc::RTA_MULTIPATH) { REPLACE } else { APPEND };
        self.apply(tables, route.request("RTM_NEWROUTE", libc::RTM_NEWROUTE, flags))
    }

    /// Adds routes by other devices, which may just be exchanged as well, by another neighbour; a sentence for each that could not be.
    fn put_back_in_time(&self, tables: &mut Socket, mut routes: Vec<&Entry>) -> Vec<String> {
        for _ in 0..TRIES {
            if routes.is_empty() {
                break;
            }
            std::thread::sleep(PAUSE);
            routes.retain(|route| self.put_route_back(tables, route).is_err());
        }
        let tried = routes.into_iter().map(|route| (route, self.put_route_back(tables, route)));
        let told = |(route, result): (&Entry, Result<()>)| {
            result.err().map(|error| format!("the route to {} is lost: {error}", route.destination()))
        };
        tried.filter_map(told).collect()
    }

    fn apply(&self, tables: &mut Socket, change: Change) -> Result<()> {
        match tables.apply(change, &self.name) {
            Err(error) if error.errno() != Some(libc::EEXIST) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl Entry {
    fn find(&self, kind: u16) -> Option<&[u8]> {
        self.attributes.iter().find(|(other, _)| *other == kind).map(|(_, value)| value.as_slice())
    }

    fn has(&self, kind: u16) -> bool {
        self.find(kind).is_some()
    }

    /// The Ethernet address of a link.
    fn mac(&self) -> Option<[u8; 6]> {
        self.find(libc::IFLA_ADDRESS)?.try_into().ok()
    }

    /// The MTU of a link.
    fn mtu(&self) -> Option<u32> {
        self.find(libc::IFLA_MTU).map(|value| word(value, 0))
    }

    fn has_gateway(&self) -> bool {
        [libc::RTA_GATEWAY, RTA_VIA, libc::RTA_MULTIPATH].into_iter().any(|kind| self.has(kind))
    }

    /// Whether this is a route by one device, and not by this one.
    fn leads_to_another(&self, index: u32) -> bool {
        let device = self.attributes.iter().find(|(kind, _)| *kind == libc::RTA_OIF);
        device.is_some_and(|(_, value)| word(value, 0) != index)
    }

    /// Where a route leads to.
    fn destination(&self) -> String {
        let value = self.attributes.iter().find(|(kind, _)| *kind == libc::RTA_DST).map(|(_, value)| value);
        let address = value.and_then(|value| {
            let four = <[u8; 4]>::try_from(value.as_slice()).ok().map(IpAddr::from);
            four.or_else(|| <[u8; 16]>::try_from(value.as_slice()).ok().map(IpAddr::from))
        });
        address.map_or("default".into(), |address| format!("{address}/{}", self.fixed[1]))
    }

    fn request(&self, call: &'static str, kind: u16, flags: u16) -> Change {
        let mut request = Change::new(call, kind, flags, &self.fixed);
        for (kind, value) in &self.attributes {
            request.attr(*kind, value);
        }
        request
    }
}

/// How often, and how long after each other, routes by other devices are tried again.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

const KEPT_OF_LINK: [u16; 4] = [libc::IFLA_TXQLEN, libc::IFLA_IFALIAS, libc::IFLA_GROUP, libc::IFLA_MASTER];
const KEPT_FLAGS: u32 =
    (libc::IFF_UP | libc::IFF_NOARP | libc::IFF_PROMISC | libc::IFF_ALLMULTI | libc::IFF_MULTICAST) as u32;
/// Lengths of `struct ifaddrmsg`, `struct ndmsg` and `struct rtmsg`.
const ADDRESS_LEN: usize = 8;
const NEIGHBOUR_LEN: usize = 12;
const ROUTE_LEN: usize = 12;
/// linux/rtnetlink.h and linux/neighbour.h.
const RTA_VIA: u16 = 18;
const RTA_NH_ID: u16 = 30;
const RTNH_F_ONLINK: u32 = 4;
const NUD_PERMANENT: u16 = 0x80;
const NTF_PROXY: u8 = 8;

fn addresses(tables: &mut Socket, index: u32) -> Result<Vec<Entry>> {
    let request = Change::new("RTM_GETADDR", libc::RTM_GETADDR, DUMP, &[0; ADDRESS_LEN]);
    Ok(tables.ask(request, "addresses")?.iter().filter_map(|message| address(message, index)).collect())
}

/// The address of this device that a message tells of.
fn address(message: &Message, index: u32) -> Option<Entry> {
    let mut address = entry(message, ADDRESS_LEN, |_| true)?;
    // How a search for others with the address went is no setting.
    for (_, value) in address.attributes.iter_mut().filter(|(kind, _)| *kind == libc::IFA_FLAGS) {
        let flags = word(value, 0) & !(libc::IFA_F_TENTATIVE | libc::IFA_F_DADFAILED);
        *value = flags.to_ne_bytes().to_vec();
    }
    Some(address).filter(|address| word(&address.fixed, 4) == index)
}

/// Those that somebody set, to others and on their behalf.
fn neighbours(tables: &mut Socket, index: u32) -> Result<Vec<Entry>> {
    let mut found = Vec::new();
    for flags in [0, NTF_PROXY] {
        let mut fixed = [0; NEIGHBOUR_LEN];
        fixed[10] = flags;
        let request = Change::new("RTM_GETNEIGH", libc::RTM_GETNEIGH, DUMP, &fixed);
        let all = tables.ask(request, "neighbours")?;
        found.extend(all.iter().filter_map(|message| neighbour(message, index)));
    }
    Ok(found)
}

/// The neighbour by this device that a message tells of, if somebody set it.
fn neighbour(message: &Message, index: u32) -> Option<Entry> {
    let is_kept = |kind| kind == libc::NDA_DST || kind == libc::NDA_LLADDR;
    entry(message, NEIGHBOUR_LEN, is_kept).filter(|entry| {
        let state = u16::from_ne_bytes([entry.fixed[8], entry.fixed[9]]);
        let is_set = entry.fixed[10] & NTF_PROXY != 0 || state & NUD_PERMANENT != 0;
        word(&entry.fixed, 4) == index && is_set
    })
}

/// All routes but those that the kernel makes by itself, without what says how they fare just now.
fn routes(tables: &mut Socket) -> Result<Vec<Entry>> {
    let request = Change::new("RTM_GETROUTE", libc::RTM_GETROUTE, DUMP, &[0; ROUTE_LEN]);
    Ok(tables.ask(request, "routes")?.iter().filter_map(route).collect())
}

/// The route that a message tells of, unless the kernel made it.
fn route(message: &Message) -> Option<Entry> {
    let is_kept = |kind| kind != libc::RTA_CACHEINFO && kind != RTA_NH_ID;
    let mut route = entry(message, ROUTE_LEN, is_kept)?;
    let (family, protocol, flags) = (route.fixed[0], route.fixed[5], word(&route.fixed, 8));
    let is_ip = [libc::AF_INET as u8, libc::AF_INET6 as u8].contains(&family);
    route.fixed[8..].copy_from_slice(&(flags & RTNH_F_ONLINK).to_ne_bytes());
    Some(route).filter(|_| is_ip && protocol != libc::RTPROT_KERNEL && flags & libc::RTM_F_CLONED == 0)
}

fn entry(message: &Message, fixed_len: usize, is_kept: impl Fn(u16) -> bool) -> Option<Entry> {
    let (fixed, rest) = message.payload.split_at_checked(fixed_len)?;
    let kept = attributes(rest).filter(|(kind, _)| is_kept(*kind));
    Some(Entry {
        fixed: fixed.to_vec(),
        attributes: kept.map(|(kind, value)| (kind, value.to_vec())).collect(),
    })
}

fn word(bytes: &[u8], start: usize) -> u32 {
    bytes.get(start..start + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes)
}
