//! The time, for work that reads it for some packets only.

/// A clock to read within one call; see [`crate::Ctx::with_clock`].
#[derive(Debug)]
pub struct Clock {
    now_ns: i64,
    step_ns: i64,
}

impl Clock {
    /// A clock at a time that moves by `step_ns` each time it is read.
    pub fn new(now_ns: i64, step_ns: i64) -> Clock {
        Clock { now_ns, step_ns }
    }

    /// Nanoseconds since the epoch. Simulated time passes by this.
    #[inline(always)]
    pub fn now_ns(&mut self) -> i64 {
        let now_ns = self.now_ns;
        self.now_ns = now_ns.wrapping_add(self.step_ns);
        now_ns
    }

    /// The time that the next reading gives.
    pub(crate) fn next_ns(&self) -> i64 {
        self.now_ns
    }
}
