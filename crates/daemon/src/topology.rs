//! How instances are joined: from the configuration to the text of one graph.

use std::collections::HashMap;

use functions::CORE;
use serde_json::Value;
use sys::unix::MAX_PATH;

use crate::fault::Fault;
use crate::path::encoded;

/// What a connection leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// A port of an instance.
    Port {
        /// The instance.
        instance: String,
        /// The port.
        port: String,
    },
    /// A network device that is there.
    Device(String),
    /// A tap that is made.
    Tap(String),
    /// A Unix socket, a named pipe or a capture file: the kind, and the path.
    Stream(&'static str, String),
}

/// The kinds of [`Endpoint::Stream`].
const STREAMS: [&str; 3] = ["unix", "fifo", "file"];

impl Endpoint {
    /// The words in front of a colon that are no instances.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        ["dev", "tap"].into_iter().chain(STREAMS)
    }

    /// Reads `INSTANCE:PORT`, `dev:DEVICE`, `tap:DEVICE`, `unix:PATH`, `fifo:PATH` or `file:PATH`.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        const EXPECTED: &str = "expected INSTANCE:PORT, dev:DEVICE, tap:DEVICE, unix:PATH, fifo:PATH or file:PATH, such as edge:left \
                                or dev:eth1";
        let (kind, name) = text
            .split_once(':')
            .filter(|(kind, name)| !kind.is_empty() && !name.is_empty())
            .ok_or(EXPECTED)?;
        let name = name.to_string();
        if let Some(kind) = STREAMS.iter().find(|known| **known == kind) {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-/+@%=~".contains(c);
            return match name.starts_with('/') && name.len() <= MAX_PATH && name.chars().all(is_plain) {
                true => Ok(Endpoint::Stream(kind, name)),
                false => Err(format!(
                    "`{name}` is no path for packets: it begins with `/` and has at most {MAX_PATH} letters, digits and `_.-/+@%=~`"
                )),
            };
        }
        let is_device = matches!(kind, "dev" | "tap");
        if is_device && !sys::link::is_name(&name) {
            return Err(format!(
                "`{name}` is no name of a device: that has 1 to 15 bytes without slashes, colons and white space, and is neither \
                 `.` nor `..`"
            ));
        }
        Ok(match kind {
            "dev" => Endpoint::Device(name),
            "tap" => Endpoint::Tap(name),
            instance => Endpoint::Port { instance: instance.to_string(), port: name },
        })
    }
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Endpoint::Port { instance, port } => write!(f, "{instance}:{port}"),
            Endpoint::Device(name) => write!(f, "dev:{name}"),
            Endpoint::Tap(name) => write!(f, "tap:{name}"),
            Endpoint::Stream(kind, path) => write!(f, "{kind}:{path}"),
        }
    }
}

/// Two endpoints that are joined.
pub type Link = (Endpoint, Endpoint);

/// What is joined with what, attachments included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// Each endpoint is in one link at most.
    pub links: Vec<Link>,
}

/// Tells the first ports of an instance, if it is there.
pub type Ports<'p> = &'p dyn Fn(&str) -> Option<Vec<String>>;

impl Topology {
    /// What the configuration says.
    pub fn of(tree: &Value, ports: Ports<'_>) -> Result<Topology, Fault> {
        let topology = tree.get(format!("{CORE}:topology"));
        let entries = |name: &str| {
            let list = topology.and_then(|topology| topology.get(name)).and_then(Value::as_array);
            list.map_or(&[][..], Vec::as_slice)
        };
        let text = |entry: &Value, name: &str| {
            entry.get(name).and_then(Value::as_str).unwrap_or_default().to_string()
        };
        let mut topology = Topology::default();
        for entry in entries("connection") {
            let (from, to) = (text(entry, "from"), text(entry, "to"));
            let path = format!("/{CORE}:topology/connection={}", encoded(&from));
            topology.connect(&from, &to, ports).map_err(|fault| fault.at(path))?;
        }
        let mut tips = HashMap::new();
        for entry in entries("attachment") {
            let (function, port) = (text(entry, "function"), text(entry, "port"));
            let path = format!("/{CORE}:topology/attachment={function}");
            topology.attach(&function, &port, ports, &mut tips).map_err(|fault| fault.at(path))?;
        }
        Ok(topology)
    }

