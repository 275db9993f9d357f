//! Packets that go straight from one interface to another: they never lie in this process's own memory, or only in one buffer.
//!
//! What is not so simple is left for [`Input::receive`](super::Input) and [`Output::send`](super::Output): waiting for room, the
//! end of either side, and packets that need work.

use element::Packet;

use super::cable_port::CableIn;
use super::joint::{RingIn, RingOut};
use super::packet_port::PacketOut;
use super::tap_port::{TapIn, TapOut};
use crate::traffic::Traffic;

/// What packets are relayed from.
pub enum From<'a> {
    /// What the kernel sends to a tap.
    Tap(&'a mut TapIn),
    /// What the kernel sends through a cable.
    Cable(&'a mut CableIn),
    /// What a neighbour put into shared memory.
    Ring(&'a mut RingIn),
}

/// What packets are relayed to.
pub enum To<'a> {
    /// What the kernel receives from a tap.
    Tap(&'a mut TapOut),
    /// What the kernel receives through a cable.
    Cable(&'a mut PacketOut),
    /// What a neighbour takes out of shared memory.
    Ring(&'a mut RingOut),
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Relayed {
    /// What went out.
    pub traffic: Traffic,
    /// A packet that came in and could not go out this way.
    pub left: Option<Packet>,
    /// Whether nothing more was there to be moved.
    pub is_all: bool,
}

/// How far packets were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// None were; why is found out where packets are received.
    None,
    /// Some were, and there may be more.
    Some,
    /// All that were there; a descriptor will tell of the next one.
    All,
}

/// Moves at most `max` packets; those without a timestamp get that of `now_ns`, which is asked only if there may be such.
pub fn relay(from: From<'_>, to: To<'_>, max: usize, now_ns: impl FnOnce() -> i64) -> Relayed {
    match (from, to) {
        (From::Tap(from), To::Ring(to)) => to.relay_from(|room| from.read(room), max, now_ns()),
        (From::Cable(from), To::Ring(to)) => to.relay_from(|room| from.read(room), max, now_ns()),
        (From::Tap(from), To::Tap(to)) => from.relay_to(to, max),
        (From::Ring(from), To::Tap(to)) => from.relay_to(|header, data| to.write(header, data), max),
        (From::Ring(from), To::Cable(to)) => from.relay_to(|header, data| to.write(header, data), max),
        _ => Relayed::default(),
    }
}

#[cfg(test)]
mod tests {
    use element::Batch;
    use ring::{Header, Side};
    use sys::packet_socket::{RxQueue, Tx, TxOptions};
    use sys::tap::{Offload, Options, Tap, VnetMode};
    use sys::vnet::{VnetHeader, GSO_TCPV4, NEEDS_CSUM};

    use super::super::tests::rings;
    use super::super::{cable_port, packet_port, tap_port, Input, Interface, Output};
    use super::*;
    use crate::testing::{cannot_run, in_namespace, make_veth};

    const CAPACITY: usize = 256 << 10;

    /// An interface of a stage with one input and one output at most.
    fn interface(input: Option<Box<dyn Input>>, output: Option<Box<dyn Output>>) -> Interface {
        let mut interface = Interface::new("x").unwrap();
        interface.mark_read();
        input.into_iter().for_each(|input| interface.add_input(input).unwrap());
        output.into_iter().for_each(|output| interface.add_output(output).unwrap());
        interface
    }

    /// Without this, the kernel sends packets of its own.
    fn keep_quiet() {
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    }

    /// A tap as a stage's interface, and the device that it is as another.
    fn tap(name: &str) -> Option<[Interface; 2]> {
        keep_quiet();
        let tap = match Tap::open(&Options { vnet: VnetMode::Basic, ..Options::tap(name) }) {
            Ok(tap) => tap,
            Err(error) => {
                cannot_run(error);
                return None;
            }
        };
        tap.set_offload(Offload::ALL).unwrap();
        sys::link::set_up(name, true).unwrap();
        let (input, output) = tap_port::both(tap).unwrap();
        let stage = interface(Some(Box::new(input)), Some(Box::new(output)));
        let (input, output) = packet_port::open(name).unwrap();
        Some([stage, interface(Some(Box::new(input)), Some(Box::new(output)))])
    }

    /// A ring's two ends as interfaces of two stages.
    fn ring_between_stages() -> [Interface; 2] {
        let ([(back, output), (input, answers)], _) = rings(CAPACITY);
        [
            interface(Some(Box::new(back)), Some(Box::new(output))),
            interface(Some(Box::new(input)), Some(Box::new(answers))),
        ]
    }

    /// Whether any packets were moved.
    fn relay(from: &mut Interface, to: &mut Interface) -> bool {
        from.relay(to, 60, || 5) != Moved::None
    }

    /// A packet that can be told from others.
    fn frame(n: u32) -> Packet {
        let mut packet = Packet::zeroed(60 + n as usize * 37 % 1400);
        packet.data_mut()[..12].copy_from_slice(&[2; 12]);
        packet.data_mut()[12..18].copy_from_slice(&[0x88, 0xb5, 0, 0, (n >> 8) as u8, n as u8]);
        packet
    }

    /// Sends packets into a device.
    fn send(device: &mut Interface, numbers: std::ops::Range<u32>) {
        let mut batch = Batch::new();
        for n in numbers {
            batch.push(frame(n));
            if batch.len() == 64 {
                device.send(&mut batch);
            }
        }
        device.send(&mut batch);
        assert!(batch.is_empty());
    }

    /// Expects packets of these numbers from a device.
    fn expect(device: &mut Interface, numbers: std::ops::Range<u32>) {
        let mut expected = numbers.clone();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while expected.start < expected.end {
            assert!(std::time::Instant::now() < until, "{} of {numbers:?} have come", expected.start);
            let mut batch = Batch::new();
            device.receive(&mut batch, 64);
            for packet in batch.iter() {
                assert_eq!(packet.data(), frame(expected.start).data());
                expected.start += 1;
            }
        }
    }

    #[test]
    fn packets_go_from_tap_to_tap_through_shared_memory() {
        in_namespace(|| {
            let (Some([mut here, mut a]), Some([mut there, mut b])) = (tap("a"), tap("b")) else { return };
            let [mut writer, mut reader] = ring_between_stages();
            send(&mut a, 0..100);
            assert!(relay(&mut here, &mut writer) && relay(&mut here, &mut writer));
            assert!(!relay(&mut here, &mut writer));
            assert!(relay(&mut reader, &mut there) && relay(&mut reader, &mut there));
            assert!(!relay(&mut reader, &mut there));
            expect(&mut b, 0..100);
            let counted =
                [here.report().received, writer.report().sent, reader.report().received, there.report().sent];
            assert_eq!(counted, [here.report().received; 4]);
            assert_eq!(counted[0].packets, 100);
            // The way back.
            send(&mut b, 0..3);
            assert!(relay(&mut there, &mut reader) && relay(&mut writer, &mut here));
            expect(&mut a, 0..3);
        });
    }

    #[test]
    fn packets_go_from_tap_to_tap_through_one_process() {
        in_namespace(|| {
            let (Some([mut here, mut a]), Some([mut there, mut b])) = (tap("a"), tap("b")) else { return };
            send(&mut a, 0..100);
            assert!(relay(&mut here, &mut there) && relay(&mut here, &mut there));
            assert!(!relay(&mut here, &mut there));
            expect(&mut b, 0..100);
        });
    }

    /// The end of a cable as a stage's interface, and its other end as another.
    fn cable(name: &str, other: &str) -> Option<[Interface; 2]> {
        keep_quiet();
        if !make_veth(name, other) {
            return None;
        }
        let socket = || sys::packet_socket::open_socket(name).unwrap();
        let index = sys::link::index(name).unwrap();
        let queue = RxQueue::on_socket(socket(), index, name, 1 << 20).unwrap();
        let tx = Tx::on_socket(socket(), index, name, &TxOptions::default()).unwrap();
        let (input, output) = cable_port::both(queue, tx, name).unwrap();
        let stage = interface(Some(Box::new(input)), Some(Box::new(output)));
        let (input, output) = packet_port::open(other).unwrap();
        Some([stage, interface(Some(Box::new(input)), Some(Box::new(output)))])
    }

    #[test]
    fn packets_go_from_cable_to_cable_through_shared_memory() {
        in_namespace(|| {
            let (Some([mut here, mut a]), Some([mut there, mut b])) = (cable("c", "a"), cable("d", "b"))
            else {
                return;
            };
            let [mut writer, mut reader] = ring_between_stages();
            send(&mut a, 0..100);
            let mut n_sent = 0;
            while n_sent < 100 {
                relay(&mut here, &mut writer);
                n_sent = writer.report().sent.packets;
            }
            assert_eq!(reader.relay(&mut there, 60, || 5), Moved::Some);
            assert_eq!(reader.relay(&mut there, 60, || 5), Moved::All);
            assert_eq!(reader.relay(&mut there, 60, || 5), Moved::None);
            expect(&mut b, 0..100);
        });
    }

    #[test]
    fn what_there_is_no_room_for_waits_its_turn() {
        in_namespace(|| {
            let (Some([mut here, mut a]), Some([mut there, mut b])) = (tap("a"), tap("b")) else { return };
            let [mut writer, mut reader] = ring_between_stages();
            send(&mut a, 0..400);
            while relay(&mut here, &mut writer) {}
            let n_relayed = here.report().received.packets;
            assert!((100..400).contains(&n_relayed), "{n_relayed}");
            let mut batch = Batch::new();
            while here.receive(&mut batch, 64) {
                writer.send(&mut batch);
            }
            assert!(writer.is_full());
            assert!(!relay(&mut here, &mut writer));
            let mut n_rounds = 0;
            while writer.report().n_waiting > 0 || reader.report().n_waiting_bytes > 0 {
                relay(&mut reader, &mut there);
                writer.look_at_output();
                n_rounds += 1;
                assert!(n_rounds < 1000);
            }
            expect(&mut b, 0..400);
        });
    }

    #[test]
    fn metadata_without_sense_and_a_device_that_is_down_harm_nobody() {
        in_namespace(|| {
            let Some([mut there, mut b]) = tap("b") else { return };
            let memory = sys::memfd::Memfd::create("test", ring::pair_len(CAPACITY).unwrap()).unwrap();
            let (mut hostile, _) = ring::ends(memory.map().unwrap(), CAPACITY, Side::First).unwrap();
            let bells = || crate::stage::joint::Bells {
                data: sys::poll::Waker::new().unwrap(),
                room: sys::poll::Waker::new().unwrap(),
            };
            let (line, _other) = std::os::unix::net::UnixStream::pair().unwrap();
            let line = std::sync::Arc::new(std::os::fd::OwnedFd::from(line));
            let ends = crate::stage::joint::ends(&memory, Side::Second, [bells(), bells()], &line).unwrap();
            let mut reader = interface(Some(Box::new(ends.0)), None);
            let beyond =
                VnetHeader { flags: NEEDS_CSUM, csum_start: 5000, csum_offset: 6, ..Default::default() };
            let too_many =
                VnetHeader { flags: NEEDS_CSUM, gso_type: GSO_TCPV4, gso_size: 1, ..Default::default() };
            let no_sum = VnetHeader { gso_type: GSO_TCPV4, gso_size: 500, ..Default::default() };
            let unknown = VnetHeader { gso_type: 99, gso_size: 9, ..Default::default() };
            for (n, vnet) in [beyond, no_sum, unknown, VnetHeader::default()].into_iter().enumerate() {
                let header = Header { vnet, ..Header::default() };
                hostile.push(&header, frame(n as u32).data()).unwrap();
            }
            let _ = hostile.publish();
            while relay(&mut reader, &mut there) {}
            expect(&mut b, 0..4);
            // A frame of more bytes than there may be segments.
            hostile.push(&Header { vnet: too_many, ..Header::default() }, frame(37).data()).unwrap();
            let _ = hostile.publish();
            while relay(&mut reader, &mut there) {}
            expect(&mut b, 37..38);
            assert_eq!(reader.report().n_dropped, 4);
            sys::link::set_up("b", false).unwrap();
            hostile.push(&Header::default(), frame(4).data()).unwrap();
            let _ = hostile.publish();
            assert!(relay(&mut reader, &mut there) && !relay(&mut reader, &mut there));
            assert_eq!((there.report().n_waiting, there.report().n_dropped), (0, 1));
        });
    }
}
