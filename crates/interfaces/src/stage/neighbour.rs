//! Finding the process at the other end of a pipe, and agreeing to go on in shared memory.
//!
//! A thread does this beside the graph. Each end of a pipe listens on an abstract Unix socket named after the pipe's inode.
//! The writer connects to the reader; a reader that starts later knocks at the writer's socket first. Then:
//!
//! 1. the writer sends HELLO: a reference to its pipe, memory with two rings, and what wakes either side;
//! 2. the reader checks credentials, pipe and memory, and answers WELCOME with a reference to its own end;
//! 3. the writer sends SWITCH, and writes nothing to the pipe any more: once the reader has read what is in it, it goes on in the
//!    ring. SWITCH is received only when that is arranged, and the writer does not end before: so nobody takes what its successor
//!    writes to the pipe for its own.
//!
//! Where both are Linux stacks, WELCOME carries what the writer needs to join them in the kernel, or to move packets between both
//! stacks' taps by itself ([`Stack`]); then it sends CABLE or PUMP instead of SWITCH. Before another stage is put in between, PART
//! asks the writer to undo that, PARTED tells that it has, and both begin again, with a ring only.
//!
//! Nothing of this is ever written to the pipe itself. Whoever is refused stays with the pipe. The connection stays open: its
//! end tells that the other process is gone.

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use socket2::{Domain, SockAddr, Socket, Type};
use sys::memfd::Memfd;
use sys::pipe::{Kind, PipeId};
use sys::poll::{Interest, Poller, Waker};
use sys::unix::{peer_credentials, recv_fds, send_fds};

use super::joint::{self, Bells, Line, RingIn, RingOut, CAPACITY, MAX_PAIR};
use super::table::{lock, Shared};

/// Pipes whose other ends are looked for.
struct Desk {
    new: VecDeque<(Shared, PipeId, Side)>,
    /// Interfaces whose packets are to come back from the kernel.
    to_part: Vec<String>,
    waker: Waker,
}

static DESK: Mutex<Option<Desk>> = Mutex::new(None);

/// Which end of the pipe this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Reader,
    Writer,
}

/// Stack of the thread.
const THREAD_STACK: usize = 128 * 1024;
/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4;
/// First bytes of each message: what it is part of, and the version.
const MAGIC: [u8; 7] = *b"weir-1\n";
const HELLO: u8 = 1;
const WELCOME: u8 = 2;
const SWITCH: u8 = 3;
const CABLE: u8 = 4;
const PUMP: u8 = 5;
const PART: u8 = 6;
const PARTED: u8 = 7;
/// The number in a HELLO that asks for the ring and nothing else.
const RING_ONLY: u64 = 1;
/// Bytes of a message: magic, kind, a number, a device's name.
const MESSAGE: usize = 32;
/// Bytes of a device's name with the zero behind it (linux/if.h).
const NAME: usize = 16;

/// Looks for the other ends of an interface's pipes from now on.
pub fn announce_pipes(shared: &Shared) -> Result<(), String> {
    let (inputs, outputs) = lock(shared).pipes();
    if inputs.is_empty() && outputs.is_empty() {
        return Ok(());
    }
    let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
    if desk.is_none() {
        let waker = Waker::new().map_err(|error| error.to_string())?;
        let poller = Poller::new().map_err(|error| error.to_string())?;
        let office = Office { poller, ends: Vec::new(), waker: waker.clone() };
        let thread = std::thread::Builder::new().name("neighbours".into()).stack_size(THREAD_STACK);
        thread.spawn(move || office.work()).map_err(|error| error.to_string())?;
        *desk = Some(Desk { new: VecDeque::new(), to_part: Vec::new(), waker });
    }
    if let Some(desk) = desk.as_mut() {
        desk.new.extend(inputs.into_iter().map(|id| (shared.clone(), id, Side::Reader)));
        desk.new.extend(outputs.into_iter().map(|id| (shared.clone(), id, Side::Writer)));
        desk.waker.wake();
    }
    Ok(())
}

