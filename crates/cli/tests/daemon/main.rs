//! The daemon as users run it: real processes, a real socket, real devices in a namespace of the test's own.

mod commands;
mod completions;
mod devices;
mod events;
mod kills;
mod namespaces;
mod network;
// Shared with the tests of stages, which use more of it.
#[allow(dead_code)]
#[path = "../stages/process.rs"]
mod process;
mod router6;
mod service;
mod streams;

use process::{until, Place, Running};

/// Starts a daemon that keeps its state in the folder `state`, and waits until it answers.
fn start(place: &Place) -> Running {
    let mut daemon = place.start("exec weir serve --state state --socket api.socket");
    await_answer(place, &mut daemon);
    daemon
}

/// Waits until a daemon answers.
fn await_answer(place: &Place, daemon: &mut Running) {
    until("the daemon answers", || {
        assert!(daemon.runs(), "{}", daemon.stderr());
        place.run("WEIR_SOCKET=api.socket weir show").code == 0
    });
}

/// Runs a script with commands for the daemon; what it printed, complaints included.
fn told(place: &Place, script: &str) -> String {
    place.output(&format!("export WEIR_SOCKET=api.socket\nexec 2>&1\n{script}"))
}

/// All users are told the same, which is what is expected.
fn same(texts: &std::cell::RefCell<Vec<String>>, expected: &expect_test::Expect) {
    let texts = texts.borrow();
    assert!(texts.iter().all(|text| *text == texts[0]), "{texts:#?}");
    expected.assert_eq(&texts[0]);
}
