//! Handlers that many classes have; the engine answers those of tasks.

use graph::{Handler, HandlerKind};

/// `scheduled`: whether the element's task is scheduled.
pub const SCHEDULED: Handler =
    Handler { name: "scheduled", kind: HandlerKind::Read, doc: "Whether the task is scheduled.", flags: "" };

/// `tickets`: the task's tickets.
pub const TICKETS: Handler = Handler {
    name: "tickets",
    kind: HandlerKind::ReadWrite,
    doc: "The task's tickets: its share of the processor, 1 to 32768.",
    flags: "",
};

/// `home_thread`: the thread on which the task runs.
pub const HOME_THREAD: Handler = Handler {
    name: "home_thread",
    kind: HandlerKind::ReadWrite,
    doc: "Number of the thread on which the task runs.",
    flags: "unlisted",
};
