//! Sets packets' VLAN annotation.
//!
//! `VLANEncap(ANNO)` and `EtherVLANEncap(ANNO)` take the tag they add from it. Give the control information as a whole
//! (VLAN_TCI), or VLAN and priority.
//!
//! ```click
//! FromDump(in.pcap) -> SetVLANAnno(VLAN_ID 7, VLAN_PCP 2) -> VLANEncap(ANNO) -> ToDump(out.pcap);
//! ```

use args::Args;
use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal,
    Verdict,
};

use super::tag;

/// The class.
pub const CLASS: Class = Class::new::<SetVlanAnno>("SetVLANAnno", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[
        ("config", Refusal::Misread),
        ("vlan_tci", Refusal::Failed),
        ("vlan_id", Refusal::Failed),
        ("vlan_pcp", Refusal::Failed),
    ])
    .live();

const ARGS: &[Arg] = &[
    Arg::optional("VLAN_TCI", "0 to 65535", "The tag's control information: VLAN and priority."),
    Arg::optional("VLAN_PCP", "0 to 7", "The priority. Default 0."),
    Arg::keyword("VLAN_ID", "0 to 4095", "The VLAN; only without VLAN_TCI. Default 0."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("config", "The configuration: VLAN and priority.").flags("calm"),
    Handler::read_write("vlan_tci", "The tag's control information."),
    Handler::read_write("vlan_id", "The VLAN."),
    Handler::read_write("vlan_pcp", "The priority."),
];

/// See the page above.
pub struct SetVlanAnno {
    tci: u16,
}

impl Element for SetVlanAnno {
    fn configure(conf: &mut Configure<'_>) -> Result<SetVlanAnno, Failed> {
        let tci = read_tci(&mut conf.args);
        conf.finish()?;
        Ok(SetVlanAnno { tci })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "config" => tag::config(self.tci),
            "vlan_tci" => self.tci.to_string(),
            "vlan_id" => (self.tci & tag::ID_MASK).to_string(),
            "vlan_pcp" => (self.tci >> 13).to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    /// As if the configuration were written again with one argument changed.
    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let argument = match name {
            "vlan_tci" => "VLAN_TCI",
            "vlan_id" => "VLAN_ID",
            "vlan_pcp" => "VLAN_PCP",
            _ => return Err(format!("no {name} write handler")),
        };
        let mut list = args::split_args(&tag::config(self.tci));
        list.retain(|other| args::next_word(other).0 != argument);
        list.push(format!("{argument} {value}"));
        let scope = ctx.scope();
        let mut args = Args::from_list(list, ARGS, &scope);
        let tci = read_tci(&mut args);
        args.finish().map_err(|errors| errors.join("\n"))?;
        self.tci = tci;
        Ok(())
    }
}

fn read_tci(args: &mut Args<'_>) -> u16 {
    let tci = args.get_with("VLAN_TCI", args::bounded(0, 0xFFFF));
    let priority = args.get_with("VLAN_PCP", args::bounded(0, 7)).unwrap_or(0);
    let id = args.get_with("VLAN_ID", args::bounded(0, i32::from(tag::ID_MASK))).unwrap_or(0);
    tag::control_information(tci.unwrap_or(id) as u16, priority as u16)
}

impl SetVlanAnno {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_anno(annotation::VLAN_TCI, self.tci.to_be_bytes());
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn handlers_change_a_part() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 1) -> s :: SetVLANAnno(2, 1) -> Print(PRINTANNO true)
                -> Discard;
            DriverManager(wait 1s, write s.vlan_id 5, read s.vlan_tci, read s.vlan_pcp, write i.reset,
                wait 1s, write s.vlan_pcp 8, write s.vlan_tci 77,
                read s.vlan_id, read s.vlan_tci);
            ",
            expect![[r#"
                   1 | 000000000000000000000000000000000000000020020000000000000000000000000000000000000000000000000000 | 78
                s.vlan_tci:
                8197
                s.vlan_pcp:
                1
                   1 | 000000000000000000000000000000000000000020050000000000000000000000000000000000000000000000000000 | 78
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 's.vlan_pcp 8':
                    VLAN_PCP: out of range, bound 7
                s.vlan_id:
                77
                s.vlan_tci:
                8269
            "#]],
        );
    }
}
