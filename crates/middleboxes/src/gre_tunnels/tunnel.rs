//! A tunnel as it runs.

use crate::accounting::Traffic;
use crate::gre::Encapsulation;

/// A tunnel.
pub struct Tunnel {
    /// Its name.
    pub name: String,
    /// What packets get in front.
    pub header: Encapsulation,
    /// The number of the last packet that came out of it, if they are numbered.
    pub last: Option<u32>,
    /// From the other side.
    pub up: Traffic,
    /// To the other side.
    pub down: Traffic,
    /// Packets from addresses that are not behind it.
    pub n_spoofed: u64,
    /// Packets that were not in order.
    pub n_late: u64,
    /// The name of its account.
    pub account: String,
    /// When the account began, in steady time.
    pub began_ns: i64,
}

impl Tunnel {
    /// Whether another one has the same name, ends and key.
    pub fn is_same(&self, other: &Tunnel) -> bool {
        let tunnel = |of: &Tunnel| (of.header.source, of.header.destination, of.header.key);
        self.name == other.name && tunnel(self) == tunnel(other)
    }

    /// Goes on from another one's numbers and counts.
    pub fn go_on_from(&mut self, old: &Tunnel) {
        self.header.go_on_from(&old.header);
        self.last = old.last;
        self.up.go_on_from(&old.up);
        self.down.go_on_from(&old.down);
        (self.n_spoofed, self.n_late) = (old.n_spoofed, old.n_late);
    }
}
