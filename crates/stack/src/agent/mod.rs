//! The agent: the first process of a stack, which does there what only a process in there can do.

mod message;
mod program;
mod settings;
mod surroundings;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use sys::memfd::Memfd;
use sys::netlink::Socket;
use sys::poll::{Interest, Poller};
use sys::tap::Tap;
use sys::{namespace, packet_socket, process};

use crate::port::tap_options;
use crate::Options;

pub(crate) use message::{Reply, Request};

/// What the agent is to be and how it talks.
pub(crate) struct Plan<'a> {
    pub(crate) options: &'a Options,
    /// Who shall be root, if this is in a user namespace.
    pub(crate) user: Option<(u32, u32)>,
    /// Requests come from here.
    pub(crate) requests: BorrowedFd<'a>,
    /// Replies that nobody asked for go here.
    pub(crate) status: BorrowedFd<'a>,
    /// The number of the first interface; the others follow.
    pub(crate) first_index: u32,
}

/// Is the agent until nobody is there who could ask for anything; the status to exit with.
pub(crate) fn run(plan: &Plan<'_>) -> i32 {
    let mut agent = match Agent::set_up(plan) {
        Ok(agent) => agent,
        Err(text) => {
            let _ = Reply::Failed(text).send(plan.status);
            return 1;
        }
    };
    // Who started this may have died meanwhile; then nothing can be sent.
    match Reply::Done.send(plan.status).and_then(|()| agent.serve_all()) {
        Ok(()) => 0,
        Err(_) => 1,
    }
}

struct Agent<'a> {
    plan: &'a Plan<'a>,
    reaper: process::Reaper,
    /// The program's number while it runs.
    program: Option<i32>,
    /// A namespace for the other ends of cables, made when it is needed.
    hidden: Option<OwnedFd>,
    /// What iptables locks: a file that goes away with this process.
    lock: Memfd,
}

impl<'a> Agent<'a> {
    fn set_up(plan: &'a Plan<'a>) -> Result<Self, String> {
        let text = |error: sys::SysError| error.to_string();
        process::die_with_parent().map_err(text)?;
        if let Some((user, group)) = plan.user {
            process::become_visible().and_then(|()| namespace::map_to_root(user, group)).map_err(text)?;
        }
        // What the other process needs to go on comes first; it works meanwhile. Where /proc cannot be written, one's
        // own can be, once it is mounted.
        let is_set = surroundings::set_network(plan.options);
        enter().and_then(|reply| reply.send(plan.status)).map_err(text)?;
        let mut hidden = None;
        for (index, interface) in (plan.first_index..).zip(&plan.options.interfaces) {
            let reply = open(&mut hidden, index, &interface.name).map_err(text)?;
            reply.send(plan.status).map_err(text)?;
        }
        let reaper = isolate(plan, hidden.as_ref()).map_err(text)?;
        surroundings::mount(plan.options).map_err(text)?;
        is_set.or_else(|_| surroundings::set_network(plan.options))?;
        let lock = Memfd::create("xtables.lock", 1).map_err(text)?;
        Ok(Self { plan, reaper, program: None, hidden, lock })
    }

    fn serve_all(&mut self) -> sys::Result<()> {
        let mut poller = Poller::new()?;
        poller.add(self.plan.requests, REQUESTS, Interest::READ)?;
        poller.add(self.reaper.as_fd(), CHILDREN, Interest::READ)?;
        loop {
            let events = poller.wait(None)?.to_vec();
            for event in events {
                if event.token == CHILDREN {
                    self.collect_children()?;
                } else if event.closed {
                    return Ok(());
                } else if let Some((request, answer)) = Request::receive(self.plan.requests)? {
                    self.serve(&request, answer)?;
                }
            }
        }
    }

