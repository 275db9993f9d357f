//! `--wait`: patience with a graph or a daemon that was started just before.

use std::time::{Duration, Instant};

use clap::Args;

/// How often is looked for it.
const INTERVAL: Duration = Duration::from_millis(10);
/// Seconds, if it is not said how many.
const SECONDS: &str = "5";

/// Whether to wait for what is not there yet.
#[derive(Args, Clone, Debug, Default)]
pub struct Patience {
    /// Wait for it if it does not answer yet, at most SECONDS [default: 5], as behind a start in the same script.
    #[arg(long, value_name = "SECONDS", global = true, num_args = 0..=1, require_equals = true,
        default_missing_value = SECONDS, value_parser = seconds)]
    pub wait: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let seconds = seconds.filter(|seconds| *seconds <= Duration::from_secs(3600));
    seconds.ok_or_else(|| "expected seconds, at most 3600".to_string())
}

impl Patience {
    /// Tries until it succeeds or the time is over; what the last attempt gave.
    pub fn until<R, E>(&self, mut attempt: impl FnMut() -> Result<R, E>) -> Result<R, E> {
        let begin = Instant::now();
        loop {
            let result = attempt();
            if result.is_ok() || self.wait.is_none_or(|wait| begin.elapsed() >= wait) {
                return result;
            }
            std::thread::sleep(INTERVAL);
        }
    }
}