    fn connect(&mut self, from: &str, to: &str, ports: Ports<'_>) -> Result<(), Fault> {
        let (from, to) = (endpoint(from, ports)?, endpoint(to, ports)?);
        if !matches!(from, Endpoint::Port { .. }) && !matches!(to, Endpoint::Port { .. }) {
            return Err(Fault::invalid(format!(
                "{from} and {to}: one of them must be a port of an instance"
            )));
        }
        self.add(from, to)
    }

    fn add(&mut self, from: Endpoint, to: Endpoint) -> Result<(), Fault> {
        for end in [&from, &to] {
            if let Some(peer) = self.peer(end) {
                return Err(Fault::invalid(format!(
                    "{end} is joined with {peer} already; a port has one peer"
                )));
            }
        }
        if from == to {
            return Err(Fault::invalid(format!("{from} cannot be joined with itself")));
        }
        self.links.push((from, to));
        Ok(())
    }

    /// What an endpoint is joined with.
    pub fn peer(&self, end: &Endpoint) -> Option<&Endpoint> {
        self.links.iter().find_map(|(from, to)| match end {
            end if end == from => Some(to),
            end if end == to => Some(from),
            _ => None,
        })
    }

    /// The port that a device or a tap of this name is joined with.
    pub fn port_of(&self, device: &str) -> Option<String> {
        let ends = [Endpoint::Device(device.to_string()), Endpoint::Tap(device.to_string())];
        ends.iter().find_map(|end| self.peer(end)).map(Endpoint::to_string)
    }

    /// The ports of an instance that are joined with something.
    pub fn connected<'t>(&'t self, instance: &'t str) -> impl Iterator<Item = &'t str> {
        self.links.iter().flat_map(|(from, to)| [from, to]).filter_map(move |end| match end {
            Endpoint::Port { instance: own, port } if own == instance => Some(port.as_str()),
            _ => None,
        })
    }

    /// Puts an instance between a port and what it is joined with. `tips` are the ends of what stands in front of ports already.
    fn attach(
        &mut self,
        function: &str,
        port: &str,
        ports: Ports<'_>,
        tips: &mut HashMap<Endpoint, Endpoint>,
    ) -> Result<(), Fault> {
        let own = ports(function).ok_or_else(|| no_instance(function))?;
        let [near, far, ..] = own.as_slice() else {
            return Err(Fault::invalid(format!(
                "`{function}` has not two ports and cannot stand in front of one"
            )));
        };
        let at = endpoint(port, ports)?;
        match &at {
            Endpoint::Port { instance, .. } if instance == function => {
                return Err(Fault::invalid(format!("`{function}` cannot stand in front of itself")));
            }
            Endpoint::Port { .. } => {}
            _ => {
                return Err(Fault::invalid(format!(
                    "{at} is no port of an instance; name that which it is joined with"
                )))
            }
        }
        let end = |port: &String| Endpoint::Port { instance: function.to_string(), port: port.clone() };
        let tip = tips.get(&at).unwrap_or(&at).clone();
        let outside = self.links.iter().position(|link| link.0 == tip || link.1 == tip).map(|idx| {
            let (from, to) = self.links.remove(idx);
            if from == tip {
                to
            } else {
                from
            }
        });
        self.add(tip, end(near))?;
        if let Some(outside) = outside {
            self.add(end(far), outside)?;
        }
        tips.insert(at, end(far));
        Ok(())
    }
}

fn no_instance(name: &str) -> Fault {
    Fault::invalid(format!("there is no instance `{name}`; create it first"))
}