    /// Does what is asked. Whoever asked may be gone when it is answered.
    fn serve(&mut self, request: &Request, answer: Option<OwnedFd>) -> sys::Result<()> {
        let reply = match request {
            Request::Go => return self.start_program(),
            Request::Signal { number } => {
                process::signal_all(*number);
                return Ok(());
            }
            Request::Open { index, name } => open(&mut self.hidden, *index, name).unwrap_or_else(Reply::from),
            Request::Enter => enter().unwrap_or_else(Reply::from),
            Request::Settings { name } => Reply::Settings(settings::read(name)),
            Request::Set { settings } => {
                settings::write(settings);
                Reply::Done
            }
        };
        if let Some(answer) = answer {
            let _ = reply.send(answer);
        }
        Ok(())
    }

    fn start_program(&mut self) -> sys::Result<()> {
        if self.program.is_some() {
            return Ok(());
        }
        match self.reaper.let_start(|| program::start(self.plan.options, &self.lock_file()))? {
            Ok(program) => {
                self.program = program;
                Reply::Done.send(self.plan.status)?;
            }
            Err((reason, errno)) => Reply::NotStarted { reason, errno }.send(self.plan.status)?,
        }
        self.collect_children()
    }

    /// Frees the numbers of all that ended, orphans of others included.
    fn collect_children(&mut self) -> sys::Result<()> {
        while let Some((pid, status)) = self.reaper.reap() {
            if self.program == Some(pid) {
                Reply::Ended(status).send(self.plan.status)?;
            }
        }
        Ok(())
    }

    /// A path to the lock that works in here, whichever `/proc` is there.
    fn lock_file(&self) -> String {
        use std::os::fd::AsRawFd;
        let own = std::fs::read_link("/proc/self").unwrap_or_else(|_| "1".into());
        format!("/proc/{}/fd/{}", own.display(), self.lock.as_fd().as_raw_fd())
    }
}

const REQUESTS: u64 = 0;
const CHILDREN: u64 = 1;

/// Errors that say that taps are not for this process.
const NO_TAPS: [i32; 5] = [libc::EACCES, libc::EPERM, libc::ENOENT, libc::ENODEV, libc::ENXIO];

/// Lets go of everything of the process that this one was copied from.
fn isolate(plan: &Plan<'_>, hidden: Option<&OwnedFd>) -> sys::Result<process::Reaper> {
    let mut kept = vec![plan.requests, plan.status];
    kept.extend(hidden.map(AsFd::as_fd));
    process::close_all_but(&kept)?;
    process::reset_signals()?;
    if plan.options.output_to_errors {
        process::detach_standard_streams()?;
    } else {
        process::detach_standard_input()?;
    }
    process::Reaper::new()
}

fn enter() -> sys::Result<Reply> {
    Ok(Reply::Entered { network: namespace::network()?, netlink: Socket::open()?.into() })
}

/// Opens a tap, or, where none can be opened, sockets on the other end of a cable that is still to be made.
fn open(hidden: &mut Option<OwnedFd>, index: u32, name: &str) -> sys::Result<Reply> {
    match Tap::open_with_index(&tap_options(name), index) {
        Ok(tap) => Ok(Reply::Tap(tap.into())),
        Err(error) if error.errno().is_some_and(|errno| NO_TAPS.contains(&errno)) => {
            open_hidden(hidden, error.to_string())
        }
        Err(error) => Err(error),
    }
}

fn open_hidden(hidden: &mut Option<OwnedFd>, reason: String) -> sys::Result<Reply> {
    let main = namespace::network()?;
    let opened = enter_hidden(hidden).and_then(|network| {
        let (rx, tx) = (packet_socket::open_socket("cable")?, packet_socket::open_socket("cable")?);
        Ok(Reply::Cable { rx, tx, network, netlink: Socket::open()?.into(), reason })
    });
    namespace::enter_network(main.as_fd())?;
    opened
}

/// Goes into the hidden namespace, and makes it the first time.
fn enter_hidden(hidden: &mut Option<OwnedFd>) -> sys::Result<OwnedFd> {
    match hidden {
        Some(hidden) => namespace::enter_network(hidden.as_fd())?,
        None => {
            namespace::unshare_network()?;
            surroundings::silence();
            *hidden = Some(namespace::network()?);
        }
    }
    namespace::network()
}
