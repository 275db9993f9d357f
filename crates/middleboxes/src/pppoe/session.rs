//! Sessions: what every packet needs, in two cache lines, and what only control frames need.

use std::net::Ipv4Addr;

use wire::MacAddress;

use super::frame::{self, PREFIX_LEN};
use super::link::Link;
use crate::accounting::Traffic;

/// What every packet of a session needs.
#[repr(align(64))]
#[derive(Clone, Copy, Default)]
pub struct Session {
    /// The first bytes of each frame to the subscriber; the subscriber's station is the first of it.
    pub prefix: [u8; PREFIX_LEN],
    /// The largest packet that the subscriber takes.
    pub mru: u16,
    /// The subscriber's address; 0 while IP packets may not flow.
    pub address: u32,
    /// From the subscriber.
    pub up: Traffic,
    /// To the subscriber.
    pub down: Traffic,
    /// Packets from the subscriber with another's source address.
    pub n_spoofed: u64,
}

impl Session {
    /// A session over which nothing flows yet.
    pub fn new(own: MacAddress, station: MacAddress, id: u16) -> Session {
        Session { prefix: frame::prefix(own, station, id), mru: super::lcp::MAX_MRU, ..Session::default() }
    }

    /// The subscriber's station; zeros for no session.
    #[inline]
    pub fn station(&self) -> MacAddress {
        self.prefix.first_chunk().copied().unwrap_or_default()
    }
}

/// What only control frames of a session need.
pub struct Subscriber {
    /// PPP; `None` if the session is provisioned and lasts.
    pub link: Option<Link>,
    /// Whether the subscriber sent anything over the session.
    pub is_heard: bool,
    /// A hash of what told the request for the session from others of the station.
    pub request: u64,
    /// Who it is, once that is known.
    pub name: String,
    /// The address that was given.
    pub address: Option<Ipv4Addr>,
    /// The account, once IP packets flowed.
    pub account: Option<Account>,
    /// When the next interim record is due, in steady time.
    pub interim_at: Option<i64>,
}

/// An account of a session.
pub struct Account {
    /// Its number.
    pub id: String,
    /// When it began, in steady time.
    pub began_ns: i64,
}
