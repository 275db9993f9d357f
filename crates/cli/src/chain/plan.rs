//! What a chain becomes: segments, each of which is a process.

use graph::{Diagnostics, Graph};
use interfaces::stage::{Endpoint, Spec};
use tools::fuse::{self, Side, StageGraph, StageInterface};

use super::part::{GraphPart, Part, Position, Work};
use super::{program, text, ChainOptions};
use crate::failure::Failure;
use crate::load;
use crate::stage::options::{Declared, LEFT, RIGHT};

/// A chain.
pub struct Chain {
    /// Its stages.
    pub parts: Vec<Part>,
    /// The processes, in order.
    pub segments: Vec<Segment>,
}

/// Stages that are one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The index of its first stage.
    pub first: usize,
    /// How many stages it has.
    pub len: usize,
}

/// How two neighbouring stages are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// In one graph.
    DirectCall,
    /// By a pipe that becomes shared memory.
    Ring,
    /// In the kernel.
    Cable,
    /// By a pipe.
    Pipe,
}

/// The graph of a segment, and its interfaces.
pub struct Fusion {
    /// The graphs of its stages.
    pub stages: Vec<StageGraph>,
    /// Its interfaces to the outside.
    pub interfaces: Vec<Declared>,
    /// The interfaces whose end is the segment's.
    pub sources: Vec<String>,
}

impl Chain {
    /// Reads a chain; None if a graph is wrong, which is told.
    pub fn of(options: &ChainOptions) -> Result<Option<Chain>, Failure> {
        check_ends(options).map_err(Failure::Usage)?;
        let written = text::split(&options.text).map_err(Failure::Usage)?;
        let n = written.len();
        let mut diagnostics = Diagnostics::default();
        let (mut parts, mut mistakes, mut is_whole) = (Vec::new(), Vec::new(), true);
        for (idx, written) in written.into_iter().enumerate() {
            let position = Position { is_first: idx == 0, is_last: idx + 1 == n };
            match Part::of(written, position, options, &mut diagnostics) {
                Ok(Some(part)) => {
                    mistakes.extend(program::missing(&part));
                    parts.push(part);
                }
                Ok(None) => is_whole = false,
                Err(failure) => mistakes.push(failure),
            }
        }
        load::tell(&diagnostics);
        Failure::of_all(&mistakes)?;
        if !is_whole || diagnostics.has_errors() {
            return Ok(None);
        }
        let segments = segments(&parts);
        Ok(Some(Chain { parts, segments }))
    }

    /// The stages of a segment.
    pub fn stages(&self, segment: Segment) -> &[Part] {
        &self.parts[segment.first..segment.first + segment.len]
    }

    /// The only segment, if there is one and it is a graph.
    pub fn only_graph(&self) -> Option<Segment> {
        match self.segments.as_slice() {
            [only] if self.is_graph(*only) && !self.has_environment(*only) => Some(*only),
            _ => None,
        }
    }

    /// Whether a segment is a graph.
    pub fn is_graph(&self, segment: Segment) -> bool {
        matches!(self.parts[segment.first].work, Work::Graph(_))
    }

    /// Whether variables are set for it that are not about interfaces.
    pub fn has_environment(&self, segment: Segment) -> bool {
        let environment = &self.parts[segment.first].written.environment;
        environment.iter().any(|(name, _)| !super::part::is_of_interface(name))
    }

    /// How stage `idx` is joined to the one behind it.
    pub fn joint(&self, idx: usize) -> Joint {
        let is_fused = |segment: &Segment| segment.first <= idx && idx + 1 < segment.first + segment.len;
        if self.segments.iter().any(is_fused) {
            return Joint::DirectCall;
        }
        match (&self.parts[idx].work, &self.parts[idx + 1].work) {
            (Work::Program, _) | (_, Work::Program) => Joint::Pipe,
            (Work::Linux, Work::Linux) => Joint::Cable,
            _ => Joint::Ring,
        }
    }

    /// What a segment of graphs becomes.
    pub fn fusion(&self, segment: Segment) -> Fusion {
        let parts: Vec<&GraphPart> = self.stages(segment).iter().filter_map(Part::graph).collect();
        let mut fusion = Fusion { stages: Vec::new(), interfaces: Vec::new(), sources: Vec::new() };
        for (idx, part) in parts.iter().enumerate() {
            let n_before = parts[..idx].iter().filter(|other| other.name == part.name).count();
            let prefix = match n_before {
                0 => part.name.clone(),
                // `-` is no part of a name in the language, and the graph's text is to be one.
                n => format!("{}_{}", part.name, n + 1),
            };
            fusion.add(part, prefix, idx > 0, idx + 1 < parts.len());
        }
        fusion.find_sources();
        fusion
    }

