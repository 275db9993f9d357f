//! Requests about network devices by their numbers, for a [`crate::netlink::Socket`] of any namespace.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::error::{Result, SysError};
use crate::link::{address_remedy, c_name};
use crate::netlink::{Request, CREATE, REPLACE};

/// An end of a cable that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct CableEnd<'a> {
    pub name: &'a str,
    /// 0: the kernel chooses.
    pub index: u32,
    pub mac: Option<[u8; 6]>,
    pub mtu: Option<u32>,
    /// Where it is to be, if that is not the socket's namespace.
    pub namespace: Option<BorrowedFd<'a>>,
}

impl<'a> CableEnd<'a> {
    pub fn new(name: &'a str) -> Self {
        Self { name, index: 0, mac: None, mtu: None, namespace: None }
    }
}

/// Changes the device: those flags (`IFF_*`) that are in `mask`, and what attributes (`IFLA_*`) are added.
pub fn change(index: u32, flags: u32, mask: u32) -> Request {
    Request::new("RTM_NEWLINK", libc::RTM_NEWLINK, 0, &link_part(index, flags, mask))
}

/// Removes the device.
pub fn delete(index: u32) -> Request {
    Request::new("RTM_DELLINK", libc::RTM_DELLINK, 0, &link_part(index, 0, 0))
}

/// Asks for what there is to know of device `name`: one RTM_NEWLINK, its fixed part of [`LINK_LEN`] bytes.
pub fn describe(name: &str) -> Result<Request> {
    let c_name = c_name(name)?;
    let mut request = Request::new("RTM_GETLINK", libc::RTM_GETLINK, 0, &link_part(0, 0, 0));
    request.attr(libc::IFLA_IFNAME, c_name.as_bytes_with_nul());
    Ok(request)
}

/// Gives the device an address with the given prefix length, usable at once.
pub fn add_address(index: u32, address: IpAddr, prefix_len: u8) -> Result<Request> {
    check_prefix(address, prefix_len)?;
    let (family, octets) = family_and_octets(address);
    let mut fixed = vec![family, prefix_len, libc::IFA_F_NODAD as u8, 0];
    fixed.extend(index.to_ne_bytes());
    let mut request = Request::new("RTM_NEWADDR", libc::RTM_NEWADDR, REPLACE, &fixed);
    request.attr(libc::IFA_LOCAL, &octets).attr(libc::IFA_ADDRESS, &octets);
    Ok(request.about(format!("{address}/{prefix_len}"), address_remedy))
}

/// Sends packets for `destination/prefix_len` to `gateway`, which the device reaches.
pub fn add_route(index: u32, destination: IpAddr, prefix_len: u8, gateway: IpAddr) -> Result<Request> {
    check_prefix(destination, prefix_len)?;
    if destination.is_ipv4() != gateway.is_ipv4() {
        return Err(SysError::invalid(
            "gateway",
            gateway.to_string(),
            "is of another IP version than the route",
        ));
    }
    let (family, octets) = family_and_octets(destination);
    let fixed = [family, prefix_len, 0, 0, libc::RT_TABLE_MAIN, libc::RTPROT_STATIC, 0, libc::RTN_UNICAST];
    let fixed = [&fixed[..], &[0; 4]].concat();
    let mut request = Request::new("RTM_NEWROUTE", libc::RTM_NEWROUTE, REPLACE, &fixed);
    if prefix_len > 0 {
        request.attr(libc::RTA_DST, &octets);
    }
    request.attr(libc::RTA_GATEWAY, &family_and_octets(gateway).1);
    request.attr(libc::RTA_OIF, &index.to_ne_bytes());
    Ok(request)
}

/// Makes two devices that are the ends of one cable; both are down.
pub fn create_veth(near: &CableEnd<'_>, far: &CableEnd<'_>) -> Result<Request> {
    let fixed = link_part(near.index, 0, 0);
    let mut request = Request::new("RTM_NEWLINK", libc::RTM_NEWLINK, CREATE, &fixed);
    describe_end(&mut request, near)?;
    let info = request.begin(libc::IFLA_LINKINFO);
    request.attr(libc::IFLA_INFO_KIND, b"veth");
    let data = request.begin(libc::IFLA_INFO_DATA);
    let other = request.begin(VETH_INFO_PEER);
    request.raw(&link_part(far.index, 0, 0));
    describe_end(&mut request, far)?;
    request.end(other);
    request.end(data);
    request.end(info);
    Ok(request)
}

/// Bytes of `struct ifinfomsg`.
pub const LINK_LEN: usize = 16;

/// `VETH_INFO_PEER` of linux/veth.h.
const VETH_INFO_PEER: u16 = 1;

fn describe_end(request: &mut Request, end: &CableEnd<'_>) -> Result<()> {
    request.attr(libc::IFLA_IFNAME, c_name(end.name)?.as_bytes_with_nul());
    if let Some(mac) = end.mac {
        request.attr(libc::IFLA_ADDRESS, &mac);
    }
    if let Some(mtu) = end.mtu {
        request.attr(libc::IFLA_MTU, &mtu.to_ne_bytes());
    }
    if let Some(namespace) = end.namespace {
        request.attr(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
    }
    Ok(())
}

/// `struct ifinfomsg`: family, padding, device type, index, flags, which flags change.
fn link_part(index: u32, flags: u32, mask: u32) -> Vec<u8> {
    [[0; 4], index.to_ne_bytes(), flags.to_ne_bytes(), mask.to_ne_bytes()].concat()
}

fn family_and_octets(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(v4) => (libc::AF_INET as u8, v4.octets().to_vec()),
        IpAddr::V6(v6) => (libc::AF_INET6 as u8, v6.octets().to_vec()),
    }
}

fn check_prefix(address: IpAddr, prefix_len: u8) -> Result<()> {
    let longest = if address.is_ipv4() { 32 } else { 128 };
    if prefix_len > longest {
        let value = format!("{address}/{prefix_len}");
        return Err(SysError::invalid("prefix", value, "is longer than the address"));
    }
    Ok(())
}
