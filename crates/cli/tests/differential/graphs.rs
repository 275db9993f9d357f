//! Random valid graphs.

use crate::forms::{Form, Kind, Out, Way, FORMS};
use crate::further::{self, FURTHER};
use crate::random::Random;

/// Classes that draw lots.
const DRAWING: &[&str] = &[
    "ForceICMP",
    "ForceTCP",
    "ForceUDP",
    "RandomBitErrors",
    "RandomSample",
    "RandomSwitch",
    "SetRandIPAddress",
    "IPFragmenter",
    "IPRateMonitor",
];

/// A port that nothing is connected to yet.
struct End {
    port: String,
    kind: Kind,
    is_pull: bool,
}

/// A graph in the making.
struct Growth<'a> {
    random: &'a mut Random,
    text: String,
    ends: Vec<End>,
    n_elements: usize,
    /// Whether further forms and sources may occur.
    is_wide: bool,
    /// Whether an element draws lots: with two, it would matter which of them sees a packet of a batch first.
    draws_lots: bool,
    /// What the script reads at the end, and now and then before it.
    reads: Vec<String>,
    writes: Vec<String>,
}

/// Whether a class draws lots.
fn draws(class: &str) -> bool {
    DRAWING.contains(&class) || further::DRAWING.contains(&class)
}

/// A handler of an element, or `/ELEMENT.HANDLER` of one that is inside it.
fn handler_of(name: &str, handler: &str) -> String {
    let dot = if handler.starts_with('/') { "" } else { "." };
    format!("{name}{dot}{handler}")
}

/// The text of a graph over the capture `in.pcap`; a wide one may have everything that is in `further.rs`.
pub fn graph(random: &mut Random, is_wide: bool) -> String {
    let mut text = random
        .text("RandomSeed({1..9999});\ne0 :: Counter;\nin :: FromDump(in.pcap{|, TIMING true}) -> e0;\n");
    if is_wide {
        text.insert_str(0, further::PRELUDE);
    }
    let ends = vec![End { port: "e0".into(), kind: Kind::Frame, is_pull: false }];
    let mut growth = Growth {
        random,
        text,
        ends,
        n_elements: 1,
        is_wide,
        draws_lots: false,
        reads: Vec::new(),
        writes: Vec::new(),
    };
    if growth.random.one_in(4) {
        growth.add_source();
    }
    if is_wide && growth.random.one_in(3) {
        growth.add_further_source();
    }
    for _ in 0..3 + growth.random.below(14) {
        growth.grow();
    }
    while let Some(end) = growth.ends.pop() {
        growth.close(end);
    }
    growth.add_script();
    growth.text
}

