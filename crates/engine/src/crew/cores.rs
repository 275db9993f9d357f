//! Several cores: a whole graph for each, and to each its share of the flows.

use std::any::Any;
use std::collections::HashMap;
use std::io::Error;
use std::sync::Arc;

use element::{Class, Element, ElementIdx, Role};
use graph::{Connection, Diagnostics, Endpoint, Graph, Place as SourcePlace};

use super::board::Board;
use super::hand::Hand;
use super::handover::Handover;
use super::mate::Mate;
use super::post::{self, Post};
use super::share::{self, How, Share};
use super::{Crew, Place};
use crate::build::{BuildOptions, Engine, Registry};
use crate::configured::{Configured, Setup};
use crate::wake::Waker;
use crate::wiring::Wiring;
use crate::world::Parts;

/// Builds a graph for `n` cores: the engine of the first replica, which holds the others as its crew.
pub(crate) fn build(
    graph: Graph,
    registry: Registry<'_>,
    options: BuildOptions,
    n: usize,
    diagnostics: &mut Diagnostics,
) -> Option<Engine> {
    let registry = self::registry(registry);
    let graph = with_shares(graph, &registry);
    let cpus = options.cpus.clone();
    let setup = Setup::new(options);
    let first = Configured::new(graph.clone(), &registry, &setup.of_replica(0, n), diagnostics)?;
    let places: Arc<[Place]> = places(&first.parts.classes, &first.parts.slots).into();
    let Parts { graph: own, classes, wiring, .. } = &first.parts;
    if !are_fit(own, classes, wiring, &places, diagnostics) {
        return None;
    }
    let started = (1..n).map(|replica| Hand::new(replica, cpus.get(replica).copied())).collect();
    let hands: Vec<Hand> = told(started, sys::no_thread, diagnostics)?;
    let configured = configure_others(&graph, &registry, &setup, &hands, diagnostics)?;
    let wakers = (0..n).map(|_| Waker::new().map(Arc::new)).collect();
    let no_waker = |error: &Error| format!("the threads cannot wake each other: {}", sys::reason(error));
    let wakers: Vec<_> = told(wakers, no_waker, diagnostics)?;
    let board = Arc::new(Board::new(wakers.clone()));
    let mut posts: Vec<Post> = wakers.iter().map(|_| Post::default()).collect();
    for replica in 1..n {
        post::connect(&mut posts, 0, replica);
        post::connect(&mut posts, replica, 0);
    }
    let mut posts = posts.into_iter();
    let own = Ties {
        index: 0,
        board: board.clone(),
        places: places.clone(),
        post: posts.next()?,
        cpu: cpus.first().copied(),
    };
    let mut engine = own.tie(adapt(first, 0, &places));
    if !engine.initialize(diagnostics) {
        engine.cleanup_alone();
        return None;
    }
    let others = configured.into_iter().zip(posts).enumerate().map(|(at, (configured, post))| {
        let (index, cpu) = (at + 1, None);
        (configured, Ties { index, board: board.clone(), places: places.clone(), post, cpu })
    });
    let mates = initialize_others(others, &hands, diagnostics);
    if let Some(crew) = &mut engine.world.crew {
        crew.mates = mates.0.into();
        crew.hands = hands;
    }
    if !mates.1 {
        engine.cleanup();
        return None;
    }
    Some(engine)
}

/// What the system gave, or an error that says why it did not.
fn told<T>(
    given: std::io::Result<Vec<T>>,
    why: impl FnOnce(&Error) -> String,
    diagnostics: &mut Diagnostics,
) -> Option<Vec<T>> {
    match given {
        Ok(given) => Some(given),
        Err(error) => {
            diagnostics.error(&SourcePlace::default(), why(&error));
            None
        }
    }
}

