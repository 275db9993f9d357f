//! Reaching into a stack from outside: its agent, its namespace and its kernel tables.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use sys::netlink::Socket;
use sys::{namespace, unix, SysError};

use crate::agent::{Reply, Request};
use crate::{Error, Result};

/// What it takes to reach into a stack.
#[derive(Debug)]
pub(crate) struct Inside {
    pub(crate) agent: OwnedFd,
    pub(crate) network: OwnedFd,
    pub(crate) netlink: Socket,
    /// A sentence for each thing that went with a device and could not be put back.
    pub(crate) left_out: Vec<String>,
}

impl Inside {
    /// Reaches into the stack of the agent at the other end of `agent`.
    pub(crate) fn enter(agent: OwnedFd) -> Result<Self> {
        match ask(&agent, &Request::Enter)? {
            Reply::Entered { network, netlink } => Self::new(agent, network, netlink),
            _ => Err(Error::Silent),
        }
    }

    pub(crate) fn new(agent: OwnedFd, network: OwnedFd, netlink: OwnedFd) -> Result<Self> {
        let network = namespace::check_network(network)?;
        Ok(Self { agent, network, netlink: Socket::from_received(netlink)?, left_out: Vec::new() })
    }

    /// What tells from now on what is set for devices, addresses, neighbours and routes.
    pub(crate) fn listen(&self) -> Result<Socket> {
        match self.ask(&Request::Enter)? {
            Reply::Entered { netlink, .. } => {
                let socket = Socket::from_received(netlink)?;
                socket.subscribe(GROUPS)?;
                Ok(socket)
            }
            _ => Err(Error::Silent),
        }
    }

    /// Has the agent start the program.
    pub(crate) fn start(&self) -> Result<()> {
        Request::Go.send(&self.agent, None).map_err(silence)
    }

    /// Has the agent send a signal to all processes of the stack but itself.
    pub(crate) fn signal(&self, number: i32) -> Result<()> {
        Request::Signal { number }.send(&self.agent, None).map_err(silence)
    }

    pub(crate) fn ask(&self, request: &Request) -> Result<Reply> {
        ask(&self.agent, request)
    }
}

/// The groups of news of rtnetlink(7).
const GROUPS: libc::c_int = libc::RTMGRP_LINK
    | libc::RTMGRP_NEIGH
    | libc::RTMGRP_IPV4_IFADDR
    | libc::RTMGRP_IPV6_IFADDR
    | libc::RTMGRP_IPV4_ROUTE
    | libc::RTMGRP_IPV6_ROUTE;

/// A stuck agent shall not stop who asks for ever; one that waits for the kernel's lock of devices is only slow. That it has ended
/// is seen at once.
const PATIENCE: Duration = Duration::from_secs(60);

fn ask(agent: &OwnedFd, request: &Request) -> Result<Reply> {
    let (here, there) = unix::message_pair(Some(PATIENCE))?;
    request.send(agent, Some(there.as_fd())).map_err(silence)?;
    drop(there);
    let reply = match request {
        Request::Settings { .. } => Reply::receive_settings(&here),
        _ => Reply::receive(&here),
    };
    match reply.map_err(silence)?.ok_or(Error::Silent)? {
        Reply::Failed(text) => Err(Error::Agent { text }),
        reply => Ok(reply),
    }
}

fn silence(error: SysError) -> Error {
    match error.errno() {
        Some(libc::EPIPE | libc::ECONNREFUSED | libc::ECONNRESET | libc::EAGAIN) => Error::Silent,
        _ => Error::System(error),
    }
}
