//! Running benchmark graphs: nanoseconds a packet.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::Duration;

use serde_json::{json, Value};

use super::contestant::{spawn_on, Contestant};
use super::report::{geometric_mean, median, spread};
use crate::command::BenchOptions;
use element::output::reason;

/// A graph's figures: nanoseconds a packet, by contestant and run, sorted. There are none of others that cannot run it.
pub struct Row {
    graph: String,
    figures: Vec<Vec<f64>>,
}

/// What a graph said with `B count now` or `E count now`, and the processor time it had used by then.
struct Mark {
    n_packets: f64,
    now_s: f64,
    used_s: f64,
}

/// The begin and the end of a measurement.
type Marks = (Option<Mark>, Option<Mark>);

/// How long a graph may take, besides the times that it is told, until it prints something.
const PATIENCE: Duration = Duration::from_secs(20);
/// The longest of those times, in seconds.
const MOST_S: f64 = 1e9;

impl Row {
    /// Runs a graph under every contestant in turn, round by round; tells of those that cannot run it and goes on without them.
    pub fn measure(file: &str, contestants: &[Contestant], options: &BenchOptions) -> Result<Row, String> {
        let mut figures = vec![Vec::new(); contestants.len()];
        let mut is_able = vec![true; contestants.len()];
        for _ in 0..rounds(options) {
            for (i, contestant) in contestants.iter().enumerate() {
                if !is_able[i] {
                    continue;
                }
                match one_run(file, contestant, options) {
                    Ok(ns) => figures[i].push(ns),
                    Err(message) if i == 0 => return Err(message),
                    Err(message) => {
                        eprintln!("weir: {}", message.trim_end());
                        figures[i].clear();
                        is_able[i] = false;
                    }
                }
            }
        }
        figures.iter_mut().for_each(|list| list.sort_by(f64::total_cmp));
        let graph = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".click").to_string();
        Ok(Row { graph, figures })
    }

    /// How many times as fast as contestant `i` weir is, if that one ran.
    fn ratio(&self, i: usize) -> Option<f64> {
        let list = self.figures.get(i).filter(|list| !list.is_empty())?;
        Some(median(list) / median(&self.figures[0]))
    }

    /// How many times as fast as the fastest of the others weir is.
    fn ratio_to_best(&self) -> Option<f64> {
        (1..self.figures.len()).filter_map(|i| self.ratio(i)).min_by(f64::total_cmp)
    }

    /// The cells of the table.
    pub fn text(&self) -> Vec<String> {
        let ns = median(&self.figures[0]);
        let mut cells = vec![self.graph.clone(), format!("{:.2}", 1e3 / ns)];
        let times =
            |ratio: Option<f64>| ratio.map_or_else(|| "-".to_string(), |ratio| format!("{ratio:.2}x"));
        for (i, list) in self.figures.iter().enumerate() {
            cells.extend(match list.is_empty() {
                true => ["-".to_string(), "-".to_string()],
                false => [format!("{:.2}", median(list)), format!("{:.0}%", spread(list) * 100.0)],
            });
            if i > 0 {
                cells.push(times(self.ratio(i)));
            }
        }
        if self.figures.len() > 2 {
            cells.push(times(self.ratio_to_best()));
        }
        cells
    }

    /// The figures with every run.
    pub fn json(&self, contestants: &[Contestant]) -> Value {
        let figures = contestants.iter().zip(&self.figures).enumerate().map(|(i, (contestant, list))| {
            let ns = (!list.is_empty()).then(|| median(list));
            json!({
                "command": contestant.name,
                "ns_per_packet": ns,
                "mpps": ns.map(|ns| 1e3 / ns),
                "spread": ns.map(|_| spread(list)),
                "ratio": self.ratio(i),
                "runs": list,
            })
        });
        let figures: Vec<Value> = figures.collect();
        json!({ "graph": self.graph, "figures": figures, "ratio_to_best": self.ratio_to_best() })
    }
}

/// Runs of each graph.
pub fn rounds(options: &BenchOptions) -> usize {
    options.rounds.unwrap_or(3)
}

/// The geometric means over all graphs that a command could run, as sentences; an error if one could run none.
pub fn conclusions(rows: &[Row], contestants: &[Contestant]) -> Result<Vec<String>, String> {
    let mut sentences = Vec::new();
    let mut conclude = |name: &str, ratios: Vec<f64>| {
        let mean = geometric_mean(ratios.iter().copied());
        let of_some = match ratios.len() {
            n if n < rows.len() => format!(" of {n} of {} graphs", rows.len()),
            _ => String::new(),
        };
        sentences.push(format!("{mean:.2} times as fast as {name} in the geometric mean{of_some}"));
    };
    for (i, contestant) in contestants.iter().enumerate().skip(1) {
        let ratios: Vec<f64> = rows.iter().filter_map(|row| row.ratio(i)).collect();
        if ratios.is_empty() {
            return Err(format!("--vs: {} could run none of the graphs", contestant.name));
        }
        conclude(&contestant.name, ratios);
    }
    if contestants.len() > 2 {
        conclude("the fastest other", rows.iter().filter_map(Row::ratio_to_best).collect());
        let bests = rows.iter().filter_map(|row| Some((row.ratio_to_best()?, &row.graph)));
        if let Some((ratio, graph)) = bests.min_by(|a, b| a.0.total_cmp(&b.0)) {
            sentences.push(format!("{ratio:.2} times at least, in {graph}"));
        }
    }
    Ok(sentences)
}

