//! What the host knows: devices, services and users, for names in arguments.

use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use args::{EtherAddr, Host, Prefix};

/// The machine that the program runs on.
#[derive(Default)]
pub struct ThisHost {
    /// What other programs had to say, a line each.
    said: Mutex<Vec<String>>,
}

/// Most lines that are kept for whoever tells them.
const SAID_MAX: usize = 1000;

impl Host for ThisHost {
    fn ip(&self, device: &str) -> Option<Ipv4Addr> {
        Some(sys::link::ipv4_address(device).ok()?.0)
    }

    fn prefix(&self, device: &str) -> Option<Prefix> {
        let (address, len) = sys::link::ipv4_address(device).ok()?;
        Some(Prefix::new(address, u32::from(len)))
    }

    fn ether(&self, device: &str) -> Option<EtherAddr> {
        sys::link::hardware_address(device).ok()?.map(EtherAddr)
    }

    /// From the kernel's routing table.
    fn gateway(&self, device: &str) -> Option<Ipv4Addr> {
        if sys::link::index(device).is_err() {
            self.hear_of_missing(device);
            return None;
        }
        let table = std::fs::read_to_string("/proc/net/route").ok()?;
        table.lines().skip(1).find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let &[name, "00000000", gateway, ..] = fields.as_slice() else { return None };
            let gateway = u32::from_str_radix(gateway, 16).ok().filter(|_| name == device)?;
            Some(Ipv4Addr::from(gateway.swap_bytes()))
        })
    }

    fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner))
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

impl ThisHost {
    /// Lets `ip` say, in the words of its version, that there is no such device: Click asks it for gateways, through a shell.
    fn hear_of_missing(&self, device: &str) {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", "/sbin/ip route show to 0/0 oif ${1:+\"$1\"}", "sh", device]);
        // What cannot be said is no loss: the element whose argument this is tells that it is wrong.
        let Ok(output) = shell.stdin(Stdio::null()).output() else { return };
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let room = SAID_MAX.saturating_sub(said.len());
        said.extend(String::from_utf8_lossy(&output.stderr).lines().take(room).map(str::to_string));
    }
}
