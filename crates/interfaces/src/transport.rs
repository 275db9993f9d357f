//! What `Socket`, `FromSocket` and `ToSocket` share: a socket at whose other end another program is.

mod opening;
mod place;
mod receiving;
mod sending;
mod settings;
mod switch;

use std::os::fd::AsRawFd;

use element::{handlers, Configure, Ctx, DropReason, Failed, Handler, Ready, Recess};
use socket2::{SockAddr, Socket};

use crate::intake::Intake;
use crate::send_queue::SendQueue;

pub use opening::during;
pub use place::Place;
pub use settings::{Receiving, Settings, ARGS, HEADROOM, RCVBUF, SNAPLEN, SNDBUF, TIMESTAMP};

/// The classes' handlers.
pub const HANDLERS: &[Handler] = &[handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD];

/// The classes' reasons for drops.
pub const DROPS: &[DropReason] = &[
    DropReason::new("no-connection", "There was no connection."),
    DropReason::new("not-sent", "The packet could not be sent, which ended the connection if there was one."),
];
const NO_CONNECTION: usize = 0;
const NOT_SENT: usize = 1;

/// A socket and what is on its way through it.
pub struct Transport {
    settings: Settings,
    declaration: String,
    /// A server's own socket, if it has connections.
    listener: Option<Socket>,
    recess: Recess,
    /// What packets go through.
    active: Option<Socket>,
    /// Where datagrams go.
    remote: Option<SockAddr>,
    /// The connection to a switch that ends with the element.
    control: Option<Socket>,
    /// A file to remove in the end.
    file: Option<String>,
    intake: Option<Intake>,
    pub queue: SendQueue,
    /// Whether the sockets are those of another element.
    goes_on: bool,
}

/// The methods of an element that is a tuple struct around a [`Transport`].
macro_rules! methods {
    () => {
        fn initialize(&mut self, ctx: &mut element::Ctx<'_>) -> Result<(), String> {
            self.0.initialize(ctx)
        }

        fn push(&mut self, ctx: &mut element::Ctx<'_>, _port: usize, batch: element::Batch) {
            self.0.push(ctx, batch);
        }

        fn run_task(&mut self, ctx: &mut element::Ctx<'_>, task: element::TaskId) -> bool {
            self.0.run_task(ctx, task)
        }

        fn run_timer(&mut self, ctx: &mut element::Ctx<'_>, timer: element::TimerId) {
            self.0.run_timer(ctx, timer);
        }

        fn selected(&mut self, ctx: &mut element::Ctx<'_>, fd: i32, ready: element::Ready) {
            self.0.selected(ctx, fd, ready);
        }

        fn reads_once(&self) -> bool {
            true
        }

        $crate::idle_task::handlers!(.0.queue);

        fn cleanup(&mut self, ctx: &mut element::Ctx<'_>) {
            self.0.cleanup(ctx);
        }

        fn foresee(&mut self, old: &dyn element::Element) {
            if let Some(old) = element::same_ref::<Self>(old) {
                self.0.foresee(&old.0);
            }
        }

        fn take_state(&mut self, ctx: &mut element::Ctx<'_>, old: Box<dyn element::Element>) {
            if let Some(mut old) = element::same::<Self>(ctx, old) {
                self.0.take_state(ctx, &mut old.0);
            }
        }
    };
}
pub(crate) use methods;

impl Transport {
    /// Reads the arguments.
    pub fn configure(conf: &mut Configure<'_>) -> Result<Transport, Failed> {
        Ok(Transport::new(Settings::read(conf)?))
    }

    /// One with these settings.
    pub fn new(settings: Settings) -> Transport {
        Transport {
            settings,
            declaration: String::new(),
            listener: None,
            recess: Recess::default(),
            active: None,
            remote: None,
            control: None,
            file: None,
            intake: None,
            queue: SendQueue::default(),
            goes_on: false,
        }
    }

    /// Closes all.
    pub fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        for socket in [self.active.take(), self.listener.take()].into_iter().flatten() {
            ctx.remove_select(socket.as_raw_fd(), Ready { read: true, write: true });
        }
        if let Some(file) = self.file.take() {
            // Somebody else may have removed it.
            let _ = std::fs::remove_file(file);
        }
        (self.intake, self.control) = (None, None);
        self.queue.clear().for_each(drop);
    }

    /// Goes on with the sockets of another one, if they are where they should be.
    pub fn foresee(&mut self, old: &Transport) {
        let place = |of: &Transport| (of.settings.place.clone(), of.settings.is_client);
        if place(old) != place(self) {
            return;
        }
        // Descriptors of their own for the same sockets: should nothing come of the change, the other one keeps its.
        let shared = |socket: &Option<Socket>| socket.as_ref().and_then(|socket| socket.try_clone().ok());
        (self.listener, self.active) = (shared(&old.listener), shared(&old.active));
        self.control = shared(&old.control);
        self.remote.clone_from(&old.remote);
    }

    /// Takes what is on its way through another one, and ends that.
    pub fn take_state(&mut self, ctx: &mut Ctx<'_>, old: &mut Transport) {
        if self.goes_on {
            self.file = old.file.take();
            self.queue.take_over(&mut old.queue);
            if let (Some(own), Some(old)) = (&mut self.intake, &mut old.intake) {
                own.take_over(ctx, old);
            }
        }
        old.cleanup(ctx);
    }

    /// Tells of what happens, if asked to.
    fn tell(&self, ctx: &mut Ctx<'_>, message: &str) {
        if self.settings.is_verbose {
            ctx.chatter(&format!("{}: {message}", self.declaration));
        }
    }
}
