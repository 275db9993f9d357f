//! The element library, one file an element.
//!
//! Each folder is a topic; its `mod.rs` lists its files, and that is all there is to registering an element.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod analysis;
pub mod aqm;
pub mod classify;
pub mod control;
pub mod ethernet;
pub mod icmp;
pub mod ip;
pub mod ip6;
pub mod lookup;
pub mod rewriter;
pub mod standard;
pub mod tcpudp;
#[cfg(test)]
mod testing;
pub mod threads;

use element::Class;

/// All classes of the library, by folder.
pub const FOLDERS: &[(&str, &[Class])] = &[
    ("standard", standard::CLASSES),
    ("control", control::CLASSES),
    ("classify", classify::CLASSES),
    ("ethernet", ethernet::CLASSES),
    ("ip", ip::CLASSES),
    ("ip6", ip6::CLASSES),
    ("lookup", lookup::CLASSES),
    ("rewriter", rewriter::CLASSES),
    ("icmp", icmp::CLASSES),
    ("tcpudp", tcpudp::CLASSES),
    ("analysis", analysis::CLASSES),
    ("aqm", aqm::CLASSES),
    ("threads", threads::CLASSES),
];
