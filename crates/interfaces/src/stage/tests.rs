//! Pipes that become shared memory, seen from both ends in one process.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use element::{Batch, Packet};
use socket2::{Domain, Socket, Type};
use sys::memfd::Memfd;
use sys::pipe::{Kind, PipeId};
use sys::poll::{Interest, Poller, Waker};

use super::framing::Framer;
use super::interface::MAX_WAITING;
use super::joint::{self, Bells, Line, RingIn, RingOut};
use super::pipe_in::PipeIn;
use super::pipe_out::PipeOut;
use super::{file, Format, Input, Interface};
use crate::testing::Scratch;

/// Two interfaces with a pipe in between, as neighbouring stages have.
struct Pair {
    left: Interface,
    right: Interface,
    id: PipeId,
    /// Bytes of a ring.
    capacity: usize,
    n_sent: u32,
    n_received: u32,
}

/// The rings' ends of the writer and of the reader.
pub(super) fn rings(capacity: usize) -> ([(RingIn, RingOut); 2], Line) {
    let memory = Memfd::create("test", ring::pair_len(capacity).unwrap()).unwrap();
    let bells = || Bells { data: Waker::new().unwrap(), room: Waker::new().unwrap() };
    let both = [bells(), bells()];
    let (here, there) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None).unwrap();
    let line = |socket: Socket| -> Line { Arc::new(OwnedFd::from(socket)) };
    let (here, there) = (line(here), line(there));
    let ends = [(ring::Side::First, &here), (ring::Side::Second, &there)]
        .map(|(side, line)| joint::ends(&memory, side, both.clone(), line).unwrap());
    (ends, there)
}

impl Pair {
    fn new() -> Pair {
        Pair::with_rings_of(64 << 10)
    }

    fn with_rings_of(capacity: usize) -> Pair {
        let (reader, writer) = std::io::pipe().unwrap();
        let Kind::Pipe(id) = sys::pipe::kind(&reader).unwrap() else { panic!() };
        let reader: File = sys::pipe::reopen_to_read(reader.as_fd()).unwrap();
        let writer: File = sys::pipe::reopen_to_write(writer.as_fd()).unwrap();
        let mut left = Interface::new("right").unwrap();
        left.mark_read();
        left.add_output(Box::new(PipeOut::new(writer, "out".into(), Format::Pcap).unwrap())).unwrap();
        let mut right = Interface::new("left").unwrap();
        right.mark_read();
        right.add_input(Box::new(PipeIn::new(reader, "in".into()).unwrap())).unwrap();
        Pair { left, right, id, capacity, n_sent: 0, n_received: 0 }
    }

    fn send(&mut self, n: u32) {
        (0..n).for_each(|_| self.send_batch(1));
    }

    fn send_batch(&mut self, n: u32) {
        let mut batch = Batch::new();
        for _ in 0..n {
            let mut packet = Packet::zeroed(60 + self.n_sent as usize % 700);
            packet.data_mut()[..4].copy_from_slice(&self.n_sent.to_be_bytes());
            packet.set_timestamp_ns(1 + i64::from(self.n_sent));
            batch.push(packet);
            self.n_sent += 1;
        }
        self.left.send(&mut batch);
        assert!(batch.is_empty(), "no room");
    }

    /// Receives all there is, and checks that it is what was sent, in order.
    fn receive(&mut self) {
        loop {
            let mut batch = Batch::new();
            let has_more = self.right.receive(&mut batch, 32);
            for packet in batch.iter() {
                let n = self.n_received;
                assert_eq!(packet.data()[..4], n.to_be_bytes());
                assert_eq!(packet.len(), 60 + n as usize % 700);
                assert_eq!(packet.timestamp_ns(), 1 + i64::from(n));
                self.n_received += 1;
            }
            self.left.look_at_output();
            if !has_more && batch.is_empty() {
                return;
            }
        }
    }

    /// What the neighbours do once they have agreed.
    fn upgrade(&mut self) {
        let ([writer, reader], line) = rings(self.capacity);
        self.left.upgrade_output(self.id, writer, 1);
        self.right.upgrade_input(self.id, reader, 2);
        sys::unix::recv_fds(line.as_fd(), &mut [0; 32]).unwrap();
    }

