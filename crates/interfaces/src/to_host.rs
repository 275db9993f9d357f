//! Sends packets to the host's kernel through the device of a `FromHost`.
//!
//! The graph must have a `FromHost` whose device is DEVNAME. What arrives, Ethernet frames, the kernel receives there.
//!
//! ```click
//! FromHost(fake, 10.0.0.1/8) -> c :: Classifier(12/0806, 12/0800);
//! c[0] -> ARPResponder(0.0.0.0/0 2:0:0:0:0:2) -> ToHost(fake);
//! c[1] -> Discard;
//! ```

use std::sync::Arc;

use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Phase, Role,
};
use sys::tap::Tap;
use sys::vnet::VnetHeader;

use super::from_host::FromHost;
use crate::segment::segment;
use element::output::reason;

/// The class. It is initialised when devices are made.
pub const CLASS: Class = Class::new::<ToHost>("ToHost", "1/0", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .phase(Phase(Phase::DEFAULT.0 + 1))
    .role(Role::Output);

const ARGS: &[Arg] = &[Arg::required("DEVNAME", "string", "The device.")];

const HANDLERS: &[Handler] = &[
    Handler::read("dev_name", "The device's name."),
    Handler::read("drops", "Packets that the kernel refused, except for want of room."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("bad-packet", "A packet was shorter than an Ethernet header."),
    DropReason::new("not-written", "The kernel refused a packet."),
];
const BAD_PACKET: usize = 0;
const NOT_WRITTEN: usize = 1;

const ETHERNET_HEADER: usize = 14;
const ENOBUFS: i32 = 105;

/// See the page above.
pub struct ToHost {
    name: String,
    tap: Option<Arc<Tap>>,
    n_drops: u64,
    has_told: bool,
}

impl Element for ToHost {
    fn configure(conf: &mut Configure<'_>) -> Result<ToHost, Failed> {
        let name = conf.args.need("DEVNAME");
        conf.finish()?;
        Ok(ToHost { name, tap: None, n_drops: 0, has_told: false })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let n_elements = ctx.runtime().n_elements();
        self.tap = (0..n_elements).find_map(|idx| {
            let tap = ctx.with::<FromHost, _>(idx, |from, _| from.tap().cloned());
            tap.flatten().filter(|tap| tap.name() == self.name)
        });
        match self.tap {
            Some(_) => Ok(()),
            None => {
                let name = &self.name;
                Err(format!("ToHost({name}) requires an initialized FromHost with the same dev_name"))
            }
        }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            if packet.len() < ETHERNET_HEADER {
                ctx.chatter("ToHost: packet too small");
                ctx.drop_packet(BAD_PACKET, packet);
            } else if packet.has_offload() {
                segment(&packet, |part| self.write(ctx, part));
            } else {
                self.write(ctx, packet);
            }
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "dev_name" => self.name.clone(),
            "drops" => self.n_drops.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn cleanup(&mut self, _ctx: &mut Ctx<'_>) {
        self.tap = None;
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ToHost>(ctx, old) else { return };
        self.n_drops = old.n_drops;
    }
}

impl ToHost {
    fn write(&mut self, ctx: &mut Ctx<'_>, packet: Packet) {
        let Some(tap) = &self.tap else { return ctx.drop_packet(NOT_WRITTEN, packet) };
        let errno = match tap.send(VnetHeader::default(), packet.data()) {
            Ok(true) => return,
            Ok(false) => ENOBUFS,
            Err(error) if error.is_device_gone() => {
                self.tap = None;
                ctx.complain(&format!(
                    "ToHost({}): the device is gone; packets for it are dropped",
                    self.name
                ));
                return ctx.drop_packet(NOT_WRITTEN, packet);
            }
            Err(error) => error.errno().unwrap_or_default(),
        };
        if errno != ENOBUFS || !self.has_told {
            self.has_told = true;
            self.n_drops += 1;
            let words = reason(&std::io::Error::from_raw_os_error(errno));
            ctx.chatter(&format!("ToHost({}): write failed: {words}", self.name));
        }
        ctx.drop_packet(NOT_WRITTEN, packet);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{cannot_run, check, check_reading, in_namespace};
    use expect_test::expect;

    #[test]
    fn there_must_be_a_device() {
        check(
            "Idle -> ToHost(fake0)",
            expect![[r#"
            config:1: While initializing 'ToHost@2 :: ToHost':
              ToHost(fake0) requires an initialized FromHost with the same dev_name
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn what_the_kernel_refuses_is_told() {
        in_namespace(|| {
            if let Err(error) = sys::tap::Tap::open(&sys::tap::Options::tap("probe%d")) {
                return cannot_run(error);
            }
            // Without an address the device is down.
            check_reading(
                "FromHost(fake0) -> Discard; t :: ToHost(fake0);
                 InfiniteSource(LENGTH 10, LIMIT 1) -> t; InfiniteSource(LENGTH 60, LIMIT 2) -> t; DriverManager(wait 1ms, stop)",
                &["t.drops", "t.dev_name"],
                expect![[r#"
                    ToHost: packet too small
                    ToHost(fake0): write failed: Input/output error
                    ToHost(fake0): write failed: Input/output error
                    t.drops: 2
                    t.dev_name: fake0
                "#]],
            );
        });
    }
}
