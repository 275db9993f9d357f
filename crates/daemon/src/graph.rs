//! The text of the one graph in which all instances run.
//!
//! Each instance is a compound element that has the instance's name; the elements between them have names that begin with `_`, which
//! no instance's can. An edge from an instance to one whose name is later in the alphabet is a direct call. The other way packets
//! wait in a queue, so that no packet can go round for ever without others getting their turn.

pub mod told;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use functions::identifier;

use crate::topology::{Endpoint, Topology};

/// Packets that wait at most on their way back, or for a device.
const QUEUE: usize = 1024;

/// The graph of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Its function.
    pub function: String,
    /// The names of its ports, in the order of their numbers.
    pub ports: Vec<String>,
    /// What stands between the braces of its compound element.
    pub text: String,
}

/// Instances by name.
pub type Bodies = BTreeMap<String, Arc<Body>>;

/// What counts the traffic of an instance's port: direction, what it counts, and the handler.
pub fn traffic(instance: &str, idx: usize) -> [(&'static str, &'static str, String); 4] {
    let of = |way, what, handler| (way, what, format!("_{way}_{instance}_{idx}.{handler}"));
    [
        of("rx", "packets", "count"),
        of("rx", "bytes", "byte_count"),
        of("tx", "packets", "count"),
        of("tx", "bytes", "byte_count"),
    ]
}

/// The elements through which packets pass between a port and an endpoint outside.
pub fn outside(end: &Endpoint) -> Vec<String> {
    match end {
        Endpoint::Device(device) => {
            let own = identifier(device);
            ["from", "queue", "to"].iter().map(|what| format!("_{what}_dev_{own}")).collect()
        }
        Endpoint::Tap(device) => vec![tap(device)],
        Endpoint::Stream(kind, path) => vec![format!("_{kind}_{}", identifier(path))],
        Endpoint::Port { .. } => Vec::new(),
    }
}

/// The element of a tap.
fn tap(device: &str) -> String {
    format!("_tap_{}", identifier(device))
}

/// The handler that tells whether somebody else has deleted a tap.
pub fn is_gone(tap_device: &str) -> String {
    format!("{}.is_gone", tap(tap_device))
}

/// The whole graph.
pub fn text(bodies: &Bodies, topology: &Topology) -> String {
    let mut text = String::new();
    for (name, body) in bodies {
        let _ = writeln!(text, "{name} :: {{\n{}\n}};", body.text.trim_end());
    }
    for (name, body) in bodies {
        for idx in 0..body.ports.len() {
            let id = format!("{name}_{idx}");
            let _ = writeln!(text, "_rx_{id} :: Counter -> [{idx}] {name} [{idx}] -> _tx_{id} :: Counter;");
        }
    }
    for (name, body) in bodies {
        for (idx, port) in body.ports.iter().enumerate() {
            let end = Endpoint::Port { instance: name.clone(), port: port.clone() };
            port_text(&mut text, bodies, (name, idx), topology.peer(&end));
        }
    }
    // Nothing of it stops by itself.
    text += "_driver :: DriverManager(label again, pause, goto again);\n";
    text
}

/// Where a port's packets come from and go to. A device's element is called after the device: whatever it is joined with, the element
/// stays the same, and so does the device.
fn port_text(text: &mut String, bodies: &Bodies, (name, idx): (&str, usize), peer: Option<&Endpoint>) {
    let id = format!("{name}_{idx}");
    let _ = match peer {
        None => writeln!(text, "_idle_{id} :: Idle -> _rx_{id};\n_tx_{id} -> _unconnected_{id} :: Discard;"),
        Some(Endpoint::Device(device)) => {
            let own = identifier(device);
            writeln!(
                text,
                "_from_dev_{own} :: FromDevice({device}, PROMISC true, SNAPLEN 65535, BURST 32) -> _rx_{id};\n\
                 _tx_{id} -> _queue_dev_{own} :: Queue({QUEUE}) -> _to_dev_{own} :: ToDevice({device}, BURST 32);"
            )
        }
        Some(Endpoint::Tap(device)) => {
            writeln!(
                text,
                "_tx_{id} -> {} :: KernelTap(0.0.0.0/0, DEVNAME {device}) -> _rx_{id};",
                tap(device)
            )
        }
        Some(end @ Endpoint::Stream(kind, path)) => {
            let own = identifier(path);
            writeln!(text, "_tx_{id} -> _{kind}_{own} :: StreamInterface(\"{end}\") -> _rx_{id};")
        }
        Some(Endpoint::Port { instance, port }) => {
            let far = bodies.get(instance).and_then(|body| body.ports.iter().position(|known| known == port));
            let far = format!("{instance}_{}", far.unwrap_or(0));
            // Each end of a link writes what leaves it.
            match name < instance.as_str() {
                true => writeln!(text, "_tx_{id} -> _rx_{far};"),
                false => writeln!(
                    text,
                    "_tx_{id} -> _queue_{id} :: Queue({QUEUE}) -> _unqueue_{id} :: Unqueue -> _rx_{far};"
                ),
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn instances_are_joined_directly_one_way_and_by_a_queue_back() {
        let body = |ports: &[&str]| {
            let ports = ports.iter().map(|port| port.to_string()).collect();
            Arc::new(Body { function: "f".into(), ports, text: "input[0] -> [0] output;".into() })
        };
        let bodies =
            Bodies::from([("a".to_string(), body(&["left", "right"])), ("b".to_string(), body(&["in"]))]);
        let end = |text| Endpoint::parse(text).unwrap();
        let topology =
            Topology { links: vec![(end("b:in"), end("a:right")), (end("a:left"), end("dev:eth1"))] };
        expect![[r#"
            a :: {
            input[0] -> [0] output;
            };
            b :: {
            input[0] -> [0] output;
            };
            _rx_a_0 :: Counter -> [0] a [0] -> _tx_a_0 :: Counter;
            _rx_a_1 :: Counter -> [1] a [1] -> _tx_a_1 :: Counter;
            _rx_b_0 :: Counter -> [0] b [0] -> _tx_b_0 :: Counter;
            _from_dev_eth1 :: FromDevice(eth1, PROMISC true, SNAPLEN 65535, BURST 32) -> _rx_a_0;
            _tx_a_0 -> _queue_dev_eth1 :: Queue(1024) -> _to_dev_eth1 :: ToDevice(eth1, BURST 32);
            _tx_a_1 -> _rx_b_0;
            _tx_b_0 -> _queue_b_0 :: Queue(1024) -> _unqueue_b_0 :: Unqueue -> _rx_a_1;
            _driver :: DriverManager(label again, pause, goto again);
        "#]]
        .assert_eq(&text(&bodies, &topology));
    }
}
