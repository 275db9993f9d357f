//! Stores packets in a first-in, first-out queue.
//!
//! Packets that find the queue full go to output 1 if it is connected, else they are dropped. Tells pullers downstream when
//! there is something to pull, and pushers upstream when there is room.
//!
//! ```click
//! InfiniteSource -> Queue(200) -> Unqueue -> Discard;
//! ```

use element::{
    Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Notifies, SearchOp,
};

use super::storage::{self, Storage};

/// The class.
pub const CLASS: Class = Class::new::<Queue>("Queue", "1/1-2", "h/lh", "#/#")
    .args(ARGS)
    .handlers(storage::HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] =
    &[Arg::optional("CAPACITY", "unsigned", "Most packets that the queue holds. Default 1000.")];

const DROPS: &[DropReason] = &[DropReason::new("queue-full", "The queue was full, or was reset.")];
const FULL: usize = 0;

/// See the page above.
pub struct Queue {
    storage: Storage,
}

impl Element for Queue {
    fn configure(conf: &mut Configure<'_>) -> Result<Queue, Failed> {
        let capacity: u32 = conf.args.get_or("CAPACITY", 1000);
        conf.finish()?;
        Ok(Queue { storage: Storage::new(capacity as usize) })
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::Stop), full: Some(SearchOp::Stop) }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.storage.add(&mut batch);
        if !self.storage.packets.is_empty() {
            ctx.set_empty_signal(true);
        }
        if self.storage.is_full() {
            ctx.set_full_signal(false);
        }
        if !batch.is_empty() {
            self.storage.overflow(ctx, batch, FULL);
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = self.storage.take(max);
        if !batch.is_empty() && !self.storage.is_full() {
            ctx.set_full_signal(true);
        }
        if self.storage.is_sleepy(batch.len(), max) {
            ctx.set_empty_signal(false);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.storage.read(name).ok_or_else(|| format!("no {name} read handler"))
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if !self.storage.write(ctx, name, value, FULL)? {
            return Err(format!("no {name} write handler"));
        }
        ctx.set_full_signal(!self.storage.is_full());
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let old: Box<dyn std::any::Any> = old;
        if let Ok(old) = old.downcast::<Queue>() {
            self.storage.take_over(ctx, old.storage, FULL);
            ctx.set_empty_signal(!self.storage.packets.is_empty());
            ctx.set_full_signal(!self.storage.is_full());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn handlers_of_an_empty_queue() {
        check_reading(
            "Idle -> q :: Queue(5) -> Unqueue -> Discard;",
            &["q.length", "q.capacity", "q.nonsense"],
            expect![[r#"
                q.length: 0
                q.capacity: 5
                q.nonsense: no 'q.nonsense' read handler
            "#]],
        );
    }
}
