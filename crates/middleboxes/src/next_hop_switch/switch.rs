//! The switch to next hops, in either version of IP.

use std::fmt;

use args::Scope;
use element::{same, Batch, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict};

use super::places::{self, Address, Hop, Places};

/// The handlers.
pub const HANDLERS: &[Handler] = &[
    Handler::read(
        "hops",
        "A line for each hop: address, weight, packets that took it, share of all flows in percent.",
    ),
    Handler::write("reset_counts", "Sets the counts to 0.").flags("button"),
];

/// The reasons for drops; the second one says this.
pub const fn drops(no_header: &'static str) -> [DropReason; 2] {
    [DropReason::new("no-output", "There is no output for the hop."), DropReason::new("no-header", no_header)]
}
const NO_HEADER: usize = 1;

/// A version of IP.
pub trait Family: Send + 'static {
    /// An address of a next hop.
    type Address: Address + fmt::Display + Send;
    /// What stands where an address is expected.
    const EXPECTED: &'static str;

    /// Parses an address.
    fn parse(word: &str, scope: &Scope<'_>) -> Result<Self::Address, String>;

    /// A number that packets of one flow have in common: `header` is where their IP header begins.
    fn flow_hash(header: &[u8]) -> Option<u64>;

    /// Sets the destination annotation.
    fn set_destination(packet: &mut Packet, hop: &Self::Address);
}

/// The switch.
pub struct Switch<F: Family> {
    hops: Vec<Hop<F::Address>>,
    places: Places,
    /// Packets by hop.
    counts: Vec<u64>,
}

impl<F: Family> Element for Switch<F> {
    fn configure(conf: &mut Configure<'_>) -> Result<Switch<F>, Failed> {
        let hops = places::parse_all(conf, |text, scope| {
            places::parse(text, F::EXPECTED, |word| F::parse(word, scope))
        });
        conf.finish()?;
        if hops.len() != conf.n_outputs {
            conf.warning(format!("{} hops, but {} outputs", hops.len(), conf.n_outputs));
        }
        let (places, counts) = (Places::of(&hops), vec![0; hops.len()]);
        Ok(Switch { hops, places, counts })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.spread(batch, |_, packet| self.choose(packet));
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "hops" => Ok(self.places.listing(&self.hops, &self.counts)),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset_counts" => self.counts.fill(0),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    /// Hops that stay go on counting.
    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Switch<F>>(ctx, old) else { return };
        self.counts = places::counts_after(&self.hops, &old.hops, &old.counts);
    }
}

impl<F: Family> Switch<F> {
    #[inline(always)]
    fn choose(&mut self, packet: &mut Packet) -> Verdict {
        let Some(hash) = F::flow_hash(packet.network()) else { return Verdict::drop(NO_HEADER) };
        let number = self.places.hop_of(hash);
        if let (Some(hop), Some(count)) = (self.hops.get(number), self.counts.get_mut(number)) {
            F::set_destination(packet, &hop.address);
            *count += 1;
        }
        Verdict::port(number)
    }
}
