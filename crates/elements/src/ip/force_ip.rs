//! Makes packets look like IPv4 packets, whatever they are: for tests of what comes behind.
//!
//! Sets version, total length and checksum, and the header length if it does not fit the packet. Seven packets of eight become
//! whole: their fragment field is cleared. The header is marked.
//!
//! ```click
//! RandomSource(60, LIMIT 10) -> ForceIP -> CheckIPHeader -> Discard;
//! ```

use element::{offload, per_packet, same, Class, Configure, Ctx, Element, Failed, Packet, Verdict};
use wire::checksum;

/// The class.
pub const CLASS: Class = Class::new::<ForceIP>("ForceIP", "1/1", "a/a", "x/x");

/// See the page above.
pub struct ForceIP {
    n_packets: u32,
}

impl Element for ForceIP {
    fn configure(conf: &mut Configure<'_>) -> Result<ForceIP, Failed> {
        conf.finish()?;
        Ok(ForceIP { n_packets: 0 })
    }

    per_packet!();

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ForceIP>(ctx, old) else { return };
        self.n_packets = old.n_packets;
    }
}

impl ForceIP {
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        offload::settle(packet);
        let bytes = packet.data_mut();
        let len = bytes.len();
        let is_whole = self.n_packets % 8 != 1;
        self.n_packets = self.n_packets.wrapping_add(1);
        let given_len = bytes.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
        if let Some(header) = bytes.first_chunk_mut::<20>() {
            let fits = (20..=len).contains(&given_len);
            // As Click: of a header length too long for its field the lower bits are left.
            let n_words = if fits { given_len / 4 } else { (len / 4) & 0x0f };
            header[0] = 0x40 | n_words as u8;
            header[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            if is_whole {
                header[6..8].fill(0);
            }
            header[10..12].fill(0);
            let sum = checksum::checksum(bytes.get(..n_words * 4).unwrap_or_default());
            if let Some(field) = bytes.get_mut(10..12) {
                field.copy_from_slice(&sum.to_be_bytes());
            }
        }
        packet.set_network_header(0, given_len);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn headers_become_right() {
        let force = |data: &str| {
            format!("InfiniteSource(DATA \\<{data}>, LIMIT 2) -> ForceIP -> Print(x, -1) -> CheckIPHeader -> Print(ok, 1) -> Discard;")
        };
        let fits = force("f6010203040506070809101112131415161718192021222324252627");
        let grows = force("010102030405060708091011121314151617181920212223");
        check(
            &(fits + &grows + &force("0102")),
            expect![[r#"
            x:   28 | 4601001c 04050000 08091738 12131415 16171819 20212223 24252627
            ok:   28 | 46
            x:   24 | 46010018 04050000 0809173c 12131415 16171819 20212223
            ok:   24 | 46
            x:    2 | 0102
            CheckIPHeader@16: IP header check failed: tiny packet
            x:   28 | 4601001c 04050607 08091131 12131415 16171819 20212223 24252627
            ok:   28 | 46
            x:   24 | 46010018 04050607 08091135 12131415 16171819 20212223
            ok:   24 | 46
            x:    2 | 0102
        "#]],
        );
    }
}
