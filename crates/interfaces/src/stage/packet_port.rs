//! A network device that is there, through packet sockets.

use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use element::{Batch, Packet};
use packet::Ring;
use smallvec::SmallVec;
use sys::alarm::Alarm;
use sys::link;
use sys::packet_socket::{RxOptions, RxRing, Tx, TxFrame, TxOptions};
use sys::poll::{Interest, Poller};
use sys::span::Source;
use sys::vnet::VnetHeader;

use super::relay;
use super::{unwatch_fd, watch_fd, watch_room, Dispatch, Input, Output, Receipt};
use crate::device::{check_up_with_help, from_frame, refusal, words};
use crate::segment::{is_for_kernel, segment};
use crate::vnet;

const ENETDOWN: i32 = 100;
/// Packets sent with one system call.
const BATCH: usize = 64;
/// Longest pause before a device whose queue is full is tried again, in microseconds.
const MAX_PAUSE_US: u64 = 256;
/// How often to look at a device that tells of nothing.
const LOOK: Duration = Duration::from_millis(20);

/// What a device receives.
pub struct PacketIn {
    ring: RxRing,
    device: String,
    /// Its number; none if it was gone at once.
    index: Option<u32>,
    /// Rings when it is time to look without being told.
    alarm: Alarm,
    /// When that is, at the earliest.
    look_at: Instant,
    /// Whether it went down and nothing came since: the kernel does not tell if it then goes away.
    is_down: bool,
    /// Taken out of the kernel's block and not yet handed on.
    pending: VecDeque<Packet>,
}

/// What a device sends.
pub struct PacketOut {
    tx: Tx,
    /// Whether the other end of the device is a stack's.
    is_cable: bool,
    /// Whether the socket is watched for room.
    is_watched: bool,
    /// Rings when a device whose queue is full is to be tried again; none before one was.
    alarm: Option<Alarm>,
    /// How long it was waited last; zero if the socket tells of room.
    pause_us: u64,
    /// Whether it was told that there may be room.
    is_woken: bool,
    n_refused: u64,
    /// Why the first one was refused.
    why: Option<String>,
}

/// Opens a device's two directions; it receives what is sent to other stations as well, as a wire does.
pub fn open(device: &str) -> Result<(PacketIn, PacketOut), String> {
    let refused = |error: sys::SysError| refusal(device, false, &error);
    check_up_with_help(device)?;
    let ring =
        RxRing::open(device, &RxOptions { promiscuous: true, ..RxOptions::default() }).map_err(refused)?;
    let tx = Tx::open(device, &TxOptions::default()).map_err(refused)?;
    let input = PacketIn {
        ring,
        device: device.to_string(),
        index: link::index(device).ok(),
        alarm: Alarm::new().map_err(|error| error.to_string())?,
        look_at: Instant::now(),
        is_down: false,
        pending: VecDeque::new(),
    };
    Ok((input, PacketOut::new(tx, false)))
}

impl PacketIn {
    /// Whether there is still the device that it receives from, as far as that is known.
    fn is_there(&self) -> bool {
        self.index.is_none_or(link::exists)
    }

    /// Sets the alarm anew once it has rung. The kernel wakes the reader of a ring before it counts the block as finished: a reader on
    /// another processor may look too early, find nothing, and would sleep until the next block.
    fn look_later(&mut self) {
        let now = Instant::now();
        if now >= self.look_at {
            // Without it, packets and errors still tell of themselves.
            let _ = self.alarm.set(LOOK);
            self.look_at = now + LOOK;
        }
    }
}

impl Input for PacketIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, _poller: &mut Poller) -> Receipt {
        while self.pending.len() < max {
            let Some(block) = self.ring.poll_block() else { break };
            let packets =
                block.frames().map(|frame| from_frame(&frame, packet::DEFAULT_HEADROOM, usize::MAX));
            self.pending.extend(packets);
        }
        let n = self.pending.len().min(max);
        self.pending.drain(..n).for_each(|mut packet| {
            packet.set_mac_offset(0);
            batch.push(packet);
        });
        if !batch.is_empty() {
            self.is_down = false;
            return Receipt::Packets;
        }
        self.look_later();
        match self.ring.take_error() {
            Err(error) if error.errno() == Some(ENETDOWN) => self.is_down = true,
            Err(error) => return Receipt::Fault(format!("{}: {}", self.device, words(&error))),
            Ok(()) => {}
        }
        // It may come up again.
        match self.is_down && !self.is_there() {
            true => Receipt::Fault(format!("{}: the device is gone", self.device)),
            false => Receipt::Nothing,
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.ring.as_fd(), Interest::READ)?;
        watch_fd(poller, self.alarm.as_fd(), Interest::READ)
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.ring.as_fd());
        unwatch_fd(poller, self.alarm.as_fd());
    }

    fn joint(&self) -> &'static str {
        "device"
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn n_missed(&self) -> u64 {
        self.ring.statistics().map_or(0, |statistics| statistics.n_dropped)
    }
}

