//! A Linux network stack of its own, as who made it sees it.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use sys::terminal::Terminal;

use crate::agent::Reply;
use crate::create::{create, Kept};
use crate::inside::Inside;
use crate::joint::{self, Peer};
use crate::{statistics, Error, Options, Port, Result, Saved, Statistics};

/// A Linux network stack. It disappears, and all programs in it, when this is dropped or this process dies.
pub struct Stack {
    pub(crate) inside: Inside,
    pub(crate) child: Kept,
    pub(crate) ports: Vec<Named>,
    pub(crate) status: UnixStream,
    pub(crate) terminal: Option<Terminal>,
    pub(crate) note: Option<String>,
    pub(crate) has_started: bool,
}

/// A port that nobody took yet.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) port: Port,
}

/// How the program of a stack ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It ran.
    Exited(ExitStatus),
    /// It could not be started: why, and the kernel's number for that, or 0.
    NotStarted { reason: String, errno: i32 },
    /// The agent was killed, and the program with it.
    Killed,
}

impl Ended {
    /// What a shell would report.
    pub fn code(&self) -> i32 {
        match self {
            Self::Exited(status) => status.code().or(status.signal().map(|n| 128 + n)).unwrap_or(1),
            // It is there, but is no program, or none for this user.
            Self::NotStarted { errno, .. } if ![0, libc::ENOENT].contains(errno) => 126,
            Self::NotStarted { .. } => 127,
            Self::Killed => 128 + libc::SIGKILL,
        }
    }
}

impl Stack {
    /// Makes a stack with all its interfaces up; its program waits for [`Self::start`].
    ///
    /// This process must have no other thread, and the thread that calls this must stay: the stack dies with it.
    pub fn create(options: &Options) -> Result<Self> {
        create(options, || {})
    }

    /// As [`Self::create`]; runs `meanwhile`, which may start threads, as soon as the stack's first process is there.
    pub fn create_beside(options: &Options, meanwhile: impl FnOnce()) -> Result<Self> {
        create(options, meanwhile)
    }

    /// What to tell the user about how the stack was made: that taps could not be opened.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Takes this process's end of interface `name`.
    pub fn take_port(&mut self, name: &str) -> Option<Port> {
        let idx = self.ports.iter().position(|named| named.name == name)?;
        Some(self.ports.swap_remove(idx).port)
    }

    /// Starts the program. Whether that worked [`Self::ended`] tells.
    pub fn start(&self) -> Result<()> {
        self.inside.start()
    }

    /// Sends a signal to the program and all other processes of the stack, as a terminal does.
    pub fn signal(&self, number: i32) -> Result<()> {
        self.inside.signal(number)
    }

    /// Whether [`Self::ended`] has learnt that the program was started.
    pub fn has_started(&self) -> bool {
        self.has_started
    }

    /// Readable when there is something for [`Self::ended`] to tell, or it was started.
    pub fn status_fd(&self) -> BorrowedFd<'_> {
        self.status.as_fd()
    }

    /// How the program ended, once; `None` while it runs. The terminal is given back then.
    ///
    /// The stack lives on, with what the program left running in it.
    pub fn ended(&mut self) -> Result<Option<Ended>> {
        let mut reply = Reply::receive(&self.status);
        if let Ok(Some(Reply::Done)) = reply {
            self.has_started = true;
            reply = Reply::receive(&self.status);
        }
        let ended = match reply {
            Ok(Some(Reply::Ended(status))) => Ended::Exited(ExitStatus::from_raw(status)),
            Ok(Some(Reply::NotStarted { reason, errno })) => Ended::NotStarted { reason, errno },
            Ok(_) => Ended::Killed,
            Err(error) if error.errno() == Some(libc::EAGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        self.give_terminal_back();
        Ok(Some(ended))
    }

    /// The agent's process number, as this process sees it.
    pub fn pid(&self) -> i32 {
        self.child.0.pid()
    }

    /// The stack's network namespace.
    pub fn network(&self) -> BorrowedFd<'_> {
        self.inside.network.as_fd()
    }

    /// What the kernel counted for device `name`.
    pub fn statistics(&mut self, name: &str) -> Result<Statistics> {
        statistics::read(&mut self.inside, name)
    }

    /// A descriptor to send to the other stack's process, which makes a [`Peer`] of it.
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.inside.agent.as_fd()
    }

    /// Everything that is set for device `name`, to bring it back with [`Self::restore`].
    pub fn save(&mut self, name: &str) -> Result<Saved> {
        Saved::read(&mut self.inside, name)
    }

    /// Makes the device of `saved` again, which must be gone, with a port of this process as its other end.
    pub fn restore(&mut self, saved: &Saved) -> Result<Port> {
        joint::restore(&mut self.inside, saved)
    }

    /// Replaces device `name` here and `peer_name` there by the ends of a cable.
    ///
    /// Both keep their numbers, addresses, routes and settings. Their ports are dead from then on; packets that wait
    /// in them are lost, so read them until they are empty first.
    pub fn join_veth(&mut self, name: &str, peer: &mut Peer, peer_name: &str) -> Result<()> {
        joint::join(&mut self.inside, name, &mut peer.inside, peer_name)
    }

    /// Replaces the cable between device `name` here and `peer_name` there by ports: here's, there's.
    pub fn unjoin(&mut self, name: &str, peer: &mut Peer, peer_name: &str) -> Result<(Port, Port)> {
        joint::unjoin(&mut self.inside, name, &mut peer.inside, peer_name)
    }

    /// As [`Stack::unjoin`], where the other stack is gone: this one gets its device back.
    pub fn unjoin_alone(&mut self, name: &str) -> Result<Port> {
        joint::unjoin_alone(&mut self.inside, name)
    }

    /// What went with devices that were replaced and could not be put back, a sentence each; told once.
    pub fn take_left_out(&mut self) -> Vec<String> {
        std::mem::take(&mut self.inside.left_out)
    }

    fn give_terminal_back(&mut self) {
        if let Some(terminal) = self.terminal.take() {
            // A terminal that was closed needs nothing back.
            let _ = terminal.restore();
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.give_terminal_back();
    }
}

impl Error {
    pub(crate) fn no_interface(name: &str) -> Self {
        Self::NoInterface(name.into())
    }
}
