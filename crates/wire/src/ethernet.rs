//! Ethernet headers, with or without an IEEE 802.1Q tag.

/// A 48-bit Ethernet address.
pub type MacAddress = [u8; 6];

/// The address of every station.
pub const BROADCAST: MacAddress = [0xff; 6];

/// A frame whose 14-byte Ethernet header is there.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet<B>(B);

impl Ethernet<()> {
    /// Length of the header in bytes.
    pub const LEN: usize = 14;
}

impl<B: AsRef<[u8]>> Ethernet<B> {
    /// Views a frame that starts with an Ethernet header; `None` if it is too short.
    #[inline]
    pub fn new(frame: B) -> Option<Self> {
        (frame.as_ref().len() >= Ethernet::LEN).then_some(Ethernet(frame))
    }

    /// Whether the frame is for several stations.
    #[inline]
    pub fn is_multicast(&self) -> bool {
        self.destination()[0] & 1 != 0
    }

    /// What follows the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.0.as_ref().get(Ethernet::LEN..).unwrap_or_default()
    }
}

fields! { Ethernet {
    destination, set_destination: MacAddress, 0, "Destination address.";
    source, set_source: MacAddress, 6, "Source address.";
    ethertype, set_ethertype: u16, 12, "Protocol of the payload, see [`crate::ethertype`].";
} }

/// A frame whose 18-byte Ethernet header with an IEEE 802.1Q or 802.1ad tag is there.
#[derive(Clone, Copy, Debug)]
pub struct Vlan<B>(B);

impl Vlan<()> {
    /// Length of the Ethernet header and the tag in bytes.
    pub const LEN: usize = 18;
}

impl<B: AsRef<[u8]>> Vlan<B> {
    /// Views a tagged frame; `None` if it is too short or not tagged.
    #[inline]
    pub fn new(frame: B) -> Option<Self> {
        let vlan = Vlan(frame);
        let is_tagged =
            matches!(vlan.tag_ethertype(), crate::ethertype::VLAN | crate::ethertype::SERVICE_VLAN);
        (vlan.0.as_ref().len() >= Vlan::LEN && is_tagged).then_some(vlan)
    }

    /// VLAN identifier, 12 bits.
    #[inline]
    pub fn id(&self) -> u16 {
        self.tag() & 0x0fff
    }

    /// Priority code point, 3 bits.
    #[inline]
    pub fn priority(&self) -> u8 {
        (self.tag() >> 13) as u8
    }

    /// What follows the tag.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.0.as_ref().get(Vlan::LEN..).unwrap_or_default()
    }
}

fields! { Vlan {
    destination, set_destination: MacAddress, 0, "Destination address.";
    source, set_source: MacAddress, 6, "Source address.";
    tag_ethertype, set_tag_ethertype: u16, 12, "Kind of the tag: 0x8100 or 0x88a8.";
    tag, set_tag: u16, 14, "Tag control information: priority, drop eligibility, identifier.";
    ethertype, set_ethertype: u16, 16, "Protocol of the payload, see [`crate::ethertype`].";
} }
