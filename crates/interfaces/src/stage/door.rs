//! A Unix socket at which nobody is yet: a stage runs, and lets the other side in when it comes.

use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use element::output::reason;
use element::Batch;
use packet::Ring;
use sys::poll::{Interest, Poller, Waker};
use sys::unix::SocketFile;

use super::table::Ends;
use super::{descriptor, unwatch_fd, watch_fd, Dispatch, Format, Input, Output, Receipt};

/// What both directions share.
struct Door {
    path: String,
    format: Format,
    /// Where the other side is waited for. The file is removed when it is let go of, before the socket.
    open: Option<(SocketFile, UnixListener)>,
    input: Option<Box<dyn Input>>,
    output: Option<Box<dyn Output>>,
    /// Why nobody can come.
    fault: Option<String>,
    /// Rings when somebody has come, for the direction that did not let them in.
    bell: Waker,
}

type Shared = Arc<Mutex<Door>>;

/// What comes from the other side.
struct DoorIn {
    door: Shared,
    inner: Option<Box<dyn Input>>,
}

/// What goes to it.
struct DoorOut {
    door: Shared,
    inner: Option<Box<dyn Output>>,
    /// Whether an element sends: then the end is told to the other side, whenever it comes.
    is_written: bool,
}

/// The two directions of whoever will connect.
pub fn wait_at(
    path: &str,
    (file, listener): (SocketFile, UnixListener),
    format: Format,
    is_written: bool,
) -> Result<Ends, String> {
    listener.set_nonblocking(true).map_err(|error| format!("{path}: {}", reason(&error)))?;
    let bell = Waker::new().map_err(|error| format!("{path}: {error}"))?;
    let open = Some((file, listener));
    let door = Door { path: path.to_string(), format, open, input: None, output: None, fault: None, bell };
    let door = Arc::new(Mutex::new(door));
    let input = DoorIn { door: door.clone(), inner: None };
    Ok((Some(Box::new(input)), Some(Box::new(DoorOut { door, inner: None, is_written }))))
}

impl Door {
    /// Lets in who has come.
    fn look(&mut self) {
        let Some((_, listener)) = &self.open else { return };
        let ends = match listener.accept() {
            Ok((socket, _)) => descriptor::stream(socket.as_fd(), &self.path, self.format, (true, true)),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::ConnectionAborted => return,
                _ => Err(format!("{}: {}", self.path, reason(&error))),
            },
        };
        // One stage is at each end: nobody else is to find the socket.
        self.open = None;
        match ends {
            Ok((input, output)) => (self.input, self.output) = (input, output),
            Err(message) => self.fault = Some(message),
        }
        self.bell.wake();
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.bell.as_fd(), Interest::READ)?;
        self.open.as_ref().map_or(Ok(()), |(_, listener)| watch_fd(poller, listener.as_fd(), Interest::READ))
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.bell.as_fd());
        if let Some((_, listener)) = &self.open {
            unwatch_fd(poller, listener.as_fd());
        }
    }
}

fn lock(door: &Shared) -> MutexGuard<'_, Door> {
    door.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Input for DoorIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, poller: &mut Poller) -> Receipt {
        if self.inner.is_none() {
            let mut door = lock(&self.door);
            door.look();
            let Some(input) = door.input.take() else {
                // The other direction tells why, unless nothing is sent.
                return door.fault.take().map_or(Receipt::Nothing, Receipt::Fault);
            };
            door.unwatch(poller);
            if let Err(error) = input.watch(poller) {
                return Receipt::Fault(format!("{}: {error}", door.path));
            }
            drop(door);
            self.inner = Some(input);
        }
        self.inner.as_mut().map_or(Receipt::Nothing, |input| input.receive(batch, max, poller))
    }

    fn may_sleep(&mut self) -> bool {
        self.inner.as_mut().is_none_or(|input| input.may_sleep())
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        match &self.inner {
            Some(input) => input.watch(poller),
            None => lock(&self.door).watch(poller),
        }
    }

    fn unwatch(&self, poller: &mut Poller) {
        match &self.inner {
            Some(input) => input.unwatch(poller),
            None => lock(&self.door).unwatch(poller),
        }
    }

    fn joint(&self) -> &'static str {
        "socket"
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn n_bad(&self) -> u64 {
        self.inner.as_ref().map_or(0, |input| input.n_bad())
    }
}

impl Output for DoorOut {
    fn send_now(&mut self, batch: &mut Batch) {
        if let Some(output) = &mut self.inner {
            output.send_now(batch);
        }
    }

    fn owes_wake(&self) -> bool {
        self.inner.as_ref().is_some_and(|output| output.owes_wake())
    }

    fn wake_reader(&mut self) {
        if let Some(output) = &mut self.inner {
            output.wake_reader();
        }
    }

    fn send(&mut self, waiting: &mut Ring, poller: &mut Poller) -> Dispatch {
        if self.inner.is_none() {
            let mut door = lock(&self.door);
            door.look();
            let Some(output) = door.output.take() else {
                return match door.fault.take() {
                    Some(message) => Dispatch::Fault(message),
                    None if waiting.is_empty() => Dispatch::All,
                    None => Dispatch::Blocked,
                };
            };
            door.unwatch(poller);
            if let Err(error) = output.watch(poller) {
                return Dispatch::Fault(format!("{}: {error}", door.path));
            }
            drop(door);
            self.inner = Some(output);
        }
        self.inner.as_mut().map_or(Dispatch::Blocked, |output| output.send(waiting, poller))
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        match &self.inner {
            Some(output) => output.watch(poller),
            None => lock(&self.door).watch(poller),
        }
    }

    fn set_blocked(&mut self, poller: &mut Poller, is_blocked: bool) {
        if let Some(output) = &mut self.inner {
            output.set_blocked(poller, is_blocked);
        }
    }

    fn unwatch(&self, poller: &mut Poller) {
        match &self.inner {
            Some(output) => output.unwatch(poller),
            None => lock(&self.door).unwatch(poller),
        }
    }

    fn woken(&mut self) {
        if let Some(output) = &mut self.inner {
            output.woken();
        }
    }

    fn is_closed(&mut self) -> bool {
        self.inner.as_mut().is_some_and(|output| output.is_closed())
    }

    fn finish(&mut self, poller: &mut Poller) -> Dispatch {
        match &mut self.inner {
            Some(output) => output.finish(poller),
            None if self.is_written => Dispatch::Blocked,
            None => Dispatch::All,
        }
    }

    fn leave(&mut self) {
        lock(&self.door).open = None;
    }

    fn joint(&self) -> &'static str {
        "socket"
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn pipe(&mut self) -> Option<&mut super::pipe_out::PipeOut> {
        self.inner.as_mut().and_then(|output| output.pipe())
    }

    fn n_bad(&self) -> u64 {
        self.inner.as_ref().map_or(0, |output| output.n_bad())
    }

    fn why_bad(&self) -> Option<String> {
        self.inner.as_ref().and_then(|output| output.why_bad())
    }
}
