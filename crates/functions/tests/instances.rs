//! Instances as a daemon has them: compound elements of one graph, which is changed while it runs.

use functions::{Functions, Placement};
use serde_json::{json, Value};

/// Rounds between two changes.
const ROUNDS: usize = 500;

/// The ports of a compound element.
struct Numbered;

impl Placement for Numbered {
    fn from(&self, idx: usize, _name: &str) -> String {
        format!("input[{idx}]")
    }

    fn to(&self, idx: usize, _name: &str) -> String {
        format!("[{idx}] output")
    }
}

/// A graph with an instance called `x`: ten TCP packets that ask for a connection enter by its first port.
fn graph(function: &str, data: &Value, connected: &[&str]) -> String {
    let functions = Functions::shipped_one(function).unwrap();
    functions.validate(&json!({ format!("{function}:{function}"): [data] })).unwrap();
    let function = functions.get(function).unwrap();
    let ports = function.ports(data, connected).unwrap();
    let body = function.render(data, &ports, Numbered).unwrap();
    let mut text = format!("x :: {{\n{body}\n}};\n");
    for idx in 0..ports.len() {
        text += &format!("in{idx} :: Null -> [{idx}] x [{idx}] -> out{idx} :: Counter -> Discard;\n");
        text += &format!("idle{idx} :: Idle -> in{idx};\n");
    }
    let frame = "020000000002 020000000001 0800 4500002800070000400666c70a0000010a000002 03e80050000000010000000250020100da7b0000";
    text + &format!(
        "RatedSource(DATA \\<{frame}>, LIMIT 10, RATE 1000) -> in0; tick :: TimedSource(10ms) -> Discard;"
    )
}

/// Runs graphs one after the other; errors, and the values of handlers in the end.
fn run(graphs: &[String], reads: &[&str]) -> String {
    let library = testing::Library::new(catalog::stock().folders().iter().map(|(_, classes)| *classes));
    let changes: Vec<&str> = graphs.iter().skip(1).map(String::as_str).collect();
    library.run_changing(&graphs[0], &changes, ROUNDS, reads)
}

/// Counts go on when an instance is changed, and nothing is told.
#[track_caller]
fn check(function: &str, before: Value, after: Value, connected: &[&str], reads: &[&str], expected: &str) {
    let graphs = [graph(function, &before, connected), graph(function, &after, connected)];
    assert_eq!(run(&graphs[..1], reads), expected, "before the change");
    assert_eq!(run(&graphs, reads), expected, "after the change");
}

#[test]
fn helloworld_goes_on_counting_in_another_mode() {
    let instance = |mode: &str| json!({ "name": "x", "mode": mode });
    check(
        "helloworld",
        instance("forward"),
        instance("drop"),
        &[],
        &["x/from_left.count"],
        "x/from_left.count: 10\n",
    );
    check(
        "helloworld",
        instance("drop"),
        instance("reflect"),
        &[],
        &["x/from_left.count"],
        "x/from_left.count: 10\n",
    );
}

#[test]
fn rules_of_a_forwarder_keep_their_counts_when_others_come() {
    let rule = |name: &str, to: &str| json!({ "in-port": name, "out-port": to });
    check(
        "simple-forwarder",
        json!({ "name": "x", "rule": [rule("p1", "p2")] }),
        json!({ "name": "x", "rule": [rule("p1", "p3"), rule("p2", "p1"), rule("p9", "p8")] }),
        &["p1", "p2", "p3"],
        &["x/rule_p1.count"],
        "x/rule_p1.count: 10\n",
    );
}

#[test]
fn a_policer_keeps_its_counts_with_another_rate_and_more_classes() {
    let class = |name: &str, what: &str, rate: &str| json!({ "name": name, "match": what, "rate": rate, "bucket": 4 });
    check(
        "policer",
        json!({ "name": "x", "class": [class("web", "tcp", "1pps")] }),
        json!({ "name": "x", "class": [class("new", "udp", "1pps"), class("web", "tcp", "2pps")], "rate": "1Mbps" }),
        &[],
        &["x/to_right/class_web.conforming", "x/to_right/class_web.exceeding"],
        "x/to_right/class_web.conforming: 4\nx/to_right/class_web.exceeding: 6\n",
    );
}

#[test]
fn a_mitigator_keeps_its_counts_and_rates_when_somebody_is_blocked() {
    let instance = |blocked: &[&str]| {
        let blocked: Vec<Value> = blocked.iter().map(|network| json!({ "network": network })).collect();
        json!({ "name": "x", "source-rate": 1, "source-burst": 3, "syn-rate": 100, "syn-burst": 20, "blocked-source": blocked })
    };
    check(
        "ddos-mitigator",
        instance(&["192.0.2.1"]),
        instance(&["10.0.0.0/8", "192.0.2.1", "198.51.100.0/24"]),
        &[],
        &["x/passed.count", "x/source_limit.exceeding", "x/source_limit.table"],
        "x/passed.count: 3\nx/source_limit.exceeding: 7\nx/source_limit.table: 10.0.0.1 7\n\n",
    );
}

#[test]
fn mirrors_and_monitors_keep_their_counts() {
    check(
        "mirror",
        json!({ "name": "x", "match": "tcp" }),
        json!({ "name": "x", "sample": 2, "truncate": 20, "direction": "right" }),
        &[],
        &["x/copied_right.count", "out2.count"],
        "x/copied_right.count: 10\nout2.count: 10\n",
    );
    check(
        "flow-monitor",
        json!({ "name": "x", "collector": "127.0.0.1", "idle-timeout": 600 }),
        json!({ "name": "x", "collector": "127.0.0.1", "idle-timeout": 600, "mtu": 1400 }),
        &[],
        &["x/fx.count", "x/fx.flows"],
        "x/fx.count: 10\nx/fx.flows: 1\n",
    );
}

#[test]
fn a_capture_goes_on_with_its_file() {
    let path = std::env::temp_dir().join(format!("weir-instances-test-{}.pcap", std::process::id()));
    // In a compound element, too, a name is not taken for a parameter or the end of an argument.
    let name = format!("{} $x ${{y}}), z", path.display());
    let instance =
        |filter: &str| json!({ "name": "x", "file": name, "filter": filter, "max-packets": "1000" });
    let graphs = [graph("capture", &instance(""), &[]), graph("capture", &instance("tcp"), &[])];
    let told = run(&graphs, &["x/file.count"]);
    let len = std::fs::metadata(&name).map(|about| about.len());
    std::fs::remove_file(&name).unwrap();
    assert_eq!((told.as_str(), len.unwrap()), ("x/file.count: 10\n", 24 + 10 * (16 + 54)));
}

#[test]
fn a_balancer_keeps_its_flows_when_a_backend_goes() {
    let instance = |backends: &[&str]| {
        let backends: Vec<Value> =
            backends.iter().map(|address| json!({ "address": address, "port": 80 })).collect();
        json!({
            "name": "x", "left-address": "10.0.0.9/24", "right-address": "10.1.0.1/24", "left-ethernet": "02:00:00:00:00:02",
            "service": [{ "name": "web", "address": "10.0.0.2", "port": 80, "backend": backends }],
        })
    };
    check(
        "loadbalancer",
        instance(&["10.1.0.11"]),
        instance(&["10.1.0.12", "10.1.0.13"]),
        &[],
        &["x/lb.n_connections"],
        "x/lb.n_connections: 1\n",
    );
}
