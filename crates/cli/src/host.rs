//! What the host knows: devices, services and users, for names in arguments.

use std::net::Ipv4Addr;

use args::{EtherAddr, Host, Prefix};

/// The machine that the program runs on.
pub struct ThisHost;

impl Host for ThisHost {
    fn ip(&self, device: &str) -> Option<Ipv4Addr> {
        Some(sys::link::ipv4_address(device).ok()?.0)
    }

    fn prefix(&self, device: &str) -> Option<Prefix> {
        let (address, len) = sys::link::ipv4_address(device).ok()?;
        Some(Prefix::new(address, u32::from(len)))
    }

    fn ether(&self, device: &str) -> Option<EtherAddr> {
        sys::link::hardware_address(device).ok().map(EtherAddr)
    }

    /// From the kernel's routing table.
    fn gateway(&self, device: &str) -> Option<Ipv4Addr> {
        let table = std::fs::read_to_string("/proc/net/route").ok()?;
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let &[name, "00000000", gateway, ..] = fields.as_slice() else { return None };
            let gateway = u32::from_str_radix(gateway, 16).ok().filter(|_| name == device)?;
            Some(Ipv4Addr::from(gateway.swap_bytes()))
        })
    }

    fn protocols(&self) -> Option<String> {
        std::fs::read_to_string("/etc/protocols").ok()
    }

    fn services(&self) -> Option<String> {
        std::fs::read_to_string("/etc/services").ok()
    }

    fn home(&self, user: Option<&str>) -> Option<String> {
        let Some(user) = user else { return std::env::var("HOME").ok() };
        let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
        let line = passwd.lines().find(|line| line.split(':').next() == Some(user))?;
        line.split(':').nth(5).map(str::to_string)
    }
}
