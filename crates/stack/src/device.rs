//! Setting up a stack's devices from outside.

mod saved;

use std::os::fd::AsFd;

use sys::link;
use sys::link_request::{self, CableEnd};
use sys::namespace;
use sys::netlink::{Request as Change, Socket};

use crate::agent::Reply;
use crate::inside::Inside;
use crate::options::Interface;
use crate::port::{self, Port};
use crate::{Error, Result};

pub use saved::Saved;

/// This process's end of a device.
pub(crate) struct Opened {
    pub(crate) port: Port,
    /// What there is to know if it is no tap.
    pub(crate) stand_in: Option<StandIn>,
}

/// The far end of a cable that stands in for a tap.
pub(crate) struct StandIn {
    /// To its namespace.
    tables: Socket,
    /// A sentence on why there is no tap.
    pub(crate) note: String,
}

impl Opened {
    /// Waits until packets pass, once the device is up; a tap is ready at once.
    pub(crate) fn settle(&mut self, name: &str) -> Result<()> {
        match &mut self.stand_in {
            Some(stand_in) => Ok(link::wait_until_running(&mut stand_in.tables, name)?),
            None => Ok(()),
        }
    }
}

/// Brings the device up.
pub(crate) fn up(index: u32) -> Change {
    link_request::change(index, UP, UP)
}

/// Makes of what the agent opened the device that `interface` describes, without its routes.
pub(crate) fn attach(
    inside: &mut Inside,
    opened: Reply,
    index: u32,
    interface: &Interface,
) -> Result<Opened> {
    let Interface { name, mtu, mac, .. } = interface;
    let mtu = (*mtu != DEFAULT_MTU).then_some(*mtu);
    let end = CableEnd { index, mac: *mac, mtu, ..CableEnd::new(name) };
    let mut opened = plug(inside, opened, &end)?;
    let tables = &mut inside.netlink;
    if !interface.addresses.iter().any(|(address, _)| address.is_ipv6()) {
        // Nobody here speaks IPv6 yet: no address of its own, and nothing sent about it but that the stack, which
        // forwards, listens as a router (MLD, RFC 3810). Refused where the kernel has no IPv6 or the device is too narrow
        // for it, and then there is nothing to keep quiet.
        let _ = tables.apply(without_own_address(index), name);
    }
    let mut changes = vec![up(index)];
    for &(address, prefix_len) in &interface.addresses {
        changes.push(link_request::add_address(index, address, prefix_len)?);
    }
    tables.apply_all(changes, name)?;
    opened.settle(name)?;
    Ok(opened)
}

/// Adds the routes of `interface`.
pub(crate) fn add_routes(inside: &mut Inside, index: u32, interface: &Interface) -> Result<()> {
    for route in &interface.routes {
        let request = link_request::add_route(index, route.destination, route.prefix_len, route.gateway)?;
        let target = format!("{}: {}/{}", interface.name, route.destination, route.prefix_len);
        inside.netlink.apply(request, &target)?;
    }
    Ok(())
}

/// Makes of what the agent opened a device that is down, or whose other end alone is up.
pub(crate) fn plug(inside: &mut Inside, opened: Reply, near: &CableEnd<'_>) -> Result<Opened> {
    match opened {
        Reply::Tap(fd) => {
            inside.netlink.apply(reshape(near), near.name)?;
            Ok(Opened { port: port::tap(fd, near.name)?, stand_in: None })
        }
        Reply::Cable { rx, tx, network, netlink, reason } => {
            let network = namespace::check_network(network)?;
            let far = CableEnd { mac: None, namespace: Some(network.as_fd()), ..*near };
            inside.netlink.apply(link_request::create_veth(near, &far)?, near.name)?;
            let mut tables = Socket::from_received(netlink)?;
            tables.apply(up(near.index), near.name)?;
            let port = port::cable(rx, tx, near.index, near.name)?;
            let note = format!("packet sockets on veth stand in for taps: {reason}");
            Ok(Opened { port, stand_in: Some(StandIn { tables, note }) })
        }
        _ => Err(Error::Silent),
    }
}

/// What a new device has by itself.
const DEFAULT_MTU: u32 = 1500;

const UP: u32 = libc::IFF_UP as u32;

/// linux/if_link.h.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
/// `IN6_ADDR_GEN_MODE_NONE` of linux/if_link.h.
const NO_ADDRESS: u8 = 1;

/// How many packets a tap keeps until this process receives them. What a stack forwards comes as fast as it is written to the
/// stack; with the thousand of a new device, bursts of some thousand packets would be lost.
const QUEUE_LEN: u32 = 4096;

/// Gives a tap the MTU and the Ethernet address of `end`, and its queue.
fn reshape(end: &CableEnd<'_>) -> Change {
    let mut change = link_request::change(end.index, 0, 0);
    change.attr(libc::IFLA_TXQLEN, &QUEUE_LEN.to_ne_bytes());
    if let Some(mtu) = end.mtu {
        change.attr(libc::IFLA_MTU, &mtu.to_ne_bytes());
    }
    if let Some(mac) = end.mac {
        change.attr(libc::IFLA_ADDRESS, &mac);
    }
    change
}

fn without_own_address(index: u32) -> Change {
    let mut change = link_request::change(index, 0, 0);
    let families = change.begin(libc::IFLA_AF_SPEC);
    let family = change.begin(libc::AF_INET6 as u16);
    change.attr(IFLA_INET6_ADDR_GEN_MODE, &[NO_ADDRESS]);
    change.end(family);
    change.end(families);
    change
}
