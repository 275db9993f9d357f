//! What the route lookup elements share: arguments, lookup of packets, handlers.

use std::net::Ipv4Addr;

use args::Scope;
use element::{Arg, Batch, Configure, Ctx, DropReason, Failed, Handler, Limit, Packet, Refusal, Verdict};

use super::order::Order;
use super::route::Route;
use super::route_table::{Refused, RouteTable};

/// The arguments of every lookup element.
pub const ARGS: &[Arg] = &[Arg::rest(
    "ROUTE",
    "route",
    "A route, `ADDR/MASK [GATEWAY] OUTPUT`. Of two for one prefix, the first counts.",
)];

pub const DROPS: &[DropReason] = &[DropReason::new("no-route", "No route matches the destination.")];
const NO_ROUTE: usize = 0;

pub const ADD: Handler = Handler::write(
    "add",
    "Adds a route, `ADDR/MASK [GATEWAY] OUTPUT`; fails if there is one for its prefix.",
);
pub const SET: Handler = Handler::write(
    "set",
    "Sets a route, `ADDR/MASK [GATEWAY] OUTPUT`, whether there is one for its prefix or not.",
);
pub const REMOVE: Handler = Handler::write(
    "remove",
    "Removes a route, `ADDR/MASK [GATEWAY OUTPUT]`; gateway and output, if given, must be the route's.",
);
pub const CTRL: Handler = Handler::write(
    "ctrl",
    "Changes several routes, a line each: `add`, `set` or `remove` and what that handler takes. If one fails, none is done.",
);
pub const TABLE: Handler = Handler::read("table", "The routes: prefix, gateway and output, a line each.");
pub const LOOKUP: Handler = Handler::read_param(
    "lookup",
    "Output and gateway for the address given as parameter; output -1 if there is none.",
);
pub const FLUSH: Handler = Handler::write("flush", "Removes all routes.").flags("button");

const REFUSALS: &[(&str, Refusal)] =
    &[("add", Refusal::Route), ("set", Refusal::Route), ("remove", Refusal::Route), ("ctrl", Refusal::Route)];

/// What failed writes to these handlers return: the first can be written if the table can be changed.
pub const fn refusals(handlers: &[Handler]) -> &'static [(&'static str, Refusal)] {
    match handlers {
        [first, ..] if first.kind.is_writable() => REFUSALS,
        _ => &[],
    }
}

/// The handlers of tables that can be changed but not emptied at once.
pub const HANDLERS: &[Handler] = &[ADD, SET, REMOVE, CTRL, TABLE.flags("expensive"), LOOKUP];
/// The handlers of tables that can also be emptied at once.
pub const HANDLERS_WITH_FLUSH: &[Handler] =
    &[ADD, SET, REMOVE, CTRL, TABLE.flags("expensive"), LOOKUP, FLUSH];

/// A lookup element: its class, and the order of its rows and who complains.
macro_rules! lookup {
    ($name:ident, $handlers:expr, $order:expr, $complaints:expr $(, $warning:expr)?) => {
        /// The class.
        pub const CLASS: element::Class =
            element::Class::new::<$name>(stringify!($name), "1/-", "h/h", "x/x").lengthens(0)
                .causes(element::Causes::LINES)
                .stateless()
                .args($crate::lookup::route_lookup::ARGS)
                .handlers($handlers)
                .refuses($crate::lookup::route_lookup::refusals($handlers))
                .drops($crate::lookup::route_lookup::DROPS);

        /// See the page above.
        pub struct $name($crate::lookup::route_lookup::RouteLookup);

        impl element::Element for $name {
            fn configure(conf: &mut element::Configure<'_>) -> Result<$name, element::Failed> {
                $(conf.warning($warning);)?
                use $crate::lookup::route_lookup::{Complaints, RouteLookup};
                RouteLookup::configure(conf, $order, $complaints).map($name)
            }

            fn push(&mut self, ctx: &mut element::Ctx<'_>, _port: usize, batch: element::Batch) {
                self.0.push(ctx, batch);
            }

            fn read(
                &mut self,
                ctx: &mut element::Ctx<'_>,
                name: &str,
                param: &str,
            ) -> Result<String, String> {
                self.0.read(&ctx.scope(), name, param)
            }

            fn write(&mut self, ctx: &mut element::Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
                self.0.write(&ctx.scope(), name, value)
            }

            fn has_route(&self, address: std::net::Ipv4Addr) -> Option<bool> {
                Some(self.0.has_route(address))
            }
        }
    };
}
pub(super) use lookup;

