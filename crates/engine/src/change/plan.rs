//! What stays, what is built anew and what goes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use args::Names;
use element::{Class, Element, ElementIdx, Phase, Role};
use graph::{Action, Checked, Diagnostics, Graph, Ports};

use super::by_name::ByName;
use super::{is_vacant, present, vacant, SharedLoader, Wish, VACANT};
use crate::chatter::Voice;
use crate::configured::{classes_of, configure_one, order_of, words, Site};
use crate::crew::cores;
use crate::told::{tell, tell_of_host};
use crate::wiring::Wiring;

/// A running graph as it was at a moment, for a change to be prepared on any thread.
pub struct Snapshot {
    pub(super) version: u64,
    /// The graph, each element with its present configuration; elements that were taken away have no name.
    pub(super) graph: Graph,
    pub(super) classes: Vec<&'static Class>,
    pub(super) wiring: Wiring,
    pub(super) names: Arc<Names>,
    pub(super) chatter: Voice,
    pub(super) burst: usize,
    pub(super) replica: (usize, usize),
    pub(super) n_threads: usize,
    pub(super) loader: SharedLoader,
}

/// A change whose new elements are configured.
pub struct Prepared {
    pub(super) version: u64,
    pub(super) plan: Plan,
    /// What is put into the world, or into each replica's.
    pub(super) parts: Vec<Part>,
    pub(super) title: String,
    /// The steps from the old graph to the new one.
    pub actions: Vec<Action>,
}

/// What becomes of the graph, the same for all worlds.
#[derive(Clone)]
pub(super) struct Plan {
    /// The new graph, its elements where the world has them.
    pub graph: Arc<Graph>,
    pub classes: Vec<&'static Class>,
    pub wiring: Wiring,
    pub removed: Vec<ElementIdx>,
    /// Whether searches for notifiers may find other things than before.
    pub is_rewired: bool,
}

/// What is put into a world.
pub(super) struct Part {
    /// Names, if they are others than before.
    pub names: Option<Arc<Names>>,
    /// Elements to be put in, in the order in which they are initialised.
    pub new: Vec<New>,
}

/// An element to be put in.
pub(crate) struct New {
    pub idx: ElementIdx,
    pub element: Box<dyn Element>,
    pub how: How,
    /// Whether it takes its predecessor's state.
    pub takes_state: bool,
}

/// How an element comes into the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It has a place of its own.
    Added,
    /// It takes the place of another, with tasks and timers of its own.
    Rebuilt,
    /// It takes the place of another of its class, with that one's tasks and timers.
    Reconfigured,
}

impl Snapshot {
    /// The graph without the places of elements that were taken away.
    pub fn graph(&self) -> Graph {
        compact(&self.graph)
    }

    /// What reads configurations.
    pub fn loader(&self) -> &dyn super::Loader {
        self.loader.as_ref()
    }

    /// Checks the wanted graph and configures what is new in it; `None` if there were errors, which are in `diagnostics`.
    pub fn prepare(&self, wish: Wish, diagnostics: &mut Diagnostics) -> Option<Prepared> {
        let Wish { mut graph, is_unfinished, without_state, replaced, title } = wish;
        let of_loader = |name: &str| self.loader.class(name);
        let registry = cores::registry(&of_loader);
        if self.replica.1 > 1 {
            graph = cores::with_shares(graph, &registry);
        }
        let classes = classes_of(&mut graph, &registry, diagnostics)?;
        let facts = |name: &str| registry(name).map(|class| &class.facts);
        let checked = match is_unfinished {
            true => graph::check_unfinished(&graph, &facts, diagnostics)?,
            false => graph::check(&graph, &facts, diagnostics)?,
        };
        let actions = match self.replica.1 {
            0 | 1 => graph::diff(&self.graph(), &graph, &replaced),
            _ => graph::diff(&self.graph(), &compact(&graph), &replaced),
        };
        let numbers = self.numbers(&graph, &replaced);
        let placed = Placed::new(graph, checked, &classes, &numbers, self.graph.elements.len());
        let redefined = placed.redefined(self);
        let hows = Decision::new(self, &placed, redefined.as_ref()).hows();
        let are_redefined = redefined.is_some();
        let part = |replica: usize, diagnostics: &mut Diagnostics| {
            let names = are_redefined.then(|| Arc::new(self.names.of_same_host()));
            let site = Placing { placed: &placed, hows: &hows, without_state: &without_state, replica };
            let new = self.configure(&site, names.as_ref().unwrap_or(&self.names), diagnostics)?;
            Some(Part { names, new })
        };
        let mut parts = vec![part(0, diagnostics)?];
        for replica in 1..self.replica.1 {
            // The first one has told what there is to tell.
            let mut quiet = Diagnostics::default();
            match part(replica, &mut quiet) {
                Some(part) => parts.push(part),
                None => {
                    diagnostics.list.append(&mut quiet.list);
                    return None;
                }
            }
        }
        let is_removed = |idx: &ElementIdx| !is_vacant(&self.graph, *idx) && is_vacant(&placed.graph, *idx);
        let removed: Vec<_> = (0..self.graph.elements.len()).filter(is_removed).collect();
        let is_rewired = !removed.is_empty()
            || hows.iter().flatten().any(|how| *how != How::Reconfigured)
            || actions.iter().any(is_edge);
        let Placed { graph, classes, wiring } = placed;
        let plan = Plan { graph: Arc::new(graph), classes, wiring, removed, is_rewired };
        Some(Prepared { version: self.version, plan, parts, title, actions })
    }

