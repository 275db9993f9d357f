//! The element `NATMappings`, which translates: it depends on the flags how many kinds of mappings it has.
//!
//! Its inputs are packets from the left, from the right, and errors about translated packets. Its outputs are packets to the
//! right, to the left, those for the NAT's own addresses that have no mapping, and those that are none of the NAT's from the
//! left and from the right.

use std::fmt::Write;
use std::net::Ipv4Addr;

use super::super::leaf::{address, network, unsigned};
use super::super::router::prefix;
use super::super::values::{wrong, Values};

/// A port that is open to the outside.
pub struct Forward {
    protocol: &'static str,
    port: u16,
    to: Ipv4Addr,
    to_port: u16,
}

/// An outside address for one inside host.
pub struct Static {
    pub outside: Ipv4Addr,
    inside: Ipv4Addr,
}

/// Reads `tcp:8080=10.0.0.5:80`.
fn parse_forward(text: &str) -> Result<Forward, String> {
    const EXPECTED: &str = "expected PROTOCOL:PORT=ADDRESS:PORT, such as tcp:8080=10.0.0.5:80";
    let (from, to) = text.split_once('=').ok_or(EXPECTED)?;
    let (protocol, from) = from.split_once(':').ok_or(EXPECTED)?;
    let protocol = match protocol {
        "tcp" => "tcp",
        "udp" => "udp",
        _ => return Err(format!("`{protocol}` has no ports to forward; expected tcp or udp")),
    };
    let from_port = port(from)?;
    let (to, to_port) = match to.split_once(':') {
        Some((to, to_port)) => (to, port(to_port)?),
        None => (to, from_port),
    };
    Ok(Forward { protocol, port: from_port, to: address(to)?, to_port })
}

fn port(text: &str) -> Result<u16, String> {
    unsigned(text, 1, 65_535)
        .map(|port| port as u16)
        .map_err(|_| format!("`{text}` is no port from 1 to 65535"))
}

/// Whether a text is a forwarded port.
pub fn check_forward(text: &str) -> Result<(), String> {
    parse_forward(text).map(drop)
}

/// Reads `203.0.113.9=10.0.0.9`.
pub fn parse_static(text: &str) -> Result<Static, String> {
    let (outside, inside) =
        text.split_once('=').ok_or("expected OUTSIDE=INSIDE, such as 203.0.113.9=10.0.0.9")?;
    Ok(Static { outside: address(outside)?, inside: address(inside)? })
}

/// Whether a text is a static mapping.
pub fn check_static(text: &str) -> Result<(), String> {
    parse_static(text).map(drop)
}

/// Whether a text is a range of ports.
pub fn check_ports(text: &str) -> Result<(), String> {
    const EXPECTED: &str = "expected a range of ports such as 1024-65535";
    let (low, high) = text.split_once('-').ok_or(EXPECTED)?;
    if port(low)? > port(high)? {
        return Err(EXPECTED.to_string());
    }
    Ok(())
}

/// A way through `NATMappings`.
struct Way {
    /// Which packets, as a pattern of IPClassifier.
    pattern: String,
    to: Target,
}

#[derive(Clone, Copy)]
enum Target {
    /// To an output.
    Output(usize),
    /// To the inputs of the rewriters for TCP and UDP, and for all else; only TCP and UDP if there is no other.
    Inputs(usize, Option<usize>),
}

/// The inputs of the rewriters: what becomes of packets that have no mapping.
#[derive(Default)]
struct Specifications {
    flows: Vec<String>,
    /// Of pings and of other protocols.
    others: Vec<[String; 2]>,
}

impl Specifications {
    fn add_flow(&mut self, text: String) -> usize {
        self.flows.push(text);
        self.flows.len() - 1
    }

    fn add(&mut self, flow: String, ping: String, other: String) -> Target {
        self.others.push([ping, other]);
        Target::Inputs(self.add_flow(flow), Some(self.others.len() - 1))
    }
}

