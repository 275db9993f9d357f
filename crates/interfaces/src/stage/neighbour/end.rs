//! One end of a pipe, and the talk with the other end.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use socket2::Socket;
use sys::memfd::Memfd;
use sys::pipe::{self, PipeId};
use sys::poll::Waker;
use sys::process::has_ended;

use super::message::{Message, CABLE, HELLO, PART, PARTED, PUMP, RING_ONLY, WELCOME};
use super::rendezvous::{has_end, Neighbour};
use super::{stack, tell, Side};
use crate::stage::joint::{self, Bells, Line, RingIn, RingOut, CAPACITY, MAX_PAIR};
use crate::stage::table::{lock, Shared};

/// How long a process may take to end, where this can be seen: it may wait long for the kernel to take its devices down.
const LEAVING: Duration = Duration::from_secs(60);
/// How long one may take that cannot be seen.
const LEAVING_UNSEEN: Duration = Duration::from_millis(50);
/// How long a pipe may outlive who had it: the program that started it may wait for its end and then end as well.
const INHERITED: Duration = Duration::from_millis(100);
/// How often to look whether it has.
pub const LOOK: Duration = Duration::from_millis(1);

/// One end of a pipe, and how far the talk with the other end came.
pub struct End {
    pub shared: Shared,
    pub id: PipeId,
    pub side: Side,
    pub listener: Socket,
    pub talk: Option<Talk>,
    pub leaving: Option<Leaving>,
}

/// A neighbour to whose stack this one is joined and who has hung up: its process is about to end, if it has not.
pub struct Leaving {
    neighbour: Neighbour,
    since: Instant,
    /// When it was seen that it has ended.
    ended: Option<Instant>,
}

/// A connection to the other end.
pub struct Talk {
    pub line: Line,
    pub neighbour: Neighbour,
    /// What was offered or taken.
    pub rings: Option<(RingIn, RingOut)>,
}

/// What to do with a connection after a message.
pub enum Next {
    Stay,
    /// The talk is over. If the pipe goes on in the ring, the line is the rings'.
    Over,
    /// The neighbour, who was joined in the kernel, has hung up.
    Leaving,
    /// What was joined in the kernel is to come back.
    ComeBack,
}

impl End {
    /// Whether the pipe is still used.
    pub fn is_open(&self) -> bool {
        let mut interface = lock(&self.shared);
        match self.side {
            Side::Reader => interface.pipe_in(self.id).is_some(),
            Side::Writer => interface.pipe_out(self.id).is_some(),
        }
    }

    /// Whether packets go another way than through the pipe, or will.
    pub fn is_joined(&self) -> bool {
        let mut interface = lock(&self.shared);
        interface.has_kernel_joint()
            || match self.side {
                Side::Reader => interface.pipe_in(self.id).is_some_and(|pipe| pipe.has_ring()),
                Side::Writer => interface.pipe_out(self.id).is_some_and(|pipe| pipe.has_ring()),
            }
    }

    /// Whether somebody is there who has said nothing yet.
    pub fn awaits_hello(&self) -> bool {
        self.talk.as_ref().is_some_and(|talk| talk.rings.is_none()) && !self.is_joined()
    }

    /// The neighbour has hung up.
    pub fn hung_up(&mut self, neighbour: Neighbour) -> Next {
        if !lock(&self.shared).has_kernel_joint() {
            return Next::Over;
        }
        self.leaving = Some(Leaving { neighbour, since: Instant::now(), ended: None });
        Next::Leaving
    }

    /// Whether the neighbour who was leaving is gone, but the pipe goes on: somebody else may take its place. Nothing is known as long
    /// as it is leaving.
    pub fn is_abandoned(&mut self) -> Option<bool> {
        let goes_on = self.goes_on();
        let Leaving { neighbour, since, ended } = self.leaving.as_mut()?;
        let patience = if neighbour.pid == 0 { LEAVING_UNSEEN } else { LEAVING };
        // What ends closes all that it has, one after the other: the pipe counts once nothing is left.
        if ended.is_none() && has_ended(neighbour.pid) {
            *ended = Some(Instant::now());
        }
        let is_gone = ended.is_some_and(|ended| ended.elapsed() >= INHERITED) || since.elapsed() >= patience;
        (is_gone || !goes_on).then_some(goes_on)
    }