    /// The place of each element of the wanted graph: its predecessor's, or one that nobody has.
    fn numbers(&self, graph: &Graph, replaced: &[(String, String)]) -> Vec<ElementIdx> {
        let old = present(&self.graph).map(|(idx, element)| (element.name.as_str(), idx));
        let old: HashMap<&str, ElementIdx> = old.collect();
        let mut free: Vec<ElementIdx> =
            (0..self.graph.elements.len()).rev().filter(|idx| is_vacant(&self.graph, *idx)).collect();
        let mut n = self.graph.elements.len();
        let place = |element: &graph::Element| {
            let replaced = replaced.iter().find(|(_, new)| *new == element.name);
            let name = replaced.map_or(element.name.as_str(), |(old, _)| old.as_str());
            old.get(name).copied().or_else(|| free.pop()).unwrap_or_else(|| {
                n += 1;
                n - 1
            })
        };
        graph.elements.iter().map(place).collect()
    }

    fn configure(
        &self,
        placing: &Placing<'_>,
        names: &Names,
        diagnostics: &mut Diagnostics,
    ) -> Option<Vec<New>> {
        let Placing { placed: Placed { graph, wiring, classes }, hows, without_state, replica } = *placing;
        let (burst, n_threads) = (self.burst, self.n_threads);
        let (is_first, replica) = (replica == 0, (replica, self.replica.1));
        let site = Site { graph, wiring, classes, burst, replica, n_threads, world: None };
        let (mut new, mut is_whole) = (Vec::new(), true);
        for idx in order_of(classes) {
            let Some(how) = hows[idx] else { continue };
            let element = &graph.elements[idx];
            if let Some(notice) = classes[idx].notice.filter(|_| how == How::Added && is_first) {
                self.chatter.say(notice);
            }
            let (made, told) = configure_one(&site, names, classes[idx], idx, &element.config);
            tell_of_host(diagnostics, names);
            tell(diagnostics, "While configuring", element, told);
            match made {
                Some(made) => {
                    let takes_state = how != How::Added && !without_state.contains(&element.name);
                    new.push(New { idx, element: made, how, takes_state });
                }
                None => is_whole = false,
            }
        }
        is_whole.then_some(new)
    }
}

/// What the new elements of a replica are configured for.
#[derive(Clone, Copy)]
struct Placing<'a> {
    placed: &'a Placed,
    hows: &'a [Option<How>],
    without_state: &'a [String],
    replica: usize,
}

/// The graph as the user knows it: without places that nobody has, and without what shares flows out to replicas.
pub(crate) fn compact(graph: &Graph) -> Graph {
    let mut numbers = Vec::new();
    let mut elements = Vec::new();
    for element in &graph.elements {
        numbers.push(elements.len());
        if !element.name.is_empty() && !cores::is_share(element) {
            elements.push(element.clone());
        }
    }
    let mut connections = cores::without_shares(graph);
    renumber(&mut connections, &numbers);
    Graph { elements, connections, requirements: graph.requirements.clone() }
}

fn renumber(connections: &mut [graph::Connection], numbers: &[ElementIdx]) {
    for end in connections.iter_mut().flat_map(|c| [&mut c.from, &mut c.to]) {
        end.element = numbers.get(end.element).copied().unwrap_or(ElementIdx::MAX);
    }
    connections.sort_by(|a, b| a.by_input(b));
}

fn is_edge(action: &Action) -> bool {
    matches!(action, Action::Connect { .. } | Action::Disconnect { .. })
}

/// The wanted graph with its elements where the world has them.
struct Placed {
    graph: Graph,
    classes: Vec<&'static Class>,
    wiring: Wiring,
}

