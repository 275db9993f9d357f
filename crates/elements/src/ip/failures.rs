//! Counting and telling of packets that fail a check.

use element::{Ctx, Packet};

/// The methods `push` and `pull` of an element whose `process` looks at one packet at a time. Its `failures` are told after each
/// batch, as the function says that the macro is given. A further method is called with each batch that was pushed, before.
macro_rules! per_told_packet {
    ($sentence:expr $(, $before:ident)?) => {
        fn push(&mut self, ctx: &mut element::Ctx<'_>, _port: usize, batch: element::Batch) {
            $(self.$before(&batch);)?
            ctx.push_each(batch, |packet| self.process(packet));
            self.failures.tell(ctx, $sentence);
        }

        fn pull(&mut self, ctx: &mut element::Ctx<'_>, _port: usize, max: usize) -> element::Batch {
            let batch = ctx.pull_each(max, |packet| self.process(packet));
            self.failures.tell(ctx, $sentence);
            batch
        }
    };
}
pub(crate) use per_told_packet;

/// The packets that failed the checks of an element, by reason.
#[derive(Default)]
pub struct Failures {
    count: u64,
    by_reason: Option<Vec<u64>>,
    is_verbose: bool,
    /// Reasons still to be told, and the places of the packets.
    untold: Vec<(usize, u32)>,
}

impl Failures {
    /// No failures yet. Every one is told if `is_verbose`, else only the first; counts by reason are kept if `is_detailed`.
    pub fn new(n_reasons: usize, is_verbose: bool, is_detailed: bool) -> Failures {
        let by_reason = is_detailed.then(|| vec![0; n_reasons]);
        Failures { count: 0, by_reason, is_verbose, untold: Vec::new() }
    }

    /// Counts a failure.
    #[cold]
    pub fn add(&mut self, reason: usize, packet: &Packet) {
        if self.count == 0 || self.is_verbose {
            self.untold.push((reason, packet.place()));
        }
        self.count = self.count.wrapping_add(1);
        if let Some(n) = self.by_reason.as_mut().and_then(|counts| counts.get_mut(reason)) {
            *n = n.wrapping_add(1);
        }
    }

    /// Goes on from the counts of the element that is replaced.
    pub fn take_over(&mut self, old: &Failures) {
        self.count = old.count;
        if let (Some(own), Some(old)) = (&mut self.by_reason, &old.by_reason) {
            own.iter_mut().zip(old).for_each(|(own, old)| *own = *old);
        }
    }

    /// Tells the failures that are to be told, a line each, as `text` words them.
    #[inline]
    pub fn tell(&mut self, ctx: &mut Ctx<'_>, text: impl Fn(&Ctx<'_>, usize) -> String) {
        if self.untold.is_empty() {
            return;
        }
        for (reason, place) in std::mem::take(&mut self.untold) {
            let line = text(ctx, reason);
            ctx.chatter_of(place, &line);
        }
    }

    /// The packet of the first failure that is to be told.
    #[inline]
    pub fn first_untold(&self) -> Option<u32> {
        self.untold.first().map(|(_, place)| *place)
    }

    /// Takes all failures as told.
    pub fn settle(&mut self) {
        self.untold.clear();
    }

    /// Number of failures.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether there is a handler `name`: `drop_details` only if counts by reason are kept.
    pub fn has_handler(&self, name: &str) -> bool {
        name != "drop_details" || self.by_reason.is_some()
    }

    /// Answers the handlers `drops` and `drop_details`.
    pub fn read(&self, ctx: &Ctx<'_>, name: &str, reasons: &[&str]) -> Result<String, String> {
        match (name, &self.by_reason) {
            ("drops", _) => Ok(self.count.to_string()),
            ("drop_details", Some(counts)) => {
                Ok(counts.iter().zip(reasons).map(|(n, reason)| format!("{n}\t{reason}\n")).collect())
            }
            _ => Err(format!("no '{}.{name}' read handler", ctx.own_name())),
        }
    }
}
