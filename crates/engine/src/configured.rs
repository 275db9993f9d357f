//! Configuring: from a graph to elements that are ready to be initialised.

use std::sync::Arc;

use args::{Args, Names, Scope, Told};
use element::{Class, Configure, Element, ElementIdx, Environment, HandlerUse, PortIdx, Runtime};
use graph::{Diagnostics, Graph, Severity};

use crate::build::{BuildOptions, Engine, Layout, Registry};
use crate::chatter::Voice;
use crate::clock::{Clock, Time};
use crate::handlers;
use crate::order::configure_order;
use crate::told::{line, tell, tell_of_host};
use crate::wiring::Wiring;
use crate::world::{Parts, World};

/// A graph whose elements are configured.
pub(crate) struct Configured {
    pub parts: Parts,
    pub order: Vec<ElementIdx>,
}

/// What the worlds of a graph are set up with.
pub(crate) struct Setup {
    time: Time,
    burst: usize,
    pub chatter: Voice,
    names: Names,
    pub replica: (usize, usize),
    pub n_threads: usize,
}

impl Setup {
    pub fn new(options: BuildOptions) -> Setup {
        let n_threads = if let Layout::Threads(n) = options.layout { n.max(1) } else { 1 };
        Setup {
            time: options.time,
            burst: options.burst,
            chatter: Voice::new(options.chatter),
            names: Names::new(options.host),
            replica: (0, 1),
            n_threads,
        }
    }

    /// The setup of one of several replicas.
    pub fn of_replica(&self, replica: usize, n: usize) -> Setup {
        Setup {
            time: self.time,
            burst: self.burst,
            chatter: self.chatter.clone(),
            names: self.names.of_same_host(),
            replica: (replica, n),
            n_threads: self.n_threads,
        }
    }
}

impl Configured {
    /// Checks a graph and configures its elements.
    pub fn new(
        mut graph: Graph,
        registry: Registry<'_>,
        setup: &Setup,
        diagnostics: &mut Diagnostics,
    ) -> Option<Configured> {
        let classes = classes_of(&mut graph, registry, diagnostics)?;
        if setup.replica.0 == 0 {
            classes.iter().filter_map(|class| class.notice).for_each(|notice| setup.chatter.say(notice));
        }
        let facts = |name: &str| registry(name).map(|class| &class.facts);
        let checked = graph::check(&graph, &facts, diagnostics)?;
        let mut wiring = Wiring::new(&graph, &checked);
        wiring.shorten(&classes);
        let order = order_of(&classes);
        let Setup { time, burst, replica, n_threads, .. } = *setup;
        let world = None;
        let site =
            Site { graph: &graph, wiring: &wiring, classes: &classes, burst, replica, n_threads, world };
        let names = Arc::new(setup.names.of_same_host());
        let slots = configure_all(&site, &names, &classes, &order, diagnostics)?;
        let (clock, chatter) = (Clock::new(time), setup.chatter.clone());
        let graph = Arc::new(graph);
        let parts = Parts { graph, classes, wiring, slots, clock, burst, chatter, names, replica, n_threads };
        Some(Configured { parts, order })
    }

    /// The engine of these elements, which are still to be initialised.
    pub fn into_engine(self) -> Engine {
        let mut world = World::new(self.parts);
        world.order = self.order;
        Engine { world }
    }
}

/// The class of each element, which is then known by its class's own name; `None` if a class does not exist.
pub(crate) fn classes_of(
    graph: &mut Graph,
    registry: Registry<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<&'static Class>> {
    let mut classes = Vec::new();
    for element in &mut graph.elements {
        match registry(&element.class) {
            Some(class) => {
                if let Some(name) = class.alias_of {
                    element.class = name.into();
                }
                classes.push(class);
            }
            None => {
                let message = format!("unknown element class '{}'", element.class);
                diagnostics.error(&element.place, message);
            }
        }
    }
    (classes.len() == graph.elements.len()).then_some(classes)
}

/// Whether names have such a byte; a table, as configurations may be long.
static IS_NAME_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'_' | b'/' | b'@');
        byte += 1;
    }
    table
};

/// The words of a configuration that may be names, of elements say.
pub(crate) fn words(config: &str) -> impl Iterator<Item = &str> {
    let words =
        config.as_bytes().split(|byte| !IS_NAME_BYTE[usize::from(*byte)]).filter(|word| !word.is_empty());
    // All of them are ASCII.
    words.filter_map(|word| std::str::from_utf8(word).ok())
}

/// The order in which elements of these classes are configured.
pub(crate) fn order_of(classes: &[&'static Class]) -> Vec<ElementIdx> {
    configure_order(&classes.iter().map(|class| class.phase.0).collect::<Vec<_>>())
}

/// The graph as elements see it while they are configured.
pub(crate) struct Site<'a> {
    pub graph: &'a Graph,
    pub wiring: &'a Wiring,
    pub classes: &'a [&'static Class],
    pub burst: usize,
    pub replica: (usize, usize),
    pub n_threads: usize,
    /// Where the graph runs, if only one element is given a new configuration.
    pub world: Option<&'a World>,
}

