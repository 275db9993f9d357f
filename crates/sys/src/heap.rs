//! The memory that this process has taken for its heap.

/// Gives memory that was taken and freed back to the kernel. Worth its while after much was done that is over, and before this
/// process is copied.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes a number, and lets go only of memory that nobody has.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets all threads take memory from one heap: less memory where they hardly take any. To be called before there are threads.
pub fn share() {
    #[cfg(target_env = "gnu")]
    // SAFETY: takes numbers.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of memory that only this process has.
    fn own_bytes() -> usize {
        let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Private_Dirty:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
    }

    #[test]
    #[cfg(target_env = "gnu")]
    fn what_was_freed_goes_back_to_the_kernel() {
        const LEN: usize = 8 << 20;
        let mut boxes: Vec<Box<[u8; 1024]>> = (0..LEN >> 10).map(|n| Box::new([n as u8 | 1; 1024])).collect();
        // The last one keeps the heap from shrinking by itself.
        let kept = boxes.pop();
        drop(boxes);
        let before = own_bytes();
        give_back();
        assert!(own_bytes() + LEN / 2 < before, "{before} before, {} after", own_bytes());
        drop(kept);
    }
}
