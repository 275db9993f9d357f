//! The place where functions live: created, joined, changed and observed while packets flow.
//!
//! [`Store`] holds the configuration of all instances. A transaction ([`Store::transaction`]) changes it, is checked by the schemas,
//! becomes the text of one graph ([`graph`]), and is in force when the data plane ([`Plane`]) runs that graph; then it is written to
//! the [`Journal`] and acknowledged.
#![forbid(unsafe_code)]

pub mod beside;
pub mod datastores;
pub mod drops;
pub mod edit;
pub mod events;
pub mod fault;
pub mod graph;
pub mod http;
pub mod journal;
pub mod json;
pub mod logs;
pub mod metrics;
mod openapi;
mod page;
pub mod path;
pub mod plane;
pub mod private;
pub mod restconf;
pub mod roles;
pub mod store;
pub mod thresholds;
pub mod topology;
pub mod tree;

pub use edit::{Edit, Op};
pub use fault::Fault;
pub use journal::Journal;
pub use plane::Plane;
pub use restconf::Service;
pub use store::Store;
