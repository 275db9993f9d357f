//! Interface description blocks of pcapng: link type, snap length and clock.

use super::{ByteOrder, CaptureError, Rule, Timestamp};

const OPTION_END: u16 = 0;
const OPTION_TSRESOL: u16 = 9;
const OPTION_TSOFFSET: u16 = 14;

/// What a block says of an interface.
#[derive(Clone, Copy, Debug)]
pub(super) struct Interface {
    pub(super) link_type: u32,
    pub(super) snaplen: u32,
    clock: Clock,
    /// Seconds to add to every timestamp.
    offset_seconds: i64,
}

/// Unit of timestamps.
#[derive(Clone, Copy, Debug)]
enum Clock {
    /// So many units a second, a power of ten up to 10^9, and nanoseconds a unit.
    Coarse(u64, u32),
    /// So many units a second, a power of ten from 10^9, and units a nanosecond.
    Fine(u64, u64),
    /// Two to this power, at most 63, units a second.
    Binary(u32),
    /// Units so small that 64 bits of them do not make a nanosecond's difference worth telling.
    Zero,
}

impl Interface {
    /// Reads a block's body, what stands between the two block lengths; `offset` is the block's place in the stream.
    pub(super) fn from_body(order: ByteOrder, body: &[u8], offset: u64) -> Result<Interface, CaptureError> {
        let mut interface = Interface {
            link_type: super::link::canonical(order.u16(body, 0).into()),
            snaplen: order.u32(body, 4),
            clock: Clock::from_option(6),
            offset_seconds: 0,
        };
        let mut options = body.get(8..).unwrap_or_default();
        while options.len() >= 4 {
            let (code, len) = (order.u16(options, 0), usize::from(order.u16(options, 2)));
            if code == OPTION_END {
                break;
            }
            let Some(value) = options.get(4..4 + len) else {
                let rule = Rule::AtMost(options.len() as u64 - 4);
                return Err(CaptureError::Corrupt { offset, what: "option length", value: len as u64, rule });
            };
            match (code, value) {
                (OPTION_TSRESOL, [unit]) => interface.clock = Clock::from_option(*unit),
                (OPTION_TSOFFSET, value) => {
                    if let Ok(raw) = value.try_into() {
                        interface.offset_seconds = match order {
                            ByteOrder::Little => i64::from_le_bytes(raw),
                            ByteOrder::Big => i64::from_be_bytes(raw),
                        };
                    }
                }
                _ => {}
            }
            options = options.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(interface)
    }

    /// The time that `units` of this interface's clock stand for.
    #[inline]
    pub(super) fn timestamp(&self, units: u64) -> Timestamp {
        let (seconds, nanoseconds) = match self.clock {
            Clock::Coarse(per_second, nanoseconds) => {
                (units / per_second, (units % per_second) as u32 * nanoseconds)
            }
            Clock::Fine(per_second, per_nanosecond) => {
                (units / per_second, (units % per_second / per_nanosecond) as u32)
            }
            Clock::Binary(power) => {
                let fraction = u128::from(units & ((1 << power) - 1));
                (units >> power, ((fraction * 1_000_000_000) >> power) as u32)
            }
            Clock::Zero => (0, 0),
        };
        // A count of seconds above 2^63 can only come from a corrupted record; the farthest time will do.
        let seconds = i64::try_from(seconds).unwrap_or(i64::MAX).saturating_add(self.offset_seconds);
        Timestamp { seconds, nanoseconds }
    }
}

impl Clock {
    /// The `if_tsresol` option: a negative power of 10, or of 2 if the top bit is set.
    fn from_option(unit: u8) -> Clock {
        let power = u32::from(unit & 0x7f);
        match power {
            0..=63 if unit & 0x80 != 0 => Clock::Binary(power),
            0..=9 if unit & 0x80 == 0 => Clock::Coarse(10u64.pow(power), 10u32.pow(9 - power)),
            10..=19 if unit & 0x80 == 0 => Clock::Fine(10u64.pow(power), 10u64.pow(power - 9)),
            _ => Clock::Zero,
        }
    }
}
