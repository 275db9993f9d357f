//! `weir bench --changes N`: random changes of a graph under load. How long do packets stand still, and does any get lost?
//!
//! A source sends numbered packets of some flows through about 50 elements, queues among them. Another thread prepares changes:
//! elements are added, taken away, replaced, given other arguments, and the whole configuration is applied anew. The end of the
//! graph checks every number.

mod numbered;

use std::sync::atomic::Ordering;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use element::Class;
use engine::change::{Loader, Refusal, Wish};
use engine::world::World;
use engine::{BuildOptions, Engine, Layout};
use graph::{Diagnostic, Diagnostics, Graph};
use lang::{Options, Source};
use serde_json::json;

use super::report::Report;
use crate::command::BenchOptions;
use crate::control::live::Edit;
use numbered::{counts, Counts, CHECK, SOURCE};

/// Elements, about.
const N_ELEMENTS: usize = 50;
/// Parts of the graph, each ending in a queue.
const N_PARTS: usize = 5;
/// How long the last packets may take to come through.
const PATIENCE: Duration = Duration::from_secs(10);

/// The stock classes and those of this measurement.
struct Classes;

fn class(name: &str) -> Option<&'static Class> {
    match name {
        "NumberedSource" => Some(&SOURCE),
        "NumberCheck" => Some(&CHECK),
        name => catalog::stock().get(name),
    }
}

impl lang::Classes for Classes {
    fn facts(&self, name: &str) -> Option<&graph::ClassFacts> {
        class(name).map(|class| &class.facts)
    }

    fn names(&self) -> Vec<&str> {
        catalog::stock().sorted_names()
    }
}

impl Loader for Classes {
    fn parse(&self, name: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<Graph> {
        lang::parse(&Source { name, text }, &Options::new(self), diagnostics)
    }

    fn class(&self, name: &str) -> Option<&'static Class> {
        class(name)
    }

    fn text(&self, told: &Diagnostic) -> String {
        lang::weir_text(told)
    }
}

/// The graph that is changed: parts of elements that only pass packets on, a queue behind each, in turn on each of the threads.
fn configuration(n_threads: usize) -> String {
    let mut text = String::from("src :: NumberedSource");
    let n_passing = (N_ELEMENTS - 2) / N_PARTS - 2;
    for part in 0..N_PARTS {
        for at in 0..n_passing {
            text += &format!(" -> p{part}_{at} :: {}", PASSING[at % PASSING.len()]);
        }
        text += &format!(" -> q{part} :: Queue(100000) -> u{part} :: Unqueue(BURST 64)");
    }
    text += " -> end :: NumberCheck;";
    if n_threads > 1 {
        let given: Vec<String> =
            (0..N_PARTS).map(|part| format!("u{part} {}", (part + 1) % n_threads)).collect();
        text += &format!(" StaticThreadSched({});", given.join(", "));
    }
    text
}

/// Elements that only pass packets on.
const PASSING: [&str; 5] = ["Counter", "Null", "Paint(7)", "AverageCounter", "CheckLength(1600)"];

type Job = Box<dyn FnOnce(&mut World) + Send>;

/// How long the graph stood still for each change, and what was asked for.
#[derive(Default)]
struct Measured {
    pauses: Vec<Duration>,
    n_refused: usize,
}

/// Makes random changes by asking the graph's thread.
struct Changer {
    jobs: Sender<Job>,
    random: fastrand::Rng,
    n_made: usize,
}

impl Changer {
    /// Runs `f` on the graph's thread; its result, and how long it took.
    fn ask<R: Send + 'static>(
        &self,
        f: impl FnOnce(&mut World) -> R + Send + 'static,
    ) -> Option<(R, Duration)> {
        let (sender, receiver) = sync_channel(1);
        let job = Box::new(move |world: &mut World| {
            let begin = Instant::now();
            let result = f(world);
            // Nobody may wait any more.
            let _ = sender.send((result, begin.elapsed()));
        });
        self.jobs.send(job).ok()?;
        receiver.recv().ok()
    }

    fn change(&mut self, measured: &mut Measured) -> Option<()> {
        let (snapshot, first) = self.ask(|world| world.snapshot())?;
        let snapshot = snapshot.ok()?;
        let mut diagnostics = Diagnostics::default();
        let wish = self.wish(&snapshot, &mut diagnostics);
        let Some(prepared) = wish.and_then(|wish| snapshot.prepare(wish, &mut diagnostics)) else {
            measured.n_refused += 1;
            return Some(());
        };
        let changed = self.ask(move |world| world.change(prepared, &mut Diagnostics::default()).map(drop));
        match changed? {
            (Ok(()), second) => measured.pauses.push(first.max(second)),
            (Err(Refusal::Failed | Refusal::Stale), _) => measured.n_refused += 1,
        }
        Some(())
    }

    fn wish(&mut self, snapshot: &engine::change::Snapshot, diagnostics: &mut Diagnostics) -> Option<Wish> {
        let graph = snapshot.graph();
        let passing: Vec<&str> = names(&graph, |class| PASSING.iter().any(|other| other.starts_with(class)));
        let queues: Vec<&str> = names(&graph, |class| class == "Queue");
        let other = PASSING[self.random.usize(..PASSING.len())].to_string();
        let n = graph.elements.len();
        let some = |random: &mut fastrand::Rng| {
            passing.get(random.usize(..passing.len().max(1))).map(|name| name.to_string())
        };
        let edit = match self.random.u8(..5) {
            0 if n < N_ELEMENTS + 10 => {
                self.n_made += 1;
                let edge = &graph.connections[self.random.usize(..graph.connections.len())];
                let end = |end: graph::Endpoint| graph.elements[end.element].name.clone();
                let between = Some(vec![end(edge.from), end(edge.to)]);
                Edit::Add { name: format!("n{}", self.n_made), class: other, between }
            }
            0 | 1 if passing.len() > 10 => Edit::Rm { name: some(&mut self.random)?, heal: true },
            2 => {
                Edit::Replace { name: some(&mut self.random)?, class: other, drop_state: self.random.bool() }
            }
            3 => {
                let name = queues.get(self.random.usize(..queues.len().max(1)))?.to_string();
                let value = self.random.u32(100_000..200_000).to_string();
                Edit::Set { name, values: vec![("CAPACITY".to_string(), value)] }
            }
            _ => {
                let mut wanted = graph.clone();
                self.random.shuffle(&mut wanted.connections);
                for element in wanted.elements.iter_mut().filter(|element| element.class == "Paint") {
                    element.config = self.random.u8(..).to_string();
                }
                Edit::Apply { name: "config".to_string(), text: lang::flatten(&wanted) }
            }
        };
        edit.wish(snapshot, None, diagnostics).ok()
    }
}