/// The output to which a table sends a packet, which then has the gateway for its destination; the packet alone if there is no
/// route.
pub fn route(table: &RouteTable, mut packet: Packet) -> Result<(usize, Packet), Packet> {
    let Some(hop) = table.lookup(packet.dst_ip().to_bits()) else { return Err(packet) };
    if hop.gateway != 0 {
        packet.set_dst_ip(Ipv4Addr::from_bits(hop.gateway));
    }
    Ok((hop.output as usize, packet))
}

/// An address as the integer that a little-endian processor reads, which is how Click prints some.
pub fn raw(address: Ipv4Addr) -> u32 {
    u32::from_le_bytes(address.octets())
}

/// A change to a table.
#[derive(Clone, Copy)]
enum Change {
    Add(Route),
    Set(Route),
    Remove(Route),
}

/// A route table and what is done with it.
pub struct RouteLookup {
    table: RouteTable,
    n_outputs: usize,
    complaints: Complaints,
}

/// Words about a packet without route, by its destination.
pub type Complaint = fn(Ipv4Addr) -> String;

/// Complaints about packets without route.
pub struct Complaints {
    /// How often those are told that are counted together; `None` if there is no end.
    limit: Option<Limit>,
    words: Complaint,
    is_over: bool,
    /// Addresses to complain about, and the places of the packets.
    waiting: Vec<(Ipv4Addr, u32)>,
}

impl Complaints {
    /// Nobody complains.
    pub fn none() -> Complaints {
        Complaints { limit: None, words: |_| String::new(), is_over: true, waiting: Vec::new() }
    }

    /// The first few packets of the elements that share a source are complained about.
    pub fn few(source: &'static str, words: Complaint) -> Complaints {
        let limit = Limit { what: source, most: 5 };
        Complaints { limit: Some(limit), words, is_over: false, waiting: Vec::new() }
    }

    /// All packets are complained about.
    pub fn without_end(words: Complaint) -> Complaints {
        Complaints { limit: None, words, is_over: false, waiting: Vec::new() }
    }

    #[cold]
    fn note(&mut self, address: Ipv4Addr, packet: &Packet) {
        if !self.is_over {
            self.waiting.push((address, packet.place()));
        }
    }

    #[cold]
    fn speak(&mut self, ctx: &mut Ctx<'_>) {
        self.is_over = self.limit.is_some_and(|limit| !ctx.may_say(limit));
        for (address, place) in self.waiting.drain(..).filter(|_| !self.is_over) {
            let text = (self.words)(address);
            match self.limit {
                Some(limit) => ctx.chatter_of_at_most(place, limit, &text),
                None => ctx.chatter_of(place, &text),
            }
        }
    }
}

impl RouteLookup {
    /// Reads the routes.
    pub fn configure(
        conf: &mut Configure<'_>,
        order: Order,
        complaints: Complaints,
    ) -> Result<RouteLookup, Failed> {
        let mut table = RouteTable::new(order);
        let mut n_repeated = 0;
        for (idx, text) in conf.args.rest().iter().enumerate() {
            let number = idx + 1;
            let Some(route) = Route::parse(text, conf.scope) else {
                conf.error(format!("argument {number} should be 'ADDR/MASK [GATEWAY] OUTPUT'"));
                continue;
            };
            if !has_output(route, conf.n_outputs) {
                conf.error(format!("argument {number} bad OUTPUT"));
                continue;
            }
            match table.add(route) {
                Ok(()) => {}
                Err(Refused::Exists(_)) => n_repeated += 1,
                Err(refused) => conf.error(refused.message(&route)),
            }
        }
        if n_repeated > 0 {
            let routes = if n_repeated > 1 { "routes" } else { "route" };
            conf.warning(format!("{n_repeated} {routes} replaced by later versions"));
        }
        conf.finish()?;
        Ok(RouteLookup { table, n_outputs: conf.n_outputs, complaints })
    }

