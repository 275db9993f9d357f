//! The frame of the elements that check the header of one protocol over IPv4: arguments, counts, handlers, and where wrong
//! packets go.

use element::{same, Arg, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::failures::{per_told_packet, Failures};

/// What one of these elements checks.
pub trait Payload: Send + 'static {
    /// What can be wrong, in words. [`Payload::check`]'s errors are places in this list.
    const FAULTS: &'static [&'static str];

    /// What is wrong with a packet.
    fn check(packet: &Packet) -> Result<(), usize>;

    /// What is printed of a wrong packet.
    fn sentence(ctx: &Ctx<'_>, fault: &str) -> String;
}

/// The argument `VERBOSE`.
pub const VERBOSE: Arg =
    Arg::keyword("VERBOSE", "bool", "Whether to tell every wrong packet, not only the first. Default false.");

/// The argument `DETAILS`.
pub const DETAILS: Arg =
    Arg::keyword("DETAILS", "bool", "Whether to count wrong packets by reason. Default false.");

/// The arguments.
pub const ARGS: &[Arg] = &[VERBOSE, DETAILS];

/// The handlers.
pub const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Wrong packets."),
    Handler::read("drop_details", "Wrong packets by reason, a line each; only if DETAILS is true."),
];

/// An element that checks a payload's header.
pub struct Checker<P> {
    failures: Failures,
    payload: std::marker::PhantomData<P>,
}

impl<P: Payload> Element for Checker<P> {
    fn configure(conf: &mut Configure<'_>) -> Result<Checker<P>, Failed> {
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let is_detailed = conf.args.get_or("DETAILS", false);
        conf.finish()?;
        let failures = Failures::new(P::FAULTS.len(), is_verbose, is_detailed);
        Ok(Checker { failures, payload: std::marker::PhantomData })
    }

    per_told_packet!(sentence::<P>);

    fn has_handler(&self, name: &str) -> bool {
        self.failures.has_handler(name)
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, P::FAULTS)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Checker<P>>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl<P: Payload> Checker<P> {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match P::check(packet) {
            Ok(()) => Verdict::PASS,
            Err(fault) => {
                self.failures.add(fault, packet);
                Verdict::port_or_drop(1, fault)
            }
        }
    }
}

fn sentence<P: Payload>(ctx: &Ctx<'_>, fault: usize) -> String {
    P::sentence(ctx, P::FAULTS.get(fault).copied().unwrap_or_default())
}
