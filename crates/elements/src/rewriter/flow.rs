//! A flow: one mapping with both of its directions, in one cache line.

use wire::checksum;

use super::flow_id::FlowId;
use super::timeouts::Timeouts;

/// The flow's sequence numbers are shifted.
pub const SHIFTED: u8 = 1;

/// A mapping: packets of either direction find it, and what they become is the reverse of the other direction.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Flow {
    /// What packets look like that arrive: of the forward direction, and of the reply direction.
    pub ids: [FlowId; 2],
    /// When the flow, or its guarantee, ends, in milliseconds.
    pub expiry_ms: i64,
    /// A number that grows with each flow.
    pub sequence: u64,
    /// Place in its heap.
    pub place: u32,
    /// Whose it is: number of the input in the flow set.
    pub owner: u32,
    /// Outputs of the two directions.
    pub outputs: [u16; 2],
    /// Complement of what the IP checksum's sum gains in the forward direction.
    pub ip_delta: u16,
    /// As `ip_delta` for TCP, UDP or ICMP.
    pub transport_delta: u16,
    /// The space of identifiers.
    pub space: u16,
    /// What was seen of the connection, for its timeout.
    pub state: u8,
    /// Value of the reply annotation.
    pub reply_anno: u8,
    /// IP protocol; 0 for any.
    pub protocol: u8,
    /// Flags such as [`SHIFTED`].
    pub flags: u8,
    /// Whether the flow may not be removed before it expires.
    pub is_guaranteed: bool,
    /// Whether the record holds a flow.
    pub is_used: bool,
}

/// Complement of the gain of the sums of `from`'s halfwords when they become `to`'s (RFC 1624).
pub fn delta(from: &[u16], to: &[u16]) -> u16 {
    from.iter().zip(to).fold(0, |delta, (old, new)| checksum::update_u16(delta, *old, *new))
}

impl Flow {
    /// What a packet of a direction becomes.
    #[inline(always)]
    pub fn rewritten(&self, direction: usize) -> FlowId {
        self.ids[(direction ^ 1) & 1].reverse()
    }

    /// The numbers of outputs, the input and the time left, as the tables show them.
    pub fn describe_ports(&self, direction: usize, input: u32, timeouts: &Timeouts, now_ms: i64) -> String {
        let (forward, reply) = if direction == 0 { ("*", "") } else { ("", "*") };
        let mut expiry_ms = self.expiry_ms;
        if self.is_guaranteed {
            expiry_ms = timeouts.best_effort_expiry(self);
        }
        // Times count modulo 2^32 here, so that a flow whose time is over shows a large number.
        let left_s = (expiry_ms as u32).wrapping_add(500).wrapping_sub(now_ms as u32) / 1000;
        let [out, back] = self.outputs;
        format!(" [{forward}{out} {reply}{back}] i{input} exp{left_s}")
    }
}

/// The checksum after the addresses or ports of a flow with this delta were rewritten.
#[inline(always)]
pub fn updated(checksum: u16, delta: u16, direction: usize) -> u16 {
    if delta == 0 {
        return checksum;
    }
    checksum::update_u16(checksum, 0, if direction == 0 { !delta } else { delta })
}

/// As [`updated`] for a partial checksum, which is the sum of the pseudo-header, not complemented.
#[inline(always)]
pub fn updated_partial(sum: u16, delta: u16, direction: usize) -> u16 {
    !updated(!sum, delta, direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_fills_one_cache_line() {
        assert_eq!((size_of::<Flow>(), align_of::<Flow>()), (64, 64));
    }

    #[test]
    fn deltas_give_the_checksums_of_the_changed_words() {
        let (old, new) = ([0x0a00, 0x0001, 0x0800, 0xffff], [0xcb00, 0x7101, 0x0400, 0x0007]);
        let sum = |words: &[u16]| words.iter().fold(0x1234, |sum, word| checksum::add(sum, *word));
        let delta = delta(&old, &new);
        assert_eq!(updated(!sum(&old), delta, 0), !sum(&new));
        assert_eq!(updated(!sum(&new), delta, 1), !sum(&old));
        assert_eq!(updated_partial(sum(&old), delta, 0), sum(&new));
        assert_eq!(self::delta(&old, &old), 0);
    }
}
