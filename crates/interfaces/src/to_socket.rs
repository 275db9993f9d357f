//! An old name of `Socket` that pulls its packets. An output, if there is one, emits nothing.
//!
//! ```click
//! RatedSource -> Queue -> ToSocket(UDP, 127.0.0.1, 7000);
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::transport::{methods, Transport, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<ToSocket>("ToSocket", "0-1/0-1", "l/l", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Output)
    .notice("warning: ToSocket is deprecated, use Socket instead");

/// See the page above.
pub struct ToSocket(Transport);

impl Element for ToSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<ToSocket, Failed> {
        Transport::configure(conf).map(ToSocket)
    }

    methods!();
}
