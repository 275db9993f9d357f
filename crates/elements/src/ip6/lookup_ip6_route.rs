//! Routes IPv6 packets by longest-prefix match.
//!
//! Looks the destination annotation of each packet up among the routes. The longest prefix that matches decides: the packet leaves
//! by the output of that route, its annotation set to the gateway if the route has one. Packets without route are dropped. Lookup
//! takes about the same time however many routes there are.
//!
//! A new route takes the first free row of the `table` handler.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIP6Header -> GetIP6Address(24)
//!     -> rt :: LookupIP6Route(2001:db8::/64 0, ::/0 2001:db8::1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use std::net::Ipv6Addr;

use args::{Args, Prefix6, Prefix6OrAddress, Scope};
use element::{
    annotation, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Verdict, BATCH_MAX,
};

use super::routes::{Route, Routes};

/// The class.
pub const CLASS: Class = Class::new::<LookupIP6Route>("LookupIP6Route", "1/-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::rest(
    "ROUTE",
    "IPv6 route",
    "A route, `ADDR/LENGTH [GATEWAY] OUTPUT`. Of two for one prefix, the last counts.",
)];

const HANDLERS: &[Handler] = &[
    Handler::write("add", "Adds a route, `ADDR/LENGTH [GATEWAY] OUTPUT`, in place of one for its prefix."),
    Handler::write("remove", "Removes the route for a prefix, `ADDR/LENGTH`, if there is one."),
    Handler::write("ctrl", "Changes a route: `add` or `remove` and what that handler takes."),
    Handler::read("table", "The routes: prefix, gateway and output, a line each."),
];

const PREFIX: Arg = Arg::required("PREFIX", "IPv6 prefix", "The addresses.");
const GATEWAY: Arg = Arg::required("GATEWAY", "IPv6 address", "The gateway.");
const PORT: Arg = Arg::required("PORT", "int", "The output.");

const NO_ROUTE: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("no-route", "No route matches the destination.")];

/// See the page above.
pub struct LookupIP6Route {
    routes: Routes,
    n_outputs: usize,
    /// The destinations of a batch.
    addresses: Vec<u128>,
    /// The numbers of their rows.
    found: Vec<u32>,
}

impl Element for LookupIP6Route {
    fn configure(conf: &mut Configure<'_>) -> Result<LookupIP6Route, Failed> {
        let mut routes = Routes::default();
        let mut n_needed = 0;
        for (i, text) in conf.args.rest().iter().enumerate() {
            match parse(text, conf.scope) {
                Some(route) => {
                    n_needed = n_needed.max(route.output + 1);
                    if routes.add(route).is_err() {
                        conf.error(format!("argument {}: too many routes", i + 1));
                    }
                }
                None => conf.error(format!("argument {} should be DADDR/MASK [GW] OUTPUT", i + 1)),
            }
        }
        conf.proceed()?;
        if n_needed == 0 {
            conf.warning("no routes");
        }
        if n_needed > conf.n_outputs {
            conf.error(format!("need {n_needed} or more output ports"));
        }
        conf.finish()?;
        let (addresses, found) = (Vec::with_capacity(BATCH_MAX), Vec::with_capacity(BATCH_MAX));
        Ok(LookupIP6Route { routes, n_outputs: conf.n_outputs, addresses, found })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let LookupIP6Route { routes, addresses, found, .. } = self;
        addresses.clear();
        addresses.extend(batch.iter().map(|packet| u128::from_be_bytes(packet.anno(annotation::DST_IP6))));
        found.resize(addresses.len(), 0);
        routes.lookup_all(addresses, found);
        let mut found = found.iter();
        ctx.spread(batch, |_, packet| {
            let Some(route) = found.next().and_then(|number| routes.row(*number)) else {
                return Verdict::drop(NO_ROUTE);
            };
            if !route.gateway.is_unspecified() {
                packet.set_anno(annotation::DST_IP6, route.gateway.octets());
            }
            Verdict::port(route.output)
        });
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "table" => Ok(self.routes.text()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let scope = ctx.scope();
        match name {
            "add" => self.add(value, &scope),
            "remove" => self.remove(value, &scope),
            "ctrl" => match args::next_word(value) {
                ("add", rest) => self.add(rest, &scope),
                ("remove", rest) => self.remove(rest, &scope),
                _ => Err("bad command, should be `add' or `remove'".to_string()),
            },
            _ => Err(format!("no {name} write handler")),
        }
    }
}

impl LookupIP6Route {
    fn add(&mut self, text: &str, scope: &Scope<'_>) -> Result<(), String> {
        let has_gateway = args::split_words(text).len() != 2;
        let facts: &[Arg] = if has_gateway { &[PREFIX, GATEWAY, PORT] } else { &[PREFIX, PORT] };
        let mut args = Args::from_words(text, facts, scope);
        let Prefix6OrAddress(prefix) = args.need("PREFIX");
        let gateway = if has_gateway { args.need("GATEWAY") } else { Ipv6Addr::UNSPECIFIED };
        let port: i32 = args.need("PORT");
        args.finish().map_err(|errors| errors.join("\n"))?;
        let output = usize::try_from(port).ok().filter(|output| *output < self.n_outputs);
        let output = output.ok_or("output port out of range")?;
        self.routes.add(Route { prefix, gateway, output }).map_err(|_| "too many routes".to_string())
    }

