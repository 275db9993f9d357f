//! What the daemon and systemd tell each other: sockets that are open already, that it is ready, and that it works.

use std::os::unix::net::UnixListener;

use sys::{pipe, unix};

use crate::control::server::Reach;

/// How the daemon fares.
pub enum State {
    /// It answers.
    Ready,
    /// It is about to end.
    Stopping,
}

/// Tells the service manager, if there is one.
pub fn tell(state: State) {
    let state = match state {
        State::Ready => sd_notify::NotifyState::Ready,
        State::Stopping => sd_notify::NotifyState::Stopping,
    };
    // Whoever started it by hand listens to nothing.
    let _ = sd_notify::notify(&[state]);
}

/// Tells the service manager that packets still have their turn, as often as its watchdog (`WatchdogSec=`) wants to hear it.
pub fn reassure(graph: Reach) -> Result<(), String> {
    let Some(time) = sd_notify::watchdog_enabled() else { return Ok(()) };
    // A graph that hangs does not answer, and the service manager hears nothing.
    let tell = move || {
        while graph.ask(|_| ()).is_some() {
            let _ = sd_notify::notify(&[sd_notify::NotifyState::Watchdog]);
            std::thread::sleep(time / 2);
        }
    };
    let begun = sys::thread::start("watchdog", sys::thread::STACK, tell);
    begun.map(drop).map_err(|error| sys::no_thread(&error))
}

/// The Unix socket that the service manager has opened; none if there is none.
pub fn socket() -> Result<Option<UnixListener>, String> {
    let failed = |error: std::io::Error| {
        format!("the sockets of the service manager: {}", element::output::reason(&error))
    };
    let mut numbers = sd_notify::listen_fds().map_err(failed)?;
    let Some(number) = numbers.next() else { return Ok(None) };
    if numbers.next().is_some() {
        return Err(
            "the service manager gives more than one socket; put one ListenStream into the socket unit"
                .to_string(),
        );
    }
    let listener = UnixListener::from(pipe::adopt(number).map_err(failed)?);
    // Through one that does not listen nobody could ever ask.
    match listener.local_addr().is_ok() && unix::listens(&listener) {
        true => Ok(Some(listener)),
        false => Err("the service manager's socket is no Unix stream socket that listens: use \
                      ListenStream=/run/weir.socket and Accept=no"
            .to_string()),
    }
}
