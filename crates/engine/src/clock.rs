//! Clocks: the system's, or simulated time that moves only when there is nothing else to do.

use element::Pace;
use rustix::time::{clock_gettime, ClockId};

/// How time passes for a graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// As on the wall.
    Real,
    /// Simulated, beginning at this many nanoseconds since the epoch.
    Simulated {
        /// The first moment.
        begin_ns: i64,
    },
}

/// A clock: wall time and steady time in nanoseconds.
#[derive(Debug)]
pub struct Clock {
    simulated: Option<Simulated>,
    wall: Pace,
    steady: Pace,
}

#[derive(Debug)]
struct Simulated {
    wall_ns: i64,
    steady_ns: i64,
}

fn steady_ns() -> i64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

impl Clock {
    /// A clock that runs as told.
    pub fn new(time: Time) -> Clock {
        let simulated = match time {
            Time::Real => None,
            Time::Simulated { begin_ns } => Some(Simulated { wall_ns: begin_ns, steady_ns: begin_ns }),
        };
        Clock { simulated, wall: Pace::REAL, steady: Pace::REAL }
    }

    /// Wall time since the epoch. Simulated time passes by a nanosecond each time it is read.
    pub fn wall_ns(&mut self) -> i64 {
        match &mut self.simulated {
            None => self.wall.wall_ns(),
            Some(simulated) => {
                let now = simulated.wall_ns;
                self.pass(1);
                now
            }
        }
    }

    /// Steady time.
    pub fn steady_ns(&mut self) -> i64 {
        match &mut self.simulated {
            None => self.steady.at(steady_ns()),
            Some(simulated) => {
                let now = simulated.steady_ns;
                self.pass(1);
                now
            }
        }
    }

    /// Lets time run `speed` times as fast from now on, without a jump.
    pub fn set_speed(&mut self, speed: f64) {
        let (wall, steady) = (self.wall_ns(), self.steady_ns());
        let pace = Pace { speed, offset_ns: 0 };
        (self.wall, self.steady) = (pace, pace);
        self.wall.offset_ns = wall - self.wall_ns();
        self.steady.offset_ns = steady - self.steady_ns();
    }

    /// How many times faster than on the wall time runs.
    pub fn speed(&self) -> f64 {
        self.wall.speed
    }

    /// How wall time runs where it is not simulated.
    pub fn pace(&self) -> Pace {
        self.wall
    }

    /// Whether time is simulated.
    pub fn is_simulated(&self) -> bool {
        self.simulated.is_some()
    }

    /// Simulated wall time, without letting time pass.
    pub fn peek(&self) -> Option<i64> {
        self.simulated.as_ref().map(|simulated| simulated.wall_ns)
    }

    /// Lets simulated time pass.
    pub fn pass(&mut self, passed_ns: i64) {
        if let Some(simulated) = &mut self.simulated {
            simulated.wall_ns = simulated.wall_ns.saturating_add(passed_ns);
            simulated.steady_ns = simulated.steady_ns.saturating_add(passed_ns);
        }
    }

    /// Moves simulated time forward to a steady time.
    pub fn jump_to(&mut self, steady_ns: i64) {
        if let Some(simulated) = &mut self.simulated {
            let delta = steady_ns.saturating_sub(simulated.steady_ns);
            if delta > 0 {
                simulated.wall_ns = simulated.wall_ns.saturating_add(delta);
                simulated.steady_ns = steady_ns;
            }
        }
    }
}
