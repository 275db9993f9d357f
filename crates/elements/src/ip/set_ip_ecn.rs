//! Sets the ECN field of IPv4 headers (RFC 3168).
//!
//! Sets the lower two bits of the type-of-service byte and corrects the header checksum. ECN is a number from 0 to 3 or one of
//! `no`, `ect1` or `ECT(1)`, `ect2` or `ECT(0)`, and `ce` or `CE`. A packet without a marked IPv4 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> SetIPECN(ce) -> Discard;
//! ```

use args::Raw;
use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal, Verdict,
};

use super::type_of_service;

/// The class.
pub const CLASS: Class = Class::new::<SetIPECN>("SetIPECN", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::required("ECN", "0 to 3, or a name", "What the field is set to.")];

const HANDLERS: &[Handler] =
    &[Handler::read_write("ecn", "The argument ECN, as written.").flags("calm setting")];

const MASK: u8 = 3;

/// See the page above.
pub struct SetIPECN {
    bits: u8,
    text: String,
}

impl Element for SetIPECN {
    fn configure(conf: &mut Configure<'_>) -> Result<SetIPECN, Failed> {
        let Raw(text) = conf.args.need("ECN");
        conf.finish()?;
        Ok(SetIPECN { bits: parse(&text)?, text })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "ecn" => Ok(self.text.clone()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "ecn" => {
                self.bits = parse(value)?;
                self.text = value.to_string();
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl SetIPECN {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        type_of_service::change(packet, |byte| byte & !MASK | self.bits);
        Verdict::PASS
    }
}

fn parse(text: &str) -> Result<u8, &'static str> {
    match text {
        "0" | "no" | "-" => Ok(0),
        "1" | "ect1" | "ECT(1)" => Ok(1),
        "2" | "ect2" | "ECT(0)" => Ok(2),
        "3" | "ce" | "CE" => Ok(3),
        _ => Err("bad ECN argument"),
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_field_is_set_and_the_checksum_stays_right() {
        let source = "InfiniteSource(LIMIT 1) -> UDPIPEncap(1.0.0.1, 2, 3.0.0.4, 5)";
        let set = |ecn: &str| {
            format!(
                "{source} -> SetIPECN(3) -> SetIPECN({ecn}) -> CheckIPHeader -> Print({ecn}, 2) -> Discard;"
            )
        };
        check(
            &["ECT(0)", "ect1", "ce", "-"].map(set).concat(),
            expect![[r#"
                ECT(0):   97 | 4502
                ect1:   97 | 4501
                ce:   97 | 4503
                -:   97 | 4500
            "#]],
        );
    }

    #[test]
    fn the_field_can_be_changed() {
        check_reading(
            "Idle -> s :: SetIPECN(no) -> Discard; Script(write s.ecn ect1, read s.ecn, write s.config CE, write s.ecn 4)",
            &["s.ecn"],
            expect![[r#"
                s.ecn:
                ect1
                While executing 'Script@4 :: Script':
                  While calling 's.ecn 4':
                    bad ECN argument
                s.ecn: CE
            "#]],
        );
        check_mistake("SetIPECN(ect3)", expect!["bad ECN argument"]);
        check_mistake("SetIPECN", expect!["ECN: required argument missing"]);
    }
}
