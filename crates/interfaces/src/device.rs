//! What the elements for network devices share: link types, Click's words for errors, hiding packets from the kernel.

use std::process::Command;

use sys::SysError;

use crate::capture::link as encap;
use element::output::reason;

const ENODEV: i32 = 19;

/// What is told of a device that cannot be opened.
pub fn refusal(device: &str, error: &SysError) -> String {
    match error.errno() {
        Some(ENODEV) => format!("{device}: No such device exists"),
        _ => error.to_string(),
    }
}

/// The system's words for an error at run time.
pub fn words(error: &SysError) -> String {
    match error.errno() {
        Some(errno) => reason(&std::io::Error::from_raw_os_error(errno)),
        None => error.to_string(),
    }
}

/// Checks that a device exists and is up, which a sniffer needs from the start.
pub fn check_up(device: &str) -> Result<(), String> {
    match sys::link::is_up(device) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{device}: That device is not up")),
        Err(error) => Err(refusal(device, &error)),
    }
}

/// The link type of a device, by the number of its hardware type (`ARPHRD_*`) where the system tells it.
pub fn link_type(device: &str) -> u32 {
    let kind = std::fs::read_to_string(format!("/sys/class/net/{device}/type"));
    match kind.as_deref().map(str::trim) {
        // Devices without a link-layer header: none, raw IP, tunnels of IPv4 and IPv6.
        Ok("65534" | "519" | "768" | "769") => encap::RAW,
        Ok("512") => encap::PPP,
        Ok("801") => encap::IEEE802_11,
        Ok("803") => encap::IEEE802_11_RADIO,
        _ => encap::ETHERNET,
    }
}

/// The program that changes the kernel's packet filter.
pub fn iptables() -> Option<&'static str> {
    let programs = ["/sbin/iptables", "/usr/sbin/iptables"];
    programs.into_iter().find(|path| std::path::Path::new(path).exists())
}

/// Hides the packets that arrive on a device from the kernel's own IP stack, or no longer does.
pub fn hide_from_kernel(device: &str, hides: bool) -> Result<(), String> {
    let program = iptables().ok_or("no 'iptables' executable found")?;
    let action = if hides { "-A" } else { "-D" };
    let arguments = [action, "INPUT", "-i", device, "-j", "DROP"];
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {}", reason(&error)))?;
    let told = [output.stdout, output.stderr].concat();
    if output.status.success() && told.is_empty() {
        return Ok(());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&told).trim_end()))
}