/// Lets the packets of an interface that go from stack to stack in the kernel come back into this process, so that another stage
/// can be put there. That takes a moment.
pub fn part(name: &str) -> Result<(), String> {
    if let Some(reason) = with_stack(|stack| stack.refuses_to_part()) {
        return Err(reason);
    }
    let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(desk) = desk.as_mut() {
        desk.to_part.push(name.to_string());
        desk.waker.wake();
    }
    Ok(())
}

/// Sends SWITCH; false if the neighbour is gone.
pub fn announce(line: &Line) -> bool {
    Message::new(SWITCH, 0).send(line, &[]).is_ok()
}

/// What this process's stack offers to stacks next to it.
pub trait Stack: Send {
    /// What a neighbour needs to reach device `name` of this stack in the kernel.
    fn handle(&mut self, name: &str) -> Option<OwnedFd>;
    /// Lays a cable in the kernel between device `name` here and `peer_name` of the stack that gave `handle`.
    fn join(&mut self, name: &str, handle: OwnedFd, peer_name: &str) -> Result<(), String>;
    /// This process's end of device `name`, for a neighbour to use instead.
    fn tap(&mut self, name: &str) -> Option<OwnedFd>;
    /// Uses the neighbour's end of its device for what goes through interface `name` here.
    fn pump(&mut self, name: &str, tap: OwnedFd, peer_name: &str) -> Result<(), String>;
    /// A neighbour joined device `name` to its own, by a cable or a pump.
    fn joined(&mut self, name: &str);
    /// Why [`Stack::part`] cannot be, if it cannot.
    fn refuses_to_part(&self) -> Option<String>;
    /// Undoes what [`Stack::join`] or [`Stack::pump`] did: packets of device `name` come to this process again. Yields the other
    /// process's end of the neighbour's device, if that is a new one.
    fn part(&mut self, name: &str) -> Result<Option<OwnedFd>, String>;
    /// The neighbour undid what it did to device `name`; this is the device's new other end, if it got one.
    fn parted(&mut self, name: &str, tap: Option<OwnedFd>) -> Result<(), String>;
}

static STACK: Mutex<Option<Box<dyn Stack>>> = Mutex::new(None);

/// Says that this process has a stack, whose devices are called as its interfaces are.
pub fn offer_stack(stack: Box<dyn Stack>) {
    *STACK.lock().unwrap_or_else(PoisonError::into_inner) = Some(stack);
}

fn with_stack<R>(work: impl FnOnce(&mut dyn Stack) -> Option<R>) -> Option<R> {
    let mut stack = STACK.lock().unwrap_or_else(PoisonError::into_inner);
    work(stack.as_mut()?.as_mut())
}

/// What neighbours tell each other.
struct Message {
    kind: u8,
    number: u64,
    name: String,
}

impl Message {
    fn new(kind: u8, number: u64) -> Message {
        Message { kind, number, name: String::new() }
    }

