//! The time, for work that reads it for some packets only.

/// How time runs: so many times as fast as the system's, and shifted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// How many times as fast.
    pub speed: f64,
    /// What is added.
    pub offset_ns: i64,
}

impl Pace {
    /// As the system's time.
    pub const REAL: Pace = Pace { speed: 1.0, offset_ns: 0 };

    /// The time at one of the system's.
    #[inline]
    pub fn at(self, system_ns: i64) -> i64 {
        if self.speed == 1.0 {
            system_ns.wrapping_add(self.offset_ns)
        } else {
            ((system_ns as f64 * self.speed) as i64).wrapping_add(self.offset_ns)
        }
    }

    /// The wall time now, in nanoseconds since the epoch.
    pub fn wall_ns(self) -> i64 {
        self.at(i64::try_from(sys::clock::realtime_ns()).unwrap_or(i64::MAX))
    }
}

/// A clock to read within one call; see [`crate::Ctx::with_clock`].
#[derive(Debug)]
pub struct Clock {
    /// The time, if it is known.
    now_ns: Option<i64>,
    step_ns: i64,
    passed_ns: i64,
    pace: Pace,
}

impl Clock {
    /// A clock at a time that moves by `step_ns` each time it is read.
    pub fn new(now_ns: i64, step_ns: i64) -> Clock {
        Clock { now_ns: Some(now_ns), step_ns, passed_ns: 0, pace: Pace::REAL }
    }

    /// A clock that looks at the system's time when it is first read, and then stands still.
    pub fn of_wall(pace: Pace) -> Clock {
        Clock { now_ns: None, step_ns: 0, passed_ns: 0, pace }
    }

    /// Nanoseconds since the epoch. Simulated time passes by this.
    #[inline(always)]
    pub fn now_ns(&mut self) -> i64 {
        let begin_ns = match self.now_ns {
            Some(now_ns) => now_ns,
            None => self.look(),
        };
        let now_ns = begin_ns.wrapping_add(self.passed_ns);
        self.passed_ns = self.passed_ns.wrapping_add(self.step_ns);
        now_ns
    }

    #[cold]
    fn look(&mut self) -> i64 {
        *self.now_ns.insert(self.pace.wall_ns())
    }

    /// The time at which the clock began, if it is known, and how much of it passed by readings.
    pub fn readings(&self) -> (Option<i64>, i64) {
        (self.now_ns, self.passed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wall_is_looked_at_once() {
        let mut clock = Clock::of_wall(Pace { speed: 2.0, offset_ns: 5 });
        assert_eq!(clock.readings(), (None, 0));
        let before = Pace { speed: 2.0, offset_ns: 5 }.wall_ns();
        let now_ns = clock.now_ns();
        assert!(now_ns >= before);
        assert_eq!((clock.now_ns(), clock.readings()), (now_ns, (Some(now_ns), 0)));
    }

    #[test]
    fn simulated_time_passes_by_readings() {
        let mut clock = Clock::new(7, 1);
        assert_eq!([clock.now_ns(), clock.now_ns()], [7, 8]);
        assert_eq!(clock.readings(), (Some(7), 2));
    }
}
