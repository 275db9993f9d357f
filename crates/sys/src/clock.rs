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

/// The time of the wall clock in the local time zone, as the C library's `ctime` has it: `Thu Jan  1 00:00:00 1970`.
pub fn local_text() -> String {
    let seconds = libc::time_t::try_from(realtime_ns() / 1_000_000_000).unwrap_or(libc::time_t::MAX);
    // Enough for any year, and a zero that no call overwrites.
    let mut text = [0u8; 64];
    // SAFETY: `ctime_r` writes fewer bytes than there are, a terminating zero among them, or none.
    let is_known = unsafe { !libc::ctime_r(&seconds, text.as_mut_ptr().cast()).is_null() };
    let line = text.split(|byte| *byte == 0 || *byte == b'\n').next().unwrap_or_default();
    if is_known {
        String::from_utf8_lossy(line).into_owned()
    } else {
        String::new()
    }
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
        let thread = thread_cpu_time_ns();
        while thread_cpu_time_ns() == thread {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_date_is_24_letters_and_ends_in_its_year() {
        let text = local_text();
        assert!(text.len() == 24 && text[20..].parse::<u32>().is_ok_and(|year| year >= 2024), "{text}");
    }
}
