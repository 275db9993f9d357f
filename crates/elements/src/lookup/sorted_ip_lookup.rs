//! Routes IPv4 packets by longest-prefix match; an old relative of `LinearIPLookup`.
//!
//! As `LinearIPLookup`, but the rows of the `table` handler are sorted so that each comes before those whose prefixes contain its own,
//! and every packet without route is told on standard error. Sorting makes changes slow where there are many routes.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> rt :: SortedIPLookup(18.26.4/24 0, 0/0 18.26.4.1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use super::order::Order;
use super::route_lookup::{lookup, Complaint, HANDLERS};

const DEPRECATED: &str = "SortedIPLookup is deprecated; use LinearIPLookup or RadixIPLookup instead";
/// As in Click, the address is a number whose low byte came first.
const COMPLAINT: Complaint = |address| {
    let number = u32::from_le_bytes(address.octets());
    format!("SortedIPLookup: no gw for {number:x}")
};

lookup!(SortedIPLookup, HANDLERS, Order::sorted(), Complaints::without_end(COMPLAINT), DEPRECATED);

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn narrow_prefixes_come_first() {
        check_reading(
            "Idle -> r :: SortedIPLookup(0/0 0, 10/8 1, 10.1/16 1.1.1.1 0, 11/8 0, 10.1.2/24 1, 11.1/16 1);
             r[0] -> Discard; r[1] -> Discard;
             Script(write r.add 10.1.2.3/32 0, write r.remove 11/8, write r.set 10/8 0, write r.add 11.1.1.0/255.0.255.0 1,
                 read r.lookup 10.1.2.3, read r.lookup 11.7.1.1, read r.lookup 11.1.1.1)",
            &["r.table"],
            expect![[r#"
                config:1: While configuring 'r :: SortedIPLookup':
                  warning: SortedIPLookup is deprecated; use LinearIPLookup or RadixIPLookup instead
                r.lookup:
                0
                r.lookup:
                1
                r.lookup:
                1
                r.table: 11.1.0.0/16		-		1
                10.1.2.3/32		-		0
                10.1.2.0/24		-		1
                10.1.0.0/16		1.1.1.1		0
                10.0.0.0/8		-		0
                11.0.1.0/255.0.255.0	-		1
                0.0.0.0/0		-		0

            "#]],
        );
    }

    #[test]
    fn all_packets_without_route_are_told() {
        check_reading(
            "i :: InfiniteSource(LIMIT 7) -> SetIPAddress(10.1.2.3) -> SortedIPLookup(11/8 0) -> Discard",
            &["i.count"],
            expect![[r#"
                config:1: While configuring 'SortedIPLookup@3 :: SortedIPLookup':
                  warning: SortedIPLookup is deprecated; use LinearIPLookup or RadixIPLookup instead
                SortedIPLookup: no gw for 302010a
                SortedIPLookup: no gw for 302010a
                SortedIPLookup: no gw for 302010a
                SortedIPLookup: no gw for 302010a
                SortedIPLookup: no gw for 302010a
                SortedIPLookup: no gw for 302010a
                SortedIPLookup: no gw for 302010a
                i.count: 7
            "#]],
        );
    }
}
