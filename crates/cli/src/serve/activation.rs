//! What the daemon and systemd tell each other: sockets that are open already, and that it is ready.

use std::os::unix::net::UnixListener;

use sys::pipe;

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
    match listener.local_addr() {
        Ok(_) => Ok(Some(listener)),
        Err(_) => {
            Err("the service manager's socket is no Unix socket: use ListenStream=/run/weir.socket"
                .to_string())
        }
    }
}
