//! Connections: what was received and what is still to be sent.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::{read, write, Errno};

use super::command::{Command, Received};
use super::reply::Reply;

/// What the server says first.
const BANNER: &str = "Click::ControlSocket/1.3\r\n";
/// Most bytes to read at a time.
const READ_MAX: usize = 2048;

/// A client's connection.
pub struct Connection {
    fd: OwnedFd,
    input: Vec<u8>,
    output: Vec<u8>,
    input_ended: bool,
    output_ended: bool,
    /// Whether a command waits for more input.
    is_blocked: bool,
}

impl Connection {
    /// Greets a client.
    pub fn open(fd: OwnedFd) -> std::io::Result<Connection> {
        rustix::io::ioctl_fionbio(&fd, true)?;
        let (input, output) = (Vec::new(), BANNER.into());
        Ok(Connection { fd, input, output, input_ended: false, output_ended: false, is_blocked: false })
    }

    /// Receives a little of what the client has sent.
    pub fn receive(&mut self) {
        if self.input_ended {
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

    /// The next command, if all of it has arrived.
    pub fn next_command(&mut self) -> Option<Command> {
        self.is_blocked = false;
        if self.input.is_empty() {
            return None;
        }
        match Command::take(&self.input, self.input_ended) {
            Received::All(command, n) => {
                self.input.drain(..n.min(self.input.len()));
                Some(command)
            }
            Received::Part => {
                self.is_blocked = true;
                None
            }
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
        self.input.clear();
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
        !self.output_ended && (!self.output.is_empty() || (!self.input.is_empty() && !self.is_blocked))
    }

    /// Whether there may be more to receive.
    pub fn wants_read(&self) -> bool {
        !self.input_ended
    }

    /// Whether all is done.
    pub fn is_over(&self) -> bool {
        self.output_ended || (self.input_ended && self.input.is_empty() && self.output.is_empty())
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
}
