//! Cores: how many there are, which one a thread runs on, and their cycle counters.

use std::mem::size_of_val;

use crate::error::{check, Result, SysError};

/// Keeps the calling thread on `cpu`.
pub fn pin_thread(cpu: usize) -> Result<()> {
    let target = format!("CPU {cpu}");
    let bits = u64::BITS as usize;
    if cpu >= MAX_CPUS {
        return Err(SysError::invalid("CPU", cpu.to_string(), "is beyond what the kernel can name"));
    }
    let mut mask = vec![0u64; cpu / bits + 1];
    if let Some(word) = mask.last_mut() {
        *word = 1 << (cpu % bits);
    }
    set_mask(&mask, &target)
}

/// Lets the calling thread run on any of `cpus`, as [`allowed`] returned them.
pub fn allow_thread(cpus: &[usize]) -> Result<()> {
    let bits = u64::BITS as usize;
    let mut mask = vec![0u64; MAX_CPUS / bits];
    for &cpu in cpus {
        match mask.get_mut(cpu / bits) {
            Some(word) => *word |= 1 << (cpu % bits),
            None => {
                return Err(SysError::invalid("CPU", cpu.to_string(), "is beyond what the kernel can name"))
            }
        }
    }
    set_mask(&mask, "this thread")
}

/// The CPUs that the calling thread may run on, in ascending order.
pub fn allowed() -> Result<Vec<usize>> {
    let mut mask = vec![0u64; MAX_CPUS / u64::BITS as usize];
    // SAFETY: the kernel writes at most the given number of bytes into `mask`.
    let returned = unsafe { libc::sched_getaffinity(0, size_of_val(&mask[..]), mask.as_mut_ptr().cast()) };
    check(returned, "sched_getaffinity", "this thread")?;
    Ok((0..MAX_CPUS).filter(|cpu| mask[cpu / 64] >> (cpu % 64) & 1 == 1).collect())
}

/// The number of CPUs that are running, at least one.
pub fn n_online() -> usize {
    // SAFETY: sysconf takes and returns numbers only.
    let n = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    usize::try_from(n).unwrap_or(1).max(1)
}

/// The CPU that the calling thread runs on at this moment.
pub fn current() -> usize {
    // SAFETY: sched_getcpu takes nothing and returns a number.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// The cycle counter of this core: rdtsc, the virtual counter of Arm, or else nanoseconds.
#[inline]
pub fn cycles() -> u64 {
    imp::cycles()
}

/// The kernel's own limit on x86 (CONFIG_NR_CPUS of MAXSMP).
const MAX_CPUS: usize = 8192;

fn set_mask(mask: &[u64], target: &str) -> Result<()> {
    // SAFETY: the kernel reads exactly the given number of bytes of `mask`.
    let returned = unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask.as_ptr().cast()) };
    check(returned, "sched_setaffinity", target).map(drop).map_err(|error| error.with_remedy(remedy))
}

fn remedy(errno: i32) -> Option<&'static str> {
    (errno == libc::EINVAL)
        .then_some("choose a CPU that is online and in this process's cpuset: `taskset -p $$`")
}

#[cfg(target_arch = "x86_64")]
mod imp {
    #[inline]
    pub fn cycles() -> u64 {
        // SAFETY: every x86-64 processor has rdtsc, and it touches no memory.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(target_arch = "aarch64")]
mod imp {
    #[inline]
    pub fn cycles() -> u64 {
        let count: u64;
        // SAFETY: Linux lets user space read the virtual counter; it touches no memory.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) count, options(nomem, nostack)) };
        count
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod imp {
    #[inline]
    pub fn cycles() -> u64 {
        crate::clock::monotonic_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_runs_where_it_was_put() {
        std::thread::spawn(|| {
            let before = allowed().unwrap();
            for &cpu in &before {
                pin_thread(cpu).unwrap();
                assert_eq!((allowed().unwrap(), current()), (vec![cpu], cpu));
            }
            allow_thread(&before).unwrap();
            assert_eq!(allowed().unwrap(), before);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_an_error_with_a_remedy() {
        assert_eq!(pin_thread(8191).unwrap_err().errno(), Some(libc::EINVAL));
        assert!(pin_thread(8191).unwrap_err().remedy().is_some());
        assert!(pin_thread(usize::MAX).is_err() && allow_thread(&[usize::MAX]).is_err());
    }

    #[test]
    fn allowed_cpus_are_online() {
        assert!((1..=n_online()).contains(&allowed().unwrap().len()));
    }

    #[test]
    fn cycles_pass() {
        let start = cycles();
        while cycles() == start {}
    }
}
