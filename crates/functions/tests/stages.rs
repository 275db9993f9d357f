//! What all functions that are stages have to be: their state can be read, and they run inside other graphs.

mod harness;

use functions::{Functions, Package, Placement};
use harness::{Scratch, TIME, UDP};
use regex_lite::Regex;
use serde_json::{json, Value};
use yang::{Kind, Node};

/// Instances of a function: with what it cannot do without, and with more.
fn instances(name: &str, scratch: &Scratch) -> Vec<Value> {
    let mappings = json!([{ "outside": "203.0.113.9", "inside": "10.0.0.9" }]);
    let forward = json!([{ "protocol": "udp", "port": 53, "address": "10.0.0.5" }]);
    let addresses = json!([{ "name": "left", "address": "10.0.0.1/24" },
        { "name": "right", "address": "10.0.1.1/24" }]);
    let values = match name {
        "nat" => vec![
            json!({ "transparent": true, "address": "203.0.113.2", "static": mappings, "forward": forward }),
            json!({ "left-address": "10.0.0.1/24", "right-address": "203.0.113.2/24", "static": mappings,
                "forward": forward, "inside": ["10.0.0.0/25"] }),
        ],
        "firewall" => vec![
            json!({ "rule": [{ "id": 1, "action": "allow" }] }),
            json!({ "stateful": true, "count-rules": true, "rule": [{ "id": 1, "action": "allow" }],
                "reverse": [{ "id": 1, "action": "deny" }] }),
        ],
        "router" => {
            let addresses6 = json!([{ "interface": "left", "address": "2001:db8::1/64" }]);
            vec![
                json!({ "interface": addresses, "route": [{ "prefix": "default", "gateway": "10.0.1.2" }] }),
                json!({ "interface": addresses, "ipv6-address": addresses6,
                    "ipv6-route": [{ "prefix": "default", "gateway": "fe80::1%left" }] }),
            ]
        }
        "bridge" => {
            let ports = json!([{ "name": "left", "vlan": 10 }, { "name": "right", "mode": "trunk", "allowed": ["10..20"] }]);
            vec![
                json!({}),
                json!({ "stp": true }),
                json!({ "port": ports }),
                json!({ "port": ports, "stp": true }),
            ]
        }
        "tee" => vec![json!({ "file": scratch.path(ODD) })],
        "hex" => vec![
            json!({ "out": scratch.path(ODD) }),
            json!({ "out": scratch.path(ODD), "direction": "left" }),
        ],
        "shape" => vec![json!({ "rate": "1Mbps" }), json!({ "rate": "1kpps", "bucket": "5" })],
        "delay" => vec![json!({ "time": "5ms", "jitter": "1ms" })],
        "loss" => vec![json!({ "probability": "0" }), json!({ "probability": "50%", "direction": "right" })],
        "filter" => vec![json!({ "expression": "udp or arp" }), json!({})],
        "policer" => {
            let class = json!([{ "name": "dns", "match": "udp && port 53", "rate": "10pps" }]);
            vec![
                json!({ "rate": "1Mbps", "class": class }),
                json!({ "rate": "1kpps", "action": "mark", "dscp": 8 }),
            ]
        }
        "loadbalancer" => {
            let backend = json!([{ "address": "10.0.1.5", "port": 53 }]);
            let service = json!([{ "name": "dns", "address": "10.0.0.2", "protocol": "udp", "port": 53, "backend": backend }]);
            vec![json!({ "left-address": "10.0.0.3/24", "right-address": "10.0.1.1/24", "service": service })]
        }
        "ddos-mitigator" => vec![
            json!({}),
            json!({ "blocked-source": [{ "network": "10.0.0.9" }], "blocked-destination": [{ "network": "192.0.2.0/24" }],
                "trusted-source": [{ "network": "10.9.0.0/16" }], "drop-fragments": true, "drop-non-ip": true,
                "syn-rate": 10, "source-rate": 10 }),
        ],
        "mirror" => {
            vec![json!({}), json!({ "match": "udp", "sample": 2, "truncate": 40, "direction": "left" })]
        }
        "capture" => {
            vec![json!({ "file": scratch.path(ODD), "filter": "udp", "max-packets": "1", "files": 2 })]
        }
        "flow-monitor" => vec![json!({ "file": scratch.path(ODD) })],
        "simple-forwarder" => vec![json!({ "rule": [{ "in-port": "left", "out-port": "right" }] })],
        _ => vec![json!({})],
    };
    let named = |mut value: Value| {
        value["name"] = "one".into();
        value
    };
    values.into_iter().map(named).collect()
}

