//! Routes IPv4 packets by longest-prefix match.
//!
//! Looks the destination annotation of each packet up among the routes. The longest prefix that matches decides: the packet
//! leaves by the output of that route, its annotation set to the gateway if the route has one. Packets without route are
//! dropped silently. Lookup takes the same time however many routes there are.
//!
//! The rows of the `table` handler are in no particular order. After the default route was removed, `lookup` still shows
//! its gateway beside output -1.
//!
//! A route whose output and gateway are those of the default route, and of no other, when it is added shares them with it:
//! it goes where the default route goes from then on, and nowhere while there is none.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> rt :: DirectIPLookup(18.26.4/24 0, 0/0 18.26.4.1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use super::order::Order;
use super::route_lookup::{lookup, HANDLERS_WITH_FLUSH};

lookup!(DirectIPLookup, HANDLERS_WITH_FLUSH, Order::hashed(), Complaints::none());

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_leave_by_the_output_of_their_route() {
        check_reading(
            "InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> SetIPAddress(10.1.2.3) -> r :: DirectIPLookup(10/8 5.5.5.5 1, 11/8 0, 10.1/16 0);
            InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> SetIPAddress(10.2.2.3) -> r;
            InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> SetIPAddress(12.1.2.3) -> r;
            r[0] -> StoreIPAddress(16) -> Print(zero) -> Discard;
            r[1] -> StoreIPAddress(16) -> Print(one) -> Discard;",
            &["r.table"],
            expect![[r#"
                zero:   20 | 45000014 00010000 40110000 01010101 0a010203
                one:   20 | 45000014 00010000 40110000 01010101 05050505
                r.table: 11.0.0.0/8		-		0
                10.0.0.0/8		5.5.5.5		1
                10.1.0.0/16		-		0

            "#]],
        );
    }

    #[test]
    fn routes_that_share_the_next_hop_of_the_default_route_change_with_it() {
        crate::testing::check(
            "Idle -> r :: DirectIPLookup(0/0 1.1.1.1 1, 10/8 1.1.1.1 1, 11/8 0, 12/8 0); r[0] -> Discard; r[1] -> Discard;
             Script(write r.set 0/0 2.2.2.2 0, read r.table, read r.lookup 10.0.0.1, write r.remove 0/0, read r.table,
                 read r.lookup 10.0.0.1, write r.add 10/8 0, write r.add 0/0 0, read r.table, stop);",
            expect![[r#"
                r.table:
                0.0.0.0/0		2.2.2.2		0
                11.0.0.0/8		-		0
                12.0.0.0/8		-		0
                10.0.0.0/8		2.2.2.2		0

                r.lookup:
                0 2.2.2.2
                r.table:
                11.0.0.0/8		-		0
                12.0.0.0/8		-		0

                r.lookup:
                -1 2.2.2.2
                While executing 'Script@5 :: Script':
                  While calling 'r.add 10/8 0':
                    conflict with existing route '10.0.0.0/8 2.2.2.2 -1'
                r.table:
                0.0.0.0/0		-		0
                11.0.0.0/8		-		0
                12.0.0.0/8		-		0
                10.0.0.0/8		-		0

            "#]],
        );
    }
}
