//! What the elements for network devices share: link types, Click's words for errors, hiding packets from the kernel.

use std::process::Command;

use element::output::reason;
use element::{annotation, Packet};
use sys::packet_socket::Frame;
use sys::SysError;

use crate::capture::link as encap;
use crate::vnet;

const ENODEV: i32 = 19;
/// Offset of the Ethernet type, where a VLAN tag goes.
const TYPE_AT: usize = 12;
const TAG_LEN: usize = 4;

/// What is told of a device that cannot be opened, by the method: LINUX looks for it in another way.
pub fn refusal(device: &str, is_linux: bool, error: &SysError) -> String {
    match is_absent(error) {
        true if is_linux => format!("{device}: SIOCGIFINDEX: No such device"),
        true => format!("{device}: No such device exists"),
        false => error.to_string(),
    }
}

/// Whether there is no such device. A name that none can have, with a slash or a colon, is refused before it is looked for.
fn is_absent(error: &SysError) -> bool {
    error.errno() == Some(ENODEV) || matches!(error, SysError::Invalid { what: "device name", .. })
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
    find_up(device).map_err(|(told, _)| told)
}

/// As [`check_up`], and tells what helps.
pub fn check_up_with_help(device: &str) -> Result<(), String> {
    find_up(device).map_err(|(told, help)| told + &help)
}

/// Checks that a device exists and is up; else what is told of it, and what helps.
fn find_up(device: &str) -> Result<(), (String, String)> {
    match sys::link::is_up(device) {
        Ok(true) => Ok(()),
        Ok(false) => {
            Err((format!("{device}: That device is not up"), format!("; `ip link set {device} up`")))
        }
        Err(error) => {
            let help = if is_absent(&error) { "; `ip link` lists those that do" } else { "" };
            Err((refusal(device, false, &error), help.to_string()))
        }
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

/// Hides the packets that arrive on a device from the kernel's own IP stack.
pub fn hide_from_kernel(device: &str) -> Result<(), String> {
    change_input_rules("-A", device)
}

/// Undoes [`hide_from_kernel`].
pub fn show_to_kernel(device: &str) -> Result<(), String> {
    change_input_rules("-D", device)
}

fn change_input_rules(action: &str, device: &str) -> Result<(), String> {
    let program = iptables().ok_or("no 'iptables' executable found")?;
    let arguments = [action, "INPUT", "-i", device, "-j", "DROP"];
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {}", reason(&error)))?;
    let told = [output.stdout, output.stderr].concat();
    if output.status.success() && told.is_empty() {
        return Ok(());
    }
    Err(format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&told).trim_end()))
}

/// A frame that was received, at most `limit` bytes of it, with its metadata; a VLAN tag is where it was on the wire.
pub fn from_frame(frame: &Frame<'_>, headroom: usize, limit: usize) -> Packet {
    let data = frame.data.get(..limit).unwrap_or(frame.data);
    let mut packet = Packet::with_headroom(headroom, data);
    let extra = frame.wire_len.saturating_sub(data.len() as u32);
    if extra == 0 {
        vnet::apply(&mut packet, frame.vnet.unwrap_or_default());
    } else {
        packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
    }
    if let Some((tag, protocol)) = frame.vlan {
        insert_tag(&mut packet, tag, protocol);
    }
    packet
}

/// Puts a VLAN tag, which the device took off, back where it was.
fn insert_tag(packet: &mut Packet, tag: u16, protocol: u16) {
    if packet.len() < TYPE_AT {
        return;
    }
    let data = packet.prepend(TAG_LEN);
    data.copy_within(TAG_LEN..TAG_LEN + TYPE_AT, 0);
    let [a, b] = protocol.to_be_bytes();
    let [c, d] = tag.to_be_bytes();
    if let Some(place) = data.get_mut(TYPE_AT..TYPE_AT + TAG_LEN) {
        place.copy_from_slice(&[a, b, c, d]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_put_back() {
        let mut packet = Packet::from_bytes(&[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 8, 0, 9]);
        insert_tag(&mut packet, 0x0005, 0x8100);
        assert_eq!(packet.data(), [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 0x81, 0, 0, 5, 8, 0, 9]);
    }
}