    /// Another process writes to the same pipe from now on; the first one has gone.
    fn succeed(&mut self) {
        let pipe = self.right.pipe_in(self.id).unwrap().stream().proof().unwrap();
        let writer = sys::pipe::reopen_to_write(pipe).unwrap();
        self.left = Interface::new("right").unwrap();
        self.left.add_output(Box::new(PipeOut::new(writer, "out".into(), Format::Pcap).unwrap())).unwrap();
    }
}

#[test]
fn packets_keep_their_order_through_pipe_and_ring() {
    let mut pair = Pair::new();
    pair.send(50);
    pair.upgrade();
    pair.send(200);
    pair.receive();
    assert_eq!(pair.n_received, 250);
    assert_eq!((pair.left.report().joint, pair.right.report().joint), ("ring", "ring"));
    pair.send(4000);
    assert!(pair.left.is_full());
    pair.receive();
    assert_eq!(pair.n_received, 4250);
    assert!(!pair.left.is_full());
}

/// Whether the descriptor that a reader sleeps on says that there is something to receive.
fn is_woken(reader: &Interface) -> bool {
    let mut poller = Poller::new().unwrap();
    poller.add(reader.rx_fd(), 0, Interest::READ).unwrap();
    !poller.wait(Some(Duration::ZERO)).unwrap().is_empty()
}

#[test]
fn a_reader_is_woken_when_its_writer_says_so_or_much_waits() {
    let mut pair = Pair::with_rings_of(1 << 20);
    pair.upgrade();
    pair.receive();
    pair.send(1);
    assert!(is_woken(&pair.right), "a few packets are not held back");
    pair.receive();
    pair.send_batch(40);
    assert!(pair.left.owes_wake() && !is_woken(&pair.right));
    pair.left.wake_reader();
    assert!(!pair.left.owes_wake() && is_woken(&pair.right));
    pair.receive();
    assert!(!is_woken(&pair.right));
    while !is_woken(&pair.right) {
        assert!(pair.n_sent < 2000, "it sleeps on");
        pair.send_batch(40);
    }
    assert!(pair.n_sent > 100 && !pair.left.owes_wake());
    pair.receive();
    assert_eq!(pair.n_received, pair.n_sent);
    pair.send_batch(40);
    drop(pair.left);
    assert!(is_woken(&pair.right), "whoever goes wakes it first");
}

#[test]
fn what_was_read_of_the_pipe_is_taken_before_the_ring() {
    let mut pair = Pair::new();
    pair.send(200);
    pair.left.wake_reader();
    let mut batch = Batch::new();
    assert!(pair.right.receive(&mut batch, 32));
    pair.n_received = 32;
    pair.upgrade();
    pair.send(50);
    pair.receive();
    assert_eq!(pair.n_received, 250);
}

#[test]
fn packets_for_a_pipe_are_kept_until_they_are_due_or_many() {
    let mut pair = Pair::new();
    pair.left.wake_reader();
    pair.send(3);
    assert!(pair.left.owes_wake() && !pair.right.receive(&mut Batch::new(), 32));
    pair.left.wake_reader();
    assert!(!pair.left.owes_wake());
    pair.receive();
    assert_eq!(pair.n_received, 3);
    while !is_woken(&pair.right) {
        assert!(pair.n_sent < 2000, "none is written");
        pair.send_batch(40);
    }
    assert!(pair.n_sent > 100);
    pair.receive();
    pair.send(3);
    pair.left = Interface::new("gone").unwrap();
    pair.receive();
    assert_eq!(pair.n_received, pair.n_sent, "whoever goes writes what was kept");
}

