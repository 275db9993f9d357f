//! Computes the IPv4 header checksum.
//!
//! Sets the checksum of the marked header, or of a header at the packet's start if none is marked. Packets without a whole
//! header are dropped; the first of them is told on standard error. Elements that change headers keep the checksum right by
//! themselves, so that this one is rarely needed.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> StoreIPAddress(1.0.0.1, 12) -> SetIPChecksum -> Discard;
//! ```

use element::{same, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict};
use wire::checksum;

use super::failures::{per_told_packet, Failures};

/// The class.
pub const CLASS: Class = Class::new::<SetIPChecksum>("SetIPChecksum", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .handlers(HANDLERS)
    .drops(DROPS);

const HANDLERS: &[Handler] = &[Handler::read("drops", "Packets without a whole IPv4 header.")];

const NO_HEADER: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-header", "There is no whole IPv4 header.")];

/// See the page above.
pub struct SetIPChecksum {
    failures: Failures,
}

impl Element for SetIPChecksum {
    fn configure(conf: &mut Configure<'_>) -> Result<SetIPChecksum, Failed> {
        conf.finish()?;
        Ok(SetIPChecksum { failures: Failures::new(1, false, false) })
    }

    per_told_packet!(sentence);

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, &[])
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<SetIPChecksum>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl SetIPChecksum {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let is_marked = packet.network_offset().is_some();
        let bytes = if is_marked { packet.network_mut() } else { packet.data_mut() };
        if set(bytes) {
            return Verdict::PASS;
        }
        self.failures.add(NO_HEADER, packet);
        Verdict::drop(NO_HEADER)
    }
}

/// Sets the checksum of the header at the front of `bytes`; false if the header is not all there.
#[inline(always)]
pub(super) fn set(bytes: &mut [u8]) -> bool {
    let Some(header) = bytes.first_chunk_mut::<20>() else { return false };
    let n_words = header[0] & 0x0f;
    if n_words == 5 {
        [header[10], header[11]] = (!checksum::sum_20_without_checksum(header)).to_be_bytes();
        return true;
    }
    [header[10], header[11]] = [0, 0];
    set_with_options(bytes, usize::from(n_words) * 4)
}

#[inline(never)]
fn set_with_options(bytes: &mut [u8], header_len: usize) -> bool {
    let Some(header) = bytes.get_mut(..header_len).filter(|header| header.len() >= 20) else { return false };
    let [high, low] = checksum::checksum(header).to_be_bytes();
    header[10] = high;
    header[11] = low;
    true
}

fn sentence(_ctx: &Ctx<'_>, _reason: usize) -> String {
    "SetIPChecksum: bad input packet".to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_every_length_become_valid() {
        for n_words in 0..16u8 {
            let mut bytes: Vec<u8> = (0..64u8).map(|i| i.wrapping_mul(7)).collect();
            bytes[0] = 0x40 | n_words;
            let is_long_enough = n_words >= 5;
            assert_eq!(set(&mut bytes), is_long_enough);
            let header_len = usize::from(n_words) * 4;
            assert_eq!(checksum::is_valid(&bytes[..header_len]), is_long_enough);
        }
        assert!(!set(&mut [0x45; 19]));
        assert!(!set(&mut [0x46; 23]));
    }
}
