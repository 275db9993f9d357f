//! How the device of KernelTun and KernelTap is made and set up.

use std::net::{IpAddr, Ipv4Addr};

use element::Ctx;
use sys::tap::{Kind, Offload, Options, Tap, VnetMode};
use sys::{link, SysError};

use super::{Tunnel, DEFAULT_MTU};
use crate::device::words;

const ENOENT: i32 = 2;
const ENODEV: i32 = 19;

impl Tunnel {
    pub(super) fn open(&self) -> Result<Tap, String> {
        let name = match (self.name.as_str(), self.kind) {
            ("", Kind::Tap) => "tap%d",
            ("", Kind::Tun) => "tun%d",
            (name, _) => name,
        };
        let vnet = if self.offloads { VnetMode::Basic } else { VnetMode::Off };
        let options = Options { kind: self.kind, name: name.to_string(), vnet };
        let tap = Tap::open(&options).map_err(|error| open_refusal(&error))?;
        if self.offloads {
            tap.set_offload(Offload::ALL).map_err(|error| error.to_string())?;
        }
        Ok(tap)
    }

    /// Sets addresses, MTU and routes, and brings the device up.
    pub(super) fn set_up(&self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let (name, given) = (&self.name, self.given);
        let prefix_len = self.near.len().unwrap_or(32) as u8;
        let has_address = self.near.addr != Ipv4Addr::UNSPECIFIED || prefix_len > 0;
        if has_address && given.is_none_or(|given| given.near != self.near) {
            link::add_address(name, IpAddr::V4(self.near.addr), prefix_len)
                .map_err(|error| format!("SIOCSIFADDR failed: {}", words(&error)))?;
        }
        if let Some(address) = self.hardware_address {
            if let Err(error) = link::set_hardware_address(name, address.0) {
                ctx.warn(&format!("could not set interface Ethernet address: {}", words(&error)));
            }
        }
        if self.mtu != given.map_or(DEFAULT_MTU, |given| given.mtu) {
            if let Err(error) = link::set_mtu(name, self.mtu.unsigned_abs()) {
                ctx.warn(&format!("could not set interface MTU: {}", words(&error)));
            }
        }
        link::set_up(name, true).map_err(|error| format!("SIOCSIFFLAGS failed: {}", words(&error)))?;
        if let Some(gateway) =
            self.gateway.filter(|_| given.is_none_or(|given| given.gateway != self.gateway))
        {
            link::add_route(name, IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0, IpAddr::V4(gateway))
                .map_err(|error| format!("/sbin/route -n add default gw {gateway}: {}", words(&error)))?;
        }
        Ok(())
    }
}

/// What is told when there is no device to be had.
fn open_refusal(error: &SysError) -> String {
    match error.errno() {
        Some(ENOENT) => {
            let others: String = (0..6).map(|i| format!(", /dev/tap{i}")).collect();
            format!(
                "could not find a tap device\n(checked /dev/net/tun{others})\nYou may need to load a kernel module to support tap."
            )
        }
        Some(ENODEV) => {
            let words = words(error);
            format!("/dev/net/tun: {words}\n(Perhaps you need to enable tun in your kernel or load the 'tun' module.)")
        }
        Some(_) => format!("/dev/net/tun: {}", words(error)),
        None => error.to_string(),
    }
}
