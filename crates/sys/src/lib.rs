//! A thin layer over the Linux system calls that packets need.
//!
//! Every module is one topic: devices ([`tap`], [`packet_socket`], [`link`], [`link_request`], [`link_watch`]), filters ([`bpf`]), waiting
//! ([`poll`], [`signals`], [`alarm`]), sockets ([`datagrams`], [`netlink`]), time and cores ([`clock`], [`cpu`]), the process's own memory ([`heap`], [`image`]) and memory
//! shared with others ([`region`], [`memfd`], [`unix`], [`span`]), locks of files ([`file_lock`]), processes and threads ([`process`], [`thread`], [`privileges`], [`namespace`], [`terminal`]) and the folder for sockets
//! ([`runtime_dir`]). Every fallible call returns [`SysError`]; those of [`datagrams`] return the system's own.

#[cfg(not(target_os = "linux"))]
compile_error!("weir runs on Linux only");

pub mod alarm;
pub mod bpf;
pub mod buffer;
pub mod clock;
pub mod cpu;
pub mod datagrams;
mod error;
pub mod file_lock;
pub mod heap;
pub mod image;
pub mod link;
pub mod link_request;
pub mod link_watch;
pub mod memfd;
pub mod namespace;
pub mod netlink;
pub mod packet_socket;
pub mod pipe;
pub mod poll;
pub mod privileges;
pub mod process;
pub mod region;
pub mod runtime_dir;
pub mod signals;
mod sockopt;
pub mod span;
pub mod standard;
pub mod tap;
pub mod terminal;
#[cfg(test)]
mod testing;
pub mod thread;
pub mod unix;
pub mod vnet;

pub use error::{no_thread, reason, Result, SysError};