impl Output for PacketOut {
    fn send(&mut self, waiting: &mut Ring, poller: &mut Poller) -> Dispatch {
        while !waiting.is_empty() {
            let frames: SmallVec<[TxFrame<'_>; BATCH]> = waiting
                .iter()
                .take(BATCH)
                .take_while(|packet| is_for_kernel(packet))
                .map(|packet| TxFrame { vnet: vnet::header_of(packet), data: packet.data() })
                .collect();
            if frames.is_empty() {
                drop(frames);
                self.give_up_first(waiting);
                continue;
            }
            let sent = self.tx.send_batch(&frames);
            drop(frames);
            match sent {
                Ok(0) => {
                    self.pause(poller);
                    return Dispatch::Blocked;
                }
                Ok(n) => {
                    (self.pause_us, self.is_woken) = (0, false);
                    (0..n).for_each(|_| drop(waiting.pop_front()));
                }
                Err(error) => {
                    self.why.get_or_insert_with(|| words(&error));
                    self.give_up_first(waiting);
                }
            }
        }
        Dispatch::All
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.tx.as_fd(), Interest::default())?;
        self.alarm.as_ref().map_or(Ok(()), |alarm| watch_fd(poller, alarm.as_fd(), Interest::READ))
    }

    fn set_blocked(&mut self, poller: &mut Poller, is_blocked: bool) {
        let is_watched = is_blocked && self.pause_us == 0;
        watch_room(poller, self.tx.as_fd(), &mut self.is_watched, is_watched);
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.tx.as_fd());
        if let Some(alarm) = &self.alarm {
            unwatch_fd(poller, alarm.as_fd());
        }
    }

    fn woken(&mut self) {
        // Being down is told once and passes.
        let _ = self.tx.take_error();
        if let Some(alarm) = &self.alarm {
            let _ = alarm.stop();
        }
        self.is_woken = true;
    }

    fn joint(&self) -> &'static str {
        "device"
    }

    fn is_stream(&self) -> bool {
        false
    }

    fn relay_end(&mut self) -> Option<relay::To<'_>> {
        self.is_cable.then_some(relay::To::Cable(self))
    }

    fn n_bad(&self) -> u64 {
        self.n_refused
    }

    fn why_bad(&self) -> Option<String> {
        self.why.clone()
    }
}

impl PacketOut {
    /// What an open socket sends through. To a stack packets are relayed, long ones mostly; other devices get short ones, many at once.
    pub(super) fn new(tx: Tx, is_cable: bool) -> PacketOut {
        PacketOut {
            tx,
            is_cable,
            is_watched: false,
            alarm: None,
            pause_us: 0,
            is_woken: false,
            n_refused: 0,
            why: None,
        }
    }

    /// Sends a packet if nothing stands in its way.
    pub(super) fn write(&mut self, header: VnetHeader, data: Source<'_>) -> bool {
        let is_sent = matches!(self.tx.send(vnet::unverified(header), data), Ok(true));
        if is_sent {
            (self.pause_us, self.is_woken) = (0, false);
        }
        is_sent
    }

    /// There is no room. If the socket had some, it is the device's queue that is full, and it does not tell when that changes: it is
    /// tried again after a pause, the longer the more often this happens in a row.
    fn pause(&mut self, poller: &mut Poller) {
        if !std::mem::take(&mut self.is_woken) {
            return;
        }
        if self.alarm.is_none() {
            self.alarm =
                Alarm::new().ok().filter(|alarm| watch_fd(poller, alarm.as_fd(), Interest::READ).is_ok());
        }
        let pause_us = (self.pause_us * 2).clamp(1, MAX_PAUSE_US);
        let is_set =
            self.alarm.as_ref().is_some_and(|alarm| alarm.set(Duration::from_micros(pause_us)).is_ok());
        self.pause_us = if is_set { pause_us } else { 0 };
    }

