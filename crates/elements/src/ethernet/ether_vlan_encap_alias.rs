//! An old spelling of `EtherVLANEncap`.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> EtherVlanEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, VLAN_ID 7) -> ToDump(out.pcap);
//! ```

use element::Class;

use super::ether_vlan_encap;

/// The class.
pub const CLASS: Class = {
    let mut class = ether_vlan_encap::CLASS.alias_of("EtherVLANEncap");
    class.facts.name = "EtherVlanEncap";
    class
};

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn elements_are_known_by_the_new_spelling() {
        check_reading(
            "InfiniteSource(DATA \\<AAABACAD>, LIMIT 1) -> e :: EtherVlanEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 1) -> Print(x) -> Discard",
            &["e.class"],
            expect![[r#"
                x:   22 | 02020202 02020101 01010101 81000001 0800aaab acad
                e.class: EtherVLANEncap
            "#]],
        );
    }
}
