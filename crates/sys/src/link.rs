//! Network devices and routes of the calling thread's network namespace, set up without running `ip`.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::error::{check, Result, SysError};
use crate::link_request::{self, CableEnd};
use crate::netlink::{attributes, Request, Socket};

/// `IF_OPER_UP` of linux/if.h.
const IF_OPER_UP: u8 = 6;
/// A cable whose other end was taken down meanwhile never runs; that is no mistake.
const TRIES: u32 = 200;
/// The place of `tx_dropped` in `struct rtnl_link_stats64` of linux/if_link.h.
const TX_DROPPED: usize = 7;
const PAUSE: Duration = Duration::from_millis(1);

/// The kernel's number of device `name`.
pub fn index(name: &str) -> Result<u32> {
    let c_name = c_name(name)?;
    // SAFETY: a C string that lives through the call.
    match unsafe { libc::if_nametoindex(c_name.as_ptr()) } {
        0 => Err(SysError::last("if_nametoindex", name)),
        index => Ok(index),
    }
}

/// Whether the calling thread's network namespace has a device of number `index`, whatever its name.
pub fn exists(index: u32) -> bool {
    let mut name = [0; libc::IF_NAMESIZE];
    // SAFETY: the name, with its NUL, has at most as many bytes as there is room for.
    !unsafe { libc::if_indextoname(index, name.as_mut_ptr()) }.is_null()
}

/// Brings device `name` up or takes it down.
pub fn set_up(name: &str, up: bool) -> Result<()> {
    let flags = if up { libc::IFF_UP as u32 } else { 0 };
    change(name, flags, libc::IFF_UP as u32)?.send(name).map_err(|e| e.with_remedy(remedy))
}

/// Sets the largest packet of device `name`, in bytes without the Ethernet header.
pub fn set_mtu(name: &str, mtu: u32) -> Result<()> {
    let mut request = change(name, 0, 0)?;
    request.attr(libc::IFLA_MTU, &mtu.to_ne_bytes());
    request.send(name).map_err(|e| e.with_remedy(mtu_remedy))
}

/// Sets the Ethernet address of device `name`.
pub fn set_hardware_address(name: &str, address: [u8; 6]) -> Result<()> {
    let mut request = change(name, 0, 0)?;
    request.attr(libc::IFLA_ADDRESS, &address);
    request.send(name).map_err(|e| e.with_remedy(remedy))
}

/// Gives device `name` an address with the given prefix length, usable at once. Having it already is no error.
pub fn add_address(name: &str, address: IpAddr, prefix_len: u8) -> Result<()> {
    link_request::add_address(index(name)?, address, prefix_len)?.send(name)
}

/// Sends packets for `destination/prefix_len` to `gateway`, which device `name` reaches.
pub fn add_route(name: &str, destination: IpAddr, prefix_len: u8, gateway: IpAddr) -> Result<()> {
    let request = link_request::add_route(index(name)?, destination, prefix_len, gateway)?;
    request.send(name).map_err(|e| e.with_remedy(route_remedy))
}

/// Makes two devices that are the ends of one cable.
pub fn create_veth(name: &str, peer: &str) -> Result<()> {
    let request = link_request::create_veth(&CableEnd::new(name), &CableEnd::new(peer))?;
    request.send(name).map_err(|e| e.with_remedy(create_remedy))
}

/// As [`wait_until_running`], in the calling thread's network namespace.
pub fn await_running(name: &str) -> Result<()> {
    wait_until_running(&mut Socket::open()?, name)
}