    /// The first packet was refused. One with offload metadata is tried again, segmented here.
    fn give_up_first(&mut self, waiting: &mut Ring) {
        let Some(packet) = waiting.pop_front() else { return };
        if !packet.has_offload() {
            self.n_refused += 1;
            return;
        }
        let mut parts = Vec::new();
        segment(&packet, |part| parts.push(part));
        parts.into_iter().rev().for_each(|part| waiting.push_front(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::Interface;
    use crate::testing::{cannot_run, in_namespace, make_veth};

    #[test]
    fn what_helps_with_a_device_is_told() {
        let told = |device| open(device).err().unwrap();
        assert_eq!(told("none0"), "none0: No such device exists; `ip link` lists those that do");
        in_namespace(move || {
            assert_eq!(told("lo"), "lo: That device is not up; `ip link set lo up`");
        });
    }

    #[test]
    fn a_device_whose_queue_is_full_is_tried_again_after_a_pause() {
        in_namespace(|| {
            if !make_veth("here", "there") {
                return;
            }
            // It lets a packet through every now and then.
            let queue = "qdisc replace dev here root tbf rate 8kbit burst 1600 limit 1600".split(' ');
            match std::process::Command::new("tc").args(queue).status() {
                Ok(status) if status.success() => {}
                other => return cannot_run(format!("tc: {other:?}")),
            }
            let (_input, mut output) = open("here").unwrap();
            let mut poller = Poller::new().unwrap();
            output.watch(&mut poller).unwrap();
            let mut waiting = Ring::new();
            (0..500).for_each(|_| waiting.push_back(Packet::zeroed(60)));
            let mut n_rounds = 0;
            while output.pause_us < MAX_PAUSE_US {
                assert_eq!(output.send(&mut waiting, &mut poller), Dispatch::Blocked);
                output.set_blocked(&mut poller, true);
                assert_eq!(output.is_watched, output.pause_us == 0);
                output.woken();
                n_rounds += 1;
                assert!(n_rounds < 1000, "{} wait", waiting.len());
            }
            assert_eq!(output.send(&mut waiting, &mut poller), Dispatch::Blocked);
            assert!(!poller.wait(None).unwrap().is_empty(), "the alarm rings");
        });
    }

    /// An interface that receives from a device.
    fn receiver(device: &str) -> Interface {
        let (input, _output) = open(device).unwrap();
        let mut interface = Interface::new("left").unwrap();
        interface.add_input(Box::new(input)).unwrap();
        interface
    }

    /// Receives each time that a descriptor tells of something, until `is_done` or nothing has told for a while; whether it is done.
    fn receive_until(interface: &mut Interface, mut is_done: impl FnMut(&mut Interface) -> bool) -> bool {
        let mut poller = Poller::new().unwrap();
        watch_fd(&mut poller, interface.rx_fd(), Interest::READ).unwrap();
        let mut batch = Batch::new();
        loop {
            while interface.receive(&mut batch, 32) {
                batch.clear();
            }
            if is_done(interface) {
                return true;
            }
            if poller.wait(Some(Duration::from_secs(5))).unwrap().is_empty() {
                return false;
            }
        }
    }

    #[test]
    fn a_device_that_goes_away_while_it_is_down_is_a_fault() {
        in_namespace(|| {
            if !make_veth("here", "there") {
                return;
            }
            let mut interface = receiver("here");
            link::set_up("here", false).unwrap();
            let mut n_looks = 0;
            assert!(receive_until(&mut interface, |interface| {
                assert!(!interface.has_ended(), "{:?}", interface.take_faults());
                n_looks += 1;
                n_looks > 3
            }));
            link::delete("here").unwrap();
            assert!(receive_until(&mut interface, |interface| interface.has_ended()), "nothing tells of it");
            assert_eq!(interface.take_faults(), ["here: the device is gone"]);
        });
    }

    #[test]
    fn packets_are_looked_for_though_nothing_tells_of_them() {
        in_namespace(|| {
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            if !make_veth("here", "there") {
                return;
            }
            let mut interface = receiver("here");
            let (start, mut n_looks) = (Instant::now(), 0);
            assert!(receive_until(&mut interface, |_| {
                n_looks += 1;
                n_looks > 5
            }));
            assert!(start.elapsed() >= 4 * LOOK, "it looks all the time");
        });
    }

    #[test]
    fn what_the_kernel_dropped_as_nobody_received_it_is_counted() {
        in_namespace(|| {
            let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
            if !make_veth("here", "there") {
                return;
            }
            let mut here = receiver("here");
            let (_input, output) = open("there").unwrap();
            let mut there = Interface::new("there").unwrap();
            there.add_output(Box::new(output)).unwrap();
            let mut n_sent = 0;
            while here.n_missed() == 0 {
                let mut batch = Batch::new();
                (0..64).for_each(|_| batch.push(Packet::zeroed(1400)));
                there.send(&mut batch);
                n_sent += 64;
                assert!(batch.is_empty() && n_sent < 100_000);
            }
            // Delivery may lag behind sending.
            let mut n_received = 0;
            while n_received + here.n_missed() < n_sent {
                there.look_at_output();
                let mut batch = Batch::new();
                here.receive(&mut batch, 64);
                n_received += batch.len() as u64;
            }
            let report = here.report();
            assert_eq!(report.received.packets + report.n_dropped, n_sent);
            assert!(report.received.packets > 0);
        });
    }
}
