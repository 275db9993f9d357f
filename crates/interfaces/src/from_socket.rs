//! An old name of `Socket` whose input, if there is one, is pushed to.
//!
//! ```click
//! FromSocket(UDP, 127.0.0.1, 7000) -> Print -> Discard;
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::transport::{methods, Transport, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<FromSocket>("FromSocket", "0-1/0-1", "h/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input)
    .notice("warning: FromSocket is deprecated, use Socket instead");

/// See the page above.
pub struct FromSocket(Transport);

impl Element for FromSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<FromSocket, Failed> {
        Transport::configure(conf).map(FromSocket)
    }

    methods!();
}
