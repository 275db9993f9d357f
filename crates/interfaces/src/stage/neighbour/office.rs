//! The thread that talks with neighbours.

use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use sys::poll::{Interest, Poller, Waker};

use super::end::{End, Next, Talk, LOOK};
use super::message::{self, Heard, Message, PART, PARTED, RING_ONLY, SWITCH};
use super::rendezvous::{connect, listen, trusted, Neighbour};
use super::{answer, stack, tell, New, Side, DESK};
use crate::stage::joint::{Line, RingIn, RingOut};
use crate::stage::table::lock;
use crate::stage::{unwatch_fd, watch_fd};

/// How long somebody who connects waits to be tried again when this process can have no more descriptors.
const NO_ROOM: Duration = Duration::from_millis(50);

/// The thread and what it looks after.
pub struct Office {
    poller: Poller,
    ends: Vec<End>,
    waker: Waker,
}

impl Office {
    /// A thread's work, to which `waker` calls it.
    pub fn new(waker: Waker) -> sys::Result<Office> {
        Ok(Office { poller: Poller::new()?, ends: Vec::new(), waker })
    }

    /// Does it for as long as the process lives.
    pub fn work(mut self) {
        if watch_fd(&mut self.poller, self.waker.as_fd(), Interest::READ).is_err() {
            return;
        }
        loop {
            let asked = self.take_new();
            // Whoever asked whether all was heard is answered when nothing more is to be heard.
            let is_any_leaving = self.ends.iter().any(|end| end.leaving.is_some());
            let patience = asked.map(|_| Duration::ZERO).or(is_any_leaving.then_some(LOOK));
            let Ok(events) = self.poller.wait(patience) else { return };
            let tokens: Vec<u64> = events.iter().map(|event| event.token).collect();
            if let (Some(asked), true) = (asked, tokens.is_empty()) {
                answer(asked);
            }
            for ready in tokens {
                let is_ready = |fd: BorrowedFd<'_>| fd.as_raw_fd() as u64 == ready;
                let knocks = |end: &End| is_ready(end.listener.as_fd());
                let speaks = |end: &End| end.talk.as_ref().is_some_and(|talk| is_ready(talk.line.as_fd()));
                if is_ready(self.waker.as_fd()) {
                    self.waker.reset();
                } else if let Some(idx) = self.ends.iter().position(knocks) {
                    self.accept(idx);
                } else if let Some(idx) = self.ends.iter().position(speaks) {
                    self.hear(idx);
                }
            }
            if is_any_leaving {
                self.see_off();
            }
        }
    }

    /// Does what is new on the desk; the number of a question that is not answered yet.
    fn take_new(&mut self) -> Option<u64> {
        let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
        let (new, to_part, asked) = match desk.as_mut() {
            Some(desk) => {
                let asked = (desk.n_answered < desk.n_asked).then_some(desk.n_asked);
                (std::mem::take(&mut desk.new), std::mem::take(&mut desk.to_part), asked)
            }
            None => Default::default(),
        };
        drop(desk);
        to_part.iter().for_each(|name| self.part(name));
        self.forget_closed();
        new.into_iter().for_each(|new| self.add(new));
        asked
    }

    /// Begins to look for the other end of a pipe.
    pub fn add(&mut self, (shared, id, side): New) {
        if self.ends.iter().any(|end| end.id == id && end.side == side) {
            return;
        }
        // Another process has this end too and was first: this one stays with the pipe.
        let Ok(listener) = listen(id, side) else { return };
        if watch_fd(&mut self.poller, listener.as_fd(), Interest::READ).is_err() {
            return;
        }
        self.ends.push(End { shared, id, side, listener, talk: None, leaving: None });
        match side {
            Side::Reader => self.knock(self.ends.len() - 1),
            Side::Writer => self.call(self.ends.len() - 1, 0),
        }
    }

    /// Lets the writer know that there is a reader, which it then calls.
    fn knock(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        let writer = connect(end.id, Side::Writer);
        if writer.is_some_and(|writer| trusted(&writer, end.id, Side::Writer).is_some()) {
            lock(&end.shared).set_meeting(true);
        }
    }

    /// Undoes a joint in the kernel, or asks the neighbour who made it to do so.
    fn part(&mut self, name: &str) {
        let is_meant = |end: &End| end.name() == name && lock(&end.shared).has_kernel_joint();
        let Some((idx, end)) = self.ends.iter().enumerate().find(|(_, end)| is_meant(end)) else { return };
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
        let tap = match stack::with(|stack| Some(stack.part(&name))) {
            Some(Ok(tap)) => tap,
            Some(Err(message)) => {
                tell(&name, &message);
                None
            }
            None => None,
        };
        lock(&end.shared).end_kernel_joint();
        let fds: Vec<BorrowedFd<'_>> = tap.iter().map(|fd| fd.as_fd()).collect();
        // If the neighbour is gone, the pipe says so.
        let _ = Message::new(PARTED, 0).send(&talk.line, &fds);
        unwatch_fd(&mut self.poller, talk.line.as_fd());
        self.call(idx, RING_ONLY);
    }

