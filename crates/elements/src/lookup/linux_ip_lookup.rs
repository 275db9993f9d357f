//! Routes IPv4 packets as the routes of the Linux host say at the start.
//!
//! Each argument is a device, whose routes lead to the output with that number. Packets without a route leave by the output behind
//! those, if there is one. What is done with each packet is printed.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader -> rt :: LinuxIPLookup(eth0, lo);
//! rt[0] -> Discard;    rt[1] -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::Prefix;
use element::{Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed};

use super::order::Order;
use super::route::Route;
use super::route_lookup;
use super::route_table::RouteTable;

/// The class.
pub const CLASS: Class =
    Class::new::<LinuxIPLookup>("LinuxIPLookup", "1/1-", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::rest("DEVICE", "device", "A device; its routes lead to the output with its number.")];

const NO_ROUTE: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("no-route", "No route matches, and no output is left for that.")];

const ROUTES: &str = "/proc/net/route";

/// See the page above.
pub struct LinuxIPLookup {
    devices: Vec<String>,
    table: RouteTable,
}

impl Element for LinuxIPLookup {
    fn configure(conf: &mut Configure<'_>) -> Result<LinuxIPLookup, Failed> {
        let devices = conf.args.rest();
        let n = devices.len();
        if conf.n_outputs < n || conf.n_outputs > n + 1 {
            conf.error(format!("need {n} or {} output ports", n + 1));
        }
        conf.finish()?;
        Ok(LinuxIPLookup { devices, table: RouteTable::new(Order::first_free()) })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let text = std::fs::read_to_string(ROUTES).map_err(|_| format!("cannot open {ROUTES}"))?;
        for line in text.lines() {
            let Some((device, prefix, gateway)) = parse(line) else { continue };
            let output = self.devices.iter().position(|name| name == device);
            let Some(output) = output.and_then(|output| i32::try_from(output).ok()) else {
                ctx.chatter(&format!("LinuxIPLookup: no output for dev {device}"));
                continue;
            };
            // One that finds no memory is left out.
            let _ = self.table.set(Route { prefix, gateway, output });
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            let address = route_lookup::raw(packet.dst_ip());
            let hop = self.table.lookup(packet.dst_ip().to_bits());
            match (hop, route_lookup::route(&self.table, packet)) {
                (Some(hop), Ok((output, packet))) => {
                    let gateway = route_lookup::raw(Ipv4Addr::from_bits(hop.gateway));
                    ctx.chatter(&format!("routed {address:x} to {gateway:x} {output}"));
                    ctx.emit_now(output, Batch::of(packet));
                }
                (_, Ok((_, packet)) | Err(packet)) => {
                    ctx.chatter(&format!("LinuxIPLookup: no gw for {address:x}"));
                    ctx.emit_or_drop(self.devices.len(), NO_ROUTE, Batch::of(packet));
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

/// A line of the kernel's table (proc_net(5)): device, prefix and gateway; `None` if it is no route.
fn parse(line: &str) -> Option<(&str, Prefix, Ipv4Addr)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    // The kernel prints what it holds in network order as its own integer.
    let address = |at: usize| {
        let word = u32::from_str_radix(words.get(at)?, 16).ok()?;
        Some(Ipv4Addr::from(word.to_ne_bytes()))
    };
    let (destination, gateway, mask) = (address(1)?, address(2)?, address(7)?);
    let prefix = Prefix { addr: destination, mask };
    Some((words.first()?, Prefix { addr: prefix.network(), mask }, gateway))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_kernels_table_is_read() {
        assert_eq!(parse("Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU"), None);
        let line = format!(
            "eth0\t{:08X}\t{:08X}\t0003\t0\t0\t0\t{:08X}\t0\t0\t0",
            u32::from_ne_bytes([10, 0, 1, 0]),
            u32::from_ne_bytes([10, 0, 0, 1]),
            u32::from_ne_bytes([255, 255, 255, 0])
        );
        let prefix = Prefix::new([10, 0, 1, 0].into(), 24);
        assert_eq!(parse(&line), Some(("eth0", prefix, [10, 0, 0, 1].into())));
        assert_eq!(parse("eth0 0000000A zz 1 2 3 4 000000FF"), None);
        assert_eq!(parse("eth0"), None);
    }

    #[test]
    fn there_is_an_output_for_each_device() {
        check("Idle -> LinuxIPLookup(eth0, eth1) -> Discard; Idle -> r :: LinuxIPLookup -> Discard; r[1] -> Discard", expect![[r#"
            config:1: While configuring 'LinuxIPLookup@2 :: LinuxIPLookup':
              need 2 or 3 output ports
            config:1: While configuring 'r :: LinuxIPLookup':
              need 0 or 1 output ports
            Router could not be initialized!
        "#]]);
    }
}
