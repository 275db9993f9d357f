//! A tap: a device of the kernel whose other end is the stage.

use std::os::fd::AsFd;
use std::sync::Arc;

use element::{Batch, Packet};
use packet::Ring;
use sys::buffer::Buffer;
use sys::poll::{Interest, Poller};
use sys::span::{Sink, Source};
use sys::tap::{Offload, Options, Received, Tap, VnetMode};
use sys::vnet::VnetHeader;

use super::relay::{self, Relayed};
use super::spec::Endpoint;
use super::{unwatch_fd, watch_fd, watch_room, Dispatch, Input, Output, Receipt};
use crate::device::words;
use crate::segment::{is_for_kernel, segment};
use crate::vnet;

const ENOBUFS: i32 = 105;
/// The device is down or gone.
const EIO: i32 = 5;

/// Packets that the kernel sends to the device.
pub struct TapIn {
    tap: Arc<Tap>,
    buffer: Buffer,
    /// Whether it is a fault if the device is deleted. Those of a stack go when it is joined otherwise, or ends.
    must_stay: bool,
    /// What the device had lost before it was opened, as it may have been there.
    n_unsent_before: u64,
}

/// Packets that the kernel receives from the device.
pub struct TapOut {
    tap: Arc<Tap>,
    is_blocked: bool,
    n_refused: u64,
    /// Why the first one was refused.
    why: Option<String>,
}

/// Makes a tap, sets it up, and gives its two directions.
pub fn open(name: &str, endpoint: &Endpoint) -> Result<(TapIn, TapOut), String> {
    let Endpoint::Tap { addresses, mtu, .. } = endpoint else { return Err("not a tap".into()) };
    let options = Options { vnet: VnetMode::Basic, ..Options::tap(name) };
    let tap = Tap::open(&options).map_err(|error| error.to_string())?;
    let n_unsent_before = n_unsent(&tap);
    set_up(&tap, addresses, *mtu).map_err(|error| error.to_string())?;
    let (input, output) = both(tap).map_err(|error| error.to_string())?;
    Ok((TapIn { must_stay: true, n_unsent_before, ..input }, output))
}

/// Packets that the kernel could not give to the device since it was made.
fn n_unsent(tap: &Tap) -> u64 {
    sys::link::n_unsent(tap.name()).unwrap_or(0)
}

fn set_up(tap: &Tap, addresses: &[(std::net::IpAddr, u8)], mtu: Option<u32>) -> sys::Result<()> {
    tap.set_offload(Offload::ALL)?;
    if let Some(mtu) = mtu {
        sys::link::set_mtu(tap.name(), mtu)?;
    }
    for (address, len) in addresses {
        sys::link::add_address(tap.name(), *address, *len)?;
    }
    sys::link::set_up(tap.name(), true)
}

/// The two directions of a tap with virtio-net headers.
pub fn both(tap: Tap) -> sys::Result<(TapIn, TapOut)> {
    let tap = Arc::new(tap);
    let input =
        TapIn { tap: tap.clone(), buffer: Buffer::for_packet()?, must_stay: false, n_unsent_before: 0 };
    Ok((input, TapOut { tap, is_blocked: false, n_refused: 0, why: None }))
}

impl TapIn {
    /// Reads the next packet to where it goes.
    pub fn read(&self, to: Sink<'_>) -> sys::Result<Option<Received>> {
        self.tap.recv(to)
    }

    /// Moves packets to another tap, at most `max`.
    pub fn relay_to(&mut self, to: &TapOut, max: usize) -> Relayed {
        let mut relayed = Relayed::default();
        while relayed.traffic.packets < max as u64 {
            let Ok(received) = self.tap.recv(&mut *self.buffer) else { break };
            let Some(received) = received else {
                relayed.is_all = true;
                break;
            };
            if received.truncated {
                continue;
            }
            let data = &self.buffer[..received.len];
            if !to.write(received.vnet, data.into()) {
                relayed.left = Some(packet_of(data, received.vnet));
                break;
            }
            relayed.traffic.add_bytes(received.len);
        }
        relayed
    }
}

/// The packet that came with this header.
pub(super) fn packet_of(data: &[u8], header: VnetHeader) -> Packet {
    let mut packet = Packet::with_headroom(packet::DEFAULT_HEADROOM, data);
    vnet::apply(&mut packet, header);
    packet.set_mac_offset(0);
    packet
}

impl Input for TapIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, _poller: &mut Poller) -> Receipt {
        while batch.len() < max {
            match self.tap.recv(&mut *self.buffer) {
                Ok(Some(received)) if !received.truncated => {
                    batch.push(packet_of(&self.buffer[..received.len], received.vnet));
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) if error.errno() == Some(EIO) => break,
                // The device was deleted, or another took its place.
                Err(error) if error.is_device_gone() => {
                    return match self.must_stay {
                        true => Receipt::Fault(format!("{}: the device is gone", self.tap.name())),
                        false => Receipt::End,
                    };
                }
                Err(error) => return Receipt::Fault(format!("{}: {}", self.tap.name(), words(&error))),
            }
        }
        if batch.is_empty() {
            Receipt::Nothing
        } else {
            Receipt::Packets
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.tap.as_fd(), Interest::READ)
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.tap.as_fd());
    }

    fn joint(&self) -> &'static str {
        "tap"
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn n_missed(&self) -> u64 {
        // A device that need not stay is that of a stack, in another network namespace, where it is asked about.
        if !self.must_stay {
            return 0;
        }
        n_unsent(&self.tap).saturating_sub(self.n_unsent_before)
    }

    fn relay_end(&mut self) -> Option<relay::From<'_>> {
        Some(relay::From::Tap(self))
    }
}

