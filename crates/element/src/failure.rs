//! What the process knows of elements that failed at what they are there for, such as writing a file.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

static N_FAILURES: AtomicU64 = AtomicU64::new(0);
static IS_CLICK: AtomicBool = AtomicBool::new(false);

/// Says that an element failed and told so: the process will end with an error.
pub fn note() {
    N_FAILURES.fetch_add(1, Ordering::Relaxed);
}

/// Whether any element of this process failed.
pub fn is_noted() -> bool {
    n_noted() > 0
}

/// How often that was said.
pub fn n_noted() -> u64 {
    N_FAILURES.load(Ordering::Relaxed)
}

/// Leaves untold what Click leaves untold.
pub fn tell_as_click() {
    IS_CLICK.store(true, Ordering::Relaxed);
}

/// Whether what Click leaves untold is left untold.
pub fn is_told_as_click() -> bool {
    IS_CLICK.load(Ordering::Relaxed)
}