/// The class and its element `nat`. With an inside address of the NAT's own, inside hosts reach forwarded ports and static
/// mappings by their outside addresses, too.
pub fn text(values: &Values, outside: Ipv4Addr, own: Option<Ipv4Addr>) -> Result<String, String> {
    let forwards = values.parse_all("forward", parse_forward)?;
    let statics = values.parse_all("static", parse_static)?;
    check_statics(values, &statics, outside)?;
    let ports = values.need("ports")?;
    let mut specifications = Specifications::default();
    // What has no mapping leaves by output 2, and so does everything else for the NAT itself.
    let pass = || "pass 2".to_string();
    let refused = specifications.add(pass(), pass(), pass());
    let mut left = Vec::new();
    let mut right = Vec::new();
    for Forward { protocol, port, to, to_port } in &forwards {
        let pattern = format!("{protocol} && dst host {outside} && dst port {port}");
        let input = specifications.add_flow(format!("pattern - - {to} {to_port} 1 0"));
        right.push(Way { pattern: pattern.clone(), to: Target::Inputs(input, None) });
        if let Some(own) = own {
            let input = specifications.add_flow(format!("pattern {own} {ports} {to} {to_port} 1 1"));
            left.push(Way { pattern, to: Target::Inputs(input, None) });
        }
    }
    for Static { outside, inside } in &statics {
        if let Some(own) = own {
            let input = specifications.add_flow(format!("pattern {own} {ports} {inside} - 1 1"));
            let pattern = format!("(tcp or udp) && dst host {outside}");
            left.push(Way { pattern, to: Target::Inputs(input, None) });
        }
    }
    if let Some(own) = own {
        // Answers of hosts that were reached from inside are for the NAT's own addresses.
        let ours = statics.iter().map(|mapping| mapping.outside).chain([outside, own]);
        left.extend(ours.map(|address| Way { pattern: format!("dst host {address}"), to: refused }));
    }
    for Static { outside, inside } in &statics {
        let to = specifications.add(
            format!("pattern {outside} - - - 0 1"),
            format!("pattern {outside} - - 0 1"),
            format!("pattern {outside} - 0 1"),
        );
        left.push(Way { pattern: format!("src host {inside}"), to });
        let to = specifications.add(
            format!("pattern - - {inside} - 1 0"),
            format!("pattern - {inside} - 1 0"),
            format!("pattern - {inside} 1 0"),
        );
        right.push(Way { pattern: format!("dst host {outside}"), to });
    }
    let to = specifications.add(
        format!("pattern {outside} {ports} - - 0 1"),
        format!("pattern {outside} - 0-65535 0 1"),
        format!("pattern {outside} - 0 1"),
    );
    match inside(values)? {
        Some(pattern) => {
            left.push(Way { pattern, to });
            left.push(Way { pattern: "-".to_string(), to: Target::Output(3) });
        }
        None => left.push(Way { pattern: "-".to_string(), to }),
    }
    right.push(Way { pattern: format!("dst host {outside}"), to: refused });
    right.push(Way { pattern: "-".to_string(), to: Target::Output(4) });
    let sources = sources(&statics, outside);
    class(values, &specifications, &sources, &[("left", &left), ("right", &right)])
}

/// What gives ICMP errors from inside the source that their sender has outside (RFC 5508, section 4.2).
fn sources(statics: &[Static], outside: Ipv4Addr) -> String {
    let mut text = String::from("    senders :: IPClassifier(");
    for Static { inside, .. } in statics {
        let _ = write!(text, "src host {inside}, ");
    }
    text += "-);\n";
    let addresses = statics.iter().map(|mapping| mapping.outside).chain([outside]);
    for (i, address) in addresses.enumerate() {
        let _ = writeln!(text, "    senders[{i}] -> StoreIPAddress({address}, src) -> right;");
    }
    text
}

/// Whose packets are translated, as a pattern; `None` if everybody's.
fn inside(values: &Values) -> Result<Option<String>, String> {
    let networks = values.parse_all("inside", network)?;
    let is_all = networks.is_empty() || networks.iter().any(|network| network.is_empty());
    let tests: Vec<String> = networks.iter().map(|network| format!("src net {}", prefix(network))).collect();
    Ok((!is_all).then(|| tests.join(" or ")))
}

