//! Connections: what was received and what is still to be sent.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{read, write, Errno};

use super::answer::Waiting;
use super::command::{Begun, Command, Received, DATA_MAX, LINE_MAX};
use super::reply::Reply;

/// What the server says first.
const BANNER: &str = "Click::ControlSocket/1.3\r\n";
/// Most bytes to read at a time.
const READ_MAX: usize = 2048;
/// No more is received while so much waits to be done: the longest command.
const INPUT_MAX: usize = DATA_MAX + 3 * LINE_MAX;
/// No more is done while so much waits to be sent.
const OUTPUT_MAX: usize = 16 << 20;
/// Memory that a connection keeps for what it will receive.
const SPARE_MAX: usize = 2 * LINE_MAX;

/// A client's connection.
pub struct Connection {
    fd: OwnedFd,
    input: Vec<u8>,
    /// Bytes of the input that are done.
    n_done: usize,
    /// What is known of the command behind them.
    begun: Begun,
    output: Vec<u8>,
    input_ended: bool,
    output_ended: bool,
    /// Whether a command waits for more input.
    is_blocked: bool,
    /// What the last command waits for, before any other.
    waiting: Option<Waiting>,
}

impl Connection {
    /// Greets a client.
    pub fn open(fd: OwnedFd) -> std::io::Result<Connection> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        Ok(Connection {
            fd,
            input: Vec::new(),
            n_done: 0,
            begun: Begun::default(),
            output: BANNER.into(),
            input_ended: false,
            output_ended: false,
            is_blocked: false,
            waiting: None,
        })
    }

    /// Receives a little of what the client has sent.
    pub fn receive(&mut self) {
        if !self.wants_read() {
            return;
        }
        let mut buf = [0; READ_MAX];
        match read(&self.fd, &mut buf) {
            Ok(0) => self.input_ended = true,
            Ok(n) => self.input.extend_from_slice(buf.get(..n).unwrap_or(&[])),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.input_ended = true,
        }
    }

    /// Lets a reply, and the commands behind it, wait.
    pub(super) fn wait(&mut self, waiting: Waiting) {
        self.waiting = Some(waiting);
    }

    /// Gives the reply that waited, if it can be given.
    pub fn end_wait(&mut self) {
        if let Some(reply) = self.waiting.as_ref().and_then(Waiting::reply) {
            self.waiting = None;
            self.reply(&reply);
        }
    }

    /// Sends what there is to send, as there will be nobody to do it later.
    pub fn close(&mut self) {
        if let Some(waiting) = self.waiting.take() {
            self.reply(&waiting.last_reply());
        }
        self.flush();
    }

    /// The next command, if all of it has arrived.
    pub fn next_command(&mut self) -> Option<Command> {
        self.is_blocked = false;
        if self.waiting.is_some() {
            return None;
        }
        let input = self.input.get(self.n_done..).unwrap_or(&[]);
        if input.is_empty() || self.output.len() >= OUTPUT_MAX {
            return None;
        }
        match self.begun.take(input, self.input_ended) {
            Received::All(command, n) => {
                self.n_done += n;
                self.contract();
                Some(command)
            }
            Received::TooMuch(reply) => Some(Command::TooMuch(reply)),
            Received::Part => {
                self.is_blocked = true;
                None
            }
        }
    }

    /// Forgets what is done, if that moves fewer bytes than it forgets.
    fn contract(&mut self) {
        if self.n_done * 2 >= self.input.len() {
            self.input.drain(..self.n_done.min(self.input.len()));
            self.n_done = 0;
            self.input.shrink_to(SPARE_MAX);
        }
    }

    /// Queues a reply.
    pub fn reply(&mut self, reply: &Reply) {
        if !self.output_ended {
            self.output.extend_from_slice(reply.as_bytes());
        }
    }

    /// Takes no further commands.
    pub fn end_input(&mut self) {
        self.input_ended = true;
        (self.input, self.n_done) = (Vec::new(), 0);
    }

    /// Sends as much as the client takes now.
    pub fn flush(&mut self) {
        let mut n_sent = 0;
        while let Some(left) = self.output.get(n_sent..).filter(|left| !left.is_empty()) {
            if self.output_ended {
                break;
            }
            match write(&self.fd, left) {
                Ok(n) => n_sent += n,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => self.output_ended = true,
            }
        }
        self.output.drain(..n_sent);
    }

    /// Whether there is something to do as soon as the client takes data: send, or go on with the next command.
    pub fn wants_write(&self) -> bool {
        let has_work = !self.output.is_empty() || (!self.input.is_empty() && !self.is_blocked);
        !self.output_ended && (has_work || self.waiting.is_some())
    }

    /// Whether there may be more to receive.
    pub fn wants_read(&self) -> bool {
        !self.input_ended && self.input.len() - self.n_done < INPUT_MAX
    }

    /// Whether all is done.
    pub fn is_over(&self) -> bool {
        let is_idle = self.input.is_empty() && self.output.is_empty() && self.waiting.is_none();
        self.output_ended || (self.input_ended && is_idle)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::super::reply::Code;
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_client_is_greeted_and_answered() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut connection = Connection::open(ours.into()).unwrap();
        theirs.write_all(b"read a\nqu").unwrap();
        connection.receive();
        assert_eq!(connection.next_command(), Some(Command::Read { handler: "a".into(), param: "".into() }));
        connection.reply(&Reply::line(Code::Ok, "fine"));
        assert_eq!(connection.next_command(), None);
        connection.flush();
        assert!(!connection.wants_write() && !connection.is_over());
        theirs.write_all(b"it").unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        connection.receive();
        connection.receive();
        assert_eq!(connection.next_command(), Some(Command::Quit { is_plain: true }));
        assert!(connection.is_over());
        drop(connection);
        let mut text = String::new();
        theirs.read_to_string(&mut text).unwrap();
        assert_eq!(text, "Click::ControlSocket/1.3\r\n200 fine\r\n");
    }
    /// What a client is answered that sends pieces of this size until there are so many bytes.
    fn sends(
        piece: &[u8],
        n_bytes: usize,
        read: impl Fn(&mut UnixStream) -> Vec<u8>,
    ) -> (Connection, Vec<u8>) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut connection = Connection::open(ours.into()).unwrap();
        let mut n_sent = 0;
        while n_sent < n_bytes && connection.wants_read() {
            theirs.write_all(piece).unwrap();
            n_sent += piece.len();
            connection.receive();
            match connection.next_command() {
                Some(Command::TooMuch(reply)) => {
                    connection.end_input();
                    connection.reply(&reply);
                }
                Some(command) => connection.reply(&Reply::line(Code::Ok, &format!("{command:?}"))),
                None => {}
            }
            connection.flush();
        }
        let text = read(&mut theirs);
        (connection, text)
    }

    fn some(stream: &mut UnixStream) -> Vec<u8> {
        let mut text = vec![0; 1 << 16];
        let n = stream.read(&mut text).unwrap();
        text.truncate(n);
        text
    }

    #[test]
    fn a_line_that_never_ends_is_refused_and_the_connection_closed() {
        let (connection, text) = sends(&[b'x'; READ_MAX], 64 << 20, some);
        assert_eq!(String::from_utf8_lossy(&text), "Click::ControlSocket/1.3\r\n500 Line too long\r\n");
        assert!(connection.is_over() && connection.input.capacity() == 0);
    }

    #[test]
    fn much_data_is_looked_at_once() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut connection = Connection::open(ours.into()).unwrap();
        theirs.write_all(b"writeuntil a END\n").unwrap();
        // In many lines and in one.
        for piece in [[b'\n'; READ_MAX], [b'x'; READ_MAX]] {
            for _ in 0..DATA_MAX / READ_MAX / 2 - 1 {
                theirs.write_all(&piece).unwrap();
                connection.receive();
                assert_eq!(connection.next_command(), None);
            }
        }
        theirs.write_all(b"\nEND\n").unwrap();
        connection.receive();
        connection.receive();
        let Some(Command::Write { value, .. }) = connection.next_command() else { panic!() };
        assert_eq!(value.len(), DATA_MAX - 2 * READ_MAX + 1);
        assert!(connection.input.capacity() <= SPARE_MAX);
    }

    #[test]
    fn a_client_that_does_not_read_is_not_listened_to_for_ever() {
        // Each is answered with more than it takes.
        let commands = b"help\n".repeat(READ_MAX / 5);
        let (connection, _) = sends(&commands, 2 * INPUT_MAX, |_| Vec::new());
        assert!(!connection.wants_read() && connection.wants_write());
        assert!(connection.input.len() - connection.n_done < INPUT_MAX + READ_MAX);
        assert!(connection.output.len() < 2 * OUTPUT_MAX);
    }
}
