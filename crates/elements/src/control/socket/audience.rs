//! Clients that get copies of what is said, each as fast as it reads.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::event::{eventfd, EventfdFlags};
use rustix::io::{read, write, Errno};

/// A client that is further behind than this many bytes is sent away.
const MAX_BACKLOG: u64 = 500_000;

/// Clients, and what some of them have not got yet.
pub struct Audience {
    clients: Vec<Client>,
    text: Vec<u8>,
    /// How many bytes were said before and with `text`.
    end: u64,
    /// Is readable when clients have to be looked at.
    bell: OwnedFd,
    /// Whether nobody is to hear any more.
    is_over: bool,
}

/// Who reads what is said.
pub struct Client {
    fd: OwnedFd,
    /// How many of the bytes that were said it has got, or does not need.
    position: u64,
    state: State,
}

/// What is known of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has got everything.
    Current,
    /// It is to get more as soon as it takes it.
    Behind,
    /// It is to be sent away.
    Gone,
}

impl Audience {
    /// Nobody yet.
    pub fn new() -> std::io::Result<Audience> {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Audience { clients: Vec::new(), text: Vec::new(), end: 0, bell, is_over: false })
    }

    /// What becomes readable when clients have to be looked at.
    pub fn bell(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }

    /// Adds a client, who hears what is said from now on.
    pub fn add(&mut self, fd: OwnedFd) {
        self.clients.push(Client { fd, position: self.end, state: State::Current });
    }

    /// Says a line to all; false if nobody is to hear any more.
    pub fn say(&mut self, line: &str) -> bool {
        if self.clients.iter().any(|client| client.state != State::Gone) {
            self.text.extend_from_slice(line.as_bytes());
            self.text.push(b'\n');
            self.end += line.len() as u64 + 1;
            if self.send() {
                // A bell that cannot be rung has been rung often enough.
                let _ = write(&self.bell, &1u64.to_ne_bytes());
            }
        }
        !self.is_over
    }

    /// Sends to each client what it takes now; whether there are any to be looked at.
    pub fn send(&mut self) -> bool {
        let begin = self.end - self.text.len() as u64;
        // What those who are gone have not got may be forgotten already.
        for client in self.clients.iter_mut().filter(|client| client.state != State::Gone) {
            client.send(&self.text, begin);
        }
        let needed = self.clients.iter().filter(|client| client.state != State::Gone);
        let first = needed.map(|client| client.position).min().unwrap_or(self.end);
        self.text.drain(..(first - begin) as usize);
        self.clients.iter().any(|client| client.state != State::Current)
    }

    /// Silences the bell.
    pub fn hush(&self) {
        let _ = read(&self.bell, &mut [0; 8]);
    }

    /// The clients.
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// Sends away those who are to be sent away.
    pub fn dismiss(&mut self) {
        self.clients.retain(|client| client.state != State::Gone);
    }

    /// Takes over another's clients and what they have not got yet.
    pub fn take_over(&mut self, other: &mut Audience) {
        self.clients.append(&mut other.clients);
        self.text = std::mem::take(&mut other.text);
        self.end = other.end;
    }

    /// Sends everybody away; nobody is to hear any more.
    pub fn end(&mut self) {
        self.clients.clear();
        self.text.clear();
        self.is_over = true;
    }
}

impl Client {
    /// The descriptor's number.
    pub fn number(&self) -> i32 {
        self.fd.as_raw_fd()
    }

    /// What is known of it.
    pub fn state(&self) -> State {
        self.state
    }

    fn send(&mut self, text: &[u8], begin: u64) {
        let mut left = text.get((self.position - begin) as usize..).unwrap_or(&[]);
        while !left.is_empty() && self.state != State::Gone {
            match write(&self.fd, left) {
                Ok(n) => {
                    left = left.get(n..).unwrap_or(&[]);
                    self.position += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.state = State::Gone,
            }
        }
        if self.state != State::Gone {
            self.state = match left.len() as u64 {
                0 => State::Current,
                1..=MAX_BACKLOG => State::Behind,
                _ => State::Gone,
            };
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn client(audience: &mut Audience) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        audience.add(ours.into());
        theirs
    }

    #[test]
    fn clients_hear_what_is_said_after_they_came() {
        let mut audience = Audience::new().unwrap();
        assert!(audience.say("nobody hears this"));
        let mut first = client(&mut audience);
        audience.say("one");
        let mut second = client(&mut audience);
        audience.say("two");
        assert!(audience.text.is_empty());
        audience.end();
        assert!(!audience.say("three"));
        let (mut heard, mut later) = (String::new(), String::new());
        first.read_to_string(&mut heard).unwrap();
        second.read_to_string(&mut later).unwrap();
        assert_eq!((heard.as_str(), later.as_str()), ("one\ntwo\n", "two\n"));
    }

    #[test]
    fn slow_clients_are_served_later_and_those_too_far_behind_are_sent_away() {
        let mut audience = Audience::new().unwrap();
        let mut theirs = client(&mut audience);
        let line = "x".repeat(9_999);
        let mut n_lines = 0;
        while audience.clients[0].state == State::Current {
            audience.say(&line);
            n_lines += 1;
        }
        assert_eq!(audience.clients[0].state, State::Behind);
        assert!(read(&audience.bell, &mut [0; 8]).is_ok());
        let mut heard = vec![0; 10_000 * n_lines];
        let (begin, end) = heard.split_at_mut(100_000);
        theirs.read_exact(begin).unwrap();
        assert!(!audience.send(), "it has taken all there was");
        theirs.read_exact(end).unwrap();
        assert!(heard.chunks(10_000).all(|chunk| chunk.ends_with(b"x\n")));
        while audience.clients[0].state != State::Gone {
            audience.say(&line);
        }
        assert!(audience.text.is_empty(), "what nobody needs is forgotten");
        audience.dismiss();
        assert!(audience.clients().is_empty());
    }

    #[test]
    fn a_client_that_has_left_is_sent_away() {
        let mut audience = Audience::new().unwrap();
        drop(client(&mut audience));
        audience.say("one");
        assert_eq!(audience.clients[0].state(), State::Gone);
        assert!(audience.send(), "it is still to be sent away");
        let mut other = client(&mut audience);
        audience.say("two");
        audience.end();
        let mut heard = String::new();
        other.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "two\n");
    }
}