impl Placed {
    /// Puts each element where `numbers` says; there are `n` places at least.
    fn new(
        graph: Graph,
        checked: Checked,
        found: &[&'static Class],
        numbers: &[ElementIdx],
        n: usize,
    ) -> Placed {
        let n = numbers.iter().map(|idx| idx + 1).max().unwrap_or(0).max(n);
        let mut elements: Vec<graph::Element> = (0..n).map(|_| vacant()).collect();
        let mut classes: Vec<&'static Class> = vec![&VACANT; n];
        let mut ports: Vec<Ports> = (0..n).map(|_| Ports::default()).collect();
        let Graph { elements: given, mut connections, requirements } = graph;
        for (((element, class), own), idx) in given.into_iter().zip(found).zip(checked.ports).zip(numbers) {
            (elements[*idx], classes[*idx], ports[*idx]) = (element, *class, own);
        }
        renumber(&mut connections, numbers);
        let graph = Graph { elements, connections, requirements };
        let mut wiring = Wiring::new(&graph, &Checked { ports });
        wiring.shorten(&classes);
        Placed { graph, classes, wiring }
    }

    /// The words of elements that define names for others' arguments, before and now, if they are not the same.
    fn redefined<'g>(&'g self, old: &'g Snapshot) -> Option<HashSet<&'g str>> {
        let (before, after) =
            (definitions(&old.graph, &old.classes), definitions(&self.graph, &self.classes));
        let configs = before.values().chain(after.values()).map(|(_, config)| *config);
        // Numbers and parts of addresses are no names.
        let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (before != after).then(|| configs.flat_map(words).filter(is_name).collect())
    }
}

/// The elements that define names, by name.
fn definitions<'g>(graph: &'g Graph, classes: &[&'static Class]) -> HashMap<&'g str, (&'g str, &'g str)> {
    let defining = present(graph).filter(|(idx, _)| defines_names(classes[*idx]));
    let described = |element: &'g graph::Element| (element.class.as_str(), element.config.as_str());
    defining.map(|(_, element)| (element.name.as_str(), described(element))).collect()
}

fn defines_names(class: &Class) -> bool {
    class.phase <= Phase::INFO
}

/// What becomes of each element.
struct Decision<'a> {
    old: &'a Snapshot,
    new: &'a Placed,
    hows: Vec<Option<How>>,
}

impl<'a> Decision<'a> {
    fn new(old: &'a Snapshot, new: &'a Placed, redefined: Option<&HashSet<&str>>) -> Decision<'a> {
        let is_rewired = !old.wiring.has_same_connections(&new.wiring);
        let mut decision = Decision { old, new, hows: vec![None; new.graph.elements.len()] };
        for idx in 0..decision.hows.len() {
            decision.hows[idx] = decision.alone(idx, is_rewired, redefined);
        }
        decision
    }

    /// What becomes of an element whatever becomes of those that it names.
    fn alone(&self, idx: ElementIdx, is_rewired: bool, redefined: Option<&HashSet<&str>>) -> Option<How> {
        if is_vacant(&self.new.graph, idx) {
            return None;
        }
        if is_vacant(&self.old.graph, idx) {
            return Some(How::Added);
        }
        let (before, after) = (&self.old.graph.elements[idx], &self.new.graph.elements[idx]);
        let class = self.new.classes[idx];
        let is_other = !std::ptr::eq(self.old.classes[idx], class) || before.name != after.name;
        let has_other_ports = !self.new.wiring.has_same_ports(&self.old.wiring, idx);
        let looks = class.looks_around && is_rewired;
        let is_redefined = redefined.is_some_and(|redefined| {
            defines_names(class) || words(&after.config).any(|word| redefined.contains(word))
        });
        if is_other || has_other_ports || looks || is_redefined {
            Some(How::Rebuilt)
        } else if before.config == after.config {
            None
        } else if class.live {
            Some(How::Reconfigured)
        } else {
            Some(How::Rebuilt)
        }
    }

    /// Rebuilds what names elements that are others than before, until nothing is left to do.
    fn hows(mut self) -> Vec<Option<How>> {
        let n = self.hows.len();
        let (old, new) = (ByName::new(&self.old.graph), ByName::new(&self.new.graph));
        // Scripts and the like find elements when they act.
        let may_hold = |idx: &ElementIdx| {
            let class = self.new.classes[*idx];
            !is_vacant(&self.new.graph, *idx) && class.role != Role::Single && class.phase > Phase::INFO
        };
        let holders: Vec<(ElementIdx, Vec<ElementIdx>, Vec<ElementIdx>)> =
            (0..n).filter(may_hold).map(|idx| (idx, old.named_by(idx), new.named_by(idx))).collect();
        loop {
            let mut is_settled = true;
            for (idx, before, after) in &holders {
                let is_affected = before != after || after.iter().any(|other| self.hows[*other].is_some());
                if is_affected && matches!(self.hows[*idx], None | Some(How::Reconfigured)) {
                    self.hows[*idx] = Some(How::Rebuilt);
                    is_settled = false;
                }
            }
            if is_settled {
                return self.hows;
            }
        }
    }
}