    /// Whether somebody has the other end of the pipe.
    fn goes_on(&self) -> bool {
        let mut interface = lock(&self.shared);
        match self.side {
            Side::Reader => interface.pipe_in(self.id).is_some_and(|end| !pipe::has_hung_up(end.stream())),
            Side::Writer => interface.pipe_out(self.id).is_some_and(|end| !pipe::is_unread(end.stream())),
        }
    }

    /// Undoes what joined this stack to that of the neighbour who is gone.
    pub fn abandoned(&self) {
        let name = self.name();
        match self.side {
            Side::Reader => self.parted(None),
            Side::Writer => {
                if let Some(Err(message)) = stack::with(|stack| Some(stack.part_alone(&name))) {
                    tell(&name, &message);
                }
                let mut interface = lock(&self.shared);
                interface.end_kernel_joint();
                if let Some(pipe) = interface.pipe_out(self.id) {
                    pipe.begin_again();
                }
            }
        }
    }

    /// The talk is over.
    pub fn settle(&self) {
        let mut interface = lock(&self.shared);
        interface.set_meeting(false);
        if self.side == Side::Reader {
            interface.await_ring(self.id, false);
            interface.await_successor_no_more();
        }
    }

    /// Goes on in the ring after what the pipe holds: the writer is still there, and writes to it no more.
    pub fn switch(&self, talk: &mut Talk) {
        if let (Side::Reader, Some(rings)) = (self.side, talk.rings.take()) {
            lock(&self.shared).upgrade_input(self.id, rings, talk.neighbour.pid);
        }
    }

    /// What shows that this process has its end of the pipe.
    fn proof(&self) -> Option<OwnedFd> {
        let mut interface = lock(&self.shared);
        match self.side {
            Side::Reader => interface.pipe_in(self.id)?.stream().proof().ok(),
            Side::Writer => interface.pipe_out(self.id)?.stream().proof().ok(),
        }
    }

    /// What follows from a message, which these descriptors came with.
    pub fn step(&mut self, talk: &mut Talk, message: &Message, fds: Vec<OwnedFd>) -> Next {
        match (self.side, message.kind) {
            (Side::Reader, HELLO) if talk.rings.is_none() => {
                talk.rings = self.take_offer(talk, fds);
                if talk.rings.is_some() && self.welcome(talk, message.number).is_some() {
                    Next::Stay
                } else {
                    Next::Over
                }
            }
            (Side::Reader, CABLE | PUMP) if talk.rings.take().is_some() => {
                self.joined(talk, if message.kind == CABLE { "cable" } else { "pump" });
                Next::Stay
            }
            (Side::Reader, PARTED) => {
                self.parted(fds.into_iter().next());
                Next::Over
            }
            (Side::Writer, PART) => Next::ComeBack,
            (Side::Writer, WELCOME) => self.welcomed(talk, message, fds),
            // SWITCH is one of them: what it asks for was done before it was received.
            _ => Next::Over,
        }
    }

    /// The writer joined both stacks.
    fn joined(&self, talk: &Talk, joint: &'static str) {
        let name = self.name();
        stack::with(|stack| {
            stack.joined(&name);
            Some(())
        });
        lock(&self.shared).leave_to(joint, talk.neighbour.pid, talk.line.clone());
    }

    /// The writer undid that; `tap` is the other end of this stack's device, if it got a new one.
    fn parted(&self, tap: Option<OwnedFd>) {
        let name = self.name();
        // First: what the device sends from then on waits for whoever comes.
        lock(&self.shared).end_kernel_joint();
        if let Some(Err(message)) = stack::with(|stack| Some(stack.parted(&name, tap))) {
            tell(&name, &message);
        }
    }

    /// The reader has taken the offer: both stacks are joined, or the pipe goes on in the ring.
    fn welcomed(&self, talk: &mut Talk, message: &Message, fds: Vec<OwnedFd>) -> Next {
        let Some(rings) = talk.rings.take() else { return Next::Over };
        let mut fds = fds.into_iter();
        if !fds.next().is_some_and(|fd| has_end(fd.as_fd(), self.id, Side::Reader)) {
            return Next::Over;
        }
        if self.join_stacks(talk, message, fds).is_some() {
            return Next::Stay;
        }
        lock(&self.shared).upgrade_output(self.id, rings, talk.neighbour.pid);
        Next::Over
    }

