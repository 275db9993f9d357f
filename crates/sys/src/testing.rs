//! What the tests of this crate share: network namespaces and folders of their own.

use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Ends a test that cannot run here: it fails, unless the variable `WEIR_MAY_SKIP` is set.
pub(crate) fn cannot_run(reason: impl std::fmt::Display) {
    let may_skip = std::env::var_os("WEIR_MAY_SKIP").is_some();
    assert!(may_skip, "{reason}\nThis test cannot run here; set WEIR_MAY_SKIP to leave such tests out.");
    println!("left out: {reason}");
}

/// Runs `test` on a thread in a fresh network namespace.
pub(crate) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        // SAFETY: unshare takes flags only; the namespace goes away with this thread.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            cannot_run(format_args!("no network namespace: {}", std::io::Error::last_os_error()));
            return;
        }
        test();
    });
    if let Err(panic) = thread.join() {
        resume_unwind(panic);
    }
}

/// A folder that is removed on drop.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-sys-test-{}-{idx}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
