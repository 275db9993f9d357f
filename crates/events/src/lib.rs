//! What happens in a running graph, for whoever listens.
//!
//! An [`Event`] is the same facts for all: for elements that have subscribed, for the listeners of a [`Hub`], which are streams to
//! clients, and for [`Hooks`], which are programs. Events come of changes of the graph, of values that cross a [`Threshold`]
//! ([`Watches`] look at them from time to time), and of network devices ([`Ports`]).
#![forbid(unsafe_code)]

mod event;
mod hook;
mod hooks;
mod hub;
mod ports;
mod threshold;
mod watches;

pub use event::{now, Event, Replaced};
pub use hooks::{Hooks, Level, Log, Settings};
pub use hub::Hub;
pub use ports::Ports;
pub use threshold::{Crossing, Sample, Startup, Threshold};
pub use watches::{Told, Watches};