fn names(graph: &Graph, is_meant: impl Fn(&str) -> bool) -> Vec<&str> {
    let meant = graph.elements.iter().filter(|element| is_meant(&element.class));
    meant.map(|element| element.name.as_str()).collect()
}

/// Changes a graph under load, and tells.
pub fn report(n: usize, options: &BenchOptions) -> Result<Report, String> {
    let counts = counts();
    let n_threads = usize::from(options.threads.unwrap_or(1));
    let text = configuration(n_threads);
    let mut diagnostics = Diagnostics::default();
    let graph = Classes.parse("config", &text, &mut diagnostics);
    let layout = match options.cores {
        Some(n) => Layout::Cores(n.into()),
        None if n_threads > 1 => Layout::Threads(n_threads),
        None => Layout::One,
    };
    let n_cpus = options.cores.map_or(n_threads, usize::from);
    let cpus = (options.cpu()..options.cpu() + n_cpus).collect();
    let build = BuildOptions { burst: 32, layout, cpus, ..BuildOptions::default() };
    let engine = graph.and_then(|graph| Engine::build(graph, &|name| class(name), build, &mut diagnostics));
    let mut engine =
        engine.ok_or_else(|| diagnostics.list.iter().map(lang::weir_text).collect::<String>())?;
    engine.world.loader = Some(Arc::new(Classes));
    let _ = sys::cpu::pin_thread(options.cpu());
    let (jobs, received) = channel();
    let changing = sys::thread::start("changes", sys::thread::STACK, move || {
        let mut changer = Changer { jobs, random: fastrand::Rng::with_seed(1), n_made: 0 };
        let mut measured = Measured::default();
        while measured.pauses.len() < n && changer.change(&mut measured).is_some() {}
        measured
    });
    let changing = changing.map_err(|error| sys::no_thread(&error))?;
    let measured = drive(&mut engine, &received, changing, &counts)?;
    engine.cleanup();
    Ok(told(measured, &counts, options))
}

/// Runs the graph until all changes are made and every packet came through, or none comes any more.
fn drive(
    engine: &mut Engine,
    jobs: &Receiver<Job>,
    changing: std::thread::JoinHandle<Measured>,
    counts: &Counts,
) -> Result<Measured, String> {
    let mut over_since: Option<Instant> = None;
    engine.run_while(|world| {
        while let Ok(job) = jobs.try_recv() {
            job(world);
        }
        if over_since.is_none() && changing.is_finished() {
            counts.is_over.store(1, Ordering::Relaxed);
            over_since = Some(Instant::now());
        }
        let all_came = counts.received.load(Ordering::Relaxed) == counts.sent.load(Ordering::Relaxed);
        !over_since.is_some_and(|since| all_came || since.elapsed() > PATIENCE)
    });
    changing.join().map_err(|_| "the thread that changes the graph has failed".to_string())
}

fn told(mut measured: Measured, counts: &Counts, options: &BenchOptions) -> Report {
    measured.pauses.sort_unstable();
    let n = measured.pauses.len();
    let at = |share: f64| {
        let idx = ((n as f64 * share) as usize).min(n.saturating_sub(1));
        measured.pauses.get(idx).map_or(0.0, |pause| pause.as_secs_f64() * 1e6)
    };
    let (sent, received) = (counts.sent.load(Ordering::Relaxed), counts.received.load(Ordering::Relaxed));
    let out_of_order = counts.out_of_order.load(Ordering::Relaxed);
    let heading = ["changes", "packets", "lost", "disordered", "median us", "p99 us", "longest us"];
    let mut report = Report::new("Changes", heading.map(str::to_string).to_vec());
    report.show(options);
    let cells = [
        n.to_string(),
        sent.to_string(),
        (sent - received).to_string(),
        out_of_order.to_string(),
        format!("{:.1}", at(0.5)),
        format!("{:.1}", at(0.99)),
        format!("{:.1}", at(1.0)),
    ];
    let figures = json!({
        "changes": n, "refused": measured.n_refused, "packets": sent, "lost": sent - received, "out_of_order": out_of_order,
        "pause_us": { "median": at(0.5), "p99": at(0.99), "longest": at(1.0) },
    });
    report.add(cells.to_vec(), figures, options);
    report
}