#[test]
fn what_is_wrong_behind_packets_is_told_after_them() {
    let scratch = Scratch::new();
    let path = scratch.path("broken.pcap");
    let mut bytes = Vec::new();
    let mut framer = Framer::new(Format::Pcap);
    framer.begin(&mut bytes);
    (0..3).for_each(|_| framer.packet(&mut bytes, &Packet::zeroed(60)));
    bytes.extend([0xff; 40]);
    std::fs::write(&path, &bytes).unwrap();
    let stream = PipeIn::new(File::open(&path).unwrap(), path.clone()).unwrap();
    let inputs = [Box::new(stream) as Box<dyn Input>, file::input(&path).unwrap().0.unwrap()];
    for input in inputs {
        let mut interface = Interface::new("left").unwrap();
        interface.add_input(input).unwrap();
        let mut batch = Batch::new();
        assert!(interface.receive(&mut batch, 32) && interface.take_faults().is_empty());
        assert_eq!(batch.len(), 3);
        batch.clear();
        assert!(!interface.receive(&mut batch, 32) && interface.has_ended());
        let fault = format!("{path}: byte 252: captured length is 4294967295, must be at most {}", 1 << 18);
        assert_eq!(interface.take_faults(), [fault]);
    }
}

#[test]
fn writers_of_one_pipe_may_follow_one_another() {
    let mut pair = Pair::new();
    pair.send(200);
    pair.succeed();
    pair.send(50);
    for _ in 0..3 {
        pair.upgrade();
        pair.send(40);
        assert!(pair.left.finish());
        pair.succeed();
        pair.send(30);
        pair.receive();
        assert_eq!(pair.n_received, pair.n_sent);
    }
}

#[test]
fn what_comes_when_as_many_wait_as_may_takes_the_room_that_there_is_since() {
    for is_ring in [false, true] {
        let mut pair = Pair::new();
        if is_ring {
            pair.upgrade();
        }
        let n_waiting = |pair: &Pair| pair.left.n_waiting().1;
        while n_waiting(&pair) < MAX_WAITING {
            pair.send(1);
        }
        // Reads without the writer being told.
        let mut batch = Batch::new();
        while pair.right.receive(&mut batch, 32) || !batch.is_empty() {
            pair.n_received += batch.len() as u32;
            batch.clear();
        }
        pair.send_batch(64);
        assert!(n_waiting(&pair) < MAX_WAITING);
        pair.receive();
        assert_eq!(pair.n_received, pair.n_sent);
    }
}

