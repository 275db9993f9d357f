//! Reading the clocks, in nanoseconds.

/// Time since some fixed moment; never goes back, and stands still while the machine sleeps.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Time since 1970 (UTC); jumps when somebody sets the clock.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Processor time that the calling thread has used.
pub fn thread_cpu_time_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Processor time that all threads of this process have used.
pub fn process_cpu_time_ns() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result. These clocks always exist, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.wrapping_mul(1_000_000_000).wrapping_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn monotonic_time_never_goes_back() {
        let times: Vec<u64> = (0..1000).map(|_| monotonic_ns()).collect();
        assert!(times.is_sorted() && times[0] > 0);
    }

    #[test]
    fn real_time_is_between_two_readings_of_the_standard_library() {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
        let before = now();
        let read = realtime_ns();
        assert!(before <= read && read <= now());
    }

    #[test]
    fn work_uses_processor_time() {
        let (thread, process) = (thread_cpu_time_ns(), process_cpu_time_ns());
        while thread_cpu_time_ns() == thread {
            std::hint::spin_loop();
        }
        assert!(process_cpu_time_ns() > process);
    }
}
