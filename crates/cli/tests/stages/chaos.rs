//! Chains of which stages are stopped, killed and replaced at random while packets flow, and every byte is checked.

use std::fs::File;
use std::io::{PipeReader, PipeWriter, Write};
use std::ops::Range;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use serde_json::Value;

use super::captures;
use super::process::{as_each_user, until, Place, Running};
use super::random::Random;

/// What all stages but the last do.
const WIRE: &str = "FromInterface(left) -> ToInterface(right);";
/// As [`WIRE`], through a queue.
const QUEUE: &str = "FromInterface(left) -> Queue(500) -> ToInterface(right);";
/// Stages of a chain.
const LEN: usize = 5;
/// Changes of a chain before its end.
const CHANGES: usize = 19;
/// Chains; each ends in one more change.
const CHAINS: u64 = 10;
/// The status of a program that SIGPIPE ends.
const BROKEN_PIPE: i32 = 128 + 13;
/// And of one that SIGKILL ends.
const KILLED: i32 = 128 + 9;
/// Pause of the source between two bursts of packets.
const PACE: Duration = Duration::from_millis(1);

/// A source that writes packets until it is told to stop, or nobody reads them.
struct Feed {
    stops: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Feed {
    /// Writes the packets of a seed, in bursts of different lengths.
    fn start(seed: u64, mut to: PipeWriter) -> Feed {
        let stops = Arc::new(AtomicBool::new(false));
        let is_over = stops.clone();
        let thread = std::thread::spawn(move || {
            let mut random = Random::new(seed);
            let mut bytes = captures::header();
            let mut n = 0;
            while !is_over.load(Ordering::Relaxed) {
                for _ in 0..random.below(16) {
                    captures::add_record(&mut bytes, &captures::packet(seed, n));
                    n += 1;
                }
                if to.write_all(&bytes).is_err() {
                    break;
                }
                bytes.clear();
                std::thread::sleep(PACE);
            }
            n
        });
        Feed { stops, thread }
    }

    /// Asks it to stop.
    fn ask_to_stop(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }

    /// Waits until it has stopped; how many packets it wrote.
    fn stop(self) -> u64 {
        self.thread.join().expect("the source does not panic")
    }
}

/// A chain of stages between a source and a file.
struct Chain<'p> {
    place: &'p Place,
    /// Those that the test started, in order; some may have been replaced.
    started: Vec<Running>,
    /// The stages' numbers from left to right.
    ids: Vec<u32>,
    feed: Feed,
    file: String,
    /// Those that are stopped.
    stopped: Vec<u32>,
    /// What was done to it, and about how many packets had come out by then.
    history: Vec<String>,
}

