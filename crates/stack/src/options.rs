//! What a stack shall be.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

/// What a stack shall be.
#[derive(Clone, Debug)]
pub struct Options {
    /// In the order of their numbers, from 2 on.
    pub interfaces: Vec<Interface>,
    pub program: Program,
    /// Whether the stack passes packets on between its interfaces from the start.
    pub forwarding: bool,
    /// Added to the environment of this process for the program.
    pub environment: Vec<(OsString, OsString)>,
    /// A file that stands for `/etc/resolv.conf` in the stack.
    pub resolv_conf: Option<PathBuf>,
    /// Whether a command's standard output goes where its errors go, because packets leave on this process's.
    pub output_to_errors: bool,
}

impl Options {
    pub fn new(interfaces: Vec<Interface>, program: Program) -> Self {
        Self {
            interfaces,
            program,
            forwarding: true,
            environment: Vec::new(),
            resolv_conf: None,
            output_to_errors: true,
        }
    }
}

/// What runs in a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// A command and its arguments, with `/dev/null` as standard input.
    Command(Vec<OsString>),
    /// `$SHELL` on the terminal.
    Shell,
    Nothing,
}

/// An interface of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    /// Each with its prefix length; usable at once.
    pub addresses: Vec<(IpAddr, u8)>,
    pub routes: Vec<Route>,
    /// In bytes, without the Ethernet header.
    pub mtu: u32,
    /// The Ethernet address; the kernel draws one by lot if there is none.
    pub mac: Option<[u8; 6]>,
}

impl Interface {
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), addresses: Vec::new(), routes: Vec::new(), mtu: 1500, mac: None }
    }

    pub fn address(mut self, address: IpAddr, prefix_len: u8) -> Self {
        self.addresses.push((address, prefix_len));
        self
    }
}

/// A way to a network through an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub destination: IpAddr,
    pub prefix_len: u8,
    pub gateway: IpAddr,
}
