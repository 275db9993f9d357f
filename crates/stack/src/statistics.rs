//! What the kernel counted for a device of a stack.

use sys::link_request::{self, LINK_LEN};
use sys::netlink::attributes;

use crate::inside::Inside;
use crate::{Error, Result};

/// What the kernel counted for a device; "received" is what the stack received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    pub packets_received: u64,
    pub packets_sent: u64,
    pub bytes_received: u64,
    pub bytes_sent: u64,
    pub errors_received: u64,
    pub errors_sent: u64,
    pub drops_received: u64,
    pub drops_sent: u64,
}

/// What was counted for device `name` since it was made.
pub(crate) fn read(inside: &mut Inside, name: &str) -> Result<Statistics> {
    let answers = inside.netlink.ask(link_request::describe(name)?, name)?;
    let payload = answers.first().map(|answer| answer.payload.as_slice()).unwrap_or_default();
    let mut attributes = attributes(payload.get(LINK_LEN..).unwrap_or_default());
    let counters = attributes.find(|(kind, _)| *kind == libc::IFLA_STATS64).map(|(_, value)| value);
    counters.map(parse).ok_or_else(|| Error::NoInterface(name.into()))
}

/// `struct rtnl_link_stats64` of linux/if_link.h, as far as it is used.
fn parse(bytes: &[u8]) -> Statistics {
    let mut words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
    let mut next = || words.next().unwrap_or(0);
    Statistics {
        packets_received: next(),
        packets_sent: next(),
        bytes_received: next(),
        bytes_sent: next(),
        errors_received: next(),
        errors_sent: next(),
        drops_received: next(),
        drops_sent: next(),
    }
}
