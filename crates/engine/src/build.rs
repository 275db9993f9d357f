//! Building: from a graph to elements that are ready to run.

use std::io::{ErrorKind, Write};

use args::{Host, Told};
use element::{Class, ElementIdx};
use graph::{Diagnostics, Graph, Place, Severity};

use crate::chatter::Chatter;
use crate::clock::Time;
use crate::configured::{Configured, Setup};
use crate::crew;
use crate::told::{remark, tell, NOT_INITIALIZED};
use crate::world::World;

/// Finds a class by name.
pub type Registry<'a> = &'a dyn Fn(&str) -> Option<&'static Class>;

/// The threads that a graph runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// One.
    #[default]
    One,
    /// A replica of the graph on each of so many.
    Cores(usize),
    /// One graph on so many, its parts being where the elements' home threads say.
    Threads(usize),
}

/// How a graph is to be built.
pub struct BuildOptions {
    /// On which threads.
    pub layout: Layout,
    /// The processor on which each thread is to run; none where it may run on any.
    pub cpus: Vec<usize>,
    /// How time passes.
    pub time: Time,
    /// How many packets elements move at a time where the graph does not say.
    pub burst: usize,
    /// Where lines for the user go.
    pub chatter: Chatter,
    /// Whether what elements print while the graph is built goes to the diagnostics instead, in its place among them.
    pub is_told_in_order: bool,
    /// What the host knows: devices, services, users.
    pub host: Box<dyn Host>,
}

impl Default for BuildOptions {
    fn default() -> BuildOptions {
        struct NoHost;
        impl Host for NoHost {}
        let chatter: Chatter = Box::new(say);
        let (layout, cpus) = (Layout::One, Vec::new());
        let is_told_in_order = false;
        let host = Box::new(NoHost);
        BuildOptions { layout, cpus, time: Time::Real, burst: 1, chatter, is_told_in_order, host }
    }
}

/// Writes a line to standard error in one piece, so that the lines of several programs do not mix.
pub fn say(text: &str) {
    let told = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    // With standard error closed there is nobody to tell; a full disk loses what was asked for.
    if told.is_err_and(|error| error.kind() == ErrorKind::StorageFull) {
        element::failure::note();
    }
}

/// A graph that is built and can run.
pub struct Engine {
    /// The world in which it runs.
    pub world: World,
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
        match Engine::try_build(graph, registry, options, diagnostics) {
            Ok(engine) => {
                engine.tell_held(diagnostics.list.len(), diagnostics);
                engine.world.chatter.release();
                Some(engine)
            }
            Err(begun) => {
                diagnostics.error(&Place::default(), NOT_INITIALIZED);
                if let Some(mut engine) = begun {
                    engine.cleanup();
                    engine.tell_held(diagnostics.list.len(), diagnostics);
                }
                None
            }
        }
    }

    /// Checks a graph and configures its elements, which are then thrown away; what is wrong goes to `diagnostics`.
    pub fn check(graph: Graph, registry: Registry<'_>, options: BuildOptions, diagnostics: &mut Diagnostics) {
        // What is made here ends here: no element has been initialised.
        let _ = Configured::new(graph, registry, &Setup::new(options), diagnostics);
    }

    /// The graph, or what is to be cleaned up of one that cannot be.
    fn try_build(
        graph: Graph,
        registry: Registry<'_>,
        options: BuildOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Engine, Option<Box<Engine>>> {
        if let Layout::Cores(n @ 2..) = options.layout {
            if options.time != Time::Real {
                crew::cores::refuse_simulated_time(diagnostics);
                return Err(None);
            }
            return crew::cores::build(graph, registry, options, n, diagnostics).ok_or(None);
        }
        let (layout, cpus) = (options.layout, options.cpus.clone());
        let is_simulated = options.time != Time::Real;
        let is_told_in_order = options.is_told_in_order;
        let setup = Setup::new(options);
        let configured = Configured::new(graph, registry, &setup, diagnostics).ok_or(None)?;
        let mut engine = configured.into_engine();
        if is_told_in_order {
            engine.world.chatter.hold();
        }
        if !engine.initialize(diagnostics) {
            return Err(Some(Box::new(engine)));
        }
        match layout {
            // Simulated time is the same for all, and what happens in it is always the same: one thread after the other.
            Layout::Threads(n @ 2..) if !is_simulated => {
                crew::split::split(engine, n, &cpus, diagnostics).ok_or(None)
            }
            Layout::Threads(n @ 2..) if engine.world.balance.is_some() => {
                crew::split::settle(&mut engine.world, n, None, diagnostics);
                Ok(engine)
            }
            _ => Ok(engine),
        }
    }

    /// Initialises the elements; false if one cannot be.
    pub(crate) fn initialize(&mut self, diagnostics: &mut Diagnostics) -> bool {
        let all = 0..self.world.classes.len();
        self.world.let_looks_pass(all);
        for idx in self.world.order.clone() {
            let at = diagnostics.list.len();
            let is_ready = self.world.initialize(idx, diagnostics);
            self.tell_held(at, diagnostics);
            if !is_ready {
                return false;
            }
        }
        self.world.is_initialized = true;
        true
    }

    /// Puts what elements printed and what was held back into the diagnostics.
    fn tell_held(&self, at: usize, diagnostics: &mut Diagnostics) {
        let held = self.world.chatter.take_held();
        // Lines may be empty, also the last one.
        diagnostics.insert_messages(at, held.into_iter().map(|text| text + "\n"));
    }

    /// Ends the graph: elements are cleaned up in reverse order.
    pub fn cleanup(&mut self) {
        for mate in self.world.mates().iter().rev() {
            mate.with(Engine::cleanup_alone);
        }
        self.cleanup_alone();
    }

    /// Cleans the elements of this world up.
    pub(crate) fn cleanup_alone(&mut self) {
        for idx in self.world.order.clone().into_iter().rev() {
            self.world.call(idx, |element, ctx| element.cleanup(ctx));
        }
    }
}

impl World {
    /// Lets the time pass that making these elements takes.
    pub(crate) fn let_looks_pass(&mut self, made: impl Iterator<Item = ElementIdx>) {
        let looks = made.filter_map(|idx| self.classes.get(idx)).map(|class| i64::from(class.n_clock_looks));
        self.clock.pass(looks.sum());
    }

    /// Initialises an element; false if it cannot be.
    pub(crate) fn initialize(&mut self, idx: ElementIdx, diagnostics: &mut Diagnostics) -> bool {
        self.forget_times();
        let (result, told) = self.hear(|world| world.call(idx, |e, ctx| e.initialize(ctx)));
        let element = &self.graph.elements[idx];
        let mut told: Vec<Told> = told.into_iter().map(remark).collect();
        let is_failure = matches!(result, Some(Err(_)));
        if let Some(Err(message)) = result.filter(|result| *result != Err(String::new())) {
            told.push((Severity::Error, message));
        }
        tell(diagnostics, "While initializing", element, told);
        !is_failure
    }
}
