//! Building: from a graph to elements that are ready to run.

use std::sync::Arc;

use args::{Args, Host, Names, Scope};
use element::{Class, Configure, Element, ElementIdx, Environment, Failed, PortIdx, Runtime};
use graph::{Checked, Diagnostics, Graph, Place};

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
        graph: Graph,
        registry: Registry<'_>,
        options: BuildOptions,
        diagnostics: &mut Diagnostics,
    ) -> Option<Engine> {
        let mut classes = Vec::new();
        for element in &graph.elements {
            match registry(&element.class) {
                Some(class) => classes.push(class),
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
            for message in told {
                let context = format!("While initializing '{}'", element.declaration());
                let told = match message.strip_prefix("warning: ") {
                    Some(warning) => diagnostics.warning(&element.place, warning),
                    None => diagnostics.message(&element.place, message),
                };
                told.context = Some(context);
            }
            if let Some(Err(message)) = result {
                complain(diagnostics, "While initializing", element, &[message]);
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
        let (result, remarks) = configure_one(site, names, classes[idx], idx, &element.config);
        let context = format!("While configuring '{}'", element.declaration());
        for warning in remarks.warnings {
            diagnostics.warning(&element.place, warning).context = Some(context.clone());
        }
        for note in remarks.notes {
            diagnostics.message(&element.place, note).context = Some(context.clone());
        }
        match result {
            Ok(made) => slots[idx] = Some(made),
            Err(failed) => {
                ok = false;
                complain(diagnostics, "While configuring", element, &failed.errors);
            }
        }
    }
    ok.then_some(slots)
}

/// What an element has to tell while it is configured, besides its errors.
struct Remarks {
    warnings: Vec<String>,
    notes: Vec<String>,
}

fn configure_one(
    site: &dyn Environment,
    names: &Names,
    class: &'static Class,
    idx: ElementIdx,
    config: &str,
) -> (Result<Box<dyn Element>, Failed>, Remarks) {
    let scope = Scope::new(names, site.name(idx));
    let args = Args::new(config, class.facts.args, &scope);
    let mut conf = Configure::new(args, &scope, idx, config, site);
    let result = (class.configure)(&mut conf);
    (result, Remarks { warnings: conf.warnings, notes: conf.notes })
}

fn complain(diagnostics: &mut Diagnostics, during: &str, element: &graph::Element, errors: &[String]) {
    let context = format!("{during} '{}'", element.declaration());
    let unspecified = ["unspecified error".to_string()];
    for message in if errors.is_empty() { &unspecified } else { errors } {
        diagnostics.error(&element.place, message.clone()).context = Some(context.clone());
    }
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
        let (result, remarks) = configure_one(&site, &self.names, class, idx, config);
        for warning in remarks.warnings {
            self.tell(&format!("warning: {warning}"));
        }
        for note in remarks.notes {
            self.tell(&note);
        }
        let made = result.map_err(|failed| failed.errors.join("\n"))?;
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
