//! Logs: what is logged, and that levels change while the daemon runs.

use std::io::Write;
use std::sync::{Arc, Mutex};

use daemon::logs::Logs;
use daemon::restconf::Request;
use daemon::roles::{Role, Who};
use daemon::{Plane, Service, Store};
use functions::Functions;
use serde_json::{json, Value};

struct Refusing;

impl Plane for Refusing {
    fn change(&self, text: &str, _title: &str) -> Result<(), String> {
        match text.contains("bad ::") {
            true => Err("it cannot run".to_string()),
            false => Ok(()),
        }
    }

    fn read(&self, handler: &str) -> Result<String, String> {
        Err(handler.to_string())
    }

    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>> {
        handlers.iter().map(|handler| self.read(handler)).collect()
    }

    fn write(&self, _handler: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A daemon whose log is kept, as JSON.
struct Logged {
    service: Arc<Service>,
    logs: Arc<Logs>,
    dispatch: tracing::Dispatch,
    kept: Kept,
}

impl Logged {
    fn new(filter: &str) -> Logged {
        let kept = Kept::default();
        let writer = kept.clone();
        let (logs, dispatch) = Logs::new(filter, true, move || writer.clone()).unwrap();
        let store = Store::new(Functions::shipped(), Arc::new(Refusing)).with_logs(logs.clone());
        Logged { service: Service::new(store, None), logs, dispatch, kept }
    }

    fn ask(&self, method: &str, path: &str, body: Value) -> u16 {
        let request = Request {
            method: method.into(),
            path: path.into(),
            body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
            who: Who { name: "ann".into(), role: Role::Administer },
            ..Request::default()
        };
        tracing::dispatcher::with_default(&self.dispatch, || self.service.answer(&request).status)
    }

    fn hear(&self, element: &str, text: &str) {
        self.hear_of(element, text, false);
    }

    fn hear_of(&self, element: &str, text: &str, is_failure: bool) {
        tracing::dispatcher::with_default(&self.dispatch, || self.logs.hear(element, text, is_failure));
    }

    /// What was logged since the last time: level and message.
    fn told(&self) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.kept.0.lock().unwrap())).unwrap();
        let one = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            let word = |name: &str| event[name].as_str().unwrap_or_default().to_string();
            let place = [word("path"), word("instance"), word("port"), word("element")].concat();
            format!("{} {} {place} {}", word("level"), word("target"), word("message"))
        };
        text.lines().map(one).collect()
    }
}

const LEVEL: &str = "/restconf/data/weir:logging/level";

#[test]
fn transactions_refusals_and_problems_of_the_data_plane_are_logged() {
    let logged = Logged::new("info");
    logged.ask(
        "PUT",
        "/restconf/data/firewall:firewall=edge",
        json!({ "firewall:firewall": [{ "name": "edge" }] }),
    );
    logged.ask("PUT", "/restconf/data/firewall:firewall=edge/mtu", json!({ "firewall:mtu": 1 }));
    logged.ask(
        "PUT",
        "/restconf/data/firewall:firewall=bad",
        json!({ "firewall:firewall": [{ "name": "bad" }] }),
    );
    logged.ask("GET", "/restconf/data", Value::Null);
    let told = logged.told();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], "INFO weir /firewall:firewall=edge changed");
    assert!(told[1].starts_with("INFO weir /firewall:firewall=edge/mtu refused: "), "{told:?}");
    assert_eq!(told[2], "WARN weir  the graph cannot be changed: it cannot run");
    assert_eq!(told[3], "INFO weir /firewall:firewall=bad refused: it cannot run");
}