    fn send(&self, line: &Line, fds: &[BorrowedFd<'_>]) -> sys::Result<usize> {
        let mut bytes = MAGIC.to_vec();
        bytes.push(self.kind);
        bytes.extend(self.number.to_ne_bytes());
        bytes.extend(self.name.bytes().take(NAME - 1));
        bytes.resize(MESSAGE, 0);
        send_fds(line.as_fd(), &bytes, fds)
    }

    /// The message that the bytes are, if they are one.
    fn read(bytes: &[u8]) -> Option<Message> {
        let (magic, rest) = bytes.split_first_chunk::<7>()?;
        let (kind, rest) = rest.split_first()?;
        let (number, name) = rest.split_first_chunk::<8>()?;
        let name = name.split(|byte| *byte == 0).next()?;
        let name = std::str::from_utf8(name).ok()?.to_string();
        (*magic == MAGIC).then_some(Message { kind: *kind, number: u64::from_ne_bytes(*number), name })
    }
}

/// One end of a pipe, and how far the talk with the other end came.
struct End {
    shared: Shared,
    id: PipeId,
    side: Side,
    listener: Socket,
    talk: Option<Talk>,
}

/// The process at the other end.
#[derive(Clone, Copy)]
struct Neighbour {
    pid: u32,
    /// Whether it is of the same user: only then may one reach into the other's stack.
    is_same_user: bool,
}

/// A connection to the other end.
struct Talk {
    line: Line,
    neighbour: Neighbour,
    /// What was offered or taken.
    rings: Option<(RingIn, RingOut)>,
}

/// The thread and what it looks after.
struct Office {
    poller: Poller,
    ends: Vec<End>,
    waker: Waker,
}

/// What to do with a connection after a message.
enum Next {
    Stay,
    HangUp,
    /// The pipe goes on in the ring: the talk is over, the line is the rings'.
    Done,
    /// What was joined in the kernel is to come back.
    ComeBack,
}

impl Office {
    fn work(mut self) {
        if self.poller.add(self.waker.as_fd(), token(self.waker.as_fd()), Interest::READ).is_err() {
            return;
        }
        loop {
            self.take_new();
            let Ok(events) = self.poller.wait(None) else { return };
            let tokens: Vec<u64> = events.iter().map(|event| event.token).collect();
            for ready in tokens {
                if ready == token(self.waker.as_fd()) {
                    self.waker.reset();
                } else if let Some(idx) =
                    self.ends.iter().position(|end| token(end.listener.as_fd()) == ready)
                {
                    self.accept(idx);
                } else if let Some(idx) = self.ends.iter().position(|end| end.is_talking_at(ready)) {
                    self.hear(idx);
                }
            }
        }
    }

    fn take_new(&mut self) {
        let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
        let (new, to_part) = match desk.as_mut() {
            Some(desk) => (std::mem::take(&mut desk.new), std::mem::take(&mut desk.to_part)),
            None => Default::default(),
        };
        drop(desk);
        to_part.iter().for_each(|name| self.part(name));
        self.forget_closed();
        for (shared, id, side) in new {
            if self.ends.iter().any(|end| end.id == id && end.side == side) {
                continue;
            }
            // Another process has this end too and was first: this one stays with the pipe.
            let Ok(listener) = listen(id, side) else { continue };
            if self.poller.add(listener.as_fd(), token(listener.as_fd()), Interest::READ).is_err() {
                continue;
            }
            self.ends.push(End { shared, id, side, listener, talk: None });
            match side {
                Side::Reader => drop(connect(id, Side::Writer)),
                Side::Writer => self.call(self.ends.len() - 1, 0),
            }
        }
    }

    /// Undoes a joint in the kernel, or asks the neighbour who made it to do so.
    fn part(&mut self, name: &str) {
        let is_meant = |end: &End| end.name() == name && lock(&end.shared).has_kernel_joint();
        let Some(idx) = self.ends.iter().position(is_meant) else { return };
        let Some(end) = self.ends.get_mut(idx) else { return };
        let Some(talk) = &end.talk else { return };
        match end.side {
            // If the neighbour is gone, the pipe says so.
            Side::Reader => drop(Message::new(PART, 0).send(&talk.line, &[])),
            Side::Writer => self.come_back(idx),
        }
    }

    /// Undoes what the writer did, and begins again with a ring.
    fn come_back(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        let Some(talk) = end.talk.take() else { return };
        let name = end.name();
        let tap = match with_stack(|stack| Some(stack.part(&name))) {
            Some(Ok(tap)) => tap,
            Some(Err(message)) => {
                eprintln!("weir: {name}: {message}");
                None
            }
            None => None,
        };
        lock(&end.shared).end_kernel_joint();
        let fds: Vec<BorrowedFd<'_>> = tap.iter().map(|fd| fd.as_fd()).collect();
        // If the neighbour is gone, the pipe says so.
        let _ = Message::new(PARTED, 0).send(&talk.line, &fds);
        let _ = self.poller.remove(talk.line.as_fd());
        self.call(idx, RING_ONLY);
    }

