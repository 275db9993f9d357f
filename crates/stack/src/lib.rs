//! Whole Linux network stacks with unmodified programs in them.
//!
//! [`Stack::create`] starts a child, the agent, in new namespaces: of the network, of mounts and of processes, and for
//! whoever is not root of users, so that no privilege is needed. The agent opens the taps and passes them here; it is
//! process 1 in there, starts the command, collects what ends, and takes everything with it when this process dies.
//! Devices and addresses are set up from here, over a netlink socket that the agent opened. Two stacks become
//! neighbours by a cable in the kernel ([`Stack::join_veth`]), which takes the place of a tap in each.

#![forbid(unsafe_code)]

mod agent;
mod create;
mod device;
mod error;
mod inside;
mod joint;
mod options;
mod port;
mod stack;
mod statistics;

pub use device::Saved;
pub use error::{Error, Result};
pub use joint::Peer;
pub use options::{Interface, Options, Program, Route};
pub use port::{tap_options, Cable, Port};
pub use stack::{Ended, Stack};
pub use statistics::Statistics;
