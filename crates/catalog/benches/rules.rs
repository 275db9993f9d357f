//! Prints how long packet filters of many rules take: to compile, to read and build as a graph, and to change one rule of
//! while the graph runs: `cargo bench -p catalog --bench rules`.

use std::fmt::Write;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use element::Class;
use engine::change::{Loader, Wish};
use engine::{BuildOptions, Engine};
use filter::{BuiltInNames, IpFilter};
use graph::{Diagnostic, Diagnostics, Graph};
use lang::{Options, Source};

/// Each figure is the shortest of so many.
const ROUNDS: usize = 15;

/// A small generator with a fixed seed, so that runs compare.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }

    fn of<'a, T>(&mut self, options: &'a [T]) -> &'a T {
        &options[self.below(options.len() as u64) as usize]
    }

    /// A network in one of a few dozen places, with one of these prefix lengths.
    fn net(&mut self, lengths: &[u8]) -> (String, u8) {
        let [a, b] = [11 + 7 * self.below(6), 3 * self.below(40)];
        (format!("{a}.{b}.{}.{}", self.below(256), self.below(256)), *self.of(lengths))
    }
}

/// A source network, a protocol and a port in each rule.
fn nets(at: u64, _random: &mut Random) -> String {
    format!("src net 10.{}.{}.0/24 and tcp and dst port {}", at / 256, at % 256, at + 1)
}

/// Both networks, a protocol and a port in each rule.
fn five_tuples(at: u64, random: &mut Random) -> String {
    let (net, port) = (random.below(200), random.below(1000));
    format!(
        "src net 10.{}.{}.0/24 and dst net 172.16.{net}.0/24 and tcp and dst port {port}",
        at / 256,
        at % 256
    )
}

/// Addresses of hosts.
fn hosts(_at: u64, random: &mut Random) -> String {
    format!("src host 10.{}.{}.{}", random.below(250), random.below(250), random.below(250))
}

/// What lists of access rules look like: networks of all sizes that overlap, any protocol or some, ports and ranges of them.
fn access_list(_at: u64, random: &mut Random) -> String {
    let mut rule = "true".to_string();
    for side in ["src", "dst"] {
        let (net, length) =
            random.net(&[0, 8, 12, 16, 20, 21, 22, 23, 24, 24, 24, 25, 26, 27, 28, 29, 30, 31, 32, 32]);
        if length > 0 {
            write!(rule, " and {side} net {net}/{length}").expect("a String can be written");
        }
    }
    let ports = *random.of(&["tcp ", "tcp ", "udp ", "icmp", "", "proto gre"]);
    let (side, port) = (random.of(&["src", "dst", "dst", "dst"]), random.below(60000));
    let ports = match random.below(6) {
        _ if ports == "icmp" || ports == "proto gre" => ports.to_string(),
        0 => format!("{ports}{side} port > 1023"),
        1 => format!("{ports}{side} port >= {port} and {side} port <= {}", port + random.below(2000)),
        2 => format!("{ports}{side} port != 53"),
        _ => format!("{ports}{side} port {}", random.of(&[22, 53, 80, 443, port])),
    };
    format!("{rule} and {ports}")
}

type Kind = (&'static str, fn(u64, &mut Random) -> String);
const KINDS: [Kind; 4] =
    [("nets and ports", nets), ("five-tuples", five_tuples), ("hosts", hosts), ("access list", access_list)];

struct StockLoader;

impl Loader for StockLoader {
    fn parse(&self, name: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<Graph> {
        lang::parse(&Source { name, text }, &Options::new(catalog::stock()), diagnostics)
    }

    fn class(&self, name: &str) -> Option<&'static Class> {
        catalog::stock().get(name)
    }

    fn text(&self, told: &Diagnostic) -> String {
        format!("{told:?}")
    }
}

fn graph_of(rules: &[String]) -> String {
    format!("Idle -> f :: IPFilter({}) -> Discard; f[1] -> Discard;", rules.join(",\n"))
}

fn build(text: &str) -> Engine {
    let mut diagnostics = Diagnostics::default();
    let graph = StockLoader.parse("rules", text, &mut diagnostics);
    let class = |name: &str| StockLoader.class(name);
    let engine =
        graph.and_then(|graph| Engine::build(graph, &class, BuildOptions::default(), &mut diagnostics));
    engine.unwrap_or_else(|| panic!("{:?}", diagnostics.list.first()))
}

/// Reads `text`, prepares a change of the graph to it and makes the change.
fn change(engine: &mut Engine, text: &str) {
    let mut diagnostics = Diagnostics::default();
    let snapshot = engine.world.snapshot().expect("the graph can be changed");
    let graph = snapshot.loader().parse("rules", text, &mut diagnostics).expect("the text is a graph");
    let wish = Wish { graph, ..Wish::default() };
    let prepared = snapshot.prepare(wish, &mut diagnostics).expect("the rules are right");
    engine.world.change(prepared, &mut diagnostics).expect("nothing else changed the graph");
}

fn shortest<T>(mut work: impl FnMut() -> T) -> Duration {
    let one = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed()
    };
    (0..ROUNDS).map(one).min().unwrap_or_default()
}

fn measure((kind, rule): Kind, n: u64) {
    let random = &mut Random(n);
    let mut rules: Vec<String> = (0..n).map(|at| format!("{} {}", at % 2, rule(at, random))).collect();
    let parse = |rules: &[String]| IpFilter::parse(rules, 2, &BuiltInNames).0.expect("the rules are right");
    let structure = parse(&rules).structure();
    let compiled = shortest(|| parse(&rules));
    let text = graph_of(&rules);
    let built = shortest(|| build(&text));
    rules[n as usize / 2] = "1 src host 192.0.2.1 and udp".to_string();
    let texts = [graph_of(&rules), text];
    let mut engine = build(&texts[1]);
    engine.world.loader = Some(Arc::new(StockLoader));
    let mut round = 0;
    let changed = shortest(|| {
        change(&mut engine, &texts[round % 2]);
        round += 1;
    });
    let [compiled, built, changed] = [compiled, built, changed].map(|time| time.as_secs_f64() * 1e3);
    println!("| {kind} | {n} | {structure} | {compiled:.2} | {built:.2} | {changed:.2} |");
}

fn main() {
    println!("| kind | rules | structure | compile ms | read and build ms | change a rule ms |");
    println!("|---|--:|---|--:|--:|--:|");
    for kind in KINDS {
        for n in [500, 10_000] {
            measure(kind, n);
        }
    }
}
