//! A script that decides when the driver stops.
//!
//! The same as a `Script` of TYPE DRIVER. When an element or a handler asks the driver to stop, the script goes on past the
//! `pause` or `wait` at which it is; the driver stops when the script has come to its end, or to `stop`.
//!
//! ```click
//! FromDump(trace.pcap, STOP true) -> c :: Counter -> Discard;
//! DriverManager(pause, print c.count, stop);
//! ```

use element::{Class, Role};

use super::script::{Script, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<Script>("DriverManager", "-/-", "ah/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Single);
