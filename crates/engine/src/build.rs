//! Building: from a graph to elements that are ready to run.

use std::sync::Arc;

use args::{Args, Host, Names, Scope, Told};
use element::{Class, Configure, Element, ElementIdx, Environment, PortIdx, Runtime};
use graph::{Checked, Diagnostics, Graph, Place, Severity};

use crate::clock::{Clock, Time};
use crate::order::configure_order;
use crate::wiring::Wiring;
use crate::world::{Chatter, Parts, World};

/// Finds a class by name.
pub type Registry<'a> = &'a dyn Fn(&str) -> Option<&'static Class>;

/// How a graph is to be built.
pub struct BuildOptions {
    /// How time passes.
    pub time: Time,
    /// How many packets elements move at a time where the graph does not say.
    pub burst: usize,
    /// Where lines for the user go.
    pub chatter: Chatter,
    /// What the host knows: devices, services, users.
    pub host: Box<dyn Host>,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        struct NoHost;
        impl Host for NoHost {}
        let chatter: Chatter = Box::new(|text: &str| eprintln!("{text}"));
        BuildOptions { time: Time::Real, burst: 1, chatter, host: Box::new(NoHost) }
    }
}

/// A graph that is built and can run.
pub struct Engine {
    /// The world in which it runs.
    pub world: World,
    /// The order in which elements were initialised; they are cleaned up in reverse.
    pub(crate) order: Vec<ElementIdx>,
}

/// The graph as elements see it while they are configured.
struct Site<'a> {
    graph: &'a Graph,
    wiring: &'a Wiring,
    burst: usize,
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

    fn n_ports(&self, idx: ElementIdx) -> (usize, usize) {
        self.wiring.n_ports(idx)
    }

    fn output_is_push(&self, idx: ElementIdx, port: PortIdx) -> bool {
        self.wiring.output_is_push(idx, port)
    }

    fn input_is_push(&self, idx: ElementIdx, port: PortIdx) -> bool {
        self.wiring.input_is_push(idx, port)
    }

    fn default_burst(&self) -> usize {
        self.burst
    }
}

impl Engine {
    /// Builds a graph: checks it, configures and initialises its elements. `None` if there were errors, which are then in
    /// `diagnostics`; what was built is cleaned up.
    pub fn build(
        graph: Graph,
        registry: Registry<'_>,
        options: BuildOptions,
        diagnostics: &mut Diagnostics,
    ) -> Option<Engine> {
        let engine = Engine::try_build(graph, registry, options, diagnostics);
        if engine.is_none() {
            diagnostics.error(&Place::default(), "Router could not be initialized!");
        }
        engine
    }

    /// Checks a graph and configures its elements, which are then thrown away; what is wrong goes to `diagnostics`.
    pub fn check(graph: Graph, registry: Registry<'_>, options: BuildOptions, diagnostics: &mut Diagnostics) {
        // What is made here ends here: no element has been initialised.
        let _ = Engine::configured(graph, registry, options, diagnostics);
    }

    fn try_build(
        graph: Graph,
        registry: Registry<'_>,
        options: BuildOptions,
        diagnostics: &mut Diagnostics,
    ) -> Option<Engine> {
        let mut engine = Engine::configured(graph, registry, options, diagnostics)?;
        if engine.initialize(diagnostics) {
            return Some(engine);
        }
        engine.cleanup();
        None
    }

    fn configured(
        mut graph: Graph,
        registry: Registry<'_>,
        options: BuildOptions,
        diagnostics: &mut Diagnostics,
    ) -> Option<Engine> {
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
        if classes.len() < graph.elements.len() {
            return None;
        }
        let facts = |name: &str| registry(name).map(|class| &class.facts);
        let checked = graph::check(&graph, &facts, diagnostics)?;
        Engine::of_checked(graph, &checked, classes, options, diagnostics)
    }

