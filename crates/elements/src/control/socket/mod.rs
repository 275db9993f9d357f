//! Serving clients over sockets: how it is listened for them, the protocol of `ControlSocket`, the audience of `ChatterSocket`.

mod answer;
mod attempts;
mod audience;
mod command;
mod connection;
mod kernel;
mod listener;
mod reply;

pub use attempts::Attempts;
pub use audience::{Audience, State};
pub use connection::Connection;
pub use listener::{adopt, Listener, Place, PATH_MAX};
pub use reply::{printable, Code};
