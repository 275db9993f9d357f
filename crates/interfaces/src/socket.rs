//! Exchanges packets with another program through a socket.
//!
//! TYPE is `TCP` or `UDP`, followed by an address and a port, or `UNIX` or `UNIX_DGRAM`, followed by a file name. A client
//! connects there, or sends its datagrams there, from LOCAL_ADDR and LOCAL_PORT or LOCAL_FILENAME if these are given. A server
//! listens there; it has one connection at a time, or answers whom the last datagram came from. CLIENT says which it is;
//! without it, a socket without output is a client. A UDP client whose ADDR is 0.0.0.0 sends each packet to its destination
//! annotation.
//!
//! What comes in is emitted: a packet for each datagram, or for as many bytes of a stream as there are at a time. What arrives at
//! the input is sent; if it is pushed, the graph waits until it is sent. An error ends the connection. Datagrams without a byte
//! are neither sent nor received.
//!
//! ```click
//! // Whoever is allowed to may have its datagrams returned.
//! allow :: RadixIPLookup(127.0.0.0/8 0);
//! deny :: RadixIPLookup(0.0.0.0/0 0);
//! Idle -> allow -> deny -> Discard;
//! echo :: Socket(UDP, 0.0.0.0, 7000, ALLOW allow, DENY deny) -> Queue -> echo;
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::transport::{methods, Transport, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<SocketElement>("Socket", "0-1/0-1", "a/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input);

/// See the page above.
pub struct SocketElement(Transport);

impl Element for SocketElement {
    fn configure(conf: &mut Configure<'_>) -> Result<SocketElement, Failed> {
        Transport::configure(conf).map(SocketElement)
    }

    methods!();
}
