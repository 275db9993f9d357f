//! Tests in network namespaces of their own.

/// Ends a test that cannot run here: it fails, unless the variable `WEIR_MAY_SKIP` is set.
pub fn cannot_run(reason: impl std::fmt::Display) {
    let may_skip = std::env::var_os("WEIR_MAY_SKIP").is_some();
    assert!(may_skip, "{reason}\nThis test cannot run here; set WEIR_MAY_SKIP to leave such tests out.");
    println!("left out: {reason}");
}

/// Runs `test` on a thread in a fresh network namespace without IPv6.
pub fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::spawn(move || {
        if let Err(error) = nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNET) {
            cannot_run(format_args!("no network namespace: {error}"));
            return;
        }
        // Without this, the kernel's own router solicitations mix with the packets of the test.
        for which in ["all", "default"] {
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6"), "1");
        }
        test();
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}
