//! An old spelling of `StripEtherVLANHeader`.
//!
//! ```click
//! FromDump(in.pcap) -> StripEtherVlanHeader -> CheckIPHeader -> Discard;
//! ```

use element::Class;

use super::strip_ether_vlan_header;

/// The class.
pub const CLASS: Class = {
    let mut class = strip_ether_vlan_header::CLASS.alias_of("StripEtherVLANHeader");
    class.facts.name = "StripEtherVlanHeader";
    class
};

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn elements_are_known_by_the_new_spelling() {
        check_reading(
            "InfiniteSource(DATA \\<020202020202 010101010101 8100 2003 0800 616263>, LIMIT 1) -> e :: StripEtherVlanHeader -> Print(x) -> Discard",
            &["e.class"],
            expect![[r#"
                x:    3 | 616263
                e.class: StripEtherVLANHeader
            "#]],
        );
    }
}