impl Growth<'_> {
    fn name(&mut self) -> String {
        self.n_elements += 1;
        format!("e{}", self.n_elements)
    }

    fn line(&mut self, line: &str) {
        self.text += line;
        self.text += ";\n";
    }

    fn add_source(&mut self) {
        let name = self.name();
        let source = self.random.text(
            "{RatedSource(\\<4500>, {1..20}, {5..30})|InfiniteSource(DATA abcdefghijklmnopqrstuvwxyz0123456789, LIMIT {1..20})|TimedSource(0.05, hello, LIMIT {1..9})}",
        );
        self.line(&format!("{name} :: {source}"));
        self.ends.push(End { port: name, kind: Kind::Raw, is_pull: false });
    }

    fn add_further_source(&mut self) {
        let name = self.name();
        let source = self.random.text(further::SOURCES).replace("ZEROS", &format!("\\<{}>", "00".repeat(50)));
        self.draws_lots |= further::DRAWING_SOURCES.iter().any(|class| source.starts_with(class));
        self.line(&format!("{source} -> {name} :: Null"));
        self.ends.push(End { port: name, kind: Kind::Frame, is_pull: false });
    }

    /// Adds an element at a random end.
    fn grow(&mut self) {
        let at = self.random.below(self.ends.len());
        let end = self.ends.swap_remove(at);
        let fits = |form: &&Form| {
            let takes_way = match form.2 {
                Way::Either => true,
                Way::Push | Way::PushToPull => !end.is_pull,
                Way::Pull | Way::PullToPush => end.is_pull,
            };
            let draws_again = self.draws_lots && draws(form.0);
            takes_way && form.1.contains(&end.kind) && !draws_again
        };
        let mut forms: Vec<&Form> = FORMS.iter().filter(fits).collect();
        if self.is_wide {
            forms.retain(|form| !further::REFUSED.contains(&form.0));
        }
        // What only packets with marked headers can pass is most of the library: get there often.
        let leads_on = |form: &&Form| !form.1.contains(&Kind::Raw) && matches!(form.4, [Out::To(_), ..]);
        if matches!(end.kind, Kind::Frame | Kind::Marked) && self.random.one_in(2) {
            forms.retain(leads_on);
        }
        if self.is_wide && (forms.is_empty() || self.random.one_in(2)) {
            forms = FURTHER.iter().filter(fits).collect();
        }
        if forms.is_empty() {
            self.ends.push(end);
            return;
        }
        let form = *self.random.pick(&forms);
        self.place(form, end);
    }

    fn place(&mut self, form: &Form, end: End) {
        let &Form(class, takes, way, n_inputs, outputs, arguments, reads, writes) = form;
        self.draws_lots |= draws(class);
        let name = self.name();
        let arguments = self.random.text(arguments);
        let arguments = arguments.strip_prefix(", ").unwrap_or(&arguments).to_string();
        self.line(&format!("{name} :: {class}({arguments})"));
        let is_pull = match way {
            Way::Either => end.is_pull,
            Way::Push | Way::PullToPush => false,
            Way::Pull | Way::PushToPull => true,
        };
        let (kind, pulls) = (end.kind, end.is_pull);
        self.line(&format!("{} -> {name}", end.port));
        for input in 1..n_inputs {
            let other =
                self.ends.iter().position(|other| other.is_pull == pulls && takes.contains(&other.kind));
            let port = match other {
                Some(at) if !self.random.one_in(3) => self.ends.swap_remove(at).port,
                _ => "Idle".to_string(),
            };
            self.line(&format!("{port} -> [{input}] {name}"));
        }
        let several = n_inputs > 1 && outputs.iter().any(|out| matches!(out, Out::Same));
        for (output, out) in outputs.iter().enumerate() {
            let kind = match out {
                Out::To(kind) => *kind,
                Out::Same if several && !matches!(kind, Kind::Ip) => Kind::Raw,
                Out::Same => kind,
            };
            // An element that is pulled from pushes what leaves by its second output.
            let is_pull = is_pull && !(self.is_wide && way == Way::Either && output > 0);
            self.ends.push(End { port: format!("{name} [{output}]"), kind, is_pull });
        }
        self.reads
            .extend(reads.split_whitespace().map(|handler| format!("read {}", handler_of(&name, handler))));
        if !writes.is_empty() {
            let write = self.random.text(writes);
            self.writes.push(format!("write {}", handler_of(&name, &write)));
        }
    }

    /// Ends a stream in an element that shows every packet.
    fn close(&mut self, end: End) {
        let label = self.name();
        let show = match end.kind {
            Kind::Marked | Kind::Ip => self.random.text(
                "{IPPrint(LABEL, TTL true, LENGTH true)|IPPrint(LABEL, CONTENTS hex)|IPPrint(LABEL, PAYLOAD hex, MAXLENGTH 30, PAINT true)|Print(LABEL, 60)|ToIPSummaryDump(-, FIELDS ip_src ip_dst ip_proto ip_len ip_ttl ip_frag sport dport payload_len)}",
            ),
            Kind::Ip6 => self.random.text("{IP6Print(LABEL)|Print(LABEL, -1)}"),
            Kind::Frame | Kind::Raw => {
                self.random.text("{Print(LABEL, 60)|Print(LABEL, -1)|Print(LABEL, 40, TIMESTAMP true)|ToDump(LABEL.pcap, NANO false)}")
            }
        };
        let show = show.replace("LABEL", &label);
        let unqueue = if end.is_pull && !self.random.one_in(3) { "Unqueue -> " } else { "" };
        let discard = if show.starts_with("To") { "" } else { " -> Discard" };
        self.line(&format!("{} -> {unqueue}{show}{discard}", end.port));
    }

    fn add_script(&mut self) {
        let mut steps = Vec::new();
        for write in std::mem::take(&mut self.writes) {
            if self.random.one_in(3) {
                steps.push(self.random.text("wait {0.01|0.1|0.7}s"));
                steps.push(write);
            }
        }
        steps.push("wait 5s".to_string());
        steps.append(&mut self.reads);
        self.line(&format!("DriverManager({})", steps.join(",\n    ")));
    }
}