/// Configures the other replicas, each on its own thread. The first one has told what there is to tell: of these only errors
/// are told.
fn configure_others(
    graph: &Graph,
    registry: Registry<'_>,
    setup: &Setup,
    hands: &[Hand],
    diagnostics: &mut Diagnostics,
) -> Option<Vec<Configured>> {
    // An element of a class that is another's alias is called by that one's name once its class is known.
    let names = graph.elements.iter().flat_map(|element| {
        let alias_of = registry(&element.class).and_then(|class| class.alias_of);
        std::iter::once(element.class.as_str()).chain(alias_of)
    });
    let named = |name: &str| Some((name.to_string(), registry(name)?));
    let classes: HashMap<String, &'static Class> = names.filter_map(named).collect();
    let begin = |(at, hand): (usize, &Hand)| {
        let (graph, classes, setup) =
            (graph.clone(), classes.clone(), setup.of_replica(at + 1, hands.len() + 1));
        hand.begin(move || {
            let mut quiet = Diagnostics::default();
            let registry = |name: &str| classes.get(name).copied();
            Configured::new(graph, &registry, &setup, &mut quiet).ok_or(quiet)
        })
    };
    let working: Vec<_> = hands.iter().enumerate().map(begin).collect();
    let mut made = Vec::new();
    for working in working {
        match working.finish()? {
            Ok(configured) => made.push(configured),
            Err(mut quiet) => diagnostics.list.append(&mut quiet.list),
        }
    }
    (made.len() == hands.len()).then_some(made)
}

/// Initialises the other replicas, one after the other, each on its own thread; those that were made, and whether all are
/// ready. Only errors are told.
fn initialize_others(
    others: impl Iterator<Item = (Configured, Ties)>,
    hands: &[Hand],
    diagnostics: &mut Diagnostics,
) -> (Vec<Arc<Mate>>, bool) {
    let mut mates = Vec::new();
    for ((configured, ties), hand) in others.zip(hands) {
        let working = hand.begin(move || {
            let (index, board, places) = (ties.index, ties.board.clone(), ties.places.clone());
            let mut engine = ties.tie(adapt(configured, index, &places));
            let mut quiet = Diagnostics::default();
            let is_ready = engine.initialize(&mut quiet);
            (Arc::new(Mate::new(index, board, engine)), is_ready, quiet)
        });
        let Some((mate, is_ready, mut quiet)) = working.finish() else { return (mates, false) };
        mates.push(mate);
        if !is_ready {
            diagnostics.list.append(&mut quiet.list);
            return (mates, false);
        }
    }
    (mates, true)
}

/// What ties a replica to the others.
struct Ties {
    index: usize,
    board: Arc<Board>,
    places: Arc<[Place]>,
    post: Post,
    cpu: Option<usize>,
}

impl Ties {
    fn tie(self, mut engine: Engine) -> Engine {
        let Ties { index, board, places, mut post, cpu } = self;
        // What the first world takes ends there; what the others take may send it something.
        post.always_takes = index == 0;
        engine.world.waker = Some(board.desk(index).waker.clone());
        let (mates, hands) = (Arc::from([]), Vec::new());
        let crew =
            Crew { index, is_replicated: true, board, mates, hands, places, post, stops_all: false, cpu };
        engine.world.crew = Some(Box::new(crew));
        engine
    }
}

/// The classes, and that of sharers.
pub(crate) fn registry<'a>(registry: Registry<'a>) -> impl Fn(&str) -> Option<&'static Class> + 'a {
    move |name: &str| match name {
        name if name == share::CLASS.facts.name => Some(&share::CLASS),
        name => registry(name),
    }
}

/// Whether an element shares flows out.
pub(crate) fn is_share(element: &graph::Element) -> bool {
    element.class == share::CLASS.facts.name
}

/// The connections of a graph as if there were no sharers.
pub(crate) fn without_shares(graph: &Graph) -> Vec<Connection> {
    let is_sharer = |idx: ElementIdx| graph.elements.get(idx).is_some_and(is_share);
    let into: HashMap<ElementIdx, Endpoint> = graph
        .connections
        .iter()
        .filter(|c| is_sharer(c.to.element))
        .map(|c| (c.to.element, c.from))
        .collect();
    let others = graph.connections.iter().filter(|c| !is_sharer(c.to.element));
    let direct = |connection: &Connection| {
        let from = into.get(&connection.from.element).copied().unwrap_or(connection.from);
        Connection { from, ..connection.clone() }
    };
    others.map(direct).collect()
}

/// The graph with a sharer behind each output of an input.
pub(crate) fn with_shares(mut graph: Graph, registry: Registry<'_>) -> Graph {
    let is_input = |name: &str| registry(name).is_some_and(|class| class.role == Role::Input);
    let mut sharers: Vec<(Endpoint, ElementIdx)> = Vec::new();
    let mut added: Vec<Connection> = Vec::new();
    let Graph { elements, connections, .. } = &mut graph;
    for connection in connections.iter_mut() {
        let from = connection.from;
        let Some(input) = elements.get(from.element).filter(|input| is_input(&input.class)) else { continue };
        let (name, place) = (format!("{}/share{}", input.name, from.port), input.place.clone());
        let known = sharers.iter().find(|(end, _)| *end == from).map(|(_, sharer)| *sharer);
        let sharer = known.unwrap_or_else(|| {
            let sharer = elements.len();
            let class = share::CLASS.facts.name.to_string();
            elements.push(graph::Element { name, class, config: String::new(), place });
            sharers.push((from, sharer));
            let to = Endpoint { element: sharer, port: 0 };
            added.push(Connection { from, to, place: connection.place.clone() });
            sharer
        });
        connection.from = Endpoint { element: sharer, port: 0 };
    }
    graph.connections.append(&mut added);
    graph
}

