//! Routes IPv4 packets by longest-prefix match, as an old Click class does.
//!
//! Works as `StaticIPLookup`, which should be preferred, but has no handlers, complains about each packet without a route, and of two
//! routes for one prefix the last counts.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> rt :: LookupIPRouteMP(18.26.4/24 0, 0/0 18.26.4.1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{Prefix, Scope};
use element::{Batch, Class, Configure, Ctx, Element, Failed};

use super::order::Order;
use super::route::Route;
use super::route_lookup::{self, ARGS, DROPS};
use super::route_table::RouteTable;

/// The class.
pub const CLASS: Class =
    Class::new::<LookupIPRouteMP>("LookupIPRouteMP", "1/-", "a/a", "x/x").args(ARGS).drops(DROPS);

const NO_ROUTE: usize = 0;

/// See the page above.
pub struct LookupIPRouteMP {
    table: RouteTable,
}

impl Element for LookupIPRouteMP {
    fn configure(conf: &mut Configure<'_>) -> Result<LookupIPRouteMP, Failed> {
        let mut table = RouteTable::new(Order::first_free());
        let mut n_wanted = 0;
        for (idx, text) in conf.args.rest().iter().enumerate() {
            match parse(text, conf.scope) {
                Some(route) if table.set(route).is_ok() => {
                    n_wanted = n_wanted.max(i64::from(route.output) + 1)
                }
                _ => conf.error(format!("argument {} should be `DADDR/MASK [GATEWAY] OUTPUT'", idx + 1)),
            }
        }
        conf.proceed()?;
        if n_wanted == 0 {
            conf.warning("no routes");
        }
        if n_wanted > conf.n_outputs as i64 {
            conf.error(format!("need {n_wanted} or more output ports"));
        }
        conf.finish()?;
        Ok(LookupIPRouteMP { table })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            let address = packet.dst_ip();
            match route_lookup::route(&self.table, packet) {
                Ok((output, packet)) => ctx.emit_now(output, Batch::of(packet)),
                Err(packet) => {
                    ctx.chatter(&format!("LookupIPRouteMP: no gw for {:x}", route_lookup::raw(address)));
                    ctx.drop_packet(NO_ROUTE, packet);
                }
            }
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        // As in Click, what is pulled is not routed.
        ctx.pull(0, max)
    }

    fn has_route(&self, address: Ipv4Addr) -> Option<bool> {
        Some(self.table.lookup(address.to_bits()).is_some())
    }
}

/// Reads a route; unlike other lookup elements, this one takes no `-` for a gateway.
fn parse(text: &str, scope: &Scope<'_>) -> Option<Route> {
    let words = args::split_words(text);
    let (prefix, gateway, output) = match words.as_slice() {
        [prefix, output] => (prefix, Ipv4Addr::UNSPECIFIED, output),
        [prefix, gateway, output] => (prefix, args::ip(gateway, scope).ok()?, output),
        _ => return None,
    };
    let prefix = args::prefix_or_address(prefix, scope).ok()?;
    let prefix = Prefix { addr: prefix.network(), mask: prefix.mask };
    let output: i32 = args::integer(output).ok().filter(|output| *output >= 0)?;
    Some(Route { prefix, gateway, output })
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_last_route_for_a_prefix_counts() {
        check(
            "InfiniteSource(DATA x, LIMIT 1) -> SetIPAddress(10.1.2.3) -> r :: LookupIPRouteMP(10/8 0, 10/8 1.2.3.4 1, 11/8 0, 12.0.0.1 0);
            InfiniteSource(DATA x, LIMIT 1) -> SetIPAddress(11.1.2.3) -> r;
            InfiniteSource(DATA x, LIMIT 1) -> SetIPAddress(12.0.0.1) -> r;
            InfiniteSource(DATA x, LIMIT 2) -> SetIPAddress(12.0.0.2) -> r;
            r[0] -> Print(zero) -> Discard; r[1] -> Print(one, PRINTANNO true) -> Discard;",
            expect![[r#"
                one:    1 | 010203040000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 78
                zero:    1 | 78
                zero:    1 | 78
                LookupIPRouteMP: no gw for 200000c
                LookupIPRouteMP: no gw for 200000c
            "#]],
        );
    }

    #[test]
    fn packets_that_come_back_to_it_are_routed_in_their_turn() {
        check(
            "r :: LookupIPRouteMP(10/8 0, 11/8 1);
            InfiniteSource(DATA x, LIMIT 2) -> SetIPAddress(10.1.2.3) -> r;
            r[0] -> Print(there) -> SetIPAddress(11.1.2.3) -> t :: Tee(3);
            t[0] -> Paint(1) -> r; t[1] -> Paint(2) -> r; t[2] -> Print(past) -> Discard;
            r[1] -> c :: CheckPaint(1) -> Print(one) -> Discard; c[1] -> Print(two) -> Discard;",
            expect![[r#"
                there:    1 | 78
                past:    1 | 78
                one:    1 | 78
                two:    1 | 78
                there:    1 | 78
                past:    1 | 78
                one:    1 | 78
                two:    1 | 78
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> LookupIPRouteMP(1.0.0.0/8, 1.0.0.1 - 0, 2/8 -1, x 0) -> Discard; Idle -> LookupIPRouteMP() -> Discard;
            Idle -> LookupIPRouteMP(1/8 2) -> Discard;",
            expect![[r#"
                config:1: While configuring 'LookupIPRouteMP@2 :: LookupIPRouteMP':
                  argument 1 should be `DADDR/MASK [GATEWAY] OUTPUT'
                  argument 2 should be `DADDR/MASK [GATEWAY] OUTPUT'
                  argument 3 should be `DADDR/MASK [GATEWAY] OUTPUT'
                  argument 4 should be `DADDR/MASK [GATEWAY] OUTPUT'
                config:1: While configuring 'LookupIPRouteMP@5 :: LookupIPRouteMP':
                  warning: no routes
                config:2: While configuring 'LookupIPRouteMP@8 :: LookupIPRouteMP':
                  need 3 or more output ports
                Router could not be initialized!
            "#]],
        );
    }
}