    /// Stops looking for the other ends of pipes that are closed.
    fn forget_closed(&mut self) {
        let poller = &mut self.poller;
        self.ends.retain(|end| {
            let is_open = end.is_open();
            if !is_open {
                let _ = poller.remove(end.listener.as_fd());
                if let Some(talk) = &end.talk {
                    let _ = poller.remove(talk.line.as_fd());
                }
            }
            is_open
        });
    }

    /// Somebody connects: a writer who wants to talk, or a reader who only knocks.
    fn accept(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        let Ok((socket, _)) = end.listener.accept() else { return };
        if end.talk.is_some() || end.is_joined() {
            return;
        }
        match end.side {
            Side::Writer => self.call(idx, 0),
            Side::Reader => {
                let Some(neighbour) = trusted(&socket) else { return };
                self.talk(idx, socket, neighbour, None);
            }
        }
    }

    /// Connects to the reader, if there is one, and offers it a pair of rings.
    fn call(&mut self, idx: usize, wish: u64) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        if end.talk.is_some() || end.is_joined() {
            return;
        }
        let Some(socket) = connect(end.id, Side::Reader) else { return };
        let Some(neighbour) = trusted(&socket) else { return };
        let line: Line = Arc::new(socket.into());
        let Some(rings) = offer(end, &line, wish) else { return };
        self.talk_on(idx, line, neighbour, Some(rings));
    }

    fn talk(&mut self, idx: usize, socket: Socket, neighbour: Neighbour, rings: Option<(RingIn, RingOut)>) {
        self.talk_on(idx, Arc::new(socket.into()), neighbour, rings);
    }

    fn talk_on(&mut self, idx: usize, line: Line, neighbour: Neighbour, rings: Option<(RingIn, RingOut)>) {
        let watched = self.poller.add(line.as_fd(), token(line.as_fd()), Interest::READ);
        if let (Ok(()), Some(end)) = (watched, self.ends.get_mut(idx)) {
            end.talk = Some(Talk { line, neighbour, rings });
        }
    }

    /// A message, or the end of the connection.
    fn hear(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        let Some(mut talk) = end.talk.take() else { return };
        let mut bytes = [0; MESSAGE];
        let is_switched = matches!(sys::unix::peek(talk.line.as_fd(), &mut bytes), Ok(n)
            if Message::read(bytes.get(..n).unwrap_or_default()).is_some_and(|message| message.kind == SWITCH));
        if is_switched {
            end.switch(&mut talk);
        }
        let next = match recv_fds(talk.line.as_fd(), &mut bytes) {
            Ok((n, fds)) => match Message::read(bytes.get(..n).unwrap_or_default()) {
                Some(message) => end.step(&mut talk, &message, fds),
                None => Next::HangUp,
            },
            Err(error) if error.errno() == Some(EAGAIN) => Next::Stay,
            Err(_) => Next::HangUp,
        };
        match next {
            Next::Stay => end.talk = Some(talk),
            Next::ComeBack => {
                end.talk = Some(talk);
                self.come_back(idx);
            }
            Next::HangUp | Next::Done => {
                end.settle();
                let _ = self.poller.remove(talk.line.as_fd());
            }
        }
    }
}

const EAGAIN: i32 = 11;

impl End {
    fn is_talking_at(&self, ready: u64) -> bool {
        self.talk.as_ref().is_some_and(|talk| token(talk.line.as_fd()) == ready)
    }

    fn is_open(&self) -> bool {
        let mut interface = lock(&self.shared);
        match self.side {
            Side::Reader => interface.pipe_in(self.id).is_some(),
            Side::Writer => interface.pipe_out(self.id).is_some(),
        }
    }

