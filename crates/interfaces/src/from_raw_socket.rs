//! An old name of `RawSocket` whose input, if there is one, is pushed to.
//!
//! ```click
//! FromRawSocket(UDP, 53) -> IPPrint -> Discard;
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::raw_transport::{RawTransport, ARGS, DROPS, HANDLERS};
use crate::transport::methods;

/// The class.
pub const CLASS: Class = Class::new::<FromRawSocket>("FromRawSocket", "0-1/0-1", "h/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input)
    .notice("warning: FromRawSocket is deprecated, use RawSocket instead");

/// See the page above.
pub struct FromRawSocket(RawTransport);

impl Element for FromRawSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<FromRawSocket, Failed> {
        RawTransport::configure(conf).map(FromRawSocket)
    }

    methods!();
}
