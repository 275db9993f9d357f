//! Routes IPv4 packets by longest-prefix match.
//!
//! Looks the destination annotation of each packet up among the routes. The longest prefix that matches decides: the packet
//! leaves by the output of that route, its annotation set to the gateway if the route has one. Packets without route are
//! dropped; the first five are told on standard error. Lookup takes the same time however many routes there are.
//!
//! A new route, and one that `set` replaces, takes the row of the `table` handler that was freed last.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> rt :: RadixIPLookup(18.26.4/24 0, 0/0 18.26.4.1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use super::order::Order;
use super::route_lookup::{lookup, HANDLERS_WITH_FLUSH};

lookup!(
    RadixIPLookup,
    HANDLERS_WITH_FLUSH,
    Order::last_freed(),
    Complaints::few("IPRouteTable: no route", |address| format!("IPRouteTable: no route for {address}"))
);

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_leave_by_the_output_of_their_route() {
        check_reading(
            "InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> SetIPAddress(10.1.2.3) -> r :: RadixIPLookup(10/8 5.5.5.5 1, 11/8 0, 10.1/16 0);
            InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> SetIPAddress(10.2.2.3) -> r;
            InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> SetIPAddress(12.1.2.3) -> r;
            r[0] -> StoreIPAddress(16) -> Print(zero) -> Discard;
            r[1] -> StoreIPAddress(16) -> Print(one) -> Discard;",
            &["r.table"],
            expect![[r#"
                zero:   20 | 45000014 00010000 40110000 01010101 0a010203
                one:   20 | 45000014 00010000 40110000 01010101 05050505
                IPRouteTable: no route for 12.1.2.3
                r.table: 10.0.0.0/8		5.5.5.5		1
                11.0.0.0/8		-		0
                10.1.0.0/16		-		0

            "#]],
        );
    }
}