    fn of_checked(
        graph: Graph,
        checked: &Checked,
        classes: Vec<&'static Class>,
        options: BuildOptions,
        diagnostics: &mut Diagnostics,
    ) -> Option<Engine> {
        let wiring = Wiring::new(&graph, checked);
        let order = configure_order(&classes.iter().map(|class| class.phase.0).collect::<Vec<_>>());
        let names = Arc::new(Names::new(options.host));
        let site = Site { graph: &graph, wiring: &wiring, burst: options.burst };
        let slots = configure_all(&site, &names, &classes, &order, diagnostics)?;
        let clock = Clock::new(options.time);
        let (burst, chatter) = (options.burst, options.chatter);
        let graph = Arc::new(graph);
        let parts = Parts { graph, classes, wiring, slots, clock, burst, chatter, names };
        Some(Engine { world: World::new(parts), order })
    }

    fn initialize(&mut self, diagnostics: &mut Diagnostics) -> bool {
        for &idx in &self.order {
            self.world.forget_times();
            let (result, told) = self.world.hear(|world| world.call(idx, |e, ctx| e.initialize(ctx)));
            let element = &self.world.graph.elements[idx];
            let mut told: Vec<Told> = told.into_iter().map(remark).collect();
            let is_failure = matches!(result, Some(Err(_)));
            if let Some(Err(message)) = result.filter(|result| *result != Err(String::new())) {
                told.push((Severity::Error, message));
            }
            tell(diagnostics, "While initializing", element, told);
            if is_failure {
                return false;
            }
        }
        self.world.is_initialized = true;
        true
    }

    /// Ends the graph: elements are cleaned up in reverse order.
    pub fn cleanup(&mut self) {
        for &idx in self.order.iter().rev() {
            self.world.call(idx, |element, ctx| element.cleanup(ctx));
        }
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
        tell(diagnostics, "While configuring", element, told);
        ok &= made.is_some();
        slots[idx] = made;
    }
    ok.then_some(slots)
}

/// Makes an element; what is to be told about it includes an error if there is none.
fn configure_one(
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

/// What is told, as a line.
fn line((severity, message): &Told) -> String {
    match severity {
        Severity::Warning => format!("warning: {message}"),
        Severity::Error | Severity::Message => message.clone(),
    }
}

/// A line that an element told while it was initialised.
fn remark(line: String) -> Told {
    match line.strip_prefix("warning: ") {
        Some(warning) => (Severity::Warning, warning.to_string()),
        None => (Severity::Message, line),
    }
}

fn tell(diagnostics: &mut Diagnostics, during: &str, element: &graph::Element, told: Vec<Told>) {
    let context = format!("{during} '{}'", element.declaration());
    for (severity, message) in told {
        let (landmark, message) = match landmark(&message) {
            Some((place, rest)) => (Some(place), rest.to_string()),
            None => (None, message),
        };
        let told = match severity {
            Severity::Error => diagnostics.error(&element.place, message),
            Severity::Warning => diagnostics.warning(&element.place, message),
            Severity::Message => diagnostics.message(&element.place, message),
        };
        told.landmark = landmark;
        told.context = Some(context.clone());
    }
}

/// The place that a message begins with, such as a line of an input file, and the rest of the message.
fn landmark(message: &str) -> Option<(Place, &str)> {
    let (place, rest) = message.split_once(": ")?;
    let (file, line) = place.rsplit_once(':')?;
    let is_place = !file.is_empty() && !file.contains(char::is_whitespace);
    let _: u32 = line.parse().ok().filter(|_| is_place)?;
    // Line 0 is told too, so the whole is the name of the place.
    Some((Place { file: Some(place.into()), line: 0, column: 0 }, rest))
}

impl World {
    /// Gives an element a new configuration while the graph runs: makes a new element, which takes the old one's state.
    pub(crate) fn reconfigure(&mut self, idx: ElementIdx, config: &str) -> Result<(), String> {
        let class = self.classes[idx];
        if !class.live {
            return Err("cannot reconfigure".to_string());
        }
        let graph = self.graph.clone();
        let site = Site { graph: &graph, wiring: &self.wiring, burst: self.burst };
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
        let Some(old) = self.slots.get_mut(idx).and_then(|slot| slot.replace(made)) else {
            return Err("element is busy".to_string());
        };
        let mut old = Some(old);
        self.call(idx, |element, ctx| {
            if let Some(old) = old.take() {
                element.take_state(ctx, old);
            }
        });
        self.configs[idx] = config.to_string();
        Ok(())
    }
}