fn is_read_once(class: &Class, slot: &Option<Box<dyn Element>>) -> bool {
    class.role == Role::Input && slot.as_ref().is_some_and(|element| element.reads_once())
}

/// Whose each element is, as the first replica has them.
pub(super) fn places(classes: &[&'static Class], slots: &[Option<Box<dyn Element>>]) -> Vec<Place> {
    let all = classes.iter().zip(slots);
    let place = |(class, slot): (&&Class, &Option<Box<dyn Element>>)| match class.role {
        Role::Single | Role::Output => Place::World(0),
        Role::Input if is_read_once(class, slot) => Place::World(0),
        Role::Input => Place::Alike,
        Role::Plain => Place::Everywhere,
    };
    all.map(place).collect()
}

/// Whether what only the first replica has can be reached from the others: nobody can pull from another thread.
pub(super) fn are_fit(
    graph: &Graph,
    classes: &[&'static Class],
    wiring: &Wiring,
    places: &[Place],
    diagnostics: &mut Diagnostics,
) -> bool {
    let mut are_fit = true;
    for (idx, class) in classes.iter().enumerate() {
        let n_outputs = wiring.n_ports(idx).1;
        let is_pulled = (0..n_outputs).any(|port| !wiring.output_is_push(idx, port));
        if places[idx] == Place::World(0) && class.role != Role::Output && is_pulled {
            are_fit = false;
            let element = &graph.elements[idx];
            let what = if class.role == Role::Input {
                "what can be read only once"
            } else {
                "what acts on the whole graph"
            };
            let message = format!("{what} cannot be pulled from on several cores");
            let told = diagnostics.error(&element.place, message);
            told.context = Some(format!("While configuring '{}'", element.declaration()));
            told.help = Some(
                "put a `-> Unqueue` or another push element behind it, or leave out --cores".to_string(),
            );
        }
    }
    are_fit
}

/// Puts stand-ins into a replica for what it does not have, and tells sharers what to do.
fn adapt(mut replica: Configured, at: usize, places: &[Place]) -> Engine {
    let parts = &mut replica.parts;
    let mut is_initialised = vec![true; parts.slots.len()];
    tell_sharers(at, &parts.classes, &parts.wiring, &mut parts.slots);
    for idx in (0..parts.slots.len()).filter(|idx| at > 0 && places[*idx] == Place::World(0)) {
        if parts.wiring.n_ports(idx) == (0, 0) {
            // Others may ask it about its handlers.
            is_initialised[idx] = false;
        } else {
            parts.slots[idx] = Some(Box::new(Handover::new(parts.classes[idx])));
        }
    }
    replica.order.retain(|idx| is_initialised[*idx]);
    replica.into_engine()
}

/// Tells the sharers of a replica what becomes of the packets of others.
pub(super) fn tell_sharers(
    replica: usize,
    classes: &[&'static Class],
    wiring: &Wiring,
    slots: &mut [Option<Box<dyn Element>>],
) {
    for idx in 0..slots.len() {
        let upstream = wiring.upstream(idx, 0).first().map(|(from, _)| *from);
        let deals = replica == 0 && upstream.is_some_and(|from| is_read_once(classes[from], &slots[from]));
        if let Some(share) = slots[idx].as_mut().and_then(share_of) {
            share.how = if deals { How::Deal } else { How::Keep };
        }
    }
}

fn share_of(element: &mut Box<dyn Element>) -> Option<&mut Share> {
    let element: &mut dyn Any = element.as_mut();
    element.downcast_mut()
}

/// Several cores and simulated time exclude each other.
pub(crate) fn refuse_simulated_time(diagnostics: &mut Diagnostics) {
    let told = diagnostics.error(&SourcePlace::default(), "simulated time runs on one core");
    told.help = Some("leave out --simtime or --cores".to_string());
}