    /// Sends each packet where the route for its destination annotation says, and sets the annotation to the gateway if the
    /// route has one. Not inlined, so that there is one such loop with all in it.
    #[inline(never)]
    pub fn push(&mut self, ctx: &mut Ctx<'_>, batch: Batch) {
        let (table, complaints) = (&self.table, &mut self.complaints);
        ctx.spread(batch, |_, packet| {
            let Some(hop) = table.lookup(packet.dst_ip().to_bits()) else {
                complaints.note(packet.dst_ip(), packet);
                return Verdict::drop(NO_ROUTE);
            };
            if hop.gateway != 0 {
                packet.set_dst_ip(Ipv4Addr::from_bits(hop.gateway));
            }
            Verdict::port(hop.output as usize)
        });
        if !self.complaints.waiting.is_empty() {
            self.complaints.speak(ctx);
        }
    }

    /// Whether there is a route for an address.
    pub fn has_route(&self, address: Ipv4Addr) -> bool {
        self.table.lookup(address.to_bits()).is_some()
    }

    /// Reads `table` or `lookup`.
    pub fn read(&self, scope: &Scope<'_>, name: &str, param: &str) -> Result<String, String> {
        match name {
            "table" => Ok(self.table.text()),
            "lookup" => {
                let address = args::ip(param, scope).map_err(|_| "expected IP address")?;
                let (output, gateway) = match self.table.lookup(address.to_bits()) {
                    Some(hop) => (i64::from(hop.output), Ipv4Addr::from_bits(hop.gateway)),
                    None => (-1, self.table.left_gateway()),
                };
                Ok(match gateway.is_unspecified() {
                    true => output.to_string(),
                    false => format!("{output} {gateway}"),
                })
            }
            _ => Err(format!("no {name} read handler")),
        }
    }

