//! Routes IPv4 packets by longest-prefix match.
//!
//! Looks the destination annotation of each packet up among the routes. The longest prefix that matches decides: the packet
//! leaves by the output of that route, its annotation set to the gateway if the route has one. Packets without route are
//! dropped; the first five are told on standard error. Lookup takes the same time however many routes there are.
//!
//! A new route takes the first free row of the `table` handler. Masks need not be those of prefixes, but such a route slows
//! the whole table down.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> rt :: LinearIPLookup(18.26.4/24 0, 0/0 18.26.4.1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use super::order::Order;
use super::route_lookup::{lookup, HANDLERS};

lookup!(
    LinearIPLookup,
    HANDLERS,
    Order::first_free(),
    Complaints::few("LinearIPLookup: no route", |address| format!("LinearIPLookup: no route for {address}"))
);

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    const PACKET: &str = "DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1";

    #[test]
    fn packets_leave_by_the_output_of_their_route() {
        check(
            &format!(
                "InfiniteSource({PACKET}) -> SetIPAddress(10.1.2.3) -> r :: LinearIPLookup(10/8 5.5.5.5 1, 11/8 0);
                InfiniteSource({PACKET}) -> SetIPAddress(11.1.2.3) -> r;
                InfiniteSource({PACKET}) -> SetIPAddress(12.1.2.3) -> r;
                r[0] -> StoreIPAddress(16) -> Print(zero) -> Discard;
                r[1] -> StoreIPAddress(16) -> Print(one) -> Discard;"
            ),
            expect![[r#"
                one:   20 | 45000014 00010000 40110000 01010101 05050505
                zero:   20 | 45000014 00010000 40110000 01010101 0b010203
                LinearIPLookup: no route for 12.1.2.3
            "#]],
        );
    }

    #[test]
    fn bad_routes_are_told_one_by_one() {
        check(
            "Idle -> LinearIPLookup(1/8 0, foo, 2/8 1, 3/8 -1, 4/8 1.2.3.4) -> Discard;",
            expect![[r#"
                config:1: While configuring 'LinearIPLookup@2 :: LinearIPLookup':
                  argument 2 should be 'ADDR/MASK [GATEWAY] OUTPUT'
                  argument 3 bad OUTPUT
                  argument 4 bad OUTPUT
                  argument 5 should be 'ADDR/MASK [GATEWAY] OUTPUT'
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn of_two_routes_for_a_prefix_the_first_counts() {
        check_reading(
            "Idle -> r :: LinearIPLookup(1/8 0, 1/8 1.1.1.1 0, 2/8 1); r[0] -> Discard; r[1] -> Discard;",
            &["r.table"],
            expect![[r#"
                config:1: While configuring 'r :: LinearIPLookup':
                  warning: 1 route replaced by later versions
                r.table: 1.0.0.0/8		-		0
                2.0.0.0/8		-		1

            "#]],
        );
    }

    #[test]
    fn a_call_of_several_lines_is_told_with_all_of_them() {
        check(
            "Idle -> r :: LinearIPLookup(1/8 0) -> Discard; Script(writeq r.ctrl \"add 2/8 0\nfoo 3/8\", stop);",
            expect![[r#"
                While executing 'Script@4 :: Script':
                  While calling 'r.ctrl add 2/8 0
                  foo 3/8':
                    bad command 'foo'
            "#]],
        );
    }
}
