//! Routes IPv4 packets by longest-prefix match, with routes that stay.
//!
//! Works as `LinearIPLookup`, but routes cannot be changed while the graph runs.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> rt :: StaticIPLookup(18.26.4/24 0, 0/0 18.26.4.1 1);
//! rt[0] -> Discard;
//! rt[1] -> Discard;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed, Handler};

use super::order::Order;
use super::route_lookup::{self, RouteLookup};

/// The class.
pub const CLASS: Class = Class::new::<StaticIPLookup>("StaticIPLookup", "1/-", "h/h", "x/x")
    .args(route_lookup::ARGS)
    .handlers(HANDLERS)
    .drops(route_lookup::DROPS);

const HANDLERS: &[Handler] = &[route_lookup::TABLE, route_lookup::LOOKUP];

/// See the page above.
pub struct StaticIPLookup(RouteLookup);

impl Element for StaticIPLookup {
    fn configure(conf: &mut Configure<'_>) -> Result<StaticIPLookup, Failed> {
        RouteLookup::configure(conf, Order::first_free(), Some("LinearIPLookup")).map(StaticIPLookup)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.0.push(ctx, batch);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        self.0.read(name, param)
    }
}
