//! Random graphs over random captures, in simulated time, print and write what they do in Click.
//!
//! `record.txt` holds a line for each graph: the seed that it grows from, a digest of the graph and its capture, and one of what
//! Click 2.1 made of them: `-` for graphs that keep Click busy without end, so that simulated time hardly passes, or make it crash;
//! those are not compared. To see where weir and Click differ, or to record anew after a change of the generator, give the test a Click that was built
//! with all elements:
//!
//! ```sh
//! WEIR_CLICK=/path/to/click cargo test -p cli --test differential                    # compares live
//! WEIR_CLICK=/path/to/click WEIR_RECORD=1 cargo test -p cli --test differential      # and records Click's digests
//! ```
//!
//! `WEIR_SEEDS=FROM..TO` takes other graphs than those of the record.

mod forms;
mod further;
mod graphs;
mod packets;
mod random;

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use random::Random;

/// Graphs in the record that are not wide, and those that are.
const N_GRAPHS: usize = 1500;
const N_WIDE: usize = 450;

/// The first seed whose graph is wide: it may have what is in `further.rs`, too.
const FIRST_WIDE: usize = 2_000_000;

/// What Click says of a graph that is wrong.
const REFUSAL: &str = "Router could not be initialized!";

/// The seeds of the record.
fn seeds_of_record() -> Vec<usize> {
    (0..N_GRAPHS).chain(FIRST_WIDE..FIRST_WIDE + N_WIDE).collect()
}

fn record_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/differential/record.txt")
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ *byte as u64).wrapping_mul(0x0100_0000_01b3))
}

/// A text whose times have no nanoseconds: in simulated time each look at the clock takes one, and a batch is looked at less
/// often than the packets in it.
fn to_microseconds(text: &str) -> String {
    let mut short = String::new();
    let mut n_digits = None;
    for c in text.chars() {
        n_digits = match (c, n_digits) {
            ('.', _) => Some(0),
            ('0'..='9', Some(n)) => Some(n + 1),
            _ => None,
        };
        if n_digits.is_none_or(|n| n <= 6) {
            short.push(c);
        }
    }
    short
}

/// A graph and its capture.
struct Case {
    graph: String,
    capture: Vec<u8>,
}

impl Case {
    fn new(seed: usize) -> Case {
        let random = &mut Random::new(seed as u64);
        let is_wide = seed >= FIRST_WIDE;
        Case { capture: packets::capture(random, is_wide), graph: graphs::graph(random, is_wide) }
    }

    fn digest(&self) -> u64 {
        digest(&[self.graph.as_bytes(), &self.capture].concat())
    }

