//! Whether controlled delay drops a packet (Nichols and Jacobson, "Controlling Queue Delay", 2012; RFC 8289, section 5).

const NS_PER_MS: i64 = 1_000_000;

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// How long packets may wait.
    pub target_ns: i64,
    /// For how long they may wait longer before one is dropped.
    pub interval_ns: i64,
}

/// What the past packets' waiting leads to. Times are since the epoch, 0 being none.
#[derive(Clone, Debug, Default)]
pub struct Decision {
    /// From when on packets that wait for too long may be dropped.
    above_until_ns: i64,
    next_drop_ns: i64,
    is_dropping: bool,
    /// Drops since dropping began.
    n_drops: u32,
    step: Step,
}

/// What the next packet from the queue is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    /// It is the first one of a pull.
    #[default]
    First,
    /// It takes the place of one that was dropped at this time, when dropping began.
    AfterFirstDrop(i64),
    /// It takes the place of one that was dropped at this time, as others were before.
    AfterDrop(i64),
}

impl Decision {
    /// Whether a packet is to be dropped that has been waiting since `since_ns`, if that is known. `now_ns` is asked for once a
    /// packet that is not.
    pub fn drops(
        &mut self,
        parameters: &Parameters,
        since_ns: Option<i64>,
        now_ns: impl FnOnce() -> i64,
    ) -> bool {
        let drops_at = match self.step {
            Step::First => {
                let now = now_ns();
                let may_drop = since_ns.is_some_and(|since| self.observe(parameters, since, now));
                self.first(parameters, since_ns.is_some(), may_drop, now)
            }
            Step::AfterFirstDrop(now) => {
                if let Some(since) = since_ns {
                    self.observe(parameters, since, now);
                }
                self.begin(parameters, now);
                None
            }
            Step::AfterDrop(now) => {
                let may_drop = since_ns.is_some_and(|since| self.observe(parameters, since, now));
                self.go_on(parameters, may_drop, now)
            }
        };
        self.step = drops_at.unwrap_or_default();
        drops_at.is_some()
    }

    /// The queue has no packet.
    pub fn finds_nothing(&mut self, parameters: &Parameters, now_ns: impl FnOnce() -> i64) {
        self.above_until_ns = 0;
        match self.step {
            Step::First => {
                // The time is asked for as with a packet.
                now_ns();
                self.is_dropping = false;
            }
            Step::AfterFirstDrop(now) => self.begin(parameters, now),
            Step::AfterDrop(_) => self.is_dropping = false,
        }
        self.step = Step::First;
    }

    /// Takes a packet's waiting into account; whether it has lasted long enough for a drop.
    fn observe(&mut self, parameters: &Parameters, since_ns: i64, now_ns: i64) -> bool {
        if now_ns.wrapping_sub(since_ns) < parameters.target_ns {
            self.above_until_ns = 0;
        } else if self.above_until_ns == 0 {
            self.above_until_ns = now_ns.wrapping_add(parameters.interval_ns);
        } else {
            return now_ns >= self.above_until_ns;
        }
        false
    }

    /// What becomes of the first packet of a pull: it is dropped where there is a next step.
    fn first(
        &mut self,
        parameters: &Parameters,
        has_waited: bool,
        may_drop: bool,
        now_ns: i64,
    ) -> Option<Step> {
        if !has_waited || self.is_dropping && !may_drop {
            self.is_dropping = false;
            return None;
        }
        if self.is_dropping {
            return self.drop_again(now_ns);
        }
        let is_recent = self.is_recent(parameters, now_ns);
        let lasts = now_ns.wrapping_sub(self.above_until_ns) >= parameters.interval_ns;
        (may_drop && (is_recent || lasts)).then_some(Step::AfterFirstDrop(now_ns))
    }

    /// Dropping has begun. It goes on where it ended if that is not long ago.
    fn begin(&mut self, parameters: &Parameters, now_ns: i64) {
        self.is_dropping = true;
        let is_recent = self.is_recent(parameters, now_ns);
        self.n_drops = if is_recent && self.n_drops > 2 { self.n_drops - 2 } else { 1 };
        self.next_drop_ns = now_ns.wrapping_add(self.pause_ns(parameters));
    }

    /// What becomes of a packet that comes after a drop.
    fn go_on(&mut self, parameters: &Parameters, may_drop: bool, now_ns: i64) -> Option<Step> {
        if !may_drop {
            self.is_dropping = false;
            return None;
        }
        self.next_drop_ns = self.next_drop_ns.wrapping_add(self.pause_ns(parameters));
        self.drop_again(now_ns)
    }

    fn drop_again(&mut self, now_ns: i64) -> Option<Step> {
        if now_ns < self.next_drop_ns {
            return None;
        }
        self.n_drops = self.n_drops.saturating_add(1);
        Some(Step::AfterDrop(now_ns))
    }

    fn is_recent(&self, parameters: &Parameters, now_ns: i64) -> bool {
        now_ns.wrapping_sub(self.next_drop_ns) < parameters.interval_ns
    }

    /// The time to the next drop: the interval, in whole milliseconds, over the root of the number of drops, to a sixteenth.
    fn pause_ns(&self, parameters: &Parameters) -> i64 {
        const SCALE: i64 = 16;
        let interval_ms = parameters.interval_ns.div_euclid(NS_PER_MS);
        let root = (i64::from(self.n_drops) * SCALE * SCALE).isqrt().max(1);
        interval_ms.saturating_mul(SCALE * NS_PER_MS) / root
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PARAMETERS: Parameters = Parameters { target_ns: 5 * NS_PER_MS, interval_ns: 100 * NS_PER_MS };

    /// When packets are dropped that come every millisecond and have waited for `waited_ms`.
    fn drops(decision: &mut Decision, begin_ms: i64, n: i64, waited_ms: i64) -> Vec<i64> {
        let times = begin_ms..begin_ms + n;
        let drops = |now: &i64| {
            let now_ns = *now * NS_PER_MS;
            decision.drops(&PARAMETERS, Some(now_ns - waited_ms * NS_PER_MS), || now_ns)
        };
        times.filter(drops).collect()
    }

    #[test]
    fn drops_come_ever_faster() {
        let mut decision = Decision::default();
        expect_test::expect!["[]"].assert_eq(&format!("{:?}", drops(&mut decision, 1_000_000, 50, 10)));
        expect_test::expect!["[1000200, 1000300, 1000373, 1000432, 1000482, 1000528, 1000569, 1000607, 1000643, 1000676, 1000708, 1000738, 1000767, 1000796, 1000823, 1000849, 1000874, 1000899, 1000922, 1000946, 1000968, 1000990, 1001011, 1001032]"].assert_eq(&format!("{:?}", drops(&mut decision, 1_000_050, 1000, 10)));
        expect_test::expect!["[]"].assert_eq(&format!("{:?}", drops(&mut decision, 1_001_050, 100, 4)));
        expect_test::expect!["[1001350]"]
            .assert_eq(&format!("{:?}", drops(&mut decision, 1_001_150, 300, 10)));
    }

    proptest! {
        #[test]
        fn nothing_overflows(
            target_ns in 0i64..=i64::MAX, interval_ns in 0i64..=i64::MAX,
            packets in prop::collection::vec((any::<Option<i64>>(), any::<i64>(), any::<bool>()), 0..40),
        ) {
            let parameters = Parameters { target_ns, interval_ns };
            let mut decision = Decision::default();
            for (since, now, is_packet) in packets {
                if is_packet {
                    decision.drops(&parameters, since, || now);
                } else {
                    decision.finds_nothing(&parameters, || now);
                }
            }
        }
    }
}