    fn is_joined(&self) -> bool {
        let mut interface = lock(&self.shared);
        interface.has_kernel_joint()
            || match self.side {
                Side::Reader => interface.pipe_in(self.id).is_some_and(|pipe| pipe.has_ring()),
                Side::Writer => interface.pipe_out(self.id).is_some_and(|pipe| pipe.has_ring()),
            }
    }

    /// The talk is over.
    fn settle(&self) {
        if self.side == Side::Reader {
            lock(&self.shared).await_ring(self.id, false);
        }
    }

    /// Goes on in the ring after what the pipe holds: the writer is still there, and writes to it no more.
    fn switch(&self, talk: &mut Talk) {
        if let (Side::Reader, Some(rings)) = (self.side, talk.rings.take()) {
            lock(&self.shared).upgrade_input(self.id, rings, talk.neighbour.pid);
        }
    }

    /// A reference to this process's end of the pipe.
    fn proof(&self) -> Option<OwnedFd> {
        let mut interface = lock(&self.shared);
        match self.side {
            Side::Reader => interface.pipe_in(self.id)?.stream().proof().ok(),
            Side::Writer => interface.pipe_out(self.id)?.stream().proof().ok(),
        }
    }

    fn step(&mut self, talk: &mut Talk, message: &Message, fds: Vec<OwnedFd>) -> Next {
        match (self.side, message.kind) {
            (Side::Reader, HELLO) if talk.rings.is_none() => {
                talk.rings = self.take_offer(talk, fds);
                if talk.rings.is_some() && self.welcome(talk, message.number).is_some() {
                    Next::Stay
                } else {
                    Next::HangUp
                }
            }
            (Side::Reader, SWITCH) => Next::Done,
            (Side::Reader, CABLE | PUMP) if talk.rings.take().is_some() => {
                let joint = if message.kind == CABLE { "cable" } else { "pump" };
                let name = self.name();
                with_stack(|stack| {
                    stack.joined(&name);
                    Some(())
                });
                lock(&self.shared).set_kernel_joint(joint, talk.neighbour.pid, talk.line.clone());
                Next::Stay
            }
            (Side::Reader, PARTED) => {
                let name = self.name();
                let told = with_stack(|stack| Some(stack.parted(&name, fds.into_iter().next())));
                if let Some(Err(message)) = told {
                    eprintln!("weir: {name}: {message}");
                }
                lock(&self.shared).end_kernel_joint();
                Next::HangUp
            }
            (Side::Writer, PART) => Next::ComeBack,
            (Side::Writer, WELCOME) => {
                let Some(rings) = talk.rings.take() else { return Next::HangUp };
                let mut fds = fds.into_iter();
                if !fds.next().is_some_and(|fd| is_pipe(fd.as_fd(), self.id)) {
                    return Next::HangUp;
                }
                if self.join_stacks(talk, message, fds).is_some() {
                    return Next::Stay;
                }
                lock(&self.shared).upgrade_output(self.id, rings, talk.neighbour.pid);
                Next::Done
            }
            _ => Next::HangUp,
        }
    }

    fn name(&self) -> String {
        lock(&self.shared).name().to_string()
    }

