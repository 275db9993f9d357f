//! What the process knows of elements that failed at what they are there for, such as writing a file.

use std::sync::atomic::{AtomicBool, Ordering};

static HAS_FAILED: AtomicBool = AtomicBool::new(false);
static IS_CLICK: AtomicBool = AtomicBool::new(false);

/// Says that an element failed and told so: the process will end with an error.
pub fn note() {
    HAS_FAILED.store(true, Ordering::Relaxed);
}

/// Whether any element of this process failed.
pub fn is_noted() -> bool {
    HAS_FAILED.load(Ordering::Relaxed)
}

/// Leaves untold what Click leaves untold.
pub fn tell_as_click() {
    IS_CLICK.store(true, Ordering::Relaxed);
}

/// Whether what Click leaves untold is left untold.
pub fn is_told_as_click() -> bool {
    IS_CLICK.load(Ordering::Relaxed)
}
