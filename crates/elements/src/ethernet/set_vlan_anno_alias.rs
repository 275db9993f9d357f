//! An old spelling of `SetVLANAnno`.
//!
//! ```click
//! InfiniteSource -> SetVlanAnno(7) -> Discard;
//! ```

use element::Class;

use super::set_vlan_anno;

/// The class.
pub const CLASS: Class = {
    let mut class = set_vlan_anno::CLASS.alias_of("SetVLANAnno");
    class.facts.name = "SetVlanAnno";
    class
};

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn elements_are_known_by_the_new_spelling() {
        check_reading(
            "InfiniteSource(DATA abc, LIMIT 1) -> e :: SetVlanAnno(3, 1) -> Print(x, PRINTANNO true) -> Discard",
            &["e.class"],
            expect![[r#"
                x:    3 | 000000000000000000000000000000000000000020030000000000000000000000000000000000000000000000000000 | 616263
                e.class: SetVLANAnno
            "#]],
        );
    }
}
