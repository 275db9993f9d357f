//! Hooks that do as they should, that fail, and that hang.

use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver};

use serde_json::json;

use super::*;

/// A folder of hooks, which is removed at the end, and what they log.
struct Folder {
    path: PathBuf,
    hooks: Option<Hooks>,
    log: Receiver<String>,
}

impl Folder {
    /// Scripts by name. They may take `timeout`.
    fn new(scripts: &[(&str, &str)], timeout: Duration) -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-hooks-{}-{idx}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        for (name, script) in scripts {
            let file = path.join(name);
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let (sender, log) = channel();
        let variables = vec![("WEIR_GRAPH".to_string(), "edge".to_string())];
        let say = move |level: Level, line: &str| {
            let mark = if level == Level::Warn { "! " } else { "" };
            sender.send(format!("{mark}{line}")).unwrap_or(());
        };
        let hooks = Hooks::open(Settings { folder: path.clone(), timeout, variables, log: Box::new(say) });
        Folder { path, hooks: Some(hooks.unwrap()), log }
    }

    fn offer(&self, name: &str, n: usize) {
        self.hooks.as_ref().unwrap().offer(&Arc::new(Event::new(name, json!({ "n": n }))));
    }

    /// All that was logged by the end.
    fn finish(mut self) -> String {
        let hooks = self.hooks.take().unwrap();
        hooks.finish();
        drop(hooks);
        self.log.iter().map(|line| line + "\n").collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn hooks_get_the_event_one_after_the_other_and_what_they_print_is_logged() {
    let script = "read event; echo \"$WEIR_EVENT $WEIR_N of $WEIR_GRAPH\"; echo \"$event\" | tr -d '\\n' >&2";
    let folder = Folder::new(&[("port-up", script), ("port-down", "exit 3")], LONG);
    for (name, n) in [("port-up", 1), ("nothing", 2), ("port-down", 3), ("port-up", 4)] {
        folder.offer(name, n);
    }
    let log = folder.finish();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines.len(), 5, "{log}");
    assert_eq!(lines[0], "hook port-up: port-up 1 of edge");
    assert!(lines[1].starts_with("hook port-up: {\"event\":\"port-up\",\"time\":\""), "{log}");
    assert!(lines[1].ends_with(",\"n\":1}"), "{log}");
    assert_eq!(lines[2], "! hook port-down: it failed with status 3");
    assert_eq!(lines[3], "hook port-up: port-up 4 of edge");
}

#[test]
fn a_hook_that_hangs_is_killed_with_what_it_started_and_the_next_one_runs() {
    let hangs = "echo begins; sleep 1000 & wait; echo never";
    let folder =
        Folder::new(&[("a", hangs), ("b", "kill -TERM $$"), ("c", "echo c")], Duration::from_millis(300));
    for name in ["a", "b", "c"] {
        folder.offer(name, 0);
    }
    assert_eq!(
        folder.finish(),
        "hook a: begins\n! hook a: killed: it did not end within 0.3 s\n! hook b: it was ended by signal 15\nhook c: c\n"
    );
}

#[test]
fn events_beyond_those_that_wait_are_dropped_and_counted() {
    let gate = "while [ ! -e \"${0%/*}/go\" ]; do sleep 0.01; done; [ $WEIR_N -lt 2 ] && echo $WEIR_N";
    let folder = Folder::new(&[("a", &format!("{gate}; exit 0"))], LONG);
    folder.offer("a", 0);
    while !folder.hooks.as_ref().unwrap().0.lock().runs {
        std::thread::yield_now();
    }
    (1..MAX_WAITING + 8).for_each(|n| folder.offer("a", n));
    {
        let mut state = folder.hooks.as_ref().unwrap().0.lock();
        assert_eq!((state.waiting.len(), state.n_dropped), (MAX_WAITING, 7));
        state.waiting.truncate(1);
    }
    std::fs::write(folder.path.join("go"), "").unwrap();
    assert_eq!(
        folder.finish(),
        "hook a: 0\n! 7 events were dropped: 1000 wait already, hooks are too slow for them\nhook a: 1\n"
    );
}

#[test]
fn what_is_not_to_be_run_is_told_once_until_it_is_right() {
    let folder = Folder::new(&[("a", "echo a"), ("b", "echo b")], LONG);
    let mode = |name: &str, mode| {
        std::fs::set_permissions(folder.path.join(name), PermissionsExt::from_mode(mode)).unwrap()
    };
    mode("a", 0o644);
    mode("b", 0o757);
    for _ in 0..2 {
        folder.offer("a", 0);
        folder.offer("b", 0);
    }
    mode("a", 0o755);
    folder.offer("a", 0);
    assert_eq!(
        folder.finish(),
        "! hook a: it is not executable; `chmod +x` it\n! hook b: anybody may change it; `chmod o-w` it\nhook a: a\n"
    );
}

#[test]
fn a_flood_of_output_and_an_event_that_nobody_reads_hold_up_nothing() {
    let flood =
        "i=0; while [ $i -lt 1100 ]; do echo $i; i=$((i + 1)); done; printf '%05000d' 7; sleep 3 & exit 0";
    let folder = Folder::new(&[("a", flood), ("missing", "")], LONG);
    std::fs::write(folder.path.join("missing"), "#!/no/such/shell\n").unwrap();
    let big = Event::new("a", json!({ "text": "x".repeat(300_000) }));
    folder.hooks.as_ref().unwrap().offer(&Arc::new(big));
    folder.offer("missing", 0);
    let log = folder.finish();
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!((lines.len(), lines[999]), (1002, "hook a: 999"), "{log}");
    assert_eq!(lines[1000], "! hook a: 102 more lines are not logged");
    assert!(lines[1001].starts_with("! hook missing: it cannot be run: "), "{log}");
}

#[test]
fn folders_that_cannot_be_used_are_told() {
    let open = |folder: &Path| {
        let (folder, variables) = (folder.to_path_buf(), Vec::new());
        let settings = Settings { folder, timeout: LONG, variables, log: Box::new(|_, _| {}) };
        Hooks::open(settings).map(drop).unwrap_err()
    };
    let folder = Folder::new(&[("a", "")], LONG);
    assert!(open(&folder.path.join("none")).contains("No such file"));
    assert!(open(&folder.path.join("a")).ends_with("this is no folder"));
    std::fs::set_permissions(&folder.path, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(open(&folder.path).ends_with("anybody may put programs into it; `chmod o-w` it"));
}