    /// The graph of each segment that has one; None if one is wrong, which is told.
    pub fn graphs(&self) -> Option<Vec<Option<Graph>>> {
        let mut diagnostics = Diagnostics::default();
        let facts = |name: &str| catalog::stock().get(name).map(|class| &class.facts);
        let fused = |segment: &Segment| {
            let burst = usize::from(self.parts[segment.first].graph()?.options.burst());
            fuse::fuse(&self.fusion(*segment).stages, burst, &facts, &mut diagnostics)
        };
        let graphs = self.segments.iter().map(fused).collect();
        load::tell(&diagnostics);
        (!diagnostics.has_errors()).then_some(graphs)
    }
}

impl Joint {
    /// How it is called.
    pub fn name(self) -> &'static str {
        match self {
            Joint::DirectCall => "direct call",
            Joint::Ring => "pipe -> ring",
            Joint::Cable => "kernel cable (veth), else ring",
            Joint::Pipe => "pipe (capture bytes)",
        }
    }
}

/// The chain's own interfaces are its ends.
fn check_ends(options: &ChainOptions) -> Result<(), String> {
    let name = |text: &String| text.split_once('=').map_or(text.clone(), |(name, _)| name.to_string());
    match options.stage.interfaces.iter().map(name).find(|name| name != LEFT && name != RIGHT) {
        Some(name) => Err(format!(
            "--if {name}: a chain has the interfaces left and right; give others to the stage that has them"
        )),
        None => Ok(()),
    }
}

/// Puts neighbouring graphs together as far as they can be one.
fn segments(parts: &[Part]) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for (first, part) in parts.iter().enumerate() {
        let fits = |before: &Part| match (before.graph(), part.graph()) {
            (Some(before), Some(part)) => {
                before.apart.is_none()
                    && part.apart.is_none()
                    && before.options.burst() == part.options.burst()
            }
            _ => false,
        };
        match segments.last_mut() {
            Some(last) if first > 0 && fits(&parts[first - 1]) => last.len += 1,
            _ => segments.push(Segment { first, len: 1 }),
        }
    }
    segments
}

impl Fusion {
    fn add(&mut self, part: &GraphPart, prefix: String, has_left: bool, has_right: bool) {
        let interfaces = part.interfaces.iter().map(|declared| {
            let (receives, sends) = sides(&declared.spec, has_left, has_right);
            let keeps_name = match declared.name.as_str() {
                LEFT => !has_left,
                RIGHT => !has_right,
                name => !self.interfaces.iter().any(|known| known.name == name),
            };
            let renamed =
                if keeps_name { declared.name.clone() } else { format!("{prefix}.{}", declared.name) };
            StageInterface { name: declared.name.clone(), renamed, receives, sends }
        });
        let interfaces = interfaces.collect();
        let stage = StageGraph { prefix, graph: part.graph.clone(), interfaces };
        for interface in fuse::outside(&stage) {
            let Some(declared) = part.interfaces.iter().find(|known| known.name == interface.name) else {
                continue;
            };
            let mut spec = declared.spec.clone();
            if interface.receives != Side::Outside {
                spec.input = None;
            }
            if interface.sends != Side::Outside && spec.input.is_some() {
                spec.output = None;
            }
            name_tap(&mut spec, &declared.name);
            self.interfaces.push(Declared { name: interface.renamed.clone(), spec, format: declared.format });
        }
        self.stages.push(stage);
    }

    /// The segment ends when the last stage does that does not take from the one before.
    fn find_sources(&mut self) {
        let first = self.stages.iter().rev().find(|stage| !fuse::takes_from_left(stage));
        let interfaces = first.map(fuse::outside).unwrap_or_default();
        let is_received = |interface: &&&StageInterface| interface.receives == Side::Outside;
        self.sources =
            interfaces.iter().filter(is_received).map(|interface| interface.renamed.clone()).collect();
    }
}

/// Where what is received comes from, and where what is sent goes.
fn sides(spec: &Spec, has_left: bool, has_right: bool) -> (Side, Side) {
    let (is_in, is_out) = (spec.input == Some(Endpoint::Stdin), spec.output == Some(Endpoint::Stdout));
    let left = if has_left { Side::Left } else { Side::Outside };
    let right = if has_right { Side::Right } else { Side::Outside };
    let receives = match &spec.input {
        Some(_) if is_in => left,
        None if is_out => right,
        _ => Side::Outside,
    };
    let sends = match &spec.output {
        Some(_) if is_out => right,
        None if is_in => left,
        _ => Side::Outside,
    };
    (receives, sends)
}

/// A tap without a name is called like its interface, which may have another name in the chain.
fn name_tap(spec: &mut Spec, interface: &str) {
    for endpoint in [&mut spec.input, &mut spec.output].into_iter().flatten() {
        if let Endpoint::Tap { name, .. } = endpoint {
            if name.is_empty() {
                *name = interface.to_string();
            }
        }
    }
}
