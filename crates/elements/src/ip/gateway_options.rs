//! The IPv4 options that every router on the way acts on: record route and timestamp (RFC 791, section 3.1).

use std::net::Ipv4Addr;

use element::Clock;
use wire::ip_option;

/// What was done to the options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Whether there was an option to act on.
    pub is_concerned: bool,
    /// Whether one was changed.
    pub is_changed: bool,
}

/// The router as options see it.
pub struct Router<'r> {
    /// The address to record.
    pub address: Ipv4Addr,
    /// All its addresses.
    pub addresses: &'r [Ipv4Addr],
}

impl Router<'_> {
    /// Acts on the options of a header of `header_len` bytes at the front of `bytes`. The error is the offset of the faulty
    /// byte, for an ICMP parameter problem; options in front of it have been acted on.
    pub fn act(&self, bytes: &mut [u8], header_len: usize, clock: &mut Clock) -> Result<Outcome, usize> {
        let mut outcome = Outcome::default();
        let mut at = 20;
        while at < header_len {
            let kind = byte(bytes, at);
            match kind {
                ip_option::NOP => {
                    at += 1;
                    continue;
                }
                ip_option::END => break,
                _ => {}
            }
            let len = usize::from(byte(bytes, at + 1));
            if len < 2 || at + len > header_len {
                return Err(at + 1);
            }
            if matches!(kind, ip_option::RECORD_ROUTE | ip_option::TIMESTAMP) {
                outcome.is_concerned = true;
                let option = bytes.get_mut(at..).unwrap_or_default();
                let changed = match kind {
                    ip_option::RECORD_ROUTE => self.record_route(option, len),
                    _ => self.timestamp(option, len, ms_of_day(clock.now_ns())),
                };
                outcome.is_changed |= changed.map_err(|place| at + place)?;
            }
            at += len;
        }
        Ok(outcome)
    }

    /// Records the address at the option's pointer, which counts from 1. An option that is full is left alone.
    fn record_route(&self, option: &mut [u8], len: usize) -> Result<bool, usize> {
        const POINTER: usize = 2;
        match usize::from(byte(option, POINTER)).checked_sub(1) {
            Some(place) if place >= 3 && place + 4 <= len => {
                put(option, place, self.address.octets());
                advance(option, POINTER, 4);
                Ok(true)
            }
            Some(place) if place == len => Ok(false),
            _ => Err(POINTER),
        }
    }

    fn timestamp(&self, option: &mut [u8], len: usize, now_ms: u32) -> Result<bool, usize> {
        const POINTER: usize = 2;
        const FLAGS: usize = 3;
        const TIMES: u8 = 0;
        const ADDRESSES_AND_TIMES: u8 = 1;
        const PRESPECIFIED: u8 = 3;
        let Some(place) = usize::from(byte(option, POINTER)).checked_sub(1).filter(|place| *place >= 4)
        else {
            return Err(POINTER);
        };
        let (overflow, flag) = (byte(option, FLAGS) >> 4, byte(option, FLAGS) & 15);
        let now = now_ms.to_be_bytes();
        match flag {
            TIMES if place + 4 <= len => {
                put(option, place, now);
                advance(option, POINTER, 4);
            }
            ADDRESSES_AND_TIMES if place + 8 <= len => {
                put(option, place, self.address.octets());
                put(option, place + 4, now);
                advance(option, POINTER, 8);
            }
            TIMES | ADDRESSES_AND_TIMES if overflow < 15 => put(option, FLAGS, [(overflow + 1) << 4 | flag]),
            PRESPECIFIED if place + 8 <= len => {
                let wanted = option.get(place..).and_then(|rest| rest.first_chunk::<4>()).copied();
                if !wanted.is_some_and(|wanted| self.addresses.contains(&Ipv4Addr::from(wanted))) {
                    return Ok(false);
                }
                put(option, place + 4, now);
                advance(option, POINTER, 8);
            }
            _ => return Err(FLAGS),
        }
        Ok(true)
    }
}

/// Milliseconds since midnight UTC, as the timestamp option counts.
fn ms_of_day(now_ns: i64) -> u32 {
    const DAY_MS: i64 = 86_400_000;
    now_ns.div_euclid(1_000_000).rem_euclid(DAY_MS) as u32
}

