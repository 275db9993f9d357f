//! An old name of `ICMPPingSource`.
//!
//! ```click
//! ICMPSendPings(10.0.0.1, 10.0.0.2, LIMIT 5, STOP true) -> CheckICMPHeader -> Discard;
//! ```

use element::Class;

use super::icmp_ping_source;

/// The class.
pub const CLASS: Class = {
    let mut class = icmp_ping_source::CLASS.alias_of("ICMPPingSource");
    class.facts.name = "ICMPSendPings";
    class
};

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn elements_are_known_as_ping_sources() {
        check_reading(
            "p :: ICMPSendPings(1.0.0.1, 2.0.0.2, LIMIT 2, STOP true) -> Discard",
            &["p.class", "p.count"],
            expect![[r#"
                p.class: ICMPPingSource
                p.count: 2
            "#]],
        );
    }
}