impl TapOut {
    fn send_segments(&mut self, packet: &Packet) {
        segment(packet, |part| {
            let is_sent = self.tap.send(vnet::header_of(&part), part.data());
            self.n_refused += u64::from(!matches!(is_sent, Ok(true)));
        });
    }

    /// Writes a packet if nothing stands in its way.
    pub fn write(&self, header: VnetHeader, data: Source<'_>) -> bool {
        matches!(self.tap.send(vnet::unverified(header), data), Ok(true))
    }
}

impl Output for TapOut {
    fn send(&mut self, waiting: &mut Ring, _poller: &mut Poller) -> Dispatch {
        while let Some(packet) = waiting.pop_front() {
            if !is_for_kernel(&packet) {
                self.send_segments(&packet);
                continue;
            }
            match self.tap.send(vnet::header_of(&packet), packet.data()) {
                Ok(true) => {}
                Ok(false) => {
                    waiting.push_front(packet);
                    return Dispatch::Blocked;
                }
                Err(error) if error.is_device_gone() => {
                    waiting.push_front(packet);
                    return Dispatch::Closed;
                }
                // The metadata is not to the kernel's liking: it gets what the packet stands for.
                Err(error) if packet.has_offload() && error.errno() != Some(ENOBUFS) => {
                    self.send_segments(&packet);
                }
                // The device is down, or has no memory for this packet.
                Err(error) => {
                    self.n_refused += 1;
                    self.why.get_or_insert_with(|| words(&error));
                }
            }
        }
        Dispatch::All
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.tap.as_fd(), Interest::default())
    }

    fn set_blocked(&mut self, poller: &mut Poller, is_blocked: bool) {
        watch_room(poller, self.tap.as_fd(), &mut self.is_blocked, is_blocked);
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.tap.as_fd());
    }

    fn joint(&self) -> &'static str {
        "tap"
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn relay_end(&mut self) -> Option<relay::To<'_>> {
        Some(relay::To::Tap(self))
    }

    fn tap(&self) -> Option<std::os::fd::OwnedFd> {
        self.tap.as_fd().try_clone_to_owned().ok()
    }

    fn n_bad(&self) -> u64 {
        self.n_refused
    }

    fn why_bad(&self) -> Option<String> {
        self.why.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Interface;
    use crate::testing::{cannot_run, has_taps, in_namespace};

    #[test]
    fn a_tap_that_somebody_deletes_is_a_fault() {
        in_namespace(|| {
            if !has_taps() {
                return;
            }
            let endpoint = Endpoint::Tap { name: String::new(), addresses: Vec::new(), mtu: None };
            let (input, _output) = open("t0", &endpoint).unwrap();
            let mut interface = Interface::new("left").unwrap();
            interface.add_input(Box::new(input)).unwrap();
            sys::link::delete("t0").unwrap();
            let mut batch = Batch::new();
            while interface.receive(&mut batch, 32) {
                batch.clear();
            }
            assert_eq!(interface.take_faults(), ["t0: the device is gone"]);
            assert!(interface.has_ended() && interface.has_failed());
        });
    }

    #[test]
    fn what_the_kernel_dropped_as_nobody_received_it_is_counted() {
        in_namespace(|| {
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            if !has_taps() {
                return;
            }
            let addresses = vec![("10.9.0.1".parse().unwrap(), 24)];
            let endpoint = Endpoint::Tap { name: String::new(), addresses, mtu: None };
            let (input, _output) = open("t0", &endpoint).unwrap();
            let mut interface = Interface::new("left").unwrap();
            interface.add_input(Box::new(input)).unwrap();
            let socket = std::net::UdpSocket::bind("10.9.0.1:0").unwrap();
            socket.set_broadcast(true).unwrap();
            let mut n_sent = 0;
            while interface.n_missed() < 10 {
                // To everybody: no address is asked for.
                socket.send_to(&[0; 100], "10.9.0.255:9").unwrap();
                n_sent += 1;
                assert!(n_sent < 100_000);
            }
            let mut batch = Batch::new();
            while interface.receive(&mut batch, 32) {
                batch.clear();
            }
            let report = interface.report();
            assert_eq!(report.received.packets + report.n_dropped, n_sent);
        });
    }

    #[test]
    fn what_a_tap_lost_before_it_was_opened_is_not_counted() {
        in_namespace(|| {
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            match std::process::Command::new("ip").args(["tuntap", "add", "t0", "mode", "tap"]).status() {
                Ok(status) if status.success() => {}
                other => return cannot_run(format!("ip tuntap: {other:?}")),
            }
            let addresses = vec![("10.9.0.1".parse().unwrap(), 24)];
            let endpoint = Endpoint::Tap { name: String::new(), addresses, mtu: None };
            let before = open("t0", &endpoint).unwrap().0;
            let socket = std::net::UdpSocket::bind("10.9.0.1:0").unwrap();
            socket.set_broadcast(true).unwrap();
            let mut n_sent = 0;
            while before.n_missed() < 10 {
                socket.send_to(&[0; 100], "10.9.0.255:9").unwrap();
                n_sent += 1;
                assert!(n_sent < 100_000);
            }
            drop(before);
            let (input, _output) = open("t0", &endpoint).unwrap();
            assert_eq!(input.n_missed(), 0);
        });
    }
}
