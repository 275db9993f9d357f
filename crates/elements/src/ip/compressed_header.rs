//! Headers of TCP/IPv4 packets that are sent as differences to the last ones of their flow, in the form of `RFC2507Comp`.
//!
//! The form leans on RFC 2507, section 7.12 (COMPRESSED_TCP), but is Click's own: bytes in front of each packet tell what it is.

use wire::checksum;

/// Bytes of an IPv4 and a TCP header without options.
pub const LEN: usize = 40;
const IP_LEN: usize = 20;
/// Contexts have numbers below this; 0 is none.
pub const N_CONTEXTS: usize = 15;

/// First byte of a packet that is sent as it is.
pub const OTHER: u8 = 0;
/// First byte of a packet that sets the context whose number follows.
pub const FULL: u8 = 1;
/// First byte of a packet whose header is the context's with differences.
pub const COMPRESSED: u8 = 2;

/// Bits of the third byte of compressed packets.
pub const URGENT: u8 = 1;
pub const WINDOW: u8 = 1 << 1;
pub const ACKNOWLEDGED: u8 = 1 << 2;
pub const SEQUENCE: u8 = 1 << 3;
pub const PUSH: u8 = 1 << 4;
pub const ID: u8 = 1 << 5;

/// An IPv4 and a TCP header.
#[derive(Clone, Copy)]
pub struct Headers(pub [u8; LEN]);

/// A field that is sent as a difference: its place and its bytes.
#[derive(Clone, Copy)]
pub struct Field(usize, usize);

/// The identification in the IPv4 header.
pub const ID_FIELD: Field = Field(4, 2);
/// The fields of the TCP header in the order of their differences, with their bits.
pub const TCP_FIELDS: [(Field, u8, &str); 4] = [
    (Field(IP_LEN + 18, 2), URGENT, "full urp"),
    (Field(IP_LEN + 14, 2), WINDOW, "full win"),
    (Field(IP_LEN + 8, 4), ACKNOWLEDGED, "full ack"),
    (Field(IP_LEN + 4, 4), SEQUENCE, "full seq"),
];

impl Headers {
    /// The headers that a packet begins with.
    pub fn of(bytes: &[u8]) -> Option<Headers> {
        bytes.first_chunk().copied().map(Headers)
    }

    /// A field's number; those of four bytes are signed, as Click has them.
    pub fn get(&self, Field(at, len): Field) -> i32 {
        let bytes = self.0.get(at..at + len).unwrap_or_default();
        bytes.iter().fold(0, |number, byte| number << 8 | i32::from(*byte))
    }

    /// Sets a field to the lower bytes of a number.
    pub fn set(&mut self, Field(at, len): Field, number: i32) {
        let bytes = number.to_be_bytes();
        if let (Some(field), Some(bytes)) = (self.0.get_mut(at..at + len), bytes.get(4 - len..)) {
            field.copy_from_slice(bytes);
        }
    }

    /// Flags of the TCP header.
    pub fn flags(&self) -> u8 {
        self.0[IP_LEN + 13]
    }

    /// Sets or clears flags of the TCP header.
    pub fn set_flag(&mut self, flag: u8, is_set: bool) {
        self.0[IP_LEN + 13] = if is_set { self.flags() | flag } else { self.flags() & !flag };
    }

    /// The TCP checksum.
    pub fn tcp_checksum(&self) -> [u8; 2] {
        [self.0[IP_LEN + 16], self.0[IP_LEN + 17]]
    }

    /// Sets the TCP checksum.
    pub fn set_tcp_checksum(&mut self, [high, low]: [u8; 2]) {
        [self.0[IP_LEN + 16], self.0[IP_LEN + 17]] = [high, low];
    }

    /// Sets the length in the IPv4 header, and its checksum.
    pub fn set_len(&mut self, len: u16) {
        self.0[2..4].copy_from_slice(&len.to_be_bytes());
        self.0[10..12].fill(0);
        let sum = checksum::checksum(&self.0[..IP_LEN]);
        self.0[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    /// Whether all that no difference tells is the same: version and header length, type of service, DF, time to live, and the TCP
    /// header's length.
    pub fn is_like(&self, other: &Headers) -> bool {
        const DF: u8 = 0x40;
        let fixed = |of: &Headers| [of.0[0], of.0[1], of.0[6] & DF, of.0[8], of.0[IP_LEN + 12] >> 4];
        fixed(self) == fixed(other)
    }

    /// Addresses and ports.
    pub fn flow(&self) -> [u8; 12] {
        let mut flow = [0; 12];
        flow.copy_from_slice(&self.0[12..24]);
        flow
    }
}

/// Adds the difference between two numbers: a byte, or 0 and two bytes. False if they are the same, `None` if there is no form for it.
pub fn encode(old: i32, new: i32, bytes: &mut Vec<u8>) -> Option<bool> {
    match i64::from(new) - i64::from(old) {
        0 => return Some(false),
        difference @ 1..256 => bytes.push(difference as u8),
        difference @ 256..65536 => bytes.extend([0, (difference >> 8) as u8, difference as u8]),
        _ => return None,
    }
    Some(true)
}

/// Takes a difference from the beginning of `bytes`.
pub fn decode(bytes: &mut &[u8]) -> Option<i32> {
    let (difference, rest) = match *bytes {
        [0, high, low, rest @ ..] => (i32::from(*high) << 8 | i32::from(*low), rest),
        [0, ..] | [] => return None,
        [byte, rest @ ..] => (i32::from(*byte), rest),
    };
    *bytes = rest;
    Some(difference)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn differences_come_back(old: i32, difference in -5i64..70_000) {
            let new = i64::from(old) + difference;
            let mut bytes = Vec::new();
            let encoded = i32::try_from(new).ok().and_then(|new| encode(old, new, &mut bytes));
            match (encoded, difference) {
                (Some(true), 1..65536) => {
                    let mut rest = &bytes[..];
                    assert_eq!(decode(&mut rest), Some(difference as i32));
                    assert!(rest.is_empty());
                }
                (Some(false), 0) => assert!(bytes.is_empty()),
                (encoded, _) => assert!(encoded.is_none() && !(1..65536).contains(&difference) || new > i64::from(i32::MAX)),
            }
        }

        #[test]
        fn any_bytes_are_a_difference_or_not(bytes: Vec<u8>) {
            let mut rest = &bytes[..];
            let decoded = decode(&mut rest);
            assert_eq!(decoded.is_some(), rest.len() < bytes.len());
        }
    }
}
