//! Two processes, a core each.

use std::fs::File;
use std::io::{Read, Write};
use std::time::Instant;

use crate::contest::Contest;

/// What time counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// From the receiver's start to its end.
    Elapsed,
    /// The processor time of the busier process, for machines that do other things as well.
    Processor,
}

/// One process's part.
pub type Part = Box<dyn FnOnce(Contest)>;

/// Million frames a second from the sender, in this process, to the receiver, in a child.
pub fn measure(contest: Contest, time: Time, ends: impl Fn() -> (Part, Part)) -> f64 {
    let (mut report, answer) = std::io::pipe().expect("a pipe can be made");
    let (send, receive) = ends();
    // SAFETY: this program has one thread, so the child finds all locks free.
    let child = unsafe { libc::fork() };
    assert!(child >= 0, "a process can be made");
    if child == 0 {
        drop((report, send));
        // SAFETY: takes integers; this process is to end if its parent does.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        sys::cpu::pin_thread(1).expect("there are two processors");
        let start = Instant::now();
        receive(contest);
        let time_ns = match time {
            Time::Elapsed => start.elapsed().as_nanos() as u64,
            Time::Processor => sys::clock::thread_cpu_time_ns(),
        };
        (&answer).write_all(&time_ns.to_ne_bytes()).expect("the parent reads");
        // SAFETY: ends this process; nothing of it is needed any more.
        unsafe { libc::_exit(0) };
    }
    drop((answer, receive));
    sys::cpu::pin_thread(0).expect("there is a processor");
    let start_ns = sys::clock::thread_cpu_time_ns();
    send(contest);
    let own_ns = if time == Time::Processor { sys::clock::thread_cpu_time_ns() - start_ns } else { 0 };
    let mut time_ns = [0; 8];
    report.read_exact(&mut time_ns).expect("the child reports");
    // SAFETY: waits for the child made above; its status is not asked for.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    (contest.n_batches * contest.batch) as f64 * 1000.0 / own_ns.max(u64::from_ne_bytes(time_ns)) as f64
}

/// A counter that one process waits for and another raises.
pub fn eventfd() -> File {
    use std::os::fd::FromRawFd;
    // SAFETY: takes two integers.
    let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC) };
    assert!(fd >= 0, "an eventfd can be made");
    // SAFETY: a new descriptor that nothing else owns.
    unsafe { File::from_raw_fd(fd) }
}

pub fn wake(mut event: &File) {
    event.write_all(&1u64.to_ne_bytes()).expect("an eventfd can be written");
}

pub fn sleep(mut event: &File) {
    event.read_exact(&mut [0; 8]).expect("an eventfd can be read");
}