/// Waits until an end of a cable sends: the kernel lets it only some time after the other end came up (linkwatch), and
/// loses what comes before. New kernels (6.9) catch up when they are asked.
pub fn wait_until_running(tables: &mut Socket, name: &str) -> Result<()> {
    for _ in 0..TRIES {
        let answers = tables.ask(link_request::describe(name)?, name)?;
        let payload = answers.first().and_then(|answer| answer.payload.get(link_request::LINK_LEN..));
        let mut found = attributes(payload.unwrap_or_default());
        if found.any(|attribute| attribute == (libc::IFLA_OPERSTATE, &[IF_OPER_UP])) {
            return Ok(());
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// Packets that device `name` was to send and lost, as they came faster than it could.
pub fn n_unsent(name: &str) -> Result<u64> {
    let answers = Socket::open()?.ask(link_request::describe(name)?, name)?;
    let payload = answers.first().and_then(|answer| answer.payload.get(link_request::LINK_LEN..));
    let mut found = attributes(payload.unwrap_or_default());
    let counters = found.find(|(kind, _)| *kind == libc::IFLA_STATS64).map(|(_, counters)| counters);
    let n = counters.and_then(|counters| counters.chunks_exact(8).nth(TX_DROPPED)?.try_into().ok());
    Ok(n.map_or(0, u64::from_ne_bytes))
}

/// Removes device `name`, if it is one that software made.
pub fn delete(name: &str) -> Result<()> {
    link_request::delete(index(name)?).send(name).map_err(|e| e.with_remedy(remedy))
}

/// The Ethernet address of device `name`; a loopback or a tunnel has none.
pub fn hardware_address(name: &str) -> Result<Option<[u8; 6]>> {
    let answer = ask(name, libc::SIOCGIFHWADDR as _, "ioctl(SIOCGIFHWADDR)")?;
    // SAFETY: the call filled this field of the union, and any bytes are valid.
    let libc::sockaddr { sa_family, sa_data } = unsafe { answer.ifr_ifru.ifru_hwaddr };
    let is_ethernet = matches!(sa_family, libc::ARPHRD_ETHER | libc::ARPHRD_IEEE80211);
    Ok(is_ethernet.then(|| [0, 1, 2, 3, 4, 5].map(|idx| sa_data[idx] as u8)))
}

/// The largest packet of device `name`, in bytes without the Ethernet header.
pub fn mtu(name: &str) -> Result<u32> {
    let answer = ask(name, libc::SIOCGIFMTU as _, "ioctl(SIOCGIFMTU)")?;
    // SAFETY: the call filled this field of the union.
    Ok(u32::try_from(unsafe { answer.ifr_ifru.ifru_mtu }).unwrap_or(0))
}

/// Whether device `name` is up.
pub fn is_up(name: &str) -> Result<bool> {
    let answer = ask(name, libc::SIOCGIFFLAGS as _, "ioctl(SIOCGIFFLAGS)")?;
    // SAFETY: the call filled this field of the union.
    Ok(libc::c_int::from(unsafe { answer.ifr_ifru.ifru_flags }) & libc::IFF_UP != 0)
}

/// The first IPv4 address of device `name` and its prefix length.
pub fn ipv4_address(name: &str) -> Result<(Ipv4Addr, u8)> {
    let address =
        ask(name, libc::SIOCGIFADDR as _, "ioctl(SIOCGIFADDR)").map_err(|e| e.with_remedy(remedy))?;
    let mask = ask(name, libc::SIOCGIFNETMASK as _, "ioctl(SIOCGIFNETMASK)")?;
    Ok((Ipv4Addr::from(ipv4_of(&address)), ipv4_of(&mask).count_ones() as u8))
}

/// Whether a device can be called so.
pub fn is_name(name: &str) -> bool {
    c_name(name).is_ok()
}

/// The device name as C wants it, or why it cannot be one.
pub(crate) fn c_name(name: &str) -> Result<CString> {
    let is_foreign = |c: char| c == '/' || c == ':' || c.is_whitespace();
    let reason = match name {
        "" => "is empty",
        "." | ".." => "means a folder",
        _ if name.len() >= libc::IFNAMSIZ => "is longer than 15 bytes",
        _ if name.contains(is_foreign) => "contains a slash, a colon or white space",
        _ => return CString::new(name).map_err(|_| SysError::invalid("device name", name, "contains a NUL")),
    };
    Err(SysError::invalid("device name", name, reason))
}

/// An `ifreq` about the device of that name.
pub(crate) fn ifreq(name: &str) -> Result<libc::ifreq> {
    let c_name = c_name(name)?;
    // SAFETY: an ifreq of zeros is valid.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(c_name.as_bytes()) {
        *to = *from as libc::c_char;
    }
    Ok(request)
}

fn change(name: &str, flags: u32, mask: u32) -> Result<Request> {
    Ok(link_request::change(index(name)?, flags, mask))
}

fn ask(name: &str, request: libc::Ioctl, call: &'static str) -> Result<libc::ifreq> {
    let mut answer = ifreq(name)?;
    // SAFETY: socket takes numbers only.
    let raw = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let raw = check(raw, "socket(AF_INET)", name)?;
    // SAFETY: the call returned a new descriptor that nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(raw) };
    // SAFETY: these requests read the name and write the union of the ifreq, nothing beyond.
    check(unsafe { libc::ioctl(socket.as_raw_fd(), request, &mut answer) }, call, name)?;
    Ok(answer)
}

fn ipv4_of(answer: &libc::ifreq) -> u32 {
    // SAFETY: the call filled this field; sockaddr_in is port (2 bytes), then the address, as sa_data has it.
    let data = unsafe { answer.ifr_ifru.ifru_addr.sa_data };
    u32::from_be_bytes([2, 3, 4, 5].map(|idx| data[idx] as u8))
}

fn remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EADDRNOTAVAIL => Some("choose an address that is neither multicast nor all zeros"),
        libc::EBUSY => Some("take the device down first: `ip link set DEVICE down`"),
        libc::EOPNOTSUPP => Some("this kind of device cannot be changed so"),
        _ => None,
    }
}