impl Environment for Site<'_> {
    fn find(&self, name: &str, from: ElementIdx) -> Option<ElementIdx> {
        self.graph.find_in(name, self.graph.elements.get(from)?.context())
    }

    fn class(&self, idx: ElementIdx) -> &str {
        self.graph.elements.get(idx).map_or("", |element| &element.class)
    }

    fn name(&self, idx: ElementIdx) -> &str {
        self.graph.elements.get(idx).map_or("", |element| &element.name)
    }

    fn config(&self, idx: ElementIdx) -> &str {
        self.graph.elements.get(idx).map_or("", |element| &element.config)
    }

    fn n_elements(&self) -> usize {
        self.graph.elements.len()
    }

    fn configure_order(&self) -> Vec<ElementIdx> {
        order_of(self.classes)
    }

    fn n_ports(&self, idx: ElementIdx) -> (usize, usize) {
        self.wiring.n_ports(idx)
    }

    fn output_is_push(&self, idx: ElementIdx, port: PortIdx) -> bool {
        self.wiring.output_is_push(idx, port)
    }

    fn input_is_push(&self, idx: ElementIdx, port: PortIdx) -> bool {
        self.wiring.input_is_push(idx, port)
    }

    fn n_threads(&self) -> usize {
        self.n_threads
    }

    fn replica(&self) -> (usize, usize) {
        self.replica
    }

    fn is_alone(&self) -> bool {
        self.world.is_some()
    }

    fn check_writable(&self, name: &str, from: ElementIdx) -> Result<(), String> {
        let Some(world) = self.world else { return Ok(()) };
        handlers::check(world, from, name, HandlerUse::Write).map(drop)
    }

    fn default_burst(&self) -> usize {
        self.burst
    }
}

type Slots = Vec<Option<Box<dyn Element>>>;

fn configure_all(
    site: &Site<'_>,
    names: &Names,
    classes: &[&'static Class],
    order: &[ElementIdx],
    diagnostics: &mut Diagnostics,
) -> Option<Slots> {
    let mut slots: Slots = classes.iter().map(|_| None).collect();
    let mut ok = true;
    for &idx in order {
        let element = &site.graph.elements[idx];
        let (made, told) = configure_one(site, names, classes[idx], idx, &element.config);
        tell_of_host(diagnostics, names);
        tell(diagnostics, "While configuring", element, told);
        ok &= made.is_some();
        slots[idx] = made;
    }
    ok.then_some(slots)
}

/// Makes an element; what is to be told about it includes an error if there is none.
pub(crate) fn configure_one(
    site: &dyn Environment,
    names: &Names,
    class: &'static Class,
    idx: ElementIdx,
    config: &str,
) -> (Option<Box<dyn Element>>, Vec<Told>) {
    let scope = Scope::new(names, site.name(idx));
    let args = Args::new(config, class.facts.args, &scope);
    let mut conf = Configure::new(args, &scope, idx, config, site);
    let result = (class.configure)(&mut conf);
    let mut told = conf.into_told();
    match result {
        Ok(made) => (Some(made), told),
        Err(failed) => {
            told.extend(failed.errors.into_iter().map(|message| (Severity::Error, message)));
            if !told.iter().any(|(severity, _)| *severity == Severity::Error) {
                told.push((Severity::Error, "unspecified error".to_string()));
            }
            (None, told)
        }
    }
}

impl World {
    /// Gives an element a new configuration while the graph runs: makes a new element, which takes the old one's state.
    pub(crate) fn reconfigure(&mut self, idx: ElementIdx, config: &str) -> Result<(), String> {
        let class = self.classes[idx];
        if !class.live {
            return Err("cannot reconfigure".to_string());
        }
        if !matches!(self.slots.get(idx), Some(Some(_))) {
            return Err("element is busy".to_string());
        }
        let graph = self.graph.clone();
        let (burst, replica, n_threads) = (self.burst, self.replica, self.n_threads);
        let (wiring, classes) = (&self.wiring, self.classes.as_slice());
        let site = Site { graph: &graph, wiring, classes, burst, replica, n_threads, world: Some(self) };
        let (made, told) = configure_one(&site, &self.names, class, idx, config);
        let Some(made) = made else {
            let lines = told.into_iter().map(|told| line(&told));
            return Err(lines.collect::<Vec<_>>().join("\n"));
        };
        for told in &told {
            self.tell(&line(told));
        }
        if let Some(hand) = made.second_hand() {
            self.second_hands.insert(idx, hand);
        }
        let mut old = self.slots[idx].replace(made);
        self.call(idx, |element, ctx| {
            if let Some(old) = old.take() {
                element.take_state(ctx, old);
            }
        });
        self.configs[idx] = config.to_string();
        Ok(())
    }
}
