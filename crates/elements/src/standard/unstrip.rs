//! Puts bytes back at the front of packets.
//!
//! Adds LENGTH bytes in front of each packet. If `Strip` has removed that many, they are the ones that come back.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Unstrip(14) -> ToDump(out.pcap);
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, DropReason, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<Unstrip>("Unstrip", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::required("LENGTH", "unsigned", "Bytes to put back.")];

const DROPS: &[DropReason] =
    &[DropReason::new("too-long", "The packet would have become longer than any buffer.")];
const TOO_LONG: usize = 0;

/// Longest packet that is made.
const MAX_LEN: usize = 1 << 26;

/// See the page above.
pub struct Unstrip {
    n_bytes: usize,
}

impl Element for Unstrip {
    fn configure(conf: &mut Configure<'_>) -> Result<Unstrip, Failed> {
        let n_bytes: u32 = conf.args.need("LENGTH");
        conf.finish()?;
        Ok(Unstrip { n_bytes: n_bytes as usize })
    }

    per_packet!();
}

impl Unstrip {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if self.n_bytes > packet.headroom() && self.n_bytes.saturating_add(packet.buffer_len()) > MAX_LEN {
            return Verdict::drop(TOO_LONG);
        }
        packet.unstrip(self.n_bytes);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripped_bytes_come_back() {
        let mut packet = Packet::from_bytes(b"headbody");
        packet.strip(4);
        assert_eq!(Unstrip { n_bytes: 4 }.process(&mut packet), Verdict::PASS);
        assert_eq!(packet.data(), b"headbody");
    }

    #[test]
    fn packets_do_not_grow_without_bound() {
        let mut packet = Packet::from_bytes(b"body");
        assert_eq!(Unstrip { n_bytes: 5000 }.process(&mut packet), Verdict::PASS);
        assert_eq!(packet.len(), 5004);
        assert_eq!(Unstrip { n_bytes: u32::MAX as usize }.process(&mut packet), Verdict::drop(TOO_LONG));
    }
}