    /// What a program makes of the case: what it prints, how it exits, and the files that it writes. Nothing if it does not
    /// end.
    fn run(&self, command: &[&str], most_seconds: &str, seed: usize, who: &str) -> Option<String> {
        let folder =
            std::env::temp_dir().join(format!("weir-differential-{}-{who}-{seed}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
        std::fs::write(folder.join("graph.click"), &self.graph).expect("the folder can be written to");
        std::fs::write(folder.join("in.pcap"), &self.capture).expect("the folder can be written to");
        let mut program = Command::new("timeout");
        program.args(["--signal", "KILL", most_seconds]).args(command).args([
            "--simtime",
            "-f",
            "graph.click",
        ]);
        let output = program.current_dir(&folder).output();
        let output = output.unwrap_or_else(|error| panic!("{who}: {error}"));
        // Click tells of packets that it had to move in memory; where there is room is nobody's business.
        let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
        text = text.split_inclusive('\n').filter(|line| !line.starts_with("expensive Packet::")).collect();
        // In a graph that is refused, `AggregatePacketCounter` of Click looks at counts that it never wrote.
        if text.contains(REFUSAL) {
            let unwritten = "saw no packets with aggregate annotations\n";
            text = text.split_inclusive('\n').filter(|line| !line.ends_with(unwritten)).collect();
        }
        text += &String::from_utf8_lossy(&output.stdout);
        text = to_microseconds(&text);
        writeln!(text, "exit {:?}", output.status.code()).expect("a string can be written to");
        let entries = std::fs::read_dir(&folder).expect("the folder is there");
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be read").path()).collect();
        files.sort();
        for file in files.iter().filter(|file| !file.ends_with("in.pcap") && !file.ends_with("graph.click")) {
            let bytes = std::fs::read(file).expect("the file can be read");
            let name = file.file_name().expect("it has a name").to_string_lossy();
            writeln!(text, "{name}: {} bytes, {:016x}", bytes.len(), digest(&bytes)).expect("as above");
        }
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
        output.status.code().map(|_| text)
    }

    fn run_weir(&self, seed: usize) -> Option<String> {
        self.run(&[env!("CARGO_BIN_EXE_weir"), "click"], "120", seed, "weir")
    }
}

/// Calls a function for many seeds, on two threads; yields what it yields in order.
fn for_all<T: Send>(seeds: &[usize], function: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = function(seed);
                    results.lock().expect("no thread panicked").push((seed, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panicked");
    results.sort_by_key(|(seed, _)| *seed);
    results.into_iter().map(|(_, result)| result).collect()
}

fn seeds() -> Vec<usize> {
    let Ok(text) = std::env::var("WEIR_SEEDS") else { return seeds_of_record() };
    let (from, to) = text.split_once("..").expect("WEIR_SEEDS is FROM..TO");
    (from.parse().expect("FROM is a number")..to.parse().expect("TO is a number")).collect()
}

#[test]
fn random_graphs_do_what_they_do_in_click() {
    match std::env::var("WEIR_CLICK") {
        Ok(click) => compare_live(&click),
        Err(_) => compare_with_record(),
    }
}

/// A line of the record; of a graph that does not end in Click it tells no more than that.
fn line(seed: usize, case: &Case, text: Option<&str>) -> String {
    let made = text.map_or("-".to_string(), |text| format!("{:016x}", digest(text.as_bytes())));
    format!("{seed} {:016x} {made}", case.digest())
}

fn compare_with_record() {
    let record = std::fs::read_to_string(record_path()).expect("the record is there");
    let seeds = seeds_of_record();
    let lines: HashMap<usize, &str> =
        record.lines().filter_map(|line| Some((line.split(' ').next()?.parse().ok()?, line))).collect();
    assert_eq!(record.lines().count(), seeds.len(), "the record has a line for each seed");
    let results = for_all(&seeds, |seed| {
        let line_of_click =
            *lines.get(&seed).unwrap_or_else(|| panic!("the record has no line for seed {seed}"));
        let case = Case::new(seed);
        let digest = format!(" {:016x} ", case.digest());
        assert!(line_of_click.contains(&digest), "the generator of graphs has changed: record anew");
        if line_of_click.ends_with(" -") {
            return None;
        }
        let text = case.run_weir(seed).unwrap_or_else(|| "it does not end".to_string());
        (line(seed, &case, Some(&text)) != line_of_click).then_some((seed, case.graph, text))
    });
    let wrong: Vec<_> = results.into_iter().flatten().collect();
    if let Some((seed, graph, text)) = wrong.first() {
        let seeds: Vec<usize> = wrong.iter().map(|(seed, ..)| *seed).collect();
        panic!("the graphs of seeds {seeds:?} do not do what they do in Click. Graph {seed} is\n{graph}and does\n{text}");
    }
}

fn compare_live(click: &str) {
    let seeds = seeds();
    let results = for_all(&seeds, |seed| {
        let case = Case::new(seed);
        let Some(text) = case.run(&[click], "1", seed, "click") else {
            return (seed, line(seed, &case, None), None, false);
        };
        let own = case.run_weir(seed).unwrap_or_else(|| "it does not end".to_string());
        let difference = (own != text).then(|| difference(&case.graph, &text, &own));
        (seed, line(seed, &case, Some(&text)), difference, text.contains(REFUSAL))
    });
    let n_ended = results.iter().filter(|(_, line, ..)| !line.ends_with(" -")).count();
    let n_refused = results.iter().filter(|(.., is_refused)| *is_refused).count();
    println!("{n_ended} of {} graphs end in Click, which refuses {n_refused} of them", seeds.len());
    if std::env::var_os("WEIR_RECORD").is_some() {
        let record: String = results.iter().map(|(_, line, ..)| format!("{line}\n")).collect();
        std::fs::write(record_path(), record).expect("the record can be written");
    }
    let wrong: Vec<_> =
        results.iter().filter_map(|(seed, _, difference, _)| Some((seed, difference.as_ref()?))).collect();
    for (seed, difference) in wrong.iter().take(5) {
        println!("graph {seed}:\n{difference}");
    }
    let seeds: Vec<_> = wrong.iter().map(|(seed, _)| seed).collect();
    assert!(wrong.is_empty(), "{} of {n_ended} graphs differ: {seeds:?}", wrong.len());
}

/// The graph, and where two texts begin to differ.
fn difference(graph: &str, click: &str, weir: &str) -> String {
    let n_same = click.lines().zip(weir.lines()).take_while(|(a, b)| a == b).count();
    let show =
        |text: &str| text.lines().skip(n_same).take(5).map(|line| format!("  {line}\n")).collect::<String>();
    format!("{graph}after {n_same} same lines Click prints\n{}and weir\n{}", show(click), show(weir))
}
