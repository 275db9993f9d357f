//! Packets that go straight from one interface to another: they never lie in this process's own memory, or only in one buffer.
//!
//! What is not so simple is left for [`Input::receive`](super::Input) and [`Output::send`](super::Output): waiting for room, the
//! end of either side, and packets that need work.

use element::Packet;

use super::joint::{RingIn, RingOut};
use super::tap_port::{TapIn, TapOut};
use crate::traffic::Traffic;

/// What packets are relayed from.
pub enum From<'a> {
    /// What the kernel sends to a tap.
    Tap(&'a mut TapIn),
    /// What a neighbour put into shared memory.
    Ring(&'a mut RingIn),
}

/// What packets are relayed to.
pub enum To<'a> {
    /// What the kernel receives from a tap.
    Tap(&'a mut TapOut),
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
}

/// Moves at most `max` packets; those without a timestamp get that of `now_ns`, which is asked only if there may be such.
pub fn relay(from: From<'_>, to: To<'_>, max: usize, now_ns: impl FnOnce() -> i64) -> Relayed {
    match (from, to) {
        (From::Tap(from), To::Ring(to)) => {
            Relayed { traffic: to.relay_from(from, max, now_ns()), left: None }
        }
        (From::Tap(from), To::Tap(to)) => from.relay_to(to, max),
        (From::Ring(from), To::Tap(to)) => from.relay_to(to, max),
        (From::Ring(_), To::Ring(_)) => Relayed::default(),
    }
}

#[cfg(test)]
mod tests {
    use element::Batch;
    use ring::{Header, Side};
    use sys::tap::{Offload, Options, Tap, VnetMode};
    use sys::vnet::{VnetHeader, GSO_TCPV4, NEEDS_CSUM};

    use super::super::tests::rings;
    use super::super::{packet_port, tap_port, Input, Interface, Output};
    use super::*;
    use crate::testing::{cannot_run, in_namespace};

    const CAPACITY: usize = 256 << 10;

    /// An interface of a stage with one input and one output at most.
    fn interface(input: Option<Box<dyn Input>>, output: Option<Box<dyn Output>>) -> Interface {
        let mut interface = Interface::new("x").unwrap();
        interface.mark_read();
        input.into_iter().for_each(|input| interface.add_input(input).unwrap());
        output.into_iter().for_each(|output| interface.add_output(output).unwrap());
        interface
    }

    /// A tap as a stage's interface, and the device that it is as another.
    fn tap(name: &str) -> Option<[Interface; 2]> {
        // Without this, the kernel sends packets of its own.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        let tap = match Tap::open(&Options { vnet: VnetMode::Basic, ..Options::tap(name) }) {
            Ok(tap) => tap,
            Err(error) => {
                cannot_run(error);
                return None;
            }
        };
        tap.set_offload(Offload::ALL).unwrap();
        sys::link::set_up(name, true).unwrap();
        let (input, output) = tap_port::both(tap);
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
            assert!(here.relay(&mut writer, 60, || 5) && here.relay(&mut writer, 60, || 5));
            assert!(!here.relay(&mut writer, 60, || 5));
            assert!(reader.relay(&mut there, 60, || 5) && reader.relay(&mut there, 60, || 5));
            assert!(!reader.relay(&mut there, 60, || 5));
            expect(&mut b, 0..100);
            let counted =
                [here.report().received, writer.report().sent, reader.report().received, there.report().sent];
            assert_eq!(counted, [here.report().received; 4]);
            assert_eq!(counted[0].packets, 100);
            // The way back.
            send(&mut b, 0..3);
            assert!(there.relay(&mut reader, 60, || 5) && writer.relay(&mut here, 60, || 5));
            expect(&mut a, 0..3);
        });
    }

    #[test]
    fn packets_go_from_tap_to_tap_through_one_process() {
        in_namespace(|| {
            let (Some([mut here, mut a]), Some([mut there, mut b])) = (tap("a"), tap("b")) else { return };
            send(&mut a, 0..100);
            assert!(here.relay(&mut there, 60, || 5) && here.relay(&mut there, 60, || 5));
            assert!(!here.relay(&mut there, 60, || 5));
            expect(&mut b, 0..100);
        });
    }

    #[test]
    fn what_there_is_no_room_for_waits_its_turn() {
        in_namespace(|| {
            let (Some([mut here, mut a]), Some([mut there, mut b])) = (tap("a"), tap("b")) else { return };
            let [mut writer, mut reader] = ring_between_stages();
            send(&mut a, 0..400);
            while here.relay(&mut writer, 60, || 5) {}
            let n_relayed = here.report().received.packets;
            assert!((100..400).contains(&n_relayed), "{n_relayed}");
            let mut batch = Batch::new();
            while here.receive(&mut batch, 64) {
                writer.send(&mut batch);
            }
            assert!(writer.is_full());
            assert!(!here.relay(&mut writer, 60, || 5));
            let mut n_rounds = 0;
            while writer.report().n_waiting > 0 || reader.report().n_waiting_bytes > 0 {
                reader.relay(&mut there, 60, || 5);
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
            while reader.relay(&mut there, 60, || 5) {}
            expect(&mut b, 0..4);
            // A frame of more bytes than there may be segments.
            hostile.push(&Header { vnet: too_many, ..Header::default() }, frame(37).data()).unwrap();
            let _ = hostile.publish();
            while reader.relay(&mut there, 60, || 5) {}
            expect(&mut b, 37..38);
            assert_eq!(reader.report().n_dropped, 4);
            sys::link::set_up("b", false).unwrap();
            hostile.push(&Header::default(), frame(4).data()).unwrap();
            let _ = hostile.publish();
            assert!(reader.relay(&mut there, 60, || 5) && !reader.relay(&mut there, 60, || 5));
            assert_eq!((there.report().n_waiting, there.report().n_dropped), (0, 1));
        });
    }
}