    /// Stops looking for the other ends of pipes that are closed.
    fn forget_closed(&mut self) {
        let poller = &mut self.poller;
        self.ends.retain(|end| {
            let is_open = end.is_open();
            if !is_open {
                unwatch_fd(poller, end.listener.as_fd());
                if let Some(talk) = &end.talk {
                    unwatch_fd(poller, talk.line.as_fd());
                }
            }
            is_open
        });
    }

    /// Somebody connects: a writer who wants to talk, or a reader who only knocks.
    fn accept(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        let socket = match end.listener.accept() {
            Ok((socket, _)) => socket,
            // No descriptor is free, and the listener stays ready: others are not to wait for this thread to spin.
            Err(error) if error.kind() != ErrorKind::WouldBlock => return std::thread::sleep(NO_ROOM),
            Err(_) => return,
        };
        if socket.set_nonblocking(true).is_err() {
            return;
        }
        // A writer says HELLO at once. One who said nothing does not keep others away.
        if end.awaits_hello() {
            self.hear(idx);
            self.end_silent(idx);
        }
        let Some(end) = self.ends.get_mut(idx) else { return };
        if end.talk.is_some() || end.is_joined() {
            return;
        }
        match end.side {
            Side::Writer => self.call(idx, 0),
            Side::Reader => {
                let Some(neighbour) = trusted(&socket, end.id, Side::Writer) else { return };
                self.talk(idx, Arc::new(socket.into()), neighbour, None);
            }
        }
    }

    /// Ends a talk in which nothing was said.
    fn end_silent(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        if !end.awaits_hello() {
            return;
        }
        if let Some(talk) = end.talk.take() {
            end.settle();
            unwatch_fd(&mut self.poller, talk.line.as_fd());
        }
    }

    /// Connects to the reader, if there is one, and offers it a pair of rings.
    fn call(&mut self, idx: usize, wish: u64) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        if end.talk.is_some() || end.is_joined() {
            return;
        }
        let Some(socket) = connect(end.id, Side::Reader) else { return };
        let Some(neighbour) = trusted(&socket, end.id, Side::Reader) else { return };
        let line: Line = Arc::new(socket.into());
        let Some(rings) = end.offer(&line, wish) else { return };
        self.talk(idx, line, neighbour, Some(rings));
    }

    /// Begins to listen to a neighbour.
    fn talk(&mut self, idx: usize, line: Line, neighbour: Neighbour, rings: Option<(RingIn, RingOut)>) {
        let watched = watch_fd(&mut self.poller, line.as_fd(), Interest::READ);
        if let (Ok(()), Some(end)) = (watched, self.ends.get_mut(idx)) {
            lock(&end.shared).set_meeting(true);
            end.talk = Some(Talk { line, neighbour, rings });
        }
    }

    /// A message, or the end of the connection.
    fn hear(&mut self, idx: usize) {
        let Some(end) = self.ends.get_mut(idx) else { return };
        let Some(mut talk) = end.talk.take() else { return };
        if message::is_next(&talk.line, SWITCH) {
            end.switch(&mut talk);
        }
        let next = match message::hear(&talk.line) {
            Heard::Message(message, fds) => end.step(&mut talk, &message, fds),
            Heard::Nothing => Next::Stay,
            Heard::End => end.hung_up(talk.neighbour),
        };
        match next {
            Next::Stay => end.talk = Some(talk),
            Next::ComeBack => {
                end.talk = Some(talk);
                self.come_back(idx);
            }
            Next::Over => {
                end.settle();
                unwatch_fd(&mut self.poller, talk.line.as_fd());
            }
            Next::Leaving => {
                unwatch_fd(&mut self.poller, talk.line.as_fd());
                // Whoever is to take its place waits.
                unwatch_fd(&mut self.poller, end.listener.as_fd());
            }
        }
    }

    /// Goes on where a neighbour that was leaving is gone.
    fn see_off(&mut self) {
        for idx in 0..self.ends.len() {
            let Some(end) = self.ends.get_mut(idx) else { return };
            let Some(is_abandoned) = end.is_abandoned() else { continue };
            end.leaving = None;
            if is_abandoned {
                end.abandoned();
            }
            end.settle();
            if watch_fd(&mut self.poller, end.listener.as_fd(), Interest::READ).is_ok()
                && is_abandoned
                && end.side == Side::Writer
            {
                self.call(idx, 0);
            }
        }
    }
}