#[test]
fn a_named_pipe_is_read_whenever_its_writer_comes() {
    let scratch = Scratch::new();
    let path = scratch.path("fifo");
    nix::unistd::mkfifo(path.as_str(), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut reader = Interface::new("in").unwrap();
    reader.add_input(file::fifo_in(&path).unwrap().0.unwrap()).unwrap();
    let mut batch = Batch::new();
    assert!(!reader.receive(&mut batch, 32) && !reader.has_ended());
    let mut writer = Interface::new("out").unwrap();
    writer.add_output(file::fifo_out(&path, Format::Pcap).unwrap().1.unwrap()).unwrap();
    writer.send(&mut Batch::of(Packet::zeroed(60)));
    drop(writer);
    assert!(reader.receive(&mut batch, 32) && batch.len() == 1);
    batch.clear();
    assert!(!reader.receive(&mut batch, 32) && reader.has_ended());
}

#[test]
fn a_writer_stays_until_the_reader_knows_that_it_goes_on_elsewhere() {
    let mut pair = Pair::new();
    let ([writer, _reader], line) = rings(pair.capacity);
    pair.left.upgrade_output(pair.id, writer, 1);
    assert!(!pair.left.finish());
    sys::unix::recv_fds(line.as_fd(), &mut [0; 32]).unwrap();
    assert!(pair.left.finish());
}

#[test]
fn packets_flow_back_through_the_other_ring() {
    let mut pair = Pair::new();
    let mut early = Batch::of(Packet::zeroed(60));
    pair.right.send(&mut early);
    pair.upgrade();
    let mut late = Batch::of(Packet::zeroed(70));
    pair.right.look_at_output();
    pair.right.send(&mut late);
    let mut batch = Batch::new();
    pair.left.receive(&mut batch, 32);
    assert_eq!(batch.iter().map(|packet| packet.len()).collect::<Vec<_>>(), [60, 70]);
}

#[test]
fn what_a_writer_sent_before_it_went_is_read() {
    for is_clean in [true, false] {
        let mut pair = Pair::new();
        pair.send(3);
        pair.upgrade();
        pair.send(60);
        if is_clean {
            assert!(pair.left.finish());
        }
        pair.left = Interface::new("gone").unwrap();
        pair.receive();
        assert_eq!(pair.n_received, 63);
        assert!(pair.right.has_ended());
    }
}

#[test]
fn a_writer_learns_that_its_reader_is_gone() {
    let mut pair = Pair::new();
    pair.send(3);
    pair.upgrade();
    pair.right = Interface::new("gone").unwrap();
    for _ in 0..3 {
        pair.left.look_at_output();
    }
    assert!(pair.left.is_closed());
}

#[test]
fn a_successor_is_read_when_the_first_pipe_has_ended() {
    let mut first = Pair::new();
    first.send(10);
    first.upgrade();
    first.send(10);
    let (reader, writer) = std::io::pipe().unwrap();
    let input = PipeIn::new(sys::pipe::reopen_to_read(&reader).unwrap(), "in".into()).unwrap();
    first.right.add_input(Box::new(input)).unwrap();
    let output = PipeOut::new(sys::pipe::reopen_to_write(&writer).unwrap(), "out".into(), Format::Ascii);
    first.left.add_output(Box::new(output.unwrap())).unwrap();
    drop((reader, writer));
    let mut batch = Batch::of(Packet::from_bytes(&[7; 60]));
    first.left.send(&mut batch);
    first.receive_all_but_last();
    assert!(!first.right.has_ended());
    assert!(first.left.finish());
    first.left = Interface::new("gone").unwrap();
    let mut batch = Batch::new();
    first.right.receive(&mut batch, 32);
    assert!(batch.is_empty() && first.right.has_ended());
}

impl Pair {
    /// Receives what was sent, and then one packet of sevens.
    fn receive_all_but_last(&mut self) {
        let (mut bytes, mut batch) = (Vec::new(), Batch::new());
        while self.right.receive(&mut batch, 32) {
            bytes.extend(batch.iter().map(|packet| packet.data()[3]));
            batch.clear();
        }
        assert_eq!(bytes, (0..self.n_sent as u8).chain([7]).collect::<Vec<u8>>());
    }
}

/// Whether the descriptor that a writer waits at for room says that there may be some.
fn is_told_of_room(writer: &Interface) -> bool {
    let mut poller = Poller::new().unwrap();
    poller.add(writer.tx_fd(), 0, Interest::READ).unwrap();
    !poller.wait(Some(Duration::ZERO)).unwrap().is_empty()
}

/// Receives all there is, and lets the writer go on as often as it is told of room; how many packets came.
fn move_on(writer: &mut Interface, reader: &mut Interface) -> usize {
    let (mut n_packets, mut batch) = (0, Batch::new());
    for _ in 0..10_000 {
        while reader.receive(&mut batch, 32) {
            n_packets += batch.len();
            batch.clear();
        }
        if !is_told_of_room(writer) {
            return n_packets;
        }
        writer.look_at_output();
    }
    panic!("it is told of room without end");
}

/// A pipe to write to, and who reads it.
fn pipe_to_reader() -> (PipeOut, Interface) {
    let (reader, writer) = std::io::pipe().unwrap();
    let writer = sys::pipe::reopen_to_write(writer.as_fd()).unwrap();
    let mut interface = Interface::new("reader").unwrap();
    interface.mark_read();
    let input = PipeIn::new(sys::pipe::reopen_to_read(reader.as_fd()).unwrap(), "in".into()).unwrap();
    interface.add_input(Box::new(input)).unwrap();
    (PipeOut::new(writer, "out".into(), Format::Pcap).unwrap(), interface)
}

impl Pair {
    /// Another reader of the same pipe, which the first one leaves.
    fn replace_reader(&mut self) {
        let pipe = self.right.pipe_in(self.id).unwrap().stream().proof().unwrap();
        let input = PipeIn::new(sys::pipe::reopen_to_read(pipe).unwrap(), "in".into()).unwrap();
        self.right = Interface::new("left").unwrap();
        self.right.mark_read();
        self.right.add_input(Box::new(input)).unwrap();
    }
}

#[test]
fn who_waited_for_room_in_a_ring_waits_for_room_in_the_pipe_when_its_reader_is_gone() {
    let mut pair = Pair::new();
    pair.upgrade();
    pair.send(4000);
    assert!(pair.left.is_full());
    let n_waiting = pair.left.report().n_waiting;
    pair.replace_reader();
    pair.left.look_at_output();
    assert!(pair.left.is_full(), "that is more than a pipe holds");
    assert_eq!(move_on(&mut pair.left, &mut pair.right), n_waiting);
    assert!(!pair.left.is_full());
}

#[test]
fn who_waited_for_room_goes_on_with_the_output_that_follows() {
    let mut pair = Pair::new();
    pair.send(4000);
    pair.send(2000);
    assert!(pair.left.is_full());
    let (output, mut reader) = pipe_to_reader();
    pair.left.go_on_with(Box::new(output)).unwrap();
    let n_before = move_on(&mut pair.left, &mut pair.right);
    let n_behind = move_on(&mut pair.left, &mut reader);
    assert_eq!((n_before + n_behind, pair.left.report().n_waiting), (6000, 0));
    assert!(n_behind > 2000 && !pair.left.is_full());
}

#[test]
fn it_is_told_when_all_that_waited_went_out_another_way() {
    let mut pair = Pair::new();
    pair.upgrade();
    pair.send(400);
    assert!(pair.left.is_full());
    let (output, mut reader) = pipe_to_reader();
    pair.left.go_on_with(Box::new(output)).unwrap();
    assert!(!pair.left.is_full() && is_told_of_room(&pair.left));
    assert!(move_on(&mut pair.left, &mut reader) > 20);
}

#[test]
fn who_waited_for_room_goes_on_around_the_pipe_and_back() {
    let mut pair = Pair::new();
    pair.send(4000);
    let n_waiting = pair.left.report().n_waiting;
    let ([(no_input, _), _], _) = rings(64 << 10);
    let (output, mut reader) = pipe_to_reader();
    pair.left.go_around(Box::new(no_input), Box::new(output)).unwrap();
    assert_eq!(move_on(&mut pair.left, &mut reader), n_waiting);
    assert!(!pair.left.is_full());
    pair.send(4000);
    let n_waiting = pair.left.report().n_waiting;
    assert!(pair.left.is_full());
    pair.left.end_kernel_joint();
    assert!(move_on(&mut pair.left, &mut pair.right) > n_waiting);
    assert!(!pair.left.is_full() && pair.left.report().n_waiting == 0);
}

#[test]
fn what_a_neighbour_might_answer_is_not_kept_where_nobody_reads_it() {
    let mut pair = Pair::new();
    pair.left.unmark_read();
    pair.upgrade();
    pair.receive();
    assert!(!pair.left.has_input());
    let report = pair.left.report();
    assert_eq!((report.joint, report.neighbour), ("ring", Some(1)));
    pair.replace_reader();
    (0..3).for_each(|_| pair.left.look_at_output());
    let report = pair.left.report();
    assert_eq!((report.joint, report.neighbour), ("pipe", None));
}

#[test]
fn a_neighbour_that_is_gone_is_not_told_of_where_nobody_reads_any_more() {
    let mut pair = Pair::new();
    pair.upgrade();
    pair.left.unmark_read();
    pair.replace_reader();
    (0..3).for_each(|_| pair.left.look_at_output());
    let report = pair.left.report();
    assert_eq!((report.joint, report.neighbour), ("pipe", None));
}

#[test]
fn nothing_waits_for_a_reader_that_will_not_come() {
    let mut gone = Pair::new();
    gone.right = Interface::new("gone").unwrap();
    (0..3).for_each(|_| gone.left.look_at_output());
    assert!(gone.left.is_closed());
    gone.send(5000);
    let report = gone.left.report();
    assert_eq!((report.n_waiting, report.n_dropped, gone.left.n_lost()), (0, 5000, 0));
    let (output, mut reader) = pipe_to_reader();
    gone.left.go_on_with(Box::new(output)).unwrap();
    gone.send(3);
    gone.left.flush();
    assert_eq!(move_on(&mut gone.left, &mut reader), 3);

    let mut read_only = Pair::new();
    read_only.left = Interface::new("file").unwrap();
    read_only.send(5000);
    let report = read_only.left.report();
    assert_eq!((report.n_waiting, report.n_dropped, read_only.left.n_lost()), (0, 5000, 5000));
    // Of a pipe, the neighbour may turn out to take packets.
    let mut batch = Batch::of(Packet::zeroed(60));
    read_only.right.send(&mut batch);
    assert_eq!((batch.len(), read_only.right.report().n_waiting), (0, 1));
}

#[test]
fn what_a_reader_sent_before_it_was_joined_in_the_kernel_is_no_fault_of_the_pipe() {
    let mut pair = Pair::new();
    let send = |interface: &mut Interface| interface.send(&mut Batch::of(Packet::zeroed(60)));
    send(&mut pair.right);
    assert_eq!((pair.right.report().n_waiting, pair.right.n_lost()), (1, 1));
    let (_, line) = rings(64 << 10);
    pair.right.leave_to("cable", 1, line);
    send(&mut pair.right);
    let report = pair.right.report();
    assert_eq!((report.n_waiting, report.n_dropped, pair.right.n_lost()), (0, 2, 0));
    pair.right.end_kernel_joint();
    send(&mut pair.right);
    let report = pair.right.report();
    assert_eq!((report.n_waiting, report.n_dropped, pair.right.n_lost()), (1, 2, 0));
    let (output, mut reader) = pipe_to_reader();
    pair.right.go_on_with(Box::new(output)).unwrap();
    assert_eq!(move_on(&mut pair.right, &mut reader), 1);
}

#[test]
fn what_is_sent_after_packets_took_another_way_does_not_come_behind_them() {
    let mut pair = Pair::new();
    pair.left.clear();
    pair.send(5);
    pair.left.flush();
    let report = pair.left.report();
    assert_eq!((report.n_waiting, report.n_dropped, pair.left.is_closed()), (0, 5, false));
    let (output, mut reader) = pipe_to_reader();
    pair.left.go_on_with(Box::new(output)).unwrap();
    pair.send(3);
    pair.left.flush();
    assert_eq!(move_on(&mut pair.left, &mut reader), 3);
}

/// Whether the descriptor that who sends sleeps on says that something is to be looked at.
fn calls_sender(interface: &Interface) -> bool {
    let mut poller = Poller::new().unwrap();
    poller.add(interface.tx_fd(), 0, Interest::READ).unwrap();
    !poller.wait(Some(Duration::ZERO)).unwrap().is_empty()
}

#[test]
fn what_is_sent_until_a_successor_offers_a_ring_waits_for_it() {
    let mut pair = Pair::new();
    pair.upgrade();
    pair.right.await_successor();
    pair.right.send(&mut Batch::of(Packet::zeroed(60)));
    assert_eq!((pair.right.report().n_waiting, pair.right.is_full()), (1, false));
    while !pair.right.is_full() {
        pair.right.send(&mut Batch::of(Packet::zeroed(60)));
    }
    assert!(pair.right.report().n_waiting < MAX_WAITING);
    let ([_writer, (_input, output)], _line) = rings(1 << 20);
    output.call_self();
    pair.right.add_output(Box::new(output)).unwrap();
    assert!(calls_sender(&pair.right));
    pair.right.look_at_output();
    assert_eq!((pair.right.report().n_waiting, pair.right.is_full()), (0, false));
}

#[test]
fn who_waits_for_room_where_packets_take_another_way_is_called() {
    let mut pair = Pair::new();
    pair.send(4000);
    while calls_sender(&pair.left) {
        pair.left.look_at_output();
    }
    assert!(pair.left.is_full());
    pair.left.clear();
    assert!(!pair.left.is_full() && calls_sender(&pair.left));
    pair.left.look_at_output();
    assert!(!calls_sender(&pair.left));
}