/// The byte at `at`; 0 behind the end.
fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<N>()) {
        *place = value;
    }
}

fn advance(option: &mut [u8], at: usize, n: u8) {
    put(option, at, [byte(option, at).wrapping_add(n)]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    const ROUTER: Router<'_> = Router {
        address: Ipv4Addr::new(10, 0, 0, 1),
        addresses: &[Ipv4Addr::new(10, 0, 0, 2), Ipv4Addr::new(10, 0, 0, 1)],
    };
    const NOW_NS: i64 = 0x01020304 * 1_000_000;

    fn check(options: &[u8], expect: Expect) {
        let mut bytes = vec![0; 20];
        bytes.extend(options);
        let len = bytes.len();
        let outcome = ROUTER.act(&mut bytes, len, &mut Clock::new(NOW_NS, 1));
        let hex: Vec<_> = bytes[20..].iter().map(|b| format!("{b:02x}")).collect();
        let outcome = match outcome {
            Ok(Outcome { is_concerned, is_changed }) => {
                format!("concerned {is_concerned} changed {is_changed}")
            }
            Err(at) => format!("problem at {at}"),
        };
        expect.assert_eq(&format!("{}: {outcome}", hex.join(" ")));
    }

    #[test]
    fn routes_are_recorded_while_there_is_room() {
        check(&[1, 7, 7, 4, 0, 0, 0, 0], expect!["01 07 07 08 0a 00 00 01: concerned true changed true"]);
        check(&[1, 7, 7, 8, 0, 0, 0, 0], expect!["01 07 07 08 00 00 00 00: concerned true changed false"]);
        check(&[1, 7, 7, 5, 0, 0, 0, 0], expect!["01 07 07 05 00 00 00 00: problem at 23"]);
        check(&[1, 7, 7, 0, 0, 0, 0, 0], expect!["01 07 07 00 00 00 00 00: problem at 23"]);
    }

    #[test]
    fn times_are_stamped_as_the_flag_says() {
        check(&[68, 8, 5, 0, 0, 0, 0, 0], expect!["44 08 09 00 01 02 03 04: concerned true changed true"]);
        check(&[68, 8, 9, 0, 0, 0, 0, 0], expect!["44 08 09 10 00 00 00 00: concerned true changed true"]);
        check(&[68, 8, 9, 0xf0, 0, 0, 0, 0], expect!["44 08 09 f0 00 00 00 00: problem at 23"]);
        check(&[68, 8, 4, 0, 0, 0, 0, 0], expect!["44 08 04 00 00 00 00 00: problem at 22"]);
        check(&[68, 8, 5, 2, 0, 0, 0, 0], expect!["44 08 05 02 00 00 00 00: problem at 23"]);
        let both = [68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        check(&both, expect!["44 0c 0d 01 0a 00 00 01 01 02 03 04: concerned true changed true"]);
        let ours = [68, 12, 5, 3, 10, 0, 0, 2, 0, 0, 0, 0];
        check(&ours, expect!["44 0c 0d 03 0a 00 00 02 01 02 03 04: concerned true changed true"]);
        let theirs = [68, 12, 5, 3, 10, 0, 0, 3, 0, 0, 0, 0];
        check(&theirs, expect!["44 0c 05 03 0a 00 00 03 00 00 00 00: concerned true changed false"]);
    }

    #[test]
    fn other_options_are_passed_over() {
        check(&[148, 4, 0, 0, 0, 7, 7, 0], expect!["94 04 00 00 00 07 07 00: concerned false changed false"]);
        check(&[148, 1, 0, 0], expect!["94 01 00 00: problem at 21"]);
        check(&[148, 9, 0, 0], expect!["94 09 00 00: problem at 21"]);
    }

    proptest! {
        #[test]
        fn any_options_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 0..64), header_len in 0usize..64) {
            let before = bytes.len();
            if let Err(at) = ROUTER.act(&mut bytes, header_len, &mut Clock::new(NOW_NS, 1)) {
                prop_assert!((20..header_len + 4).contains(&at));
            }
            prop_assert_eq!(bytes.len(), before);
        }
    }
}