    fn remove(&mut self, text: &str, scope: &Scope<'_>) -> Result<(), String> {
        let mut args = Args::from_words(text, &[PREFIX], scope);
        let Prefix6OrAddress(prefix) = args.need("PREFIX");
        args.finish().map_err(|errors| errors.join("\n"))?;
        self.routes.remove(prefix);
        Ok(())
    }
}

/// Reads a route of the configuration; `None` if it is not well-formed.
fn parse(text: &str, scope: &Scope<'_>) -> Option<Route> {
    let words = args::split_words(text);
    let (prefix, gateway, output) = match words.as_slice() {
        [prefix, output] => (prefix, Ipv6Addr::UNSPECIFIED, output),
        [prefix, gateway, output] => (prefix, args::ip6(gateway, scope).ok()?, output),
        _ => return None,
    };
    let prefix: Prefix6 = args::prefix6_or_address(prefix, scope).ok()?;
    let output = args::integer::<i32>(output).ok()?;
    Some(Route { prefix, gateway, output: usize::try_from(output).ok()? })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn packets_leave_by_the_output_of_their_route() {
        let source = |to: &str| format!("InfiniteSource(LIMIT 1, STOP true) -> SetIP6Address({to}) -> r;");
        let sources = ["2001:db8::1", "2001:db8:1::1", "3::", "::"].map(source).concat();
        check_reading(
            &format!(
                "r :: LookupIP6Route(2001:db8::/32 5::5 1, 2001:db8::/64 0, 2000::/32 0, 3::/17 0, 3::/17 2);
                r[0] -> Print(0, 0, PRINTANNO true) -> Discard; r[1] -> Print(1, 0, PRINTANNO true) -> Discard;
                r[2] -> Print(2, 0, PRINTANNO true) -> Discard; {sources} DriverManager(wait_stop 4)"
            ),
            &["r.table"],
            expect![[r#"
                0:   69 | 20010db80000000000000000000000010000000000000000000000000000000000000000000000000000000000000000
                1:   69 | 000500000000000000000000000000050000000000000000000000000000000000000000000000000000000000000000
                2:   69 | 000300000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
                r.table: # Active routes
                2001:db8::/32	5::5	1
                2001:db8::/64	::	0
                2000::/32	::	0
                3::/17	::	2

            "#]],
        );
    }

    #[test]
    fn routes_come_and_go() {
        check_reading(
            "Idle -> r :: LookupIP6Route(::/0 0, 1::/16 0, 2::/16 0) -> Discard;
            Script(write r.remove 1::1/16, write r.add 2::/16 9:: 0, write r.ctrl add 3::3/20 0, write r.ctrl remove 4::/16,
                write r.add 5::/16 1, write r.add 5::/16, write r.add x y, write r.add 1:: 2:: 3 4, write r.ctrl set 1:: 0, write r.remove)",
            &["r.table"],
            expect![[r#"
                While executing 'Script@4 :: Script':
                  While calling 'r.add 5::/16 1':
                    output port out of range
                  While calling 'r.add 5::/16':
                    GATEWAY: required argument missing
                    PORT: required argument missing
                  While calling 'r.add x y':
                    PREFIX: parse error
                    PORT: invalid number
                  While calling 'r.add 1:: 2:: 3 4':
                    too many arguments
                  While calling 'r.ctrl set 1:: 0':
                    bad command, should be `add' or `remove'
                  While calling 'r.remove':
                    PREFIX: required argument missing
                r.table: # Active routes
                ::/0	::	0
                2::/16	9::	0
                3::/20	::	0

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check(
            "Idle -> LookupIP6Route -> Discard",
            expect![[r#"
            config:1: While configuring 'LookupIP6Route@2 :: LookupIP6Route':
              warning: no routes
        "#]],
        );
        check(
            "Idle -> LookupIP6Route(1::/64 3) -> Discard",
            expect![[r#"
            config:1: While configuring 'LookupIP6Route@2 :: LookupIP6Route':
              need 4 or more output ports
            Router could not be initialized!
        "#]],
        );
        check(
            "Idle -> LookupIP6Route(1:: 2:: 0, 3::/5 x 0, 4:: -1) -> Discard",
            expect![[r#"
            config:1: While configuring 'LookupIP6Route@2 :: LookupIP6Route':
              argument 2 should be DADDR/MASK [GW] OUTPUT
              argument 3 should be DADDR/MASK [GW] OUTPUT
            Router could not be initialized!
        "#]],
        );
    }
}