pub(crate) fn address_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EADDRNOTAVAIL => {
            Some("choose an address that is neither multicast nor a loopback's nor all zeros")
        }
        libc::EACCES | libc::EINVAL => {
            Some("an IPv6 address needs IPv6 that is switched on, and an MTU of 1280 or more")
        }
        _ => None,
    }
}

fn mtu_remedy(errno: i32) -> Option<&'static str> {
    (errno == libc::EINVAL).then_some("choose an MTU that the device can carry: `ip -d link show DEVICE`")
}

fn route_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ENETUNREACH | libc::EHOSTUNREACH | libc::EINVAL => {
            Some("give the device an address in the gateway's network first, and check the prefix")
        }
        _ => None,
    }
}

fn create_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EEXIST => Some("a device of that name exists: choose another, or `ip link delete DEVICE`"),
        libc::EOPNOTSUPP => Some("load the module: `modprobe veth`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::in_namespace;
    use proptest::prelude::*;

    #[test]
    fn names_that_the_kernel_would_refuse_are_named() {
        for (name, reason) in [
            ("", "is empty"),
            ("..", "means a folder"),
            ("a/b", "a slash"),
            ("a b", "white space"),
            ("a\0b", "a NUL"),
            ("sixteen-bytes-xx", "longer than 15"),
        ] {
            assert!(c_name(name).unwrap_err().to_string().contains(reason), "{name:?}");
        }
        assert!(c_name("fifteen-bytes-x").is_ok());
    }

    proptest! {
        #[test]
        fn no_name_panics(name in any::<String>()) {
            prop_assert!(ifreq(&name).is_err() || (1..16).contains(&name.len()));
        }
    }

    #[test]
    fn a_missing_device_is_an_error_with_a_remedy() {
        for error in [
            index("nosuchdevice").unwrap_err(),
            set_up("nosuchdevice", true).unwrap_err(),
            hardware_address("nosuchdevice").unwrap_err(),
            delete("nosuchdevice").unwrap_err(),
        ] {
            assert_eq!(error.errno(), Some(libc::ENODEV), "{error}");
            assert!(error.remedy().is_some());
        }
    }

    #[test]
    fn a_cable_is_made_configured_and_removed() {
        in_namespace(|| {
            create_veth("left", "right").unwrap();
            assert_eq!(create_veth("left", "right").unwrap_err().errno(), Some(libc::EEXIST));
            set_hardware_address("left", [2, 0, 0, 0, 0, 9]).unwrap();
            set_mtu("left", 9000).unwrap();
            set_up("left", true).unwrap();
            set_up("right", true).unwrap();
            assert_eq!(hardware_address("left").unwrap(), Some([2, 0, 0, 0, 0, 9]));
            assert_eq!(hardware_address("lo").unwrap(), None);
            assert_eq!((mtu("left").unwrap(), is_up("left").unwrap()), (9000, true));
            delete("right").unwrap();
            assert!(index("left").is_err());
        });
    }

    #[test]
    fn addresses_and_routes_are_used_at_once() {
        in_namespace(|| {
            create_veth("left", "right").unwrap();
            set_up("left", true).unwrap();
            assert_eq!(ipv4_address("left").unwrap_err().errno(), Some(libc::EADDRNOTAVAIL));
            let address = "10.1.2.3".parse().unwrap();
            for _ in 0..2 {
                add_address("left", address, 20).unwrap();
            }
            assert_eq!(ipv4_address("left").unwrap(), ("10.1.2.3".parse().unwrap(), 20));
            add_address("left", "fd00::1".parse().unwrap(), 64).unwrap();
            std::net::UdpSocket::bind("[fd00::1]:0").unwrap();

            let any = "0.0.0.0".parse().unwrap();
            add_route("left", any, 0, "10.1.0.1".parse().unwrap()).unwrap();
            let socket = std::net::UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.connect("192.0.2.1:9").unwrap();
            assert_eq!(socket.local_addr().unwrap().ip(), address);
            let error = add_route("left", any, 0, "172.16.0.1".parse().unwrap()).unwrap_err();
            assert!(error.remedy().unwrap().contains("gateway's network"), "{error}");
        });
    }

    #[test]
    fn impossible_prefixes_and_gateways_are_refused() {
        let (v4, v6) = ("10.0.0.1".parse().unwrap(), "fd00::1".parse().unwrap());
        assert!(add_address("lo", v4, 33).is_err() && add_address("lo", v6, 129).is_err());
        assert!(add_route("lo", v4, 8, v6).unwrap_err().to_string().contains("another IP version"));
    }
}