    /// The interface's name.
    pub fn name(&self) -> String {
        lock(&self.shared).name().to_string()
    }

    /// Answers a writer; with what it needs to join both stacks, if this is one.
    fn welcome(&self, talk: &Talk, wish: u64) -> Option<()> {
        let name = self.name();
        let proof = self.proof()?;
        // Where the way back has a pipe of its own, only one of the two is to join the stacks: the one that the shell made.
        let is_any = wish != RING_ONLY && sys::pipe::is_anonymous(&proof);
        let handle =
            stack::with(|stack| stack.handle(&name).filter(|_| is_any && talk.neighbour.is_same_user));
        let tap = stack::with(|stack| stack.tap(&name).filter(|_| is_any));
        let number = u64::from(handle.is_some()) | u64::from(tap.is_some()) << 1;
        let fds = [Some(&proof), handle.as_ref(), tap.as_ref()];
        let fds: Vec<BorrowedFd<'_>> = fds.into_iter().flatten().map(|fd| fd.as_fd()).collect();
        // From here on the end of the pipe is no end before the writer's answer, or its own end, is known.
        lock(&self.shared).await_ring(self.id, true);
        Message { kind: WELCOME, number, name }.send(&talk.line, &fds).ok()?;
        lock(&self.shared).await_successor();
        Some(())
    }

    /// Joins both stacks in the kernel, or else by moving packets between their taps.
    fn join_stacks(
        &self,
        talk: &Talk,
        welcome: &Message,
        mut fds: impl Iterator<Item = OwnedFd>,
    ) -> Option<()> {
        let handle = if welcome.number & 1 != 0 { fds.next() } else { None };
        let tap = if welcome.number & 2 != 0 { fds.next() } else { None };
        let name = self.name();
        // Another user's handle might lead anywhere.
        let is_cable = handle.filter(|_| talk.neighbour.is_same_user).is_some_and(|handle| {
            stack::with(|stack| stack.join(&name, handle, &welcome.name).ok()).is_some()
        });
        let is_pump = !is_cable
            && tap
                .is_some_and(|tap| stack::with(|stack| stack.pump(&name, tap, &welcome.name).ok()).is_some());
        let (kind, joint) = match (is_cable, is_pump) {
            (true, _) => (CABLE, "cable"),
            (_, true) => (PUMP, "pump"),
            _ => return None,
        };
        let mut interface = lock(&self.shared);
        interface.set_kernel_joint(joint, talk.neighbour.pid, talk.line.clone());
        interface.flush();
        drop(interface);
        // If the neighbour is gone, the pipe says so.
        let _ = Message::new(kind, 0).send(&talk.line, &[]);
        Some(())
    }

    /// Checks what the writer sent, and makes the reader's ends of it.
    fn take_offer(&self, talk: &Talk, fds: Vec<OwnedFd>) -> Option<(RingIn, RingOut)> {
        let [pipe, memory, a, b, c, d] = <[OwnedFd; 6]>::try_from(fds).ok()?;
        if !has_end(pipe.as_fd(), self.id, Side::Writer) {
            return None;
        }
        let memory = Memfd::from_received(memory, MAX_PAIR).ok()?;
        let bell = |fd| Waker::from_received(fd).ok();
        let forward = Bells { data: bell(a)?, room: bell(b)? };
        let backward = Bells { data: bell(c)?, room: bell(d)? };
        joint::ends(&memory, ring::Side::Second, [forward, backward], &talk.line).ok()
    }

