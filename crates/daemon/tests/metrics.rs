//! Metrics: what is told of instances, in a form that Prometheus reads, and what a collector is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use daemon::metrics::push::{self, Collector};
use daemon::metrics::Teller;
use daemon::restconf::Request;
use daemon::roles::{Role, Who};
use daemon::{Plane, Service, Store};
use expect_test::expect;
use functions::{Functions, Package};
use serde_json::{json, Value};

const SCHEMA: &str =
    "module wire { yang-version 1.1; namespace 'urn:wire'; prefix wire; import weir { prefix weir; }
  list wire { key name; weir:port left; weir:port right; uses weir:instance;
    list rule { key 'id text'; leaf id { type uint32; } leaf text { type string; }
      leaf packets { config false; type weir:counter; description 'Packets of
        a rule, with \\.'; weir:read 'rule{id}.count'; } }
    container limits { leaf low { type uint8; } leaf level { config false; type int16; units seconds; description 'A level.'; weir:read 'limits.level'; } }
    container state { config false; leaf count { type uint32; description 'How many.'; weir:read 'paint.n'; } leaf word { type string; weir:read 'paint.word'; }
      leaf lost_total { type weir:counter; description 'Lost.'; weir:read 'lost'; } leaf nowhere { type uint8; weir:read 'nowhere'; } }
    list flow { config false; key id; weir:read 'flows'; weir:line '(?<id>.*)'; leaf id { type string; } leaf n { type weir:counter; } }
  } }";

struct Handlers;

impl Plane for Handlers {
    fn change(&self, text: &str, _title: &str) -> Result<(), String> {
        if text.contains("\nbad ::") || text.starts_with("bad ::") {
            return Err("no".to_string());
        }
        Ok(())
    }

    fn read(&self, handler: &str) -> Result<String, String> {
        Ok(match handler {
            "a/rule1.count" => "18446744073709551615\n",
            "a/limits.level" => "-3",
            "a/paint.n" => "12.5",
            "a/paint.word" => "red",
            "a/lost" => "0",
            "_rx_a_0.count" => "10",
            "_rx_a_0.byte_count" => "640",
            "drops" => "a/filter\tno-route\t5\na/x/y\tbad \"header\"\t6\n_queue_a_1\tfull\t7\nother/z\tfull\t8\n_driver\tx\t9\nnonsense\n",
            "a/flows" => panic!("a list that may be long is read"),
            other => return Err(format!("no handler {other}")),
        }
        .to_string())
    }

    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>> {
        handlers.iter().map(|handler| self.read(handler)).collect()
    }

    fn write(&self, _handler: &str, _value: &str) -> Result<(), String> {
        Ok(())
    }
}

fn service() -> Arc<Service> {
    let template = "{{ from('left') }} -> {{ to('right') }}; {{ from('right') }} -> {{ to('left') }};";
    let package = Package::of_texts("wire", SCHEMA, template);
    let functions = Functions::new(vec![Arc::new(package)]).unwrap();
    let service = Service::new(Store::new(functions, Arc::new(Handlers)), None);
    let rule = json!({ "id": 1, "text": "a \"quoted\\\nline\"" });
    let put = |name: &str, entry: Value| {
        ask(&service, Role::Administer, "PUT", &format!("/restconf/data/wire:wire={name}"), entry)
    };
    assert_eq!(put("a", json!({ "wire:wire": [{ "name": "a", "rule": [rule] }] })).0, 201);
    assert_eq!(put("bad", json!({ "wire:wire": [{ "name": "bad" }] })).0, 409);
    service
}

fn ask(service: &Service, role: Role, method: &str, path: &str, body: Value) -> (u16, String) {
    let reply = service.answer(&Request {
        method: method.into(),
        path: path.into(),
        body: if body.is_null() { Vec::new() } else { body.to_string().into_bytes() },
        who: Who { name: "test".into(), role },
        ..Request::default()
    });
    (reply.status, String::from_utf8(reply.body).unwrap())
}

/// The text without what is another one each time.
fn steady(text: &str) -> String {
    let changes = ["weir_start_time_seconds ", "weir_uptime_seconds ", "weir_build_info{"];
    let is_steady = |line: &&str| {
        !changes.iter().any(|name| line.starts_with(name))
            && !line.contains("_bucket")
            && !line.contains("_sum{")
    };
    text.lines().filter(is_steady).map(|line| format!("{line}\n")).collect()
}

#[test]
fn functions_ports_drops_and_the_daemon_have_metrics() {
    let service = service();
    let (status, text) = ask(&service, Role::Read, "GET", "/metrics", Value::Null);
    assert_eq!(status, 200);
    expect![[r##"
        # HELP weir_build_info Always 1; the label tells the version.
        # TYPE weir_build_info gauge
        # HELP weir_config_revision The number of the configuration: another one, another number.
        # TYPE weir_config_revision gauge
        weir_config_revision 1
        # HELP weir_dropped_packets_total Packets that elements of an instance dropped, and why. What stands outside it, at one of its ports, has the port: queues, and what could not be sent.
        # TYPE weir_dropped_packets_total counter
        weir_dropped_packets_total{name="a",element="filter",reason="no-route"} 5
        weir_dropped_packets_total{name="a",element="x/y",reason="bad \"header\""} 6
        weir_dropped_packets_total{name="a",port="right",element="_queue_a_1",reason="full"} 7
        # HELP weir_http_requests_total Requests that were answered, by method and status.
        # TYPE weir_http_requests_total counter
        weir_http_requests_total{method="PUT",status="201"} 1
        weir_http_requests_total{method="PUT",status="409"} 1
        # HELP weir_instances Instances, by function.
        # TYPE weir_instances gauge
        weir_instances{function="wire"} 1
        # HELP weir_port_rx_bytes_total Bytes of packets that entered an instance by a port.
        # TYPE weir_port_rx_bytes_total counter
        weir_port_rx_bytes_total{name="a",port="left"} 640
        # HELP weir_port_rx_packets_total Packets that entered an instance by a port.
        # TYPE weir_port_rx_packets_total counter
        weir_port_rx_packets_total{name="a",port="left"} 10
        # HELP weir_start_time_seconds When the daemon was started, in seconds since 1970.
        # TYPE weir_start_time_seconds gauge
        # HELP weir_transaction_duration_seconds Transactions by whether they were made, and how long they took.
        # TYPE weir_transaction_duration_seconds histogram
        weir_transaction_duration_seconds_count{result="made"} 1
        weir_transaction_duration_seconds_count{result="refused"} 1
        # HELP weir_uptime_seconds How long the daemon has been running.
        # TYPE weir_uptime_seconds gauge
        # HELP weir_wire_limits_level A level.
        # TYPE weir_wire_limits_level gauge
        weir_wire_limits_level{name="a"} -3
        # HELP weir_wire_rule_packets_total Packets of a rule, with \\.
        # TYPE weir_wire_rule_packets_total counter
        weir_wire_rule_packets_total{name="a",rule_id="1",rule_text="a \"quoted\\\nline\""} 18446744073709551615
        # HELP weir_wire_state_count_now How many.
        # TYPE weir_wire_state_count_now gauge
        weir_wire_state_count_now{name="a"} 12.5
        # HELP weir_wire_state_lost_total Lost.
        # TYPE weir_wire_state_lost_total counter
        weir_wire_state_lost_total{name="a"} 0
    "##]].assert_eq(&steady(&text));
}

#[test]
fn who_may_not_see_an_instance_sees_none_of_its_metrics() {
    let service = service();
    let rule = json!({ "weir:rule": [{ "name": "hidden", "who": ["role:read"], "path": "/wire:wire=a", "action": "deny" }] });
    let (status, told) = ask(&service, Role::Administer, "POST", "/restconf/data/weir:access", rule);
    assert_eq!(status, 201, "{told}");
    let (_, all) = ask(&service, Role::Operate, "GET", "/metrics", Value::Null);
    assert!(all.contains("name=\"a\""));
    let (status, some) = ask(&service, Role::Read, "GET", "/metrics", Value::Null);
    assert_eq!(status, 200);
    assert!(!some.contains("name=\"a\"") && some.contains("weir_http_requests_total{"), "{some}");
    assert_eq!(ask(&service, Role::Nobody, "GET", "/metrics", Value::Null).0, 403);
}

/// Reads the text form as strictly as its description says.
fn parse(text: &str) -> BTreeMap<String, (String, Vec<(String, f64)>)> {
    let mut families: BTreeMap<String, (String, Vec<(String, f64)>)> = BTreeMap::new();
    let (mut current, mut helped, mut seen) = (String::new(), String::new(), BTreeSet::new());
    assert!(text.ends_with('\n'));
    let is_name = |name: &str| {
        name.starts_with(|one: char| one.is_ascii_alphabetic() || one == '_')
            && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
    };
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(is_name(name) && !help.is_empty(), "{line}");
            helped = name.to_string();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(name, helped);
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(["counter", "gauge", "histogram"].contains(&kind));
            assert!(
                families.insert(name.to_string(), (kind.to_string(), Vec::new())).is_none(),
                "{name} comes twice"
            );
            current = name.to_string();
        } else {
            assert!(seen.insert(line.rsplit_once(' ').unwrap().0.to_string()), "twice: {line}");
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let (kind, samples) = families.get_mut(&current).unwrap();
            let ending =
                name.strip_prefix(current.as_str()).unwrap_or_else(|| panic!("{line} is not of {current}"));
            let endings: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
            assert!(endings.contains(&ending), "{line}");
            let labels = series[name.len()..]
                .strip_prefix('{')
                .map(|rest| rest.strip_suffix('}').unwrap())
                .unwrap_or("");
            let mut rest = labels;
            while !rest.is_empty() {
                let (label, behind) = rest.split_once("=\"").unwrap();
                assert!(is_name(label.trim_start_matches(',')), "{line}");
                let mut escaped = false;
                let end = behind
                    .find(|one| {
                        let is_end = one == '"' && !escaped;
                        assert!(!escaped || ['\\', '"', 'n'].contains(&one), "{line}");
                        escaped = one == '\\' && !escaped;
                        is_end
                    })
                    .unwrap();
                rest = &behind[end + 1..];
                assert!(rest.is_empty() || rest.starts_with(','), "{line}");
            }
            samples.push((series.to_string(), value.parse().unwrap()));
        }
    }
    families
}

#[test]
fn prometheus_can_read_it() {
    let service = service();
    let (_, text) = ask(&service, Role::Administer, "GET", "/metrics", Value::Null);
    let families = parse(&text);
    assert!(families.values().all(|(_, samples)| !samples.is_empty()));
    let (kind, spread) = &families["weir_transaction_duration_seconds"];
    assert_eq!(kind, "histogram");
    for result in ["made", "refused"] {
        let of: Vec<f64> = spread
            .iter()
            .filter(|(series, _)| series.contains(result) && series.contains("_bucket"))
            .map(|(_, n)| *n)
            .collect();
        assert!(of.windows(2).all(|pair| pair[0] <= pair[1]), "{of:?}");
        assert_eq!(of.last(), Some(&1.0), "each was tried once");
        let count = format!("weir_transaction_duration_seconds_count{{result=\"{result}\"}}");
        assert!(spread.contains(&(count, 1.0)));
    }
}

#[test]
fn a_collector_is_sent_the_same_again_and_again() {
    let service = service();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let collector = Collector::parse(&url).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    // The runtime ends its tasks when it is dropped.
    let runtime = runtime.unwrap();
    runtime.spawn(push::push(service.clone(), collector, Duration::from_millis(100), Teller::at("/run/a")));
    let mut bodies = Vec::new();
    // The first is refused, which ends nothing.
    for status in ["503 Service Unavailable", "200 OK", "200 OK"] {
        let (mut stream, _) = listener.accept().unwrap();
        let mut received = Vec::new();
        let (head, body) = loop {
            let mut part = [0; 4096];
            let n = stream.read(&mut part).unwrap();
            assert!(n > 0, "the request ends too early");
            received.extend_from_slice(&part[..n]);
            let text = String::from_utf8_lossy(&received).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if body.len() == length.parse::<usize>().unwrap() {
                break (head.to_string(), body.to_string());
            }
        };
        assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-length: 2\r\ncontent-type: application/json\r\n\r\n{{}}"
        )
        .unwrap();
        bodies.push(serde_json::from_str::<Value>(&body).unwrap());
    }
    drop(runtime);
    let mut told = String::new();
    let scope = &bodies[1]["resourceMetrics"][0];
    let of = |i: usize| {
        let attribute = &scope["resource"]["attributes"][i];
        (attribute["key"].as_str().unwrap(), attribute["value"]["stringValue"].as_str().unwrap())
    };
    assert_eq!(of(0), ("service.name", "weir"));
    // Two daemons that push to one collector are told apart.
    let (name, host) = of(3);
    assert_eq!((name, of(2)), ("host.name", ("service.instance.id", format!("{host}:/run/a").as_str())));
    for metric in scope["scopeMetrics"][0]["metrics"].as_array().unwrap() {
        let name = metric["name"].as_str().unwrap();
        let (kind, data) =
            metric.as_object().unwrap().iter().find(|(_, value)| value["dataPoints"].is_array()).unwrap();
        let points = data["dataPoints"].as_array().unwrap();
        for point in points {
            let now: u128 = point["timeUnixNano"].as_str().unwrap().parse().unwrap();
            assert!(now >= point["startTimeUnixNano"].as_str().unwrap().parse().unwrap());
        }
        let value = match kind.as_str() {
            "histogram" => {
                let n: u64 = points[0]["bucketCounts"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|n| n.as_str().unwrap().parse::<u64>().unwrap())
                    .sum();
                assert_eq!(
                    points[0]["bucketCounts"].as_array().unwrap().len(),
                    points[0]["explicitBounds"].as_array().unwrap().len() + 1
                );
                format!("{n} of {}", points[0]["count"])
            }
            _ if name.ends_with("_seconds") || name.ends_with("_info") => "...".to_string(),
            _ => points[0].get("asInt").unwrap_or(&points[0]["asDouble"]).to_string(),
        };
        told += &format!("{name} {kind} {} {} {value}\n", metric["unit"], data["isMonotonic"]);
    }
    expect![[r#"
        weir_build_info gauge null null ...
        weir_config_revision gauge null null "1"
        weir_dropped_packets sum null true "5"
        weir_http_requests sum null true "1"
        weir_instances gauge null null "1"
        weir_port_rx_bytes sum "By" true "640"
        weir_port_rx_packets sum null true "10"
        weir_start_time_seconds gauge "s" null ...
        weir_transaction_duration_seconds histogram "s" null 1 of "1"
        weir_uptime_seconds gauge "s" null ...
        weir_wire_limits_level gauge "s" null -3.0
        weir_wire_rule_packets sum null true "18446744073709551615"
        weir_wire_state_count_now gauge null null 12.5
        weir_wire_state_lost sum null true "0"
    "#]]
    .assert_eq(&told);
}