/// The name of a file that means much in graphs and shells.
const ODD: &str = "a \"b\\),(;$c";
const PORTS: [&str; 2] = ["left", "right"];
const FRAMES: [(&str, &[&str]); 2] =
    [("left", &[UDP, "ARP(10.0.0.5, 10.0.0.1)"]), ("right", &["UDP(10.0.0.2, 53, 10.0.0.1, 1000)"])];

/// Nodes with a handler, those of lists whose handlers depend on the entry left out.
fn readable<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    for child in node.data_children() {
        match child.extension("read") {
            Some(handler) if !handler.contains('{') => found.push(child),
            Some(_) => {}
            None => readable(child, found),
        }
    }
}

#[test]
fn what_a_schema_says_can_be_read_can_be_read() {
    let mut n = 0;
    for (_, name) in Package::shipped_commands() {
        let functions = Functions::shipped_one(name).unwrap();
        let mut nodes = Vec::new();
        readable(functions.get(name).unwrap().node, &mut nodes);
        for node in nodes {
            let handler = node.extension("read").unwrap();
            let scratch = Scratch::new();
            let told = instances(name, &scratch).into_iter().map(|instance| {
                let told = harness::run(name, instance, &FRAMES, &[handler]);
                let (_, value) =
                    told.split_once(&format!("{handler}: ")).unwrap_or_else(|| panic!("{name}: {told}"));
                value.to_string()
            });
            let is_read = |value: &String| {
                let first = value.lines().next().unwrap_or_default();
                !first.starts_with("no element") && !first.ends_with(" read handler")
            };
            let mut told = told.filter(is_read);
            let value = told.next().unwrap_or_else(|| panic!("{name}: no instance has {handler}"));
            check_value(name, node, &value);
            n += 1;
        }
    }
    assert!(n > 20, "only {n} handlers were found");
}

fn check_value(name: &str, node: &Node, value: &str) {
    let line = value.lines().next().unwrap_or_default();
    match (node.kind, node.extension("line")) {
        (Kind::List, Some(expression)) => check_lines(name, node, expression, value),
        (Kind::List, None) => panic!("{name}: {} has lines of no form", node.name),
        _ => assert_eq!(
            functions::check(node.ty.as_ref().unwrap(), line),
            Ok(()),
            "{name}: {}: {line}",
            node.name
        ),
    }
}

/// The lines that a handler gives, up to an empty one, match the expression, whose groups are leaves.
fn check_lines(name: &str, node: &Node, expression: &str, value: &str) {
    let expression = Regex::new(expression).unwrap();
    for group in expression.capture_names().flatten() {
        assert!(node.child(&group.replace('_', "-")).is_some(), "{name}: no leaf for {group}");
    }
    let lines = value.lines().take_while(|line| !line.is_empty() && !line.starts_with("to "));
    // Click's tables have headings.
    for line in lines.filter(|line| !line.starts_with("# ")) {
        assert!(expression.is_match(line), "{name}: {}: {line}", node.name);
    }
}

#[test]
fn tables_are_told_by_entry() {
    let scratch = Scratch::new();
    for (name, handler, list) in [
        ("nat", "nat/flows.udp_table", "udp-mapping"),
        ("router", "routes.table", "entry"),
        ("bridge", "bridge.table", "station"),
        ("count", "count/report.packets", "packets"),
    ] {
        let functions = Functions::shipped_one(name).unwrap();
        let node = functions.get(name).unwrap().node.child(list).unwrap();
        let expression = Regex::new(node.extension("line").unwrap()).unwrap();
        let told = harness::run(name, instances(name, &scratch).remove(0), &FRAMES, &[handler]);
        let first = told.split_once(&format!("{handler}: ")).unwrap().1.lines().next().unwrap();
        assert!(expression.is_match(first), "{name}: {told}");
    }
}

struct Numbered;

impl Placement for Numbered {
    fn from(&self, idx: usize, _name: &str) -> String {
        format!("input[{idx}]")
    }

    fn to(&self, idx: usize, _name: &str) -> String {
        format!("[{idx}] output")
    }
}

/// The ports of an instance.
fn ports(name: &str, instance: &Value) -> Vec<String> {
    let functions = Functions::shipped_one(name).unwrap();
    functions.get(name).unwrap().ports(instance, &PORTS).unwrap()
}

