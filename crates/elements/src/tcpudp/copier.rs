//! Elements that copy something of the packets at input 0 into those at input 1.

use element::{offload, same, Arg, Batch, Configure, Ctx, Element, Failed, Packet};

/// Their argument.
pub const ARGS: &[Arg] = &[Arg::rest("ANYTHING", "anything", "Ignored, as in Click.")];

/// What is copied.
pub trait Copied: Default + Send + 'static {
    /// Looks at a packet to be copied from.
    fn remember(&mut self, packet: &Packet);

    /// Writes what was remembered into another packet.
    fn write_into(&self, packet: &mut Packet);

    /// Lets the next packet be remembered whatever came before.
    fn reset(&mut self);
}

/// Copies a `T`; packets leave by the output of their input's number.
pub struct Copier<T>(T);

impl<T: Copied> Element for Copier<T> {
    fn configure(conf: &mut Configure<'_>) -> Result<Copier<T>, Failed> {
        conf.finish()?;
        Ok(Copier(T::default()))
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        self.process(port, &mut batch);
        ctx.emit(port, batch);
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        Some((port, max))
    }

    fn pulled(&mut self, _ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) -> Batch {
        self.process(port, &mut batch);
        batch
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset" => self.0.reset(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Copier<T>>(ctx, old) else { return };
        self.0 = old.0;
    }
}

impl<T: Copied> Copier<T> {
    fn process(&mut self, port: usize, batch: &mut Batch) {
        batch.iter_mut().for_each(offload::settle);
        match port {
            0 => batch.iter().for_each(|packet| self.0.remember(packet)),
            _ => batch.iter_mut().for_each(|packet| self.0.write_into(packet)),
        }
    }
}