/// Addresses that two mappings would claim.
fn check_statics(values: &Values, statics: &[Static], outside: Ipv4Addr) -> Result<(), String> {
    for (i, mapping) in statics.iter().enumerate() {
        let text = values.list("static").get(i).map_or("", String::as_str);
        if mapping.outside == outside {
            let message = format!("{outside} is everybody's outside address; give this host another");
            return Err(wrong("--static", text, &message));
        }
        let before = statics.iter().take(i);
        if before.into_iter().any(|other| other.outside == mapping.outside || other.inside == mapping.inside)
        {
            let message = "another --static has one of these addresses; each can be in one only";
            return Err(wrong("--static", text, message));
        }
    }
    Ok(())
}

/// The text of the class, and its element.
fn class(
    values: &Values,
    specifications: &Specifications,
    sources: &str,
    sides: &[(&str, &[Way])],
) -> Result<String, String> {
    let [tcp, udp, icmp, capacity] =
        ["tcp-timeout", "udp-timeout", "icmp-timeout", "capacity"].map(|name| values.need(name));
    let (tcp, udp, icmp, capacity) = (tcp?, udp?, icmp?, capacity?);
    let list = |idx: usize| {
        let texts: Vec<&str> =
            specifications.others.iter().filter_map(|pair| pair.get(idx)).map(String::as_str).collect();
        texts.join(",\n        ")
    };
    let mut text = format!(
        "elementclass NATMappings {{\n\
         \x20   flows :: IPRewriter({},\n        TCP_TIMEOUT {tcp}, TCP_NODATA_TIMEOUT {tcp}, UDP_TIMEOUT {udp}, MAPPING_CAPACITY {capacity});\n\
         \x20   pings :: ICMPPingRewriter({},\n        TIMEOUT {icmp}, MAPPING_CAPACITY {capacity});\n\
         \x20   others :: IPAddrPairRewriter({},\n        TIMEOUT {udp}, MAPPING_CAPACITY {capacity});\n\
         \x20   flow_errors :: ICMPRewriter(flows:0); ping_errors :: ICMPRewriter(pings:0); other_errors :: ICMPRewriter(others:0);\n\
         \x20   right :: Null -> [0] output; left :: Null -> [1] output; refused :: Null -> [2] output;\n",
        specifications.flows.join(",\n        "),
        list(0),
        list(1),
    );
    text += sources;
    for (input, (side, its_ways)) in sides.iter().enumerate() {
        text += &ways(side, input, its_ways);
    }
    text += "    input[2] -> own :: ByProtocol;\n    Idle -> right; Idle -> refused;\n";
    text += "    own[0], own[1], own[5] => Discard, Discard, Discard;\n";
    text += "    own[2] -> flow_errors; own[3] -> ping_errors; own[4] -> other_errors;\n";
    for rewriter in ["flows", "pings", "others"] {
        let _ =
            writeln!(text, "    {rewriter}[0] -> right; {rewriter}[1] -> left; {rewriter}[2] -> refused;");
        let errors = format!("{}_errors", rewriter.trim_end_matches('s'));
        let _ = writeln!(text, "    {errors}[0] -> senders; {errors}[1] -> left; {errors}[2] -> refused;");
    }
    for output in [3, 4] {
        let _ = writeln!(text, "    Idle -> [{output}] output;");
    }
    Ok(text + "}\nnat :: NATMappings;\n")
}

/// What leads from an input to the rewriters.
fn ways(side: &str, input: usize, ways: &[Way]) -> String {
    let patterns: Vec<&str> = ways.iter().map(|way| way.pattern.as_str()).collect();
    let mut text = format!(
        "    input[{input}] -> from_{side} :: IPClassifier(\n        {});\n",
        patterns.join(",\n        ")
    );
    for (i, way) in ways.iter().enumerate() {
        let _ = match way.to {
            Target::Output(output) => writeln!(text, "    from_{side}[{i}] -> [{output}] output;"),
            Target::Inputs(flows, None) => writeln!(text, "    from_{side}[{i}] -> [{flows}] flows;"),
            Target::Inputs(flows, Some(others)) => writeln!(
                text,
                "    from_{side}[{i}] -> {side}{i} :: ByProtocol [0] -> [{flows}] flows;\n\
                 \x20   {side}{i}[1] -> [{others}] pings; {side}{i}[5] -> [{others}] others;\n\
                 \x20   {side}{i}[2] -> flow_errors; {side}{i}[3] -> ping_errors; {side}{i}[4] -> other_errors;"
            ),
        };
    }
    text
}
