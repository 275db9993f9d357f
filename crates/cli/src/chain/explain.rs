//! `weir chain --explain` and `--dot`: what would be joined how.

use graph::{Diagnostics, Graph};
use serde_json::{json, Value};

use super::children;
use super::part::{GraphPart, Part, Work};
use super::plan::Chain;
use super::ChainOptions;
use crate::stage::status::command_line;

/// Prints each stage, each joint, and each process.
pub fn explain(chain: &Chain, options: &ChainOptions, graphs: &[Option<Graph>]) {
    if options.json {
        println!("{:#}", as_json(chain, options, graphs));
    } else {
        print!("{}", as_text(chain, options));
    }
}

/// Prints the graph of each process for Graphviz.
pub fn dot(graphs: &[Option<Graph>]) {
    let facts = |name: &str| catalog::stock().get(name).map(|class| &class.facts);
    for graph in graphs.iter().flatten() {
        let checked = graph::check(graph, &facts, &mut Diagnostics::default());
        print!("{}", graph::dot(graph, checked.as_ref()));
    }
}

fn as_text(chain: &Chain, options: &ChainOptions) -> String {
    let mut text = String::new();
    for (idx, part) in chain.parts.iter().enumerate() {
        let process = chain.process_of(idx);
        text += &format!("stage {}: {} ({}, process {process})\n", idx + 1, part.written.text, kind(part));
        if let Some(graph) = part.graph() {
            for interface in own_interfaces(chain, idx) {
                text += &format!("  {interface}\n");
            }
            text += &listing(graph).lines().map(|line| format!("    {line}\n")).collect::<String>();
        }
        if idx + 1 < chain.parts.len() {
            text += &format!("joint: {}\n", chain.joint(idx).name());
        }
    }
    for note in chain.notes() {
        text += &format!("note: {note}\n");
    }
    if chain.only_graph().is_none() {
        for idx in 0..chain.segments.len() {
            let words = children::shown(chain, idx, options);
            let command = command_line(words.iter().map(String::as_str));
            text += &format!("process {}: {command}\n", idx + 1);
        }
    }
    text
}

fn as_json(chain: &Chain, options: &ChainOptions, graphs: &[Option<Graph>]) -> Value {
    let stages = chain.parts.iter().enumerate().map(|(idx, part)| {
        json!({
            "stage": idx + 1,
            "text": part.written.text,
            "kind": kind(part),
            "process": chain.process_of(idx),
            "function": part.graph().map(|graph| &graph.function),
            "graph": part.graph().map(listing),
            "interfaces": own_interfaces(chain, idx),
        })
    });
    let joints = (1..chain.parts.len())
        .map(|idx| json!({ "left": idx, "right": idx + 1, "joint": chain.joint(idx - 1).name() }));
    let processes = chain.segments.iter().enumerate().map(|(idx, segment)| {
        let command = chain.only_graph().is_none().then(|| children::shown(chain, idx, options));
        let stages: Vec<usize> = (segment.first + 1..=segment.first + segment.len).collect();
        let graph = graphs[idx].as_ref().map(lang::flatten);
        json!({ "process": idx + 1, "stages": stages, "command": command, "graph": graph })
    });
    json!({
        "stages": stages.collect::<Vec<_>>(),
        "joints": joints.collect::<Vec<_>>(),
        "processes": processes.collect::<Vec<_>>(),
        "notes": chain.notes(),
    })
}

impl Chain {
    /// The number of the process that runs stage `idx`, from 1.
    fn process_of(&self, idx: usize) -> usize {
        self.segments.iter().filter(|segment| segment.first <= idx).count()
    }
}

/// What a stage is.
fn kind(part: &Part) -> &'static str {
    match part.work {
        Work::Graph(_) => "graph",
        Work::Linux => "Linux stack",
        Work::Chain => "chain",
        Work::Program => "program",
    }
}

/// The text of a stage's graph without comments in front.
fn listing(part: &GraphPart) -> String {
    let lines = part.text.lines().skip_while(|line| line.starts_with("//") || line.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// A stage's interfaces to the outside of its process.
fn own_interfaces(chain: &Chain, idx: usize) -> Vec<String> {
    let Some(segment) = chain.segments.iter().rfind(|segment| segment.first <= idx) else {
        return Vec::new();
    };
    let fusion = chain.fusion(*segment);
    let outside = fusion.stages.get(idx - segment.first).map(tools::fuse::outside).unwrap_or_default();
    let declared = |name: &str| fusion.interfaces.iter().find(|known| known.name == name);
    let described = outside.iter().filter_map(|interface| declared(&interface.renamed));
    described.map(|declared| format!("{} = {}", declared.name, declared.spec)).collect()
}
