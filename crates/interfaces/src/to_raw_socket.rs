//! An old name of `RawSocket` that pulls its packets. An output, if there is one, emits nothing.
//!
//! ```click
//! ICMPPingSource(10.0.0.1, 10.0.0.2) -> Queue -> ToRawSocket(ICMP);
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::raw_transport::{RawTransport, ARGS, DROPS, HANDLERS};
use crate::transport::methods;

/// The class.
pub const CLASS: Class = Class::new::<ToRawSocket>("ToRawSocket", "0-1/0-1", "l/l", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Output)
    .notice("warning: FromRawSocket is deprecated, use RawSocket instead");

/// See the page above.
pub struct ToRawSocket(RawTransport);

impl Element for ToRawSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<ToRawSocket, Failed> {
        RawTransport::configure(conf).map(ToRawSocket)
    }

    methods!();
}
