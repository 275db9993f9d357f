//! Stores packets in first-in, first-out queues, one for each thread.
//!
//! What a thread pushes goes to that thread's queue, and is dropped if CAPACITY packets are in it. Pulls take from the queues
//! in turn. Nobody is told whether there is something to pull, or room.
//!
//! ```click
//! q :: CPUQueue(200) -> Unqueue -> Discard;
//! i :: InfiniteSource -> q;
//! j :: InfiniteSource -> q;
//! StaticThreadSched(i 0, j 1);
//! ```

use element::{same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler};
use packet::Ring;

/// The class.
pub const CLASS: Class =
    Class::new::<CpuQueue>("CPUQueue", "1/1-", "h/l", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::optional("CAPACITY", "unsigned", "Most packets that each queue holds. Default 128.")];

const HANDLERS: &[Handler] = &[
    Handler::read("capacity", "Most packets that each queue holds.").flags("alike"),
    Handler::read("drops", "Packets that found their queue full."),
];

const DROPS: &[DropReason] = &[DropReason::new("queue-full", "The thread's queue was full.")];
const FULL: usize = 0;

/// See the page above.
pub struct CpuQueue {
    /// By thread.
    queues: Vec<Ring>,
    /// The queue whose turn it is.
    next: usize,
    capacity: u32,
    n_drops: u32,
}

impl Element for CpuQueue {
    fn configure(conf: &mut Configure<'_>) -> Result<CpuQueue, Failed> {
        let capacity = conf.args.get_or("CAPACITY", 128);
        conf.finish()?;
        let queues = (0..conf.environment.n_threads().max(1)).map(|_| Ring::new()).collect();
        Ok(CpuQueue { queues, next: 0, capacity, n_drops: 0 })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let thread = ctx.runtime().thread() % self.queues.len();
        if let Some(queue) = self.queues.get_mut(thread) {
            let room = (self.capacity as usize).saturating_sub(queue.len());
            queue.push_batch(&mut batch, room);
        }
        self.n_drops = self.n_drops.wrapping_add(batch.len() as u32);
        ctx.drop_batch(FULL, batch);
    }

    fn pull(&mut self, _ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            let n_queues = self.queues.len();
            let turns = (self.next..n_queues).chain(0..self.next);
            let mut found = turns.filter(|at| self.queues.get(*at).is_some_and(|queue| !queue.is_empty()));
            let Some(at) = found.next() else { break };
            let is_only = found.next().is_none();
            let n = if is_only { max - batch.len() } else { 1 };
            if let Some(queue) = self.queues.get_mut(at) {
                queue.pop_batch(&mut batch, n);
            }
            self.next = if at + 1 < n_queues { at + 1 } else { 0 };
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "capacity" => Ok(self.capacity.to_string()),
            "drops" => Ok(self.n_drops.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<CpuQueue>(ctx, old) else { return };
        let mut n_lost = 0;
        for (queue, mut old) in self.queues.iter_mut().zip(old.queues) {
            n_lost += old.len().saturating_sub(self.capacity as usize);
            old.truncate(self.capacity as usize);
            *queue = old;
        }
        self.next = if old.next < self.queues.len() { old.next } else { 0 };
        self.n_drops = old.n_drops.wrapping_add(n_lost as u32);
        ctx.count_drops(FULL, n_lost as u64);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_reading, run_threads};
    use expect_test::expect;

    const GRAPH: &str =
        "InfiniteSource(DATA x, LIMIT 5, BURST 5) -> q :: CPUQueue(4) -> u :: Unqueue(ACTIVE false)
            -> Print(p) -> c :: Counter -> Discard;
        i :: InfiniteSource(DATA y, LIMIT 3) -> q; StaticThreadSched(i 1);
        q [1] -> v :: Unqueue(LIMIT 1) -> Discard;
        DriverManager(wait 0.1s, write u.active true, wait 0.1s, stop)";
    const FIGURES: &[&str] = &["q.drops", "q.capacity", "c.count", "v.count"];

    #[test]
    fn threads_have_queues_of_their_own() {
        expect![[r#"
            p:    1 | 79
            p:    1 | 78
            p:    1 | 79
            p:    1 | 78
            p:    1 | 79
            p:    1 | 78
            q.drops: 1
            q.capacity: 4
            c.count: 6
            v.count: 1
        "#]]
        .assert_eq(&run_threads(GRAPH, 2, FIGURES));
    }

    #[test]
    fn one_thread_has_one_queue() {
        check_reading(
            GRAPH,
            FIGURES,
            expect![[r#"
                config:3: While configuring 'StaticThreadSched@8 :: StaticThreadSched':
                  warning: thread preference 1 out of range
                p:    1 | 78
                p:    1 | 78
                p:    1 | 78
                p:    1 | 79
                q.drops: 3
                q.capacity: 4
                c.count: 4
                v.count: 1
            "#]],
        );
    }

    #[test]
    fn large_pulls_take_from_each_queue_in_turn() {
        let graph = "InfiniteSource(DATA x, LIMIT 5) -> q :: CPUQueue -> u :: Unqueue(BURST 6, ACTIVE false) -> Print(p) -> Discard;
            i :: InfiniteSource(DATA y, LIMIT 2) -> q; StaticThreadSched(i 1);
            DriverManager(wait 0.1s, write u.active true, wait 0.1s, stop)";
        expect![[r#"
            p:    1 | 78
            p:    1 | 79
            p:    1 | 78
            p:    1 | 79
            p:    1 | 78
            p:    1 | 78
            p:    1 | 78
        "#]]
        .assert_eq(&run_threads(graph, 2, &[]));
    }
}