    /// Writes `add`, `set`, `remove`, `ctrl` or `flush`.
    pub fn write(&mut self, scope: &Scope<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "add" | "set" | "remove" => self.change(self.parse(scope, name, value)?).map(|_| ()),
            "ctrl" => self.transact(scope, value),
            "flush" => {
                self.table.clear();
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    /// The change that a command asks for.
    fn parse(&self, scope: &Scope<'_>, command: &str, text: &str) -> Result<Change, String> {
        let is_removal = command == "remove";
        let route = match is_removal {
            true => Route::parse_removal(text, scope).ok_or("expected 'ADDR/MASK [GATEWAY OUTPUT]'")?,
            false => Route::parse(text, scope).ok_or("expected 'ADDR/MASK [GATEWAY] OUTPUT'")?,
        };
        let any_output = is_removal && route.output == -1;
        if !any_output && !has_output(route, self.n_outputs) {
            return Err("bad OUTPUT".to_string());
        }
        Ok(match command {
            "add" => Change::Add(route),
            "set" => Change::Set(route),
            _ => Change::Remove(route),
        })
    }

    /// Makes a change, and says which one undoes it.
    fn change(&mut self, change: Change) -> Result<Change, String> {
        match change {
            Change::Add(route) => {
                self.table.add(route).map_err(|refused| refused.message(&route))?;
                Ok(Change::Remove(route))
            }
            Change::Set(route) => {
                let old = self.table.set(route).map_err(|refused| refused.message(&route))?;
                Ok(old.map_or(Change::Remove(route), Change::Set))
            }
            Change::Remove(route) => {
                match self.table.remove(&route) {
                    Some(old) => Ok(Change::Add(old)),
                    // Which changes nothing, and is undone by nothing.
                    None if self.table.has_left_place(&route) => Ok(Change::Remove(route)),
                    None => Err(format!("route '{route}' not found")),
                }
            }
        }
    }

    /// Makes the changes of all lines, or none.
    fn transact(&mut self, scope: &Scope<'_>, text: &str) -> Result<(), String> {
        let mut undo = Vec::new();
        for line in args::uncomment(text).split('\n') {
            let (command, rest) = args::next_word(line);
            let result = match command {
                "" => continue,
                "add" | "set" | "remove" => {
                    self.parse(scope, command, rest).and_then(|change| self.change(change))
                }
                other => Err(format!("bad command '{other}'")),
            };
            match result {
                Ok(change) => undo.push(change),
                Err(message) => {
                    for change in undo.into_iter().rev() {
                        self.change(change)?;
                    }
                    return Err(message);
                }
            }
        }
        Ok(())
    }
}

impl Refused {
    fn message(&self, route: &Route) -> String {
        match self {
            Refused::Exists(existing) => format!("conflict with existing route '{existing}'"),
            Refused::Full => format!("no memory to store route '{route}'"),
        }
    }
}

fn has_output(route: Route, n_outputs: usize) -> bool {
    usize::try_from(route.output).is_ok_and(|output| output < n_outputs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    /// Runs `HANDLER VALUE` lines on a table with three outputs and compares what is read and what fails.
    fn check(order: Order, lines: &str, expect: Expect) {
        let complaints = Complaints::none();
        let mut lookup = RouteLookup { table: RouteTable::new(order), n_outputs: 3, complaints };
        let mut told = String::new();
        for line in lines.lines() {
            let (name, value) = args::next_word(line);
            let value = value.replace(';', "\n");
            let result = match name {
                "table" | "lookup" => {
                    lookup.read(&Scope::builtin(), name, &value).map(|text| text.trim_end().to_string())
                }
                _ => lookup.write(&Scope::builtin(), name, &value).map(|()| String::new()),
            };
            let text = result.unwrap_or_else(|message| format!("! {message}"));
            if !text.is_empty() {
                told += &format!("{text}\n");
            }
        }
        expect.assert_eq(&told);
    }

    const CHANGES: &str = "add 1/8 1\nadd 2/8 - 2\nadd 0/0 9.9.9.9 0\nadd 3/8 4.4.4.4 1\ntable\n\
        remove 1/8\nremove 2/8\nadd 5/8 1\nset 3/8 2\nadd 6/8 0\ntable";

    #[test]
    fn rows_fill_the_first_free_place() {
        check(
            Order::first_free(),
            CHANGES,
            expect![[r#"
            1.0.0.0/8		-		1
            2.0.0.0/8		-		2
            0.0.0.0/0		9.9.9.9		0
            3.0.0.0/8		4.4.4.4		1
            5.0.0.0/8		-		1
            6.0.0.0/8		-		0
            0.0.0.0/0		9.9.9.9		0
            3.0.0.0/8		-		2
        "#]],
        );
    }

    #[test]
    fn rows_fill_the_place_freed_last() {
        check(
            Order::last_freed(),
            CHANGES,
            expect![[r#"
            1.0.0.0/8		-		1
            2.0.0.0/8		-		2
            0.0.0.0/0		9.9.9.9		0
            3.0.0.0/8		4.4.4.4		1
            3.0.0.0/8		-		2
            5.0.0.0/8		-		1
            0.0.0.0/0		9.9.9.9		0
            6.0.0.0/8		-		0
        "#]],
        );
    }

    #[test]
    fn rows_stand_in_buckets() {
        check(
            Order::hashed(),
            CHANGES,
            expect![[r#"
            0.0.0.0/0		9.9.9.9		0
            3.0.0.0/8		4.4.4.4		1
            1.0.0.0/8		-		1
            2.0.0.0/8		-		2
            0.0.0.0/0		9.9.9.9		0
            3.0.0.0/8		-		2
            6.0.0.0/8		-		0
            5.0.0.0/8		-		1
        "#]],
        );
    }

    #[test]
    fn the_longest_prefix_decides() {
        check(
            Order::first_free(),
            "add 18.26/16 1.0.0.1 0\nadd 18.26.0/18 1\nadd 18.26.4.9/32 5.0.0.5 2\nlookup 18.26.4.9\n\
             lookup 18.26.4.8\nlookup 18.26.200.1\nlookup 18.27.0.1\nlookup x\nremove 18.26.4.9\nlookup 18.26.4.9",
            expect![[r#"
                2 5.0.0.5
                1
                0 1.0.0.1
                -1
                ! expected IP address
                1
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            Order::first_free(),
            "add 1/8 1\nadd 1/8 2\nadd 1/8 3\nadd 2/8\nremove 1/8 2\nremove 1/8 -2\nremove 3/8\nremove x\ntable",
            expect![[r#"
                ! conflict with existing route '1.0.0.0/8 - 1'
                ! bad OUTPUT
                ! expected 'ADDR/MASK [GATEWAY] OUTPUT'
                ! route '1.0.0.0/8 - 2' not found
                ! bad OUTPUT
                ! route '3.0.0.0/8 - -1' not found
                ! expected 'ADDR/MASK [GATEWAY OUTPUT]'
                1.0.0.0/8		-		1
            "#]],
        );
    }

    #[test]
    fn a_place_that_a_route_has_left_counts_as_the_route_of_address_zero_that_can_be_removed() {
        check(
            Order::first_free(),
            "add 1/8 1\nremove 0.0.0.0\nremove 1/8\nremove 0.0.0.0\nremove 0.0.0.0 1\nadd 1/8 1\nremove 0.0.0.0",
            expect![[r#"
                ! route '0.0.0.0/32 - -1' not found
                ! route '0.0.0.0/32 - 1' not found
                ! route '0.0.0.0/32 - -1' not found
            "#]],
        );
    }

    #[test]
    fn a_group_of_changes_is_made_whole_or_not_at_all() {
        check(
            Order::last_freed(),
            "ctrl add 1/8 1;set 2/8 2;;remove 1/8;add 3/8 0\ntable\n\
             ctrl set 2/8 1;remove 3/8;add 4/8 1;add 4/8 1\ntable\nctrl go 1/8",
            expect![[r#"
                3.0.0.0/8		-		0
                2.0.0.0/8		-		2
                ! conflict with existing route '4.0.0.0/8 - 1'
                3.0.0.0/8		-		0
                2.0.0.0/8		-		2
                ! bad command 'go'
            "#]],
        );
    }

    #[test]
    fn the_gateway_of_a_removed_default_route_stays_visible_where_rows_are_hashed() {
        let lines = "add 0/0 4.4.4.4 1\nremove 0/0\nlookup 1.1.1.1\nflush\nlookup 1.1.1.1";
        check(
            Order::hashed(),
            lines,
            expect![[r#"
            -1 4.4.4.4
            -1
        "#]],
        );
        check(
            Order::first_free(),
            lines,
            expect![[r#"
            -1
            -1
        "#]],
        );
    }

    #[test]
    fn the_route_of_address_zero_precedes_free_places() {
        let lines = "add 1/8 1\nadd 2/8 1\nadd 0.0.0.0/32 2\nremove 1/8\ntable\nadd 3/8 0\ntable";
        check(
            Order::first_free(),
            lines,
            expect![[r#"
            0.0.0.0/32		-		2
            2.0.0.0/8		-		1
            0.0.0.0/32		-		2
            2.0.0.0/8		-		1
            3.0.0.0/8		-		0
        "#]],
        );
    }
}
