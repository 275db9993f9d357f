//! Reads rules: variables, headers, and options by way of [`super::options`].

use std::collections::HashMap;

use graph::Diagnostics;

use super::address::Addresses;
use super::classes::Classes;
use super::options;
use super::ports::Ports;
use super::text::{Line, Mistake, Piece, Report};
use super::{Action, Endpoint, Protocol, Rule, RuleSet, Scope};

/// What `var`, `ipvar` and `portvar` lines define.
#[derive(Debug, Default)]
pub struct Variables {
    addresses: HashMap<String, Addresses>,
    ports: HashMap<String, Ports>,
}

impl Variables {
    /// The addresses that a variable stands for.
    pub fn addresses(&self, name: Piece<'_>) -> Result<Addresses, Mistake> {
        let name = name.text.trim_start_matches(['{', '(']).trim_end_matches(['}', ')']);
        self.addresses.get(name).cloned().ok_or_else(|| {
            let help = format!("define it in a line before, such as `ipvar {name} [10.0.0.0/8]`");
            Mistake::new(format!("there is no address variable `{name}`"), help)
        })
    }

    /// The ports that a variable stands for.
    pub fn ports(&self, name: Piece<'_>) -> Result<Ports, Mistake> {
        let name = name.text.trim_start_matches(['{', '(']).trim_end_matches(['}', ')']);
        self.ports.get(name).cloned().ok_or_else(|| {
            let help = format!("define it in a line before, such as `portvar {name} [80,8080]`");
            Mistake::new(format!("there is no port variable `{name}`"), help)
        })
    }
}

/// Reads rules from texts, one after the other; what one defines the next may use.
#[derive(Debug, Default)]
pub struct Reader {
    variables: Variables,
    /// The classes of rules.
    pub classes: Classes,
    set: RuleSet,
    known: HashMap<(u32, u32), u32>,
}

impl Reader {
    /// Reads the rules of a text; `file` is what diagnostics call it.
    pub fn read(&mut self, file: &str, text: &str, diagnostics: &mut Diagnostics) {
        for line in Line::all(file, text) {
            let mut report = Report { line: &line, diagnostics };
            let piece = Piece::of(&line.text, 0, line.text.len());
            if !piece.text.is_empty() && !piece.text.starts_with('#') {
                self.line(piece, &mut report);
            }
        }
    }

    /// The rules.
    pub fn finish(self) -> RuleSet {
        self.set
    }

    fn line(&mut self, piece: Piece<'_>, report: &mut Report<'_>) {
        let (word, rest) = first_word(piece);
        match word.text {
            "var" | "ipvar" | "portvar" => self.variable(word, rest, report),
            "config" => self.config(rest, report),
            _ => {
                if let Some(rule) = self.rule(piece, report) {
                    self.add(rule, word, report);
                }
            }
        }
    }

    fn variable(&mut self, kind: Piece<'_>, rest: Piece<'_>, report: &mut Report<'_>) {
        let (name, value) = first_word(rest);
        if name.text.is_empty() || value.text.is_empty() {
            let mistake = Mistake::new(
                format!("`{}` needs a name and a value", kind.text),
                "write `ipvar HOME_NET 10.0.0.0/8`",
            );
            return report.error(kind.offset, mistake);
        }
        let addresses = Addresses::parse(value, &self.variables);
        let ports = Ports::parse(value, &self.variables);
        let name = name.text.to_string();
        match (kind.text, addresses, ports) {
            // Snort's old `var` names either.
            ("var", Err((offset, mistake)), Err(_)) => report.error(offset, mistake),
            ("ipvar", Err((offset, mistake)), _) | ("portvar", _, Err((offset, mistake))) => {
                report.error(offset, mistake);
            }
            (kind, addresses, ports) => {
                if let (Ok(addresses), true) = (addresses, kind != "portvar") {
                    self.variables.addresses.insert(name.clone(), addresses);
                }
                if let (Ok(ports), true) = (ports, kind != "ipvar") {
                    self.variables.ports.insert(name, ports);
                }
            }
        }
    }

    fn config(&mut self, rest: Piece<'_>, report: &mut Report<'_>) {
        let told = match rest.after("classification:") {
            Some(definition) => self.classes.define(definition.text),
            None => Err(Mistake::new(
                "only `config classification:` is known",
                "leave the line out; limits are arguments of the element",
            )),
        };
        if let Err(mistake) = told {
            report.error(rest.offset, mistake);
        }
    }

    fn add(&mut self, rule: Rule, at: Piece<'_>, report: &mut Report<'_>) {
        let line = report.line.place(at.offset).line;
        if let Some(other) = self.known.insert((rule.gid, rule.sid), line) {
            let message = format!("there is another rule with sid {}, in line {other}", rule.sid);
            report.error(at.offset, Mistake::new(message, "give each rule a number of its own"));
        }
        self.set.rules.push(rule);
    }

