//! Waiting until some neighbour was met.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How many neighbours were met.
static N_MET: Mutex<u64> = Mutex::new(0);
static MET: Condvar = Condvar::new();

/// Tells those who wait that a neighbour was met.
pub(super) fn tell() {
    *N_MET.lock().unwrap_or_else(PoisonError::into_inner) += 1;
    MET.notify_all();
}

/// How many neighbours were met, to [`wait`] for another one.
pub fn count() -> u64 {
    *N_MET.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until more than `n_met` neighbours were met, for `patience` at most.
pub fn wait(n_met: u64, patience: Duration) {
    let now_met = N_MET.lock().unwrap_or_else(PoisonError::into_inner);
    // Whatever it yields, who waits looks for itself.
    let _ = MET.wait_timeout_while(now_met, patience, |now_met| *now_met == n_met);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_counted_before_a_meeting_does_not_wait_for_the_next_one() {
        let before = count();
        std::thread::spawn(tell).join().unwrap();
        wait(before, Duration::MAX);
        assert!(count() > before);
    }
}
