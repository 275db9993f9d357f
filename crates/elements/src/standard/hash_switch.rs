//! Spreads packets over its outputs by some of their bytes.
//!
//! Packets that agree in the LENGTH bytes from OFFSET on leave by the same output. A packet too short to have them leaves by
//! output 0.
//!
//! ```click
//! // By IPv4 destination address.
//! FromDump(in.pcap) -> Strip(14) -> s :: HashSwitch(16, 4);
//! s[0] -> Discard;
//! s[1] -> Discard;
//! ```

use element::{Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<HashSwitch>("HashSwitch", "1/1-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("OFFSET", "int", "The first byte that counts."),
    Arg::required("LENGTH", "int", "How many bytes count."),
];

const DROPS: &[DropReason] = &[DropReason::new("no-output", "There is no output.")];

/// See the page above.
pub struct HashSwitch {
    offset: i64,
    length: i64,
    n_outputs: usize,
}

impl Element for HashSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<HashSwitch, Failed> {
        let offset: i32 = conf.args.need("OFFSET");
        let length: i32 = conf.args.need("LENGTH");
        if length == 0 {
            conf.args.fail("length must be > 0");
        }
        conf.finish()?;
        let n_outputs = conf.n_outputs;
        Ok(HashSwitch { offset: i64::from(offset), length: i64::from(length), n_outputs })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let HashSwitch { offset, length, n_outputs } = *self;
        batch.prefetch_data();
        ctx.spread(batch, |_, packet| Verdict::port(port_of(packet.data(), offset, length, n_outputs)));
    }
}

#[inline]
fn port_of(data: &[u8], offset: i64, length: i64, n_outputs: usize) -> usize {
    let end = offset.saturating_add(length);
    if end > data.len() as i64 {
        return 0;
    }
    let bytes = data.get(offset.max(0) as usize..end.max(0) as usize).unwrap_or(&[]);
    let sum = sum_of_bytes(bytes);
    match n_outputs {
        2 | 4 | 8 => (sum ^ sum >> 4) & (n_outputs - 1),
        n_outputs => sum.checked_rem(n_outputs).unwrap_or(0),
    }
}

/// The sum of the bytes, modulo 2^32.
#[inline]
fn sum_of_bytes(bytes: &[u8]) -> usize {
    const EVEN: u64 = 0x00ff_00ff_00ff_00ff;
    let sum_of_word = |word: &[u8; 8]| {
        let word = u64::from_ne_bytes(*word);
        // Four 16-bit sums of two bytes each, then added up into the highest of them.
        let pairs = (word & EVEN) + (word >> 8 & EVEN);
        (pairs.wrapping_mul(0x0001_0001_0001_0001) >> 48) as u32
    };
    // Source and destination of an IP header: what is mostly asked for.
    if let Ok(word) = bytes.try_into() {
        return sum_of_word(word) as usize;
    }
    let (words, rest) = bytes.as_chunks::<8>();
    let of_words = words.iter().fold(0u32, |sum, word| sum.wrapping_add(sum_of_word(word)));
    rest.iter().fold(of_words, |sum, byte| sum.wrapping_add(u32::from(*byte))) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_the_bytes_says_the_output() {
        assert_eq!(port_of(&[9, 1, 2, 9], 1, 2, 3), 0);
        assert_eq!(port_of(&[9, 1, 3, 9], 1, 2, 3), 1);
        assert_eq!(port_of(&[0x12], 0, 1, 4), 3);
        assert_eq!(port_of(&[0xff, 0xff], 0, 2, 8), (510 ^ 510 >> 4) & 7);
        let bytes: Vec<u8> = (0..=255).rev().collect();
        for end in 0..bytes.len() {
            let sum: usize = bytes[..end].iter().map(|byte| usize::from(*byte)).sum();
            assert_eq!(sum_of_bytes(&bytes[..end]), sum);
        }
    }

    #[test]
    fn short_packets_and_odd_ranges_are_harmless() {
        assert_eq!(port_of(&[1, 2], 1, 2, 3), 0);
        assert_eq!(port_of(&[1, 2], -2, 3, 3), 1);
        assert_eq!(port_of(&[1, 2], 1, -3, 3), 0);
        assert_eq!(port_of(&[1, 2], i64::from(i32::MAX), i64::from(i32::MAX), 3), 0);
        assert_eq!(port_of(&[1], 0, 1, 0), 0);
    }
}
