//! ICMP headers (RFC 792).

/// ICMP message types.
pub mod icmp_type {
    /// Answer to an echo request.
    pub const ECHO_REPLY: u8 = 0;
    /// Destination unreachable.
    pub const UNREACHABLE: u8 = 3;
    /// Source quench.
    pub const SOURCE_QUENCH: u8 = 4;
    /// Redirect.
    pub const REDIRECT: u8 = 5;
    /// Echo request.
    pub const ECHO: u8 = 8;
    /// Router advertisement.
    pub const ROUTER_ADVERTISEMENT: u8 = 9;
    /// Router solicitation.
    pub const ROUTER_SOLICITATION: u8 = 10;
    /// Time exceeded.
    pub const TIME_EXCEEDED: u8 = 11;
    /// Parameter problem.
    pub const PARAMETER_PROBLEM: u8 = 12;
    /// Timestamp request.
    pub const TIMESTAMP: u8 = 13;
    /// Timestamp reply.
    pub const TIMESTAMP_REPLY: u8 = 14;
    /// Information request.
    pub const INFORMATION: u8 = 15;
    /// Information reply.
    pub const INFORMATION_REPLY: u8 = 16;
    /// Address mask request.
    pub const ADDRESS_MASK: u8 = 17;
    /// Address mask reply.
    pub const ADDRESS_MASK_REPLY: u8 = 18;
}

/// Codes of ICMP messages.
pub mod icmp_code {
    /// Unreachable: the network.
    pub const NET: u8 = 0;
    /// Unreachable: the host.
    pub const HOST: u8 = 1;
    /// Unreachable: the protocol.
    pub const PROTOCOL: u8 = 2;
    /// Unreachable: the port.
    pub const PORT: u8 = 3;
    /// Unreachable: must fragment, may not.
    pub const FRAGMENTATION_NEEDED: u8 = 4;
    /// Unreachable: forbidden by a filter.
    pub const FILTER_PROHIBITED: u8 = 13;
    /// Time exceeded: the time to live reached 0 on the way.
    pub const TTL: u8 = 0;
    /// Time exceeded: fragments were missing.
    pub const REASSEMBLY: u8 = 1;
    /// Redirect: for the network.
    pub const REDIRECT_NET: u8 = 0;
    /// Redirect: for the host.
    pub const REDIRECT_HOST: u8 = 1;
}

/// A message whose 8-byte ICMP header is there.
#[derive(Clone, Copy, Debug)]
pub struct Icmp<B>(B);

impl Icmp<()> {
    /// Length of the header in bytes.
    pub const LEN: usize = 8;
    /// Where the checksum stands in the header.
    pub const CHECKSUM_AT: usize = 2;

    /// Length in bytes of the header of messages of a type: those about time hold three times as well.
    pub const fn header_len(kind: u8) -> usize {
        match kind {
            icmp_type::TIMESTAMP | icmp_type::TIMESTAMP_REPLY => 20,
            _ => Self::LEN,
        }
    }
}

impl<B: AsRef<[u8]>> Icmp<B> {
    /// Views a message; `None` if it is shorter than a header.
    #[inline]
    pub fn new(message: B) -> Option<Self> {
        (message.as_ref().len() >= Icmp::LEN).then_some(Icmp(message))
    }

    /// Whether the message reports an error about a packet, whose start it carries.
    #[inline]
    pub fn is_error(&self) -> bool {
        use icmp_type::*;
        matches!(self.kind(), UNREACHABLE | SOURCE_QUENCH | REDIRECT | TIME_EXCEEDED | PARAMETER_PROBLEM)
    }

    /// What follows the header: echo data, or the start of the packet that caused the error.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        self.0.as_ref().get(Icmp::LEN..).unwrap_or_default()
    }
}

fields! { Icmp {
    kind, set_kind: u8, 0, "Type, see [`icmp_type`].";
    code, set_code: u8, 1, "Code, see [`icmp_code`].";
    checksum, set_checksum: u16, 2, "Checksum over the whole message.";
    identifier, set_identifier: u16, 4, "Echo: identifier.";
    sequence, set_sequence: u16, 6, "Echo: sequence number. Fragmentation needed: the next hop's MTU (RFC 1191).";
    rest, set_rest: u32, 4, "The four bytes whose meaning hangs on the type, such as a redirect's gateway.";
} }