impl<'p> Chain<'p> {
    fn start(place: &'p Place, seed: u64) -> Chain<'p> {
        let (mut input, to): (PipeReader, PipeWriter) = std::io::pipe().expect("pipes can be made");
        let feed = Feed::start(seed, to);
        let mut started = Vec::new();
        for idx in 0..LEN - 1 {
            let (next, output) = std::io::pipe().expect("pipes can be made");
            let mut command = place.command("weir");
            command.args(["stage", "-e", WIRE]).stdin(Stdio::from(input));
            started.push(Running::start_into(
                command,
                output,
                place,
                &format!("stage {idx} of chain {seed}"),
            ));
            input = next;
        }
        let file = format!("sink.{seed}");
        let mut command = place.command("weir");
        command.args(["write", "-"]).stdin(Stdio::from(input));
        let sink = File::create(place.path(&file)).expect("the folder is ours");
        started.push(Running::start_into(command, sink, place, &format!("the sink of chain {seed}")));
        let ids = started.iter().map(Running::id).collect();
        place.await_rings(LEN);
        Chain { place, started, ids, feed, file, stopped: Vec::new(), history: Vec::new() }
    }

    /// Runs one of weir's commands; its output if it succeeds.
    fn weir(&self, args: &[&str]) -> Result<String, String> {
        let mut command = self.place.command("weir");
        command.args(args).stdin(Stdio::null());
        // A new stage goes on with the command's standard error, which therefore is no pipe.
        let finished = Running::start(command, self.place, &args.join(" ")).finish_and_leave();
        match finished.code {
            0 => Ok(finished.stdout.trim().to_string()),
            _ => Err(finished.stderr.trim().to_string()),
        }
    }

    fn note(&mut self, what: String) {
        let n_bytes = std::fs::metadata(self.place.path(&self.file)).map_or(0, |facts| facts.len());
        self.history.push(format!("{n_bytes}: {what} of {:?}, stopped {:?}", self.ids, self.stopped));
    }

    fn signal(&self, id: u32, signal: Signal) {
        kill(Pid::from_raw(id as i32), signal).expect("the stage runs");
    }

    /// One change at random.
    fn change(&mut self, random: &mut Random) {
        let graph = if random.below(2) == 0 { WIRE } else { QUEUE };
        let inner = 1 + random.below(self.ids.len() - 2);
        match random.below(10) {
            0..3 => self.stop_or_continue(random),
            3..5 => self.replace(inner, graph),
            5..8 if self.ids.len() < LEN + 2 => self.insert(random.below(self.ids.len() - 1), graph),
            _ if self.ids.len() > 3 => self.remove(inner),
            _ => self.insert(inner, graph),
        }
    }

    fn stop_or_continue(&mut self, random: &mut Random) {
        self.note("stop or continue one".into());
        if let Some(id) = self.stopped.pop() {
            return self.signal(id, Signal::SIGCONT);
        }
        let id = self.ids[random.below(self.ids.len())];
        self.signal(id, Signal::SIGSTOP);
        self.stopped.push(id);
    }

    /// Continues those that are stopped from stage `first` on: what is asked must answer, and what drains needs readers.
    fn wake_from(&mut self, first: usize) {
        let ids = self.ids[first..].to_vec();
        for id in std::mem::take(&mut self.stopped) {
            if ids.contains(&id) {
                self.signal(id, Signal::SIGCONT);
            } else {
                self.stopped.push(id);
            }
        }
    }

    fn replace(&mut self, idx: usize, graph: &str) {
        self.wake_from(idx - 1);
        let id = self.ids[idx].to_string();
        self.note(format!("replace {id} {graph}"));
        let new = self.patiently(&["replace", &id, "stage", "-e", graph]);
        self.ids[idx] = new.parse().expect("replace prints a number");
    }

    fn insert(&mut self, idx: usize, graph: &str) {
        self.wake_from(idx);
        let id = self.ids[idx].to_string();
        self.note(format!("insert after {id} {graph}"));
        let new = self.patiently(&["insert", "--after", &id, "stage", "-e", graph]);
        self.ids.insert(idx + 1, new.parse().expect("insert prints a number"));
    }

    fn remove(&mut self, idx: usize) {
        self.wake_from(idx - 1);
        let id = self.ids.remove(idx).to_string();
        self.note(format!("remove {id}"));
        self.patiently(&["remove", &id]);
    }

    /// Runs a command that changes the chain.
    fn patiently(&mut self, args: &[&str]) -> String {
        let mut answer = self.weir(args);
        // Neighbours who were put together just now may not know each other yet.
        until(&format!("{args:?} works: {answer:?}"), || {
            if answer.as_ref().is_err_and(|error| error.contains("has no neighbour")) {
                answer = self.weir(args);
            }
            !answer.as_ref().is_err_and(|error| error.contains("has no neighbour"))
        });
        answer.unwrap_or_else(|error| panic!("{args:?}: {error}\n{}", self.complaints()))
    }

    /// Kills a stage; at least how many packets must have come through it.
    fn kill(&mut self, idx: usize) -> u64 {
        self.wake_from(0);
        let id = self.ids[idx];
        let sent = self.sent(id);
        self.signal(id, Signal::SIGKILL);
        sent
    }

    /// Packets that a stage has surely handed on: sent, and not waiting.
    fn sent(&self, id: u32) -> u64 {
        let status = self.place.status();
        let stage = status.iter().find(|stage| stage["id"] == id).unwrap_or(&Value::Null);
        let right =
            stage["interfaces"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "right"));
        let Some(right) = right.filter(|right| right["joint"] == "ring") else { return 0 };
        let number = |name: &str| right[name].as_u64().expect("it is a number");
        number("tx_packets") - number("waiting")
    }

