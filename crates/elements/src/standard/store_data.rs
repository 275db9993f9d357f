//! Overwrites bytes of packets.
//!
//! Stores DATA from byte OFFSET on. The length of a packet stays as it is: what does not fit is left out.
//!
//! ```click
//! FromDump(in.pcap) -> StoreData(12, \<0800>) -> ToDump(out.pcap);
//! ```

use element::{offload, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class =
    Class::new::<StoreData>("StoreData", "1/1", "a/a", "x/x").causes(Causes::NOTHING).stateless().args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("OFFSET", "unsigned", "The first byte to overwrite, counted from 0."),
    Arg::required("DATA", "string", "The bytes to store."),
];

/// See the page above.
pub struct StoreData {
    offset: usize,
    data: Vec<u8>,
}

impl Element for StoreData {
    fn configure(conf: &mut Configure<'_>) -> Result<StoreData, Failed> {
        let offset: u32 = conf.args.need("OFFSET");
        let data = conf.args.need("DATA");
        conf.finish()?;
        Ok(StoreData { offset: offset as usize, data })
    }

    per_packet!();
}

impl StoreData {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if self.offset < packet.len() {
            offload::settle_before(packet, self.offset + self.data.len());
            let tail = packet.data_mut().get_mut(self.offset..).unwrap_or_default();
            match (self.data.as_slice(), tail) {
                ([byte], [first, ..]) => *first = *byte,
                (data, tail) => {
                    let n = data.len().min(tail.len());
                    tail[..n].copy_from_slice(&data[..n]);
                }
            }
        }
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(offset: usize, data: &[u8], expect: Expect) {
        let mut packet = Packet::from_bytes(b"12345678");
        let verdict = StoreData { offset, data: data.to_vec() }.process(&mut packet);
        assert_eq!(verdict, Verdict::PASS);
        expect.assert_eq(&String::from_utf8_lossy(packet.data()));
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        check(0, b"ab", expect!["ab345678"]);
        check(6, b"abcd", expect!["123456ab"]);
        check(8, b"ab", expect!["12345678"]);
        check(usize::MAX, b"ab", expect!["12345678"]);
    }
}