#[test]
fn the_level_changes_at_once_and_goes_back_to_that_of_the_command_line() {
    let logged = Logged::new("warn");
    let get = || {
        logged.ask("GET", "/functions", Value::Null);
        logged.told()
    };
    assert!(get().is_empty());
    assert_eq!(logged.ask("PUT", LEVEL, json!({ "weir:level": "debug" })), 201);
    assert_eq!(logged.told().last().unwrap(), "DEBUG weir::api /restconf/data/weir:logging/level answered");
    assert_eq!(get(), ["DEBUG weir::api /functions answered"]);
    assert_eq!(logged.ask("PUT", LEVEL, json!({ "weir:level": "loud" })), 400);
    assert!(!get().is_empty());
    assert_eq!(logged.ask("DELETE", "/restconf/data/weir:logging", Value::Null), 204);
    logged.told();
    assert!(get().is_empty());
    assert_eq!(logged.ask("PUT", LEVEL, json!({ "weir:level": "off" })), 201);
    logged.ask(
        "PUT",
        "/restconf/data/firewall:firewall=bad",
        json!({ "firewall:firewall": [{ "name": "bad" }] }),
    );
    assert!(logged.told().is_empty());
}

#[test]
fn what_elements_print_is_filtered_for_each_instance_and_element() {
    let logged = Logged::new("info");
    let hear = || {
        for element in ["a/print", "a/deep/print", "ab/print", "_queue_a_0"] {
            logged.hear(element, "hello\n");
        }
        logged
            .told()
            .iter()
            .map(|line| line.split(' ').nth(2).unwrap().to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(hear(), "aprint adeep/print abprint _queue_a_0");
    let level = |name: &str, level: &str| {
        let path = format!("/restconf/data/weir:logging/element={}", name.replace('/', "%2F"));
        let status = logged.ask("PUT", &path, json!({ "weir:element": [{ "name": name, "level": level }] }));
        assert!([201, 204].contains(&status), "{status}");
        logged.told();
    };
    level("a", "warn");
    assert_eq!(hear(), "abprint _queue_a_0");
    level("a/deep", "debug");
    assert_eq!(hear(), "adeep/print abprint _queue_a_0");
    // What is named goes its own way, whatever the others do.
    assert_eq!(logged.ask("PUT", LEVEL, json!({ "weir:level": "off" })), 201);
    assert_eq!(hear(), "adeep/print");
    level("a/deep", "off");
    assert_eq!(hear(), "");
}

#[test]
fn failures_are_warnings_and_what_stands_at_a_port_is_logged_for_its_instance() {
    let logged = Logged::new("warn");
    let put = |path: &str, body: Value| assert_eq!(logged.ask("PUT", path, body), 201);
    put("/restconf/data/firewall:firewall=a", json!({ "firewall:firewall": [{ "name": "a" }] }));
    let connection = json!({ "weir:connection": [{ "from": "a:left", "to": "file:/full" }] });
    put("/restconf/data/weir:topology/connection=a%3Aleft", connection);
    let hear = |element: &str| {
        logged.hear(element, "hello");
        logged.hear_of(element, "No space left on device", true);
        logged.told()
    };
    assert_eq!(hear("a/file"), ["WARN weir::element afile No space left on device"]);
    let element = format!("_file_{}", functions::identifier("/full"));
    assert_eq!(hear(&element), [format!("WARN weir::element aleft{element} No space left on device")]);
    let level = json!({ "weir:element": [{ "name": "a", "level": "error" }] });
    put("/restconf/data/weir:logging/element=a", level);
    assert!(hear("a/file").is_empty() && hear(&element).is_empty());
}

#[test]
fn several_lines_are_several_events_and_cannot_forge_one() {
    let logged = Logged::new("info");
    logged.hear("a/print", "one\n{\"level\":\"ERROR\"}\n");
    assert_eq!(
        logged.told(),
        ["INFO weir::element aprint one", "INFO weir::element aprint {\"level\":\"ERROR\"}"]
    );
}

#[test]
fn a_filter_that_cannot_be_is_told() {
    for bad in ["loud", "weir=loud", "info,,weir::api=7x"] {
        let told = Logs::new(bad, false, std::io::sink).map(drop).unwrap_err();
        assert!(told.contains("expected a level"), "{told}");
    }
    let targets = Logged::new("off,weir::api=debug");
    targets.ask("GET", "/functions", Value::Null);
    targets.hear("a/print", "x");
    assert_eq!(targets.told(), ["DEBUG weir::api /functions answered"]);
}