/// The graph of an instance, as a compound element has it.
fn inner(name: &str, instance: &Value) -> String {
    let functions = Functions::shipped_one(name).unwrap();
    functions.get(name).unwrap().render(instance, &ports(name, instance), Numbered).unwrap()
}

#[test]
fn functions_do_the_same_inside_a_compound_element() {
    for (command, name) in Package::shipped_commands() {
        let scratch = Scratch::new();
        for instance in instances(name, &scratch) {
            let alone = harness::run(name, instance.clone(), &FRAMES, &[]);
            let mut text =
                format!("elementclass Instance {{\n{}\n}}\ninstance :: Instance;\n", inner(name, &instance));
            let ports = ports(name, &instance);
            for (i, port) in ports.iter().enumerate() {
                text += &format!("FromInterface({port}) -> [{i}] instance [{i}] -> ToInterface({port});\n");
            }
            let inside = harness::run_graph(TIME, &text, &ports, &FRAMES, &[]);
            assert_eq!(inside.replace("instance/", ""), alone, "{command}: {instance}");
            assert!(alone.contains("to right at") || alone.contains("to left at"), "{command}: {alone}");
        }
    }
}

/// A live change finds elements by their names.
#[test]
fn elements_that_remember_have_names() {
    let anonymous = Regex::new(
        r"-> *(\w*Queue|\w*Rewriter|\w*Counter|IPReassembler|RatedSplitter|ARPQuerier|EtherSwitch|VLANSwitch|Policer|FlowExporter|StrideSwitch|RandomSample|ToDump|ToHexDump|TrafficReport|RadixIPLookup|\w*RatedUnqueue|DelayUnqueue|JitterTimestamp|PcapFilter|EtherSpanTree|WholePackets)\b",
    )
    .unwrap();
    for (_, name) in Package::shipped_commands() {
        for instance in instances(name, &Scratch::new()) {
            let text = inner(name, &instance);
            let found = anonymous.find(&text).map(|found| found.as_str());
            assert_eq!(found, None, "{name}:\n{text}");
        }
    }
}

#[test]
fn text_of_a_user_is_one_argument_whatever_it_holds() {
    let evil = "udp) -> Discard; evil :: Idle(";
    let told = harness::graph("filter", &json!({ "name": "f", "expression": evil }), &PORTS).unwrap().0;
    assert_eq!(told.matches(&args_quoted(evil)).count(), 2, "{told}");
    let scratch = Scratch::new();
    harness::run("tee", instances("tee", &scratch).remove(0), &FRAMES, &[]);
    assert!(std::path::Path::new(&scratch.path(ODD)).exists());
}

fn args_quoted(text: &str) -> String {
    format!("FilterFunction(\"{text}\")")
}

#[test]
fn the_address_of_a_bridge_comes_from_its_name() {
    let graph = |name: &str| inner("bridge", &json!({ "name": name, "stp": true }));
    assert_eq!(graph("one"), graph("one"));
    assert_ne!(graph("one"), graph("two"));
}

#[test]
fn flows_of_a_nat_outlive_a_change_of_its_ports() {
    let mut instance = instances("nat", &Scratch::new()).remove(0);
    let before = inner("nat", &instance);
    let more = json!({ "protocol": "tcp", "port": 443, "address": "10.0.0.6" });
    instance["forward"].as_array_mut().unwrap().insert(0, more);
    let after = inner("nat", &instance);
    assert_ne!(before, after);
    let graph = |inner: &str| {
        format!(
            "elementclass Instance {{\n{inner}\n}}\nInfiniteSource(LENGTH 20, LIMIT 1, STOP false) \
             -> UDPIPEncap(10.0.0.5, 4000, 198.51.100.1, 80) -> EtherEncap(0x0800, 2:0:0:0:0:5, 2:0:0:0:0:6) \
             -> instance :: Instance -> Discard; Idle -> [1] instance [1] -> Discard;"
        )
    };
    let library = testing::Library::new(catalog::stock().folders().iter().map(|(_, classes)| *classes));
    // Few rounds: when there is nothing to do, time passes.
    let reads = ["instance/nat/flows.table_size", "instance/nat/flows.patterns"];
    let told = library.run_changing(&graph(&before), &[&graph(&after)], 3, &reads);
    assert!(told.starts_with("instance/nat/flows.table_size: 1\n"), "{told}");
    assert!(told.contains("10.0.0.6"), "{told}");
}
