//! What kind of link-layer destination a packet had.

/// Link-layer packet type, with Linux's and Click's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum PacketType {
    /// To this host.
    #[default]
    Host = 0,
    /// To all.
    Broadcast = 1,
    /// To a group.
    Multicast = 2,
    /// To another host.
    OtherHost = 3,
    /// Sent by this host.
    Outgoing = 4,
    /// A looped-back broadcast.
    Loopback = 5,
    /// A fast-routed frame.
    FastRoute = 6,
}

impl PacketType {
    /// The type with this number; unknown numbers are other hosts'.
    pub fn from_number(number: u8) -> PacketType {
        match number {
            0 => PacketType::Host,
            1 => PacketType::Broadcast,
            2 => PacketType::Multicast,
            4 => PacketType::Outgoing,
            5 => PacketType::Loopback,
            6 => PacketType::FastRoute,
            _ => PacketType::OtherHost,
        }
    }
}
