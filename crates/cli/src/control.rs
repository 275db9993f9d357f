//! Talking to a running graph: a Unix socket named after it in the user's runtime folder.
//!
//! A client sends one line of JSON; the graph answers with lines of JSON, or, for a tap, one line and then capture bytes.

mod answers;
pub mod change;
pub mod client;
mod editor;
pub mod herald;
pub mod hooks;
pub mod live;
pub mod protocol;
pub mod server;
mod streams;

pub use answers::listed;
