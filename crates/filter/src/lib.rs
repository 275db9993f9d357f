//! Packet classification: filter expressions compiled into decision structures.
#![forbid(unsafe_code)]

mod classifier;
mod diagnostic;
mod fast;
mod ip;
mod ip_filter;
mod mixing;
mod patterns;
mod program;

pub use classifier::Classifier;
pub use diagnostic::{Diagnostic, Severity};
pub use fast::{Headers, Test};
pub use ip::{is_numeric, BuiltInNames, Names, Table, ICMP_TYPES, PORTS, PROTOCOLS};
pub use ip_filter::IpFilter;
pub use program::{Compressed, Insn, Program};

/// The output of a jump that leaves a program.
fn output(jump: i32) -> Option<usize> {
    (jump > program::SUCCESS).then_some(jump.unsigned_abs() as usize)
}
