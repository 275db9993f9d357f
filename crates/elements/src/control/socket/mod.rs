//! The protocol of `ControlSocket`: commands, replies, connections.

mod answer;
mod command;
mod connection;
mod listener;
mod reply;

pub use connection::Connection;
pub use listener::{adopt, Listener, Place};
