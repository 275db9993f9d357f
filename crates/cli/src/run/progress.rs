//! The line that shows how far a graph has read its inputs.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use element::Runtime;
use engine::world::World;

use crate::numbers;

/// How often the line is renewed.
const PROGRESS: Duration = Duration::from_millis(200);
/// Driver rounds between looks at the clock.
const ROUNDS_PER_LOOK: u32 = 64;

/// The line that shows how far the inputs have been read.
pub struct Progress {
    is_shown: bool,
    is_wanted: bool,
    n_rounds: u32,
    next: Instant,
}

impl Progress {
    /// One that is shown to a terminal, unless it is not wanted.
    pub fn new(is_quiet: bool) -> Progress {
        let is_wanted = !is_quiet && std::io::stderr().is_terminal();
        Progress { is_shown: false, is_wanted, n_rounds: 0, next: Instant::now() + PROGRESS }
    }

    /// Renews the line from time to time; called once a round.
    pub fn look(&mut self, world: &mut World) {
        self.n_rounds += 1;
        if !self.is_wanted || !self.n_rounds.is_multiple_of(ROUNDS_PER_LOOK) || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PROGRESS;
        let (mut read, mut size) = (0, 0);
        for idx in 0..world.n_elements() {
            let name = world.name(idx).to_string();
            let mut number = |handler: &str| numbers::read(world, &format!("{name}.{handler}"));
            if let (Some(at), Some(of)) = (number("filepos"), number("filesize")) {
                read += at;
                size += of;
            }
        }
        if let Some(percent) = (read.min(size) * 100).checked_div(size) {
            eprint!("\r{percent:3}% of {:.1} MB read", size as f64 / 1e6);
            // A progress line that cannot be shown is no reason to stop.
            let _ = std::io::stderr().flush();
            self.is_shown = true;
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }
}
