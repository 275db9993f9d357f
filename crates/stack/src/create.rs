//! Making a stack: the agent in its namespaces, then the devices.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use sys::process::{self, Child, Namespaces};
use sys::terminal::Terminal;
use sys::{namespace, unix};

use crate::agent::{self, Plan, Reply};
use crate::inside::Inside;
use crate::options::Interface;
use crate::stack::{Named, Stack};
use crate::{device, Error, Options, Program, Result};

/// The loopback device is number 1.
const FIRST_INDEX: u32 = 2;
const LOOPBACK: u32 = 1;

pub(crate) fn create(options: &Options, meanwhile: impl FnOnce()) -> Result<Stack> {
    check_names(&options.interfaces)?;
    let terminal = (options.program == Program::Shell).then(Terminal::open).transpose()?;
    let (agent, requests) = unix::message_pair(None)?;
    let (status, status_there) = unix::message_pair(None)?;
    let is_privileged = namespace::is_privileged()?;
    let namespaces = Namespaces { user: !is_privileged, network: true, mount: true, pid: true };
    let plan = Plan {
        options,
        user: (!is_privileged).then(namespace::user_and_group),
        requests: requests.as_fd(),
        status: status_there.as_fd(),
        first_index: FIRST_INDEX,
    };
    let child = Kept(process::spawn(namespaces, || agent::run(&plan))?);
    // What is left of these are the agent's: their end tells of its end.
    drop((requests, status_there));
    meanwhile();
    let mut inside = entered(&status, agent)?;
    let (ports, note) = make_devices(&mut inside, &status, options)?;
    let Reply::Done = receive(&status)? else { return Err(Error::Silent) };
    let status = UnixStream::from(status);
    status.set_nonblocking(true).map_err(|source| sys::SysError::Call {
        call: "fcntl(O_NONBLOCK)",
        target: "status of the stack".into(),
        source,
        remedy: None,
    })?;
    Ok(Stack { child, inside, ports, status, terminal, note, has_started: false })
}

/// A child that dies with its owner here.
pub(crate) struct Kept(pub(crate) Child);

impl Drop for Kept {
    fn drop(&mut self) {
        // Only a child that was waited for cannot be killed, and this is the only place that waits.
        if self.0.kill().is_ok() {
            let _ = self.0.wait();
        }
    }
}

fn check_names(interfaces: &[Interface]) -> Result<()> {
    for (idx, interface) in interfaces.iter().enumerate() {
        if interfaces[..idx].iter().any(|other| other.name == interface.name) {
            return Err(Error::SameName(interface.name.clone()));
        }
    }
    Ok(())
}

fn entered(status: &OwnedFd, agent: OwnedFd) -> Result<Inside> {
    match receive(status)? {
        Reply::Entered { network, netlink } => Inside::new(agent, network, netlink),
        _ => Err(Error::Silent),
    }
}

/// The ports, and a sentence if they are no taps.
fn make_devices(
    inside: &mut Inside,
    status: &OwnedFd,
    options: &Options,
) -> Result<(Vec<Named>, Option<String>)> {
    inside.netlink.apply(device::up(LOOPBACK), "lo")?;
    let (mut ports, mut note) = (Vec::new(), None);
    for (index, interface) in (FIRST_INDEX..).zip(&options.interfaces) {
        let opened = device::attach(inside, receive(status)?, index, interface)?;
        note = note.or(opened.stand_in.map(|stand_in| stand_in.note));
        ports.push(Named { name: interface.name.clone(), port: opened.port });
    }
    // Routes may lead through addresses of other interfaces.
    for (index, interface) in (FIRST_INDEX..).zip(&options.interfaces) {
        device::add_routes(inside, index, interface)?;
    }
    Ok((ports, note))
}

fn receive(status: &OwnedFd) -> Result<Reply> {
    match Reply::receive(status)?.ok_or(Error::Silent)? {
        Reply::Failed(text) => Err(Error::Agent { text }),
        reply => Ok(reply),
    }
}