    /// Answers a writer; with what it needs to join both stacks, if this is one.
    fn welcome(&self, talk: &Talk, wish: u64) -> Option<()> {
        let name = self.name();
        let proof = self.proof()?;
        // Where the way back has a pipe of its own, only one of the two is to join the stacks: the one that the shell made.
        let is_any = wish != RING_ONLY && sys::pipe::is_anonymous(&proof);
        let handle =
            with_stack(|stack| stack.handle(&name).filter(|_| is_any && talk.neighbour.is_same_user));
        let tap = with_stack(|stack| stack.tap(&name).filter(|_| is_any));
        let number = u64::from(handle.is_some()) | u64::from(tap.is_some()) << 1;
        let fds = [Some(&proof), handle.as_ref(), tap.as_ref()];
        let fds: Vec<BorrowedFd<'_>> = fds.into_iter().flatten().map(|fd| fd.as_fd()).collect();
        // From here on the end of the pipe is no end before the writer's answer, or its own end, is known.
        lock(&self.shared).await_ring(self.id, true);
        Message { kind: WELCOME, number, name }.send(&talk.line, &fds).ok().map(drop)
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
            with_stack(|stack| stack.join(&name, handle, &welcome.name).ok()).is_some()
        });
        let is_pump = !is_cable
            && tap
                .is_some_and(|tap| with_stack(|stack| stack.pump(&name, tap, &welcome.name).ok()).is_some());
        let (kind, joint) = match (is_cable, is_pump) {
            (true, _) => (CABLE, "cable"),
            (_, true) => (PUMP, "pump"),
            _ => return None,
        };
        lock(&self.shared).set_kernel_joint(joint, talk.neighbour.pid, talk.line.clone());
        // If the neighbour is gone, the pipe says so.
        let _ = Message::new(kind, 0).send(&talk.line, &[]);
        Some(())
    }

    /// Checks what the writer sent, and makes the reader's ends of it.
    fn take_offer(&self, talk: &Talk, fds: Vec<OwnedFd>) -> Option<(RingIn, RingOut)> {
        let [pipe, memory, a, b, c, d] = <[OwnedFd; 6]>::try_from(fds).ok()?;
        if !is_pipe(pipe.as_fd(), self.id) {
            return None;
        }
        let memory = Memfd::from_received(memory, MAX_PAIR).ok()?;
        let bell = |fd| Waker::from_received(fd).ok();
        let forward = Bells { data: bell(a)?, room: bell(b)? };
        let backward = Bells { data: bell(c)?, room: bell(d)? };
        joint::ends(&memory, ring::Side::Second, [forward, backward], &talk.line).ok()
    }
}

/// Makes a pair of rings and sends the reader its part.
fn offer(end: &End, line: &Line, wish: u64) -> Option<(RingIn, RingOut)> {
    let memory = Memfd::create("weir-rings", ring::pair_len(CAPACITY)?).ok()?;
    let bells = || Some(Bells { data: Waker::new().ok()?, room: Waker::new().ok()? });
    let [forward, backward] = [bells()?, bells()?];
    let proof = end.proof()?;
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

fn is_pipe(fd: BorrowedFd<'_>, id: PipeId) -> bool {
    matches!(sys::pipe::kind(fd), Ok(Kind::Pipe(found)) if found == id)
}

/// The process at the other end if it is this user's, or one of both is root's.
fn trusted(socket: &Socket) -> Option<Neighbour> {
    let peer = peer_credentials(socket).ok()?;
    let own = sys::runtime_dir::effective_uid();
    let is_same_user = peer.uid == own;
    (is_same_user || peer.uid == 0 || own == 0).then_some(Neighbour { pid: peer.pid as u32, is_same_user })
}

fn address(id: PipeId, side: Side) -> Option<SockAddr> {
    let side = match side {
        Side::Reader => "reader",
        Side::Writer => "writer",
    };
    SockAddr::unix(format!("\0weir/pipe/{:x}:{:x}/{side}", id.device, id.inode)).ok()
}

fn socket() -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn listen(id: PipeId, side: Side) -> std::io::Result<Socket> {
    let socket = socket()?;
    let address = address(id, side).ok_or(std::io::ErrorKind::InvalidInput)?;
    socket.bind(&address)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

fn connect(id: PipeId, side: Side) -> Option<Socket> {
    let socket = socket().ok()?;
    socket.connect(&address(id, side)?).ok()?;
    Some(socket)
}

fn token(fd: BorrowedFd<'_>) -> u64 {
    fd.as_raw_fd() as u64
}