/// Runs a graph once; nanoseconds a packet between its two lines `B count now` and `E count now`.
fn one_run(file: &str, contestant: &Contestant, options: &BenchOptions) -> Result<f64, String> {
    let (folder, base) = match file.rsplit_once('/') {
        Some(("", base)) => ("/", base),
        Some(parts) => parts,
        None => (".", file),
    };
    let warm = format!("WARM={}s", options.warm);
    let duration = format!("DUR={}s", options.duration);
    let mut command = contestant.command(&[base, &warm, &duration]);
    let command = command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = spawn_on(options.cpu(), contestant.n_cores, command)?;
    let errors = child.stderr.take().map(|mut pipe| {
        sys::thread::start("errors", sys::thread::STACK, move || {
            let mut bytes = Vec::new();
            // What can be read of the errors is all there is to tell.
            let _ = pipe.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        })
    });
    let errors = errors.transpose().map_err(|error| sys::no_thread(&error))?;
    let patience = PATIENCE + Duration::from_secs_f64((2.0 * (options.warm + options.duration)).min(MOST_S));
    let Some((begin, end)) = marks(&mut child, patience)? else {
        let message = "no packets pass: it printed no `B count now` and `E count now` for";
        return Err(format!("{file}: {}: {message} {} s", contestant.name, patience.as_secs()));
    };
    child.wait().map_err(|error| format!("{}: {}", contestant.name, reason(&error)))?;
    let errors = errors.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let (Some(begin), Some(end)) = (begin, end) else {
        let name = &contestant.name;
        return Err(format!("{file}: {name} printed no `B count now` and `E count now`\n{errors}"));
    };
    let n_packets = end.n_packets - begin.n_packets;
    let elapsed_s = match options.cpu_time {
        true => end.used_s - begin.used_s,
        false => end.now_s - begin.now_s,
    };
    match n_packets > 0.0 && elapsed_s > 0.0 {
        true => Ok(elapsed_s * 1e9 / n_packets),
        false => Err(format!("{file}: no packet passed under {}", contestant.name)),
    }
}

/// What a graph says at the begin and the end of the measurement. One that prints nothing for so long is ended: `None`.
fn marks(child: &mut Child, patience: Duration) -> Result<Option<Marks>, String> {
    let (sender, lines) = channel();
    let (pid, pipe) = (child.id(), child.stdout.take());
    sys::thread::start("lines", sys::thread::STACK, move || {
        for line in pipe.into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
            let Ok(line) = line else { break };
            if sender.send((line, used_s(pid))).is_err() {
                break;
            }
        }
    })
    .map_err(|error| sys::no_thread(&error))?;
    let (mut begin, mut end) = (None, None);
    loop {
        match lines.recv_timeout(patience) {
            Ok((line, used_s)) => match line.split_once(' ') {
                Some(("B", rest)) => begin = mark(rest, used_s),
                Some(("E", rest)) => end = mark(rest, used_s),
                _ => {}
            },
            Err(RecvTimeoutError::Disconnected) => return Ok(Some((begin, end))),
            Err(RecvTimeoutError::Timeout) => {
                child.kill().and_then(|()| child.wait()).map_err(|error| reason(&error))?;
                return Ok(None);
            }
        }
    }
}

/// Reads `count now ...`.
fn mark(rest: &str, used_s: f64) -> Option<Mark> {
    let mut numbers = rest.split_whitespace().map(|word| word.parse().ok());
    Some(Mark { n_packets: numbers.next()??, now_s: numbers.next()??, used_s })
}

/// Processor time that the first thread of a process has used.
fn used_s(pid: u32) -> f64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    let ns: f64 = text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0.0);
    ns / 1e9
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_graph_that_prints_nothing_is_ended() {
        let run = |script: &str, patience| {
            let mut command = Command::new("sh");
            let mut child =
                command.args(["-c", script]).stdout(Stdio::piped()).spawn().expect("there is a shell");
            let marks = marks(&mut child, patience).expect("a thread can be started");
            assert!(child.wait().is_ok());
            marks.map(|(begin, end)| [begin, end].map(|mark| mark.map(|mark| mark.n_packets)))
        };
        assert_eq!(run("echo B 1 2; exec sleep 1000", Duration::from_millis(50)), None);
        assert_eq!(run("echo B 1 2; echo E 3 4", Duration::from_secs(60)), Some([Some(1.0), Some(3.0)]));
    }
}