    /// What all stages that the test started complained of.
    fn complaints(&self) -> String {
        self.started.iter().map(Running::stderr).collect()
    }

    /// Waits until all stages have ended.
    fn await_end(&self) {
        until("all stages end", || self.ids.iter().all(|id| has_ended(*id)));
    }

    /// With what status each of the stages ended, from left to right, as far as the test started them.
    fn codes(&mut self) -> Vec<Option<i32>> {
        let code = |child: &mut Child| {
            let status = child.try_wait().ok()??;
            status.code().or_else(|| Some(128 + status.signal()?))
        };
        let codes: Vec<_> =
            self.started.iter_mut().map(|stage| (stage.id(), code(&mut stage.child))).collect();
        self.ids.iter().map(|id| codes.iter().find(|(other, _)| other == id)?.1).collect()
    }

    /// Lets the source end, and waits until all stages have.
    fn end(mut self) -> End {
        self.wake_from(0);
        self.feed.ask_to_stop();
        self.await_end();
        let n = self.feed.stop();
        let complaints: String = self.started.iter().map(Running::stderr).collect();
        assert_eq!(complaints, "", "stages have nothing to complain of");
        let bytes = std::fs::read(self.place.path(&self.file)).expect("the sink made its file");
        std::fs::remove_file(self.place.path(&self.file)).expect("it is ours");
        End { n, bytes, history: self.history }
    }
}

/// What became of a chain.
struct End {
    /// Packets sent.
    n: u64,
    /// What the sink wrote.
    bytes: Vec<u8>,
    history: Vec<String>,
}

/// Whether a process has ended, even if nobody asked how.
fn has_ended(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
}

impl End {
    /// Compares what came with what was sent: it must be a beginning of it; how many packets.
    fn check(&self, seed: u64) -> u64 {
        let packets = captures::packets(&self.bytes);
        let mut offset = 24;
        for (idx, packet) in packets.iter().enumerate() {
            if *packet != captures::packet(seed, idx as u64) {
                let found = (0..self.n).find(|other| captures::packet(seed, *other) == *packet);
                let history = self.history.join("\n");
                let n = packets.len();
                panic!("chain {seed}: at byte {offset}, for packet {idx} of {n} came {found:?}\n{history}");
            }
            offset += 16 + packet.len();
        }
        packets.len() as u64
    }
}

/// The seeds of chains that end well, and of those of which a stage is killed. `WEIR_SEED` gives others.
fn seeds() -> (Range<u64>, Range<u64>) {
    let first = std::env::var("WEIR_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0u64);
    (first..first + CHAINS / 2, first + CHAINS / 2..first + CHAINS)
}

#[test]
fn chains_lose_nothing_while_stages_stop_come_and_go() {
    as_each_user(|place| {
        for seed in seeds().0 {
            let mut random = Random::new(seed);
            let mut chain = Chain::start(place, seed);
            (0..CHANGES + 1).for_each(|_| chain.change(&mut random));
            let end = chain.end();
            assert_eq!(end.check(seed), end.n, "packets of chain {seed}\n{}", end.history.join("\n"));
        }
    });
}

#[test]
fn a_killed_stage_takes_only_what_it_held_with_it_and_ends_the_chain() {
    as_each_user(|place| {
        for seed in seeds().1 {
            let mut random = Random::new(seed);
            let mut chain = Chain::start(place, seed);
            (0..CHANGES).for_each(|_| chain.change(&mut random));
            let idx = random.below(chain.ids.len() - 1);
            let least = chain.kill(idx);
            chain.await_end();
            for (place, code) in
                chain.codes().into_iter().enumerate().filter_map(|(at, code)| Some((at, code?)))
            {
                let due = match place.cmp(&idx) {
                    std::cmp::Ordering::Less => BROKEN_PIPE,
                    std::cmp::Ordering::Equal => KILLED,
                    std::cmp::Ordering::Greater => 0,
                };
                assert_eq!(code, due, "stage {place} of chain {seed}, of which stage {idx} was killed");
            }
            let end = chain.end();
            let came = end.check(seed);
            assert!(
                (least..=end.n).contains(&came),
                "chain {seed}: {came} packets, {least} to {} were due",
                end.n
            );
        }
    });
}
