//! A thin layer over the Linux system calls that packets need.
//!
//! Every module is one topic: devices ([`tap`], [`packet_socket`], [`link`]), filters ([`bpf`]), waiting ([`poll`],
//! [`signals`]), sockets ([`datagrams`]), time and cores ([`clock`], [`cpu`]), memory shared with others ([`region`],
//! [`memfd`], [`unix`]) and the folder for sockets ([`runtime_dir`]). Every fallible call returns [`SysError`]; those of
//! [`datagrams`] return the system's own.

#[cfg(not(target_os = "linux"))]
compile_error!("weir runs on Linux only");

pub mod bpf;
pub mod clock;
pub mod cpu;
pub mod datagrams;
mod error;
pub mod link;
pub mod memfd;
mod netlink;
pub mod packet_socket;
pub mod pipe;
pub mod poll;
pub mod region;
pub mod runtime_dir;
pub mod signals;
mod sockopt;
pub mod tap;
#[cfg(test)]
mod testing;
pub mod unix;
pub mod vnet;

pub use error::{Result, SysError};