/// Reads an endpoint whose instance must be there.
fn endpoint(text: &str, ports: Ports<'_>) -> Result<Endpoint, Fault> {
    let end = Endpoint::parse(text).map_err(|message| Fault::invalid(format!("`{text}`: {message}")))?;
    match &end {
        Endpoint::Port { instance, .. } if ports(instance).is_none() => Err(no_instance(instance)),
        _ => Ok(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use serde_json::json;

    fn told(connections: &[(&str, &str)], attachments: &[(&str, &str)]) -> String {
        let connection: Vec<Value> =
            connections.iter().map(|(from, to)| json!({ "from": from, "to": to })).collect();
        let attachment: Vec<Value> = attachments
            .iter()
            .map(|(function, port)| json!({ "function": function, "port": port }))
            .collect();
        let tree = json!({ "weir:topology": { "connection": connection, "attachment": attachment } });
        let ports =
            |name: &str| ["a", "b", "f", "g"].contains(&name).then(|| vec!["left".into(), "right".into()]);
        match Topology::of(&tree, &ports) {
            Ok(topology) => topology.links.iter().map(|(from, to)| format!("{from} - {to}\n")).collect(),
            Err(fault) => format!("{}: {}\n", fault.path.unwrap_or_default(), fault.message),
        }
    }

    #[test]
    fn attachments_stand_in_front_of_ports() {
        expect![[r#"
            a:left - dev:e0
            a:right - f:left
            f:right - g:left
            g:right - b:left
        "#]]
        .assert_eq(&told(
            &[("a:left", "dev:e0"), ("b:left", "a:right")],
            &[("f", "a:right"), ("g", "a:right")],
        ));
        expect![[r#"
            a:right - f:left
        "#]]
        .assert_eq(&told(&[], &[("f", "a:right")]));
    }

    #[test]
    fn what_cannot_be_joined_is_told() {
        let errors = [
            told(&[("a:left", "b:left"), ("a:right", "b:left")], &[]),
            told(&[("a:left", "a:left")], &[]),
            told(&[("a:left", "c:left")], &[]),
            told(&[("dev:e0", "tap:t0")], &[]),
            told(&[("a:left", "dev:a_name_that_is_too_long")], &[]),
            told(&[("a", "b")], &[]),
            told(&[("a:left", "unix:relative")], &[]),
            told(&[("a:left", "fifo:/with blanks")], &[]),
            told(&[("a:left", "file:/tmp/x"), ("a:right", "file:/tmp/x")], &[]),
            told(&[], &[("a", "a:left")]),
            told(&[], &[("a", "dev:e0")]),
            told(&[("f:left", "b:left")], &[("f", "a:left")]),
        ];
        expect![[r#"
            /weir:topology/connection=a%3Aright: b:left is joined with a:left already; a port has one peer
            /weir:topology/connection=a%3Aleft: a:left cannot be joined with itself
            /weir:topology/connection=a%3Aleft: there is no instance `c`; create it first
            /weir:topology/connection=dev%3Ae0: dev:e0 and tap:t0: one of them must be a port of an instance
            /weir:topology/connection=a%3Aleft: `dev:a_name_that_is_too_long`: `a_name_that_is_too_long` is no name of a device: that has 1 to 15 bytes without slashes, colons and white space, and is neither `.` nor `..`
            /weir:topology/connection=a: `a`: expected INSTANCE:PORT, dev:DEVICE, tap:DEVICE, unix:PATH, fifo:PATH or file:PATH, such as edge:left or dev:eth1
            /weir:topology/connection=a%3Aleft: `unix:relative`: `relative` is no path for packets: it begins with `/` and has at most 107 letters, digits and `_.-/+@%=~`
            /weir:topology/connection=a%3Aleft: `fifo:/with blanks`: `/with blanks` is no path for packets: it begins with `/` and has at most 107 letters, digits and `_.-/+@%=~`
            /weir:topology/connection=a%3Aright: file:/tmp/x is joined with a:left already; a port has one peer
            /weir:topology/attachment=a: `a` cannot stand in front of itself
            /weir:topology/attachment=a: dev:e0 is no port of an instance; name that which it is joined with
            /weir:topology/attachment=f: f:left is joined with b:left already; a port has one peer
        "#]].assert_eq(&errors.concat());
    }
}
