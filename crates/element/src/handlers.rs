//! Handlers that many classes have; the engine answers those of tasks.

use graph::Handler;

/// `scheduled`: whether the element's task is scheduled.
pub const SCHEDULED: Handler = Handler::read("scheduled", "Whether the task is scheduled.");

/// `tickets`: the task's tickets.
pub const TICKETS: Handler =
    Handler::read_write("tickets", "The task's tickets: its share of the processor, 1 to 32768.");

/// `home_thread`: the thread on which the task runs.
pub const HOME_THREAD: Handler =
    Handler::read_write("home_thread", "Number of the thread on which the task runs.").flags("unlisted");
