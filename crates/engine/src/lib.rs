//! Builds graphs and runs them: tasks, notifiers, timers, handlers.
//!
//! [`Engine::build`] makes the elements of a graph; [`Engine::run`] is the driver. What an element asks of the engine is in the
//! module `runtime`; the loop that moves packets is [`world::World::flow`].
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod build;
mod call;
pub mod change;
mod chatter;
mod clock;
mod configured;
mod crew;
mod drops;
mod fitting;
mod flow;
mod globals;
mod growth;
mod handlers;
mod lanes;
mod meetings;
mod notify;
mod numbers;
mod order;
mod random;
mod readers;
mod run;
mod runtime;
pub mod saved;
mod schedule;
mod select;
mod signals;
mod single_file;
mod tasks;
mod timers;
mod together;
mod told;
mod turns;
mod wake;
mod watcher;
mod ways;
mod wiring;
pub mod world;

pub use build::{say, BuildOptions, Engine, Layout, Registry};
pub use clock::Time;
pub use handlers::with_argument;
pub use run::Outcome;
pub use tasks::{DEFAULT_TICKETS, MAX_TICKETS};
pub use watcher::Watcher;
