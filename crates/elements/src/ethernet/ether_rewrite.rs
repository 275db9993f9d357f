//! Sets both Ethernet addresses of frames.
//!
//! The link-layer header is the one that is marked, also if it was stripped, else the frame's first bytes. The type stays as it
//! is. A frame too short for two addresses passes as it is.
//!
//! ```click
//! FromDevice(eth0) -> EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2) -> Queue -> ToDevice(eth1);
//! ```

use args::EtherAddr;
use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<EtherRewrite>("EtherRewrite", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread), ("src", Refusal::Misread), ("dst", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("SRC", "Ethernet address", "The source that frames get."),
    Arg::required("DST", "Ethernet address", "The destination that frames get."),
];

// Places as in Click, where writing `src` changes the second argument, the destination.
const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "The source that frames get.").flags("setting@1"),
    Handler::read_write("dst", "The destination that frames get.").flags("setting@2"),
];

/// See the page above.
pub struct EtherRewrite {
    source: EtherAddr,
    destination: EtherAddr,
}

impl Element for EtherRewrite {
    fn configure(conf: &mut Configure<'_>) -> Result<EtherRewrite, Failed> {
        let source = conf.args.need("SRC");
        let destination = conf.args.need("DST");
        conf.finish()?;
        Ok(EtherRewrite { source, destination })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "src" => Ok(self.source.to_string()),
            "dst" => Ok(self.destination.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

impl EtherRewrite {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let at = packet.mac_offset().unwrap_or(0);
        match usize::try_from(at) {
            Ok(at) => self.write_at(packet, at),
            Err(_) => {
                let n_stripped = at.unsigned_abs();
                packet.unstrip(n_stripped);
                self.write_at(packet, 0);
                packet.strip(n_stripped);
            }
        }
        Verdict::PASS
    }

    #[inline(always)]
    fn write_at(&self, packet: &mut Packet, at: usize) {
        let header = packet.data_mut().get_mut(at..).and_then(|bytes| bytes.first_chunk_mut::<12>());
        if let Some(header) = header {
            header[..6].copy_from_slice(&self.destination.0);
            header[6..].copy_from_slice(&self.source.0);
        } else {
            self.write_part(packet, at);
        }
    }

    /// Changes what there is of the addresses in a frame that is too short for both.
    #[cold]
    fn write_part(&self, packet: &mut Packet, at: usize) {
        let places = packet.data_mut().get_mut(at..).unwrap_or_default();
        let addresses = self.destination.0.iter().chain(&self.source.0);
        places.iter_mut().zip(addresses).for_each(|(to, from)| *to = *from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(frame: &[u8], mac_at: Option<usize>, n_stripped: usize, expect: Expect) {
        let mut packet = Packet::from_bytes(frame);
        if let Some(at) = mac_at {
            packet.set_mac_header(at, 14);
        }
        packet.strip(n_stripped);
        let mut element = EtherRewrite { source: EtherAddr(*b"SSSSSS"), destination: EtherAddr(*b"DDDDDD") };
        assert_eq!(element.process(&mut packet), Verdict::PASS);
        packet.unstrip(n_stripped);
        expect.assert_eq(&String::from_utf8_lossy(packet.data()));
    }

    #[test]
    fn the_marked_header_is_written_wherever_it_is() {
        check(b"ddddddssssssTTrest", None, 0, expect!["DDDDDDSSSSSSTTrest"]);
        check(b"xxddddddssssssTTrest", Some(2), 0, expect!["xxDDDDDDSSSSSSTTrest"]);
        check(b"ddddddssssssTTrest", Some(0), 14, expect!["DDDDDDSSSSSSTTrest"]);
        check(b"ddddddsssss", None, 0, expect!["DDDDDDSSSSS"]);
    }

    #[test]
    fn what_is_written_is_one_argument() {
        crate::testing::check_reading(
            "Idle -> e :: EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2) -> Idle;
            DriverManager(writeq e.src \"3:3:3:3:3:3, 4:4:4:4:4:4\", writeq e.src \"3:3:3:3:3:3 // x\", stop)",
            &["e.config"],
            expect![[r#"
                While calling 'e.src 3:3:3:3:3:3, 4:4:4:4:4:4':
                  DST: parse error
                While calling 'e.src 3:3:3:3:3:3 // x':
                  DST: parse error
                e.config: 1:1:1:1:1:1, 2:2:2:2:2:2
            "#]],
        );
    }

    #[test]
    fn handlers_write_to_the_places_that_they_do_in_click() {
        crate::testing::check_reading(
            "Idle -> e :: EtherRewrite(1:1:1:1:1:1, 2:2:2:2:2:2) -> Idle;
            DriverManager(write e.src 3:3:3:3:3:3, print $(e.src) $(e.dst), write e.dst 4:4:4:4:4:4, stop)",
            &["e.src", "e.dst", "e.config"],
            expect![[r#"
                e.src: 01-01-01-01-01-01
                e.dst: 04-04-04-04-04-04
                e.config: 1:1:1:1:1:1, 3:3:3:3:3:3, DST 4:4:4:4:4:4
            "#]],
        );
    }
}