    fn rule(&mut self, piece: Piece<'_>, report: &mut Report<'_>) -> Option<Rule> {
        let Some(open) = piece.text.find('(') else {
            let mistake = Mistake::new("a rule has no options", "add `(msg:\"...\"; sid:1000001;)`");
            report.error(piece.offset, mistake);
            return None;
        };
        if !piece.text.ends_with(')') {
            let mistake = Mistake::new("the rule does not end with `)`", "close the options with `;)`");
            report.error(piece.offset + piece.text.len(), mistake);
            return None;
        }
        let n_before = report.diagnostics.n_errors();
        let header = self.header(piece.part(0, open), report);
        let body = piece.part(open + 1, piece.text.len() - 1);
        let mut rule = header.unwrap_or_else(empty_rule);
        options::read(&mut rule, body, &self.classes, &mut self.set.bits, report);
        (report.diagnostics.n_errors() == n_before).then_some(rule)
    }

    /// Reads `ACTION PROTOCOL ADDRESS PORT ARROW ADDRESS PORT`.
    fn header(&self, piece: Piece<'_>, report: &mut Report<'_>) -> Option<Rule> {
        let words = words(piece);
        let [action, protocol, source, sport, arrow, destination, dport] = words.as_slice() else {
            let mistake = Mistake::new(
                format!("a rule begins with seven words, here are {}", words.len()),
                "write `alert tcp any any -> any 80 (...)`",
            );
            report.error(piece.offset, mistake);
            return None;
        };
        let mut rule = empty_rule();
        let mut tell = |offset, mistake| report.error(offset, mistake);
        action_of(action.text).map_or_else(|m| tell(action.offset, m), |action| rule.action = action);
        match protocol_of(protocol.text) {
            Ok((protocol, scope)) => (rule.protocol, rule.flow.scope) = (protocol, scope),
            Err(mistake) => tell(protocol.offset, mistake),
        }
        match arrow.text {
            "->" => {}
            "<>" => rule.is_bidirectional = true,
            text => {
                let message = format!("`{text}` is no direction");
                tell(arrow.offset, Mistake::new(message, "write `->`, or `<>` for both directions"));
            }
        }
        let sides = [(source, sport, &mut rule.source), (destination, dport, &mut rule.destination)];
        for (addresses, ports, endpoint) in sides {
            match Addresses::parse(*addresses, &self.variables) {
                Ok(addresses) => endpoint.addresses = addresses,
                Err((offset, mistake)) => tell(offset, mistake),
            }
            match Ports::parse(*ports, &self.variables) {
                Ok(ports) => endpoint.ports = ports,
                Err((offset, mistake)) => tell(offset, mistake),
            }
        }
        Some(rule)
    }
}

fn action_of(text: &str) -> Result<Action, Mistake> {
    Ok(match text {
        "alert" => Action::Alert,
        "drop" => Action::Drop,
        "pass" => Action::Pass,
        "log" => Action::Log,
        "reject" | "sdrop" => {
            let message = format!("`{text}` is not available: nothing is sent, and drops are told");
            return Err(Mistake::new(message, "write `drop`"));
        }
        _ => {
            let message = format!("`{text}` is no action");
            return Err(Mistake::new(message, "write `alert`, `drop`, `pass` or `log`"));
        }
    })
}

fn protocol_of(text: &str) -> Result<(Protocol, Scope), Mistake> {
    let protocol = match text {
        "ip" | "pkthdr" => Protocol::Ip,
        "udp" | "dhcp" | "ntp" | "tftp" | "snmp" => Protocol::Udp,
        "icmp" | "icmpv4" | "icmpv6" => Protocol::Icmp,
        "dns" | "krb5" | "sip" => Protocol::TcpOrUdp,
        "tcp-pkt" => return Ok((Protocol::Tcp, Scope::Packet)),
        "tcp-stream" => return Ok((Protocol::Tcp, Scope::Stream)),
        // The application is not looked for: its rules are for the ports that they name.
        "tcp" | "http" | "http1" | "tls" | "ssl" | "ssh" | "smtp" | "ftp" | "ftp-data" | "imap" | "pop3"
        | "smb" | "telnet" | "rdp" | "rfb" | "mqtt" | "pgsql" => Protocol::Tcp,
        _ => {
            let message = format!("`{text}` is no protocol known here");
            return Err(Mistake::new(message, "write `tcp`, `udp`, `icmp` or `ip`"));
        }
    };
    Ok((protocol, Scope::Both))
}

fn empty_rule() -> Rule {
    Rule {
        action: Action::Alert,
        protocol: Protocol::Ip,
        source: Endpoint::default(),
        destination: Endpoint::default(),
        is_bidirectional: false,
        message: String::new(),
        gid: 1,
        sid: 0,
        rev: 0,
        category: String::new(),
        priority: 3,
        header: Vec::new(),
        payload: Vec::new(),
        flow: super::FlowTest::default(),
        bits: Vec::new(),
        is_silent: false,
        threshold: None,
    }
}

fn first_word(piece: Piece<'_>) -> (Piece<'_>, Piece<'_>) {
    let end = piece.text.find(char::is_whitespace).unwrap_or(piece.text.len());
    (piece.part(0, end), piece.part(end, piece.text.len()))
}

/// The words of a text; spaces inside of brackets divide nothing.
fn words(piece: Piece<'_>) -> Vec<Piece<'_>> {
    let (mut depth, mut from, mut words) = (0u32, 0, Vec::new());
    for (i, byte) in piece.text.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.saturating_sub(1),
            b' ' | b'\t' if depth == 0 => {
                words.push(piece.part(from, i));
                from = i + 1;
            }
            _ => {}
        }
    }
    words.push(piece.part(from, piece.text.len()));
    words.retain(|word| !word.text.is_empty());
    words
}