    /// Makes a pair of rings and sends the reader its part.
    pub fn offer(&self, line: &Line, wish: u64) -> Option<(RingIn, RingOut)> {
        let memory = Memfd::create("weir-rings", ring::pair_len(CAPACITY)?).ok()?;
        let bells = || Some(Bells { data: Waker::to_share().ok()?, room: Waker::to_share().ok()? });
        let [forward, backward] = [bells()?, bells()?];
        let proof = self.proof()?;
        let fds: [BorrowedFd<'_>; 6] = [
            proof.as_fd(),
            memory.as_fd(),
            forward.data.as_fd(),
            forward.room.as_fd(),
            backward.data.as_fd(),
            backward.room.as_fd(),
        ];
        Message::new(HELLO, wish).send(line, &fds).ok()?;
        joint::ends(&memory, ring::Side::First, [forward, backward], line).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::{Arc, Mutex};

    use socket2::{Domain, Type};

    use element::{Batch, Packet};
    use sys::poll::Poller;

    use super::*;
    use crate::stage::tests::rings;
    use crate::stage::{Format, Input, Interface, PipeIn, PipeOut, Receipt};

    fn neighbour(pid: u32) -> Neighbour {
        Neighbour { pid, is_same_user: true }
    }

    fn socket() -> Socket {
        Socket::new(Domain::UNIX, Type::SEQPACKET, None).unwrap()
    }

    #[test]
    fn a_reader_that_meets_another_writer_finishes_the_ring_to_the_last_one() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let pipe::Kind::Pipe(id) = pipe::kind(&reader).unwrap() else { panic!() };
        let input = PipeIn::new(pipe::reopen_to_read(reader.as_fd()).unwrap(), "in".into()).unwrap();
        let mut interface = Interface::new("left").unwrap();
        interface.add_input(Box::new(input)).unwrap();
        let ([(mut last, _output), (_input, output)], _line) = rings(64 << 10);
        interface.add_output(Box::new(output)).unwrap();
        let send = |interface: &mut Interface| interface.send(&mut Batch::of(Packet::zeroed(60)));
        send(&mut interface);
        let shared = Arc::new(Mutex::new(interface));
        let mut end = End { shared, id, side: Side::Reader, listener: socket(), talk: None, leaving: None };
        let (line, _other) = Socket::pair(Domain::UNIX, Type::SEQPACKET, None).unwrap();
        let talk = Talk { line: Arc::new(line.into()), neighbour: neighbour(1), rings: None };
        end.welcome(&talk, RING_ONLY).unwrap();
        let mut poller = Poller::new().unwrap();
        let mut receive = |batch: &mut Batch| last.receive(batch, 9, &mut poller);
        let mut batch = Batch::new();
        assert!(matches!(receive(&mut batch), Receipt::Packets) && batch.len() == 1);
        assert!(matches!(receive(&mut Batch::new()), Receipt::End));
        // What is sent now waits for the other one, or until it is known that there will be none.
        (0..4000).for_each(|_| send(&mut lock(&end.shared)));
        assert!(lock(&end.shared).is_full());
        end.talk = Some(talk);
        end.settle();
        assert!(!lock(&end.shared).is_full());
        assert_eq!(lock(&end.shared).report().n_waiting, 4000);
        poller.add(lock(&end.shared).tx_fd(), 0, sys::poll::Interest::READ).unwrap();
        assert!(!poller.wait(Some(Duration::ZERO)).unwrap().is_empty(), "who sends is called");
    }

    #[test]
    fn a_pipe_that_outlives_its_neighbour_for_a_moment_is_not_abandoned() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let pipe::Kind::Pipe(id) = pipe::kind(&writer).unwrap() else { panic!() };
        let output = PipeOut::new(pipe::reopen_to_write(writer.as_fd()).unwrap(), "out".into(), Format::Pcap);
        let mut interface = Interface::new("right").unwrap();
        interface.add_output(Box::new(output.unwrap())).unwrap();
        let leaving =
            || Some(Leaving { neighbour: neighbour(child.id()), since: Instant::now(), ended: None });
        let listener = socket();
        let shared = Arc::new(Mutex::new(interface));
        let mut end = End { shared, id, side: Side::Writer, listener, talk: None, leaving: leaving() };
        assert_eq!(end.is_abandoned(), None);
        let found = loop {
            if let Some(is_abandoned) = end.is_abandoned() {
                break is_abandoned;
            }
        };
        assert!(found);
        end.leaving = leaving();
        assert_eq!(end.is_abandoned(), None);
        drop(reader);
        assert_eq!(end.is_abandoned(), Some(false));
    }
}
