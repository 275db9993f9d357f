//! Classic packet filters: compiled from tcpdump's expressions, checked, and run here or in the kernel.

mod compile;
mod program;

pub use compile::{compile, compile_for, link_name};
pub use program::{Instruction, Program};

/// Why there is no filter program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BpfError {
    /// libpcap is not installed or not usable.
    #[error("no filter compiler: {reason}\n  help: {INSTALL}")]
    NoLibrary { reason: String },
    /// libpcap does not understand the expression; the reason in its words.
    #[error("filter `{expression}`: {reason}")]
    Expression { expression: String, reason: String },
    /// The program would not be safe to run.
    #[error("filter program, instruction {idx}: {reason}")]
    Program { idx: usize, reason: &'static str },
}

impl BpfError {
    /// What the operator can do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::NoLibrary { .. } => Some(INSTALL),
            Self::Expression { .. } => Some("`man pcap-filter` describes the expressions"),
            Self::Program { .. } => None,
        }
    }
}

const INSTALL: &str = "install libpcap0.8 (Debian, Ubuntu), libpcap (Fedora, Alpine, Arch)";
