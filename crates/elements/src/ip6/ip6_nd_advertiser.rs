//! Answers neighbor solicitations.
//!
//! Each argument lists IPv6 prefixes or addresses and the Ethernet address that is told for them. A solicitation, with its Ethernet
//! header, for an address in one of them becomes the advertisement; the longest prefix decides. Everything else is dropped, and so
//! are solicitations that are not valid (RFC 4861, section 7.1.1).
//!
//! ```click
//! FromDevice(eth0) -> nd :: Classifier(12/86dd 54/87, -);
//! nd[0] -> IP6NDAdvertiser(2001:db8::5/128 00:00:C0:AE:67:EF, 2001:db8:1::/64 00:00:C0:AE:67:EF)
//!     -> Queue -> ToDevice(eth0);
//! nd[1] -> Discard;
//! ```

use args::{EtherAddr, Scope};
use element::{per_packet, Arg, Class, Configure, DropReason, Element, Failed, Packet, Verdict};
use table::lpm::{Lpm6, Prefix};

use super::neighbor::Solicitation;

/// The class.
pub const CLASS: Class =
    Class::new::<IP6NDAdvertiser>("IP6NDAdvertiser", "1/1", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::rest("ENTRIES", "IPv6 prefixes and an Ethernet address", "What is told for which addresses.")];

const NO_ANSWER: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("no-answer", "The packet is no valid solicitation, or its address is in no entry.")];

/// See the page above.
pub struct IP6NDAdvertiser {
    addresses: Vec<EtherAddr>,
    /// Indices of `addresses`.
    table: Lpm6,
}

impl Element for IP6NDAdvertiser {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6NDAdvertiser, Failed> {
        let mut element = IP6NDAdvertiser { addresses: Vec::new(), table: Lpm6::new() };
        for (i, text) in conf.args.rest().iter().enumerate() {
            for message in element.add(text, conf.scope) {
                conf.error(format!("argument {i} {message}"));
            }
        }
        conf.finish()?;
        Ok(element)
    }

    per_packet!();
}

impl IP6NDAdvertiser {
    /// Adds the entries of an argument; yields what is wrong with it.
    fn add(&mut self, text: &str, scope: &Scope<'_>) -> Vec<&'static str> {
        let mut mistakes = Vec::new();
        let mut has_prefix = false;
        let mut address = None;
        for word in args::split_words(text) {
            if let Ok(prefix) = args::prefix6_or_address(&word, scope) {
                has_prefix = true;
                if let Some(prefix) = Prefix::new(prefix.addr.to_bits(), prefix.len) {
                    // More arguments than the table can number do not fit in memory.
                    let _ = self.table.insert(prefix, self.addresses.len() as u32);
                }
            } else if let Ok(parsed) = args::ether(&word, scope) {
                if address.replace(parsed).is_some() {
                    mistakes.push("has more than one Ethernet address");
                }
            } else {
                mistakes.push("should be `IP6/MASK ETHADDR'");
                break;
            }
        }
        if !has_prefix {
            mistakes.push("had no IP6 address and masks");
        }
        self.addresses.push(address.unwrap_or_default());
        mistakes
    }

    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.answer(packet.data()) {
            Some(answer) => {
                *packet = answer;
                Verdict::PASS
            }
            None => Verdict::drop(NO_ANSWER),
        }
    }

    fn answer(&self, frame: &[u8]) -> Option<Packet> {
        let question = Solicitation::read(frame)?;
        let address = self.table.lookup(question.target.to_bits())?;
        let address = self.addresses.get(address as usize)?;
        Some(Packet::from_bytes(&question.answer(address.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_longest_prefix_answers() {
        let ask = |target: &str| {
            let target = target.parse().expect("an address");
            let question =
                Solicitation { mac: [2; 6], source: "2001:db8::2".parse().expect("an address"), target };
            let hex: String = question.frame().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("InfiniteSource(DATA \\<{hex}>, LIMIT 1, STOP true) -> nd;")
        };
        let questions = ["2001:db8::5", "2001:db8::6", "2001:db9::"].map(ask).concat();
        check(
            &format!(
                "nd :: IP6NDAdvertiser(2001:db8::/64 1:1:1:1:1:1, 2001:db8::5 5:5:5:5:5:5) -> Print(x, -1) -> Discard;
                {questions} DriverManager(wait_stop 3)"
            ),
            expect![[r#"
                x:   86 | 02020202 02020505 05050505 86dd6000 00000020 3aff2001 0db80000 00000000 00000000 00052001 0db80000 00000000 00000000 00028800 1d5dc000 00002001 0db80000 00000000 00000000 00050201 05050505 0505
                x:   86 | 02020202 02020101 01010101 86dd6000 00000020 3aff2001 0db80000 00000000 00000000 00062001 0db80000 00000000 00000000 00028800 2967c000 00002001 0db80000 00000000 00000000 00060201 01010101 0101
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_mistake("IP6NDAdvertiser(x, 1::/64 1:1:1:1:1:1 2:2:2:2:2:2, 2:2:2:2:2:2)", expect!["argument 0 should be `IP6/MASK ETHADDR'; argument 0 had no IP6 address and masks; argument 1 has more than one Ethernet address; argument 2 had no IP6 address and masks"]);
    }
}
