//! What is told of the graph's elements, in the words of those who configured them: they know instances and devices, not elements.

use super::{outside, Bodies};
use crate::topology::{Endpoint, Topology};

/// Something that is wrong with the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whose it is: an instance, or what a port is joined with.
    pub owner: Option<String>,
    /// What is wrong.
    pub text: String,
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.owner {
            Some(owner) => write!(f, "{owner}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Reads what was told of the graph of some instances: each thing once.
pub fn read(message: &str, bodies: &Bodies, topology: &Topology) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for line in message.lines() {
        match (placed(line), all.last_mut()) {
            (None, Some(last)) => last.text += &format!("\n{line}"),
            (None, None) => all.push(Told { owner: None, text: line.to_string() }),
            (Some((number, text)), _) => all.push(one(number, text, bodies, topology)),
        }
    }
    all.into_iter().fold(Vec::new(), |mut kept, told| {
        if !kept.contains(&told) {
            kept.push(told);
        }
        kept
    })
}

/// The number of a line of the graph, and what is told of it.
fn placed(line: &str) -> Option<(usize, &str)> {
    let (place, text) = line.strip_prefix("graph:")?.split_once(": ")?;
    Some((place.split(':').next()?.parse().ok()?, text))
}

fn one(line: usize, text: &str, bodies: &Bodies, topology: &Topology) -> Told {
    let element = text.split('\'').nth(1).and_then(|quoted| quoted.split_once(" :: ")).map(|(name, _)| name);
    let in_step = text.strip_prefix("While ").and_then(|rest| {
        let (context, told) = rest.split_once("': ")?;
        let (step, element) = context.split_once(" '")?;
        Some((step, element, told))
    });
    let told = in_step.map_or(text, |(_, _, told)| told);
    let ends = || topology.links.iter().flat_map(|(from, to)| [from, to]);
    if let Some(end) = element.and_then(|name| ends().find(|end| outside(end).iter().any(|own| own == name)))
    {
        return Told { owner: Some(end.to_string()), text: at_end(end, told) };
    }
    let by_name = element.and_then(|name| Some(name.split_once('/')?.0));
    let instance = by_name.filter(|name| bodies.contains_key(*name)).or_else(|| instance_at(line, bodies));
    let Some(instance) = instance else { return Told { owner: None, text: text.to_string() } };
    // Of files and devices it is told by name; whose argument is wrong only the element tells.
    let text = match in_step {
        Some(("initializing", _, told)) => told.to_string(),
        Some((_, element, told)) => format!("'{element}': {told}"),
        None => text.to_string(),
    };
    Told { owner: Some(format!("`{instance}`")), text: text.replace(&format!("'{instance}/"), "'") }
}

/// What is told of an endpoint, whose name is not told twice.
fn at_end(end: &Endpoint, told: &str) -> String {
    let (Endpoint::Device(name) | Endpoint::Tap(name) | Endpoint::Stream(_, name)) = end else {
        return told.to_string();
    };
    let told = told.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(told);
    let help = match end {
        Endpoint::Device(_) if told == "No such device exists" => "; `ip link` lists those that do",
        // The kernel has no other words for it.
        Endpoint::Tap(_) if told == "/dev/net/tun: Invalid argument" => {
            "; there may be a device of this name that is no tap"
        }
        _ => "",
    };
    format!("{told}{help}")
}

/// The instance whose body has a line of the graph's text.
fn instance_at(line: usize, bodies: &Bodies) -> Option<&str> {
    let mut next = 1;
    bodies.iter().find_map(|(name, body)| {
        // Its name stands in a line in front, and a brace in one behind.
        next += body.text.trim_end().lines().count().max(1) + 2;
        (line < next).then_some(name.as_str())
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::graph::{text, Body};

    fn graph() -> (Bodies, Topology) {
        let body = |text: &str| {
            let ports = vec!["left".to_string(), "right".to_string()];
            Arc::new(Body { function: "f".into(), ports, text: text.into() })
        };
        let bodies = Bodies::from([
            ("a".to_string(), body("input[0] -> [0] output;\ninput[1] -> [1] output;\n")),
            ("b".to_string(), body("")),
            ("c".to_string(), body("input[0] -> Nosuch -> [0] output;")),
        ]);
        let end = |text| Endpoint::parse(text).unwrap();
        let links = [("a:left", "dev:eth1"), ("a:right", "file:/x/y"), ("b:left", "tap:t0")];
        (bodies, Topology { links: links.map(|(from, to)| (end(from), end(to))).to_vec() })
    }

    fn told(message: &str) -> String {
        let (bodies, topology) = graph();
        let all = read(message, &bodies, &topology);
        all.iter().map(Told::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn elements_are_told_of_as_what_was_configured() {
        for (message, expected) in [
            (
                "graph:97:1: While initializing '_from_dev_eth1 :: FromDevice': eth1: No such device exists",
                "dev:eth1: No such device exists; `ip link` lists those that do",
            ),
            (
                "graph:7:1: While initializing '_file__2f_x_2f_y :: StreamInterface': /x/y: Is a directory",
                "file:/x/y: Is a directory",
            ),
            ("graph:7:1: While initializing '_tap_t0 :: KernelTap': no more taps", "tap:t0: no more taps"),
            (
                "graph:7:1: While initializing '_tap_t0 :: KernelTap': /dev/net/tun: Invalid argument",
                "tap:t0: /dev/net/tun: Invalid argument; there may be a device of this name that is no tap",
            ),
            ("graph:3:8: While initializing 'c/f :: ToDump': /x: No such file", "`c`: /x: No such file"),
            (
                "graph:3:8: While configuring 'c/f :: Strip': N must be an integer\n  help: such as 14",
                "`c`: 'f :: Strip': N must be an integer\n  help: such as 14",
            ),
            ("graph:3:8: 'c/f :: Strip' input 0 unused", "`c`: 'f :: Strip' input 0 unused"),
            ("graph:99:8: 'f :: Strip' input 0 unused", "'f :: Strip' input 0 unused"),
            ("the daemon is about to end", "the daemon is about to end"),
            ("", ""),
        ] {
            assert_eq!(told(message), expected);
        }
    }

    #[test]
    fn a_line_of_the_graph_is_that_of_an_instance() {
        let (bodies, topology) = graph();
        let text = text(&bodies, &topology);
        let line = text.lines().position(|line| line.contains("Nosuch")).unwrap() + 1;
        let message = format!("graph:{line}:8: undeclared element 'Nosuch'\n  help: look");
        let expected = "`c`: undeclared element 'Nosuch'\n  help: look";
        assert_eq!(told(&message), expected);
        assert_eq!(told(&format!("{message}\n{message}")), expected, "it is told once");
        let brace = text.lines().position(|line| line == "};").unwrap() + 1;
        assert_eq!(told(&format!("graph:{brace}:1: x\ngraph:{}:1: x", brace + 1)), "`a`: x\n`b`: x");
        assert_eq!(told("graph:90:1: x"), "x");
    }
}
