//! The client's side: `weir handler`, `weir trace`, `weir tap`.

use std::io::{BufRead, BufReader, ErrorKind, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use super::protocol::{self, gap_of_tap, Answer, Ask, TAP_END};
use crate::command::{GraphName, HandlerAction, HandlerOptions, TapOptions, TraceOptions};
use crate::failure::{Exit, Failure};
use crate::print::{self, counted};
use crate::stage::others::name_of;
use crate::watch::{Filter, Told};
use element::output::reason;

/// How long a graph may say nothing before the user is told that it does.
const SILENCE: Duration = Duration::from_secs(3);

/// Connects to the graph that the user means: the one named, or the only one that runs; waits for it if so told.
fn connect(graph: &GraphName) -> Result<UnixStream, Failure> {
    if let Some(name) = &graph.graph {
        // Nobody can ever have another one.
        protocol::path(name).map_err(Failure::Usage)?;
    }
    Ok(graph.patience.until(|| connect_now(graph))?)
}

fn connect_now(graph: &GraphName) -> Result<UnixStream, String> {
    if let Some(name) = &graph.graph {
        return connect_to(name).map_err(|why| {
            format!(
                "no running graph named `{name}`{why}\n  help: start one with `weir run --name {name} ...`, give the \
                 number of a stage in `weir status`, or wait for one that starts with --wait"
            )
        });
    }
    let mut running = protocol::running()?;
    match running.len() {
        0 => {
            Err("no running graph has a name\n  help: start one with `weir run --name NAME ...`".to_string())
        }
        1 => Ok(running.remove(0).1),
        _ => {
            let names: Vec<&str> = running.iter().map(|(name, _)| name.as_str()).collect();
            Err(format!("several graphs run: {}; say which with --graph NAME", names.join(", ")))
        }
    }
}

/// Connects to the stage of this number, or the graph of this name; an error is why there is more to say than that it does not run.
fn connect_to(name: &str) -> Result<UnixStream, String> {
    let open = |name: &str| {
        let path = protocol::path(name).map_err(|message| format!(" ({message})"))?;
        UnixStream::connect(path).map_err(|error| match error.kind() {
            // There is no such graph, or it was killed.
            ErrorKind::NotFound | ErrorKind::ConnectionRefused => String::new(),
            _ => format!(" ({})", reason(&error)),
        })
    };
    let stage = name.parse().ok().and_then(|id| open(&name_of(id)).ok());
    stage.map_or_else(|| open(name), Ok)
}

/// Sends a request and reads the answer's first line; what follows it can be read on.
fn ask(graph: &GraphName, ask: &Ask) -> Result<(Result<String, String>, BufReader<UnixStream>), Failure> {
    let mut stream = connect(graph)?;
    let broken = |error: std::io::Error| format!("the graph does not answer: {}", reason(&error));
    let line = serde_json::to_string(ask).map_err(|error| error.to_string())?;
    writeln!(stream, "{line}").map_err(broken)?;
    stream.set_read_timeout(Some(SILENCE)).map_err(broken)?;
    let mut reader = BufReader::new(stream);
    let mut line = Vec::new();
    while let Err(error) = reader.read_until(b'\n', &mut line) {
        if error.kind() != ErrorKind::WouldBlock {
            return Err(broken(error).into());
        }
        eprintln!(
            "weir: no answer so far; the graph may be busy, or stopped (SIGSTOP; `kill -CONT` lets it go on)"
        );
        reader.get_ref().set_read_timeout(None).map_err(broken)?;
    }
    // What follows, if anything does, may take its time.
    reader.get_ref().set_read_timeout(None).map_err(broken)?;
    let answer = serde_json::from_slice(&line).map_err(|_| "the graph has ended".to_string())?;
    let answer = match answer {
        Answer::Ok(value) => Ok(value),
        Answer::Error(message) => Err(message),
    };
    Ok((answer, reader))
}

/// Sends a request; the answer's value.
pub fn request(graph: &GraphName, what: &Ask) -> Result<String, Failure> {
    Ok(ask(graph, what)?.0?)
}

/// Sends a request that is answered by any number of lines, and tells each: ends with who reads them, or with the last answer behind
/// them. Without one they broke off.
pub fn follow(
    graph: &GraphName,
    what: &Ask,
    stream: &str,
    mut tell: impl FnMut(&str) -> Result<(), Failure>,
) -> Exit {
    let (answer, reader) = ask(graph, what)?;
    answer?;
    print::end_with_reader();
    for line in reader.lines() {
        let line = line.map_err(|error| reason(&error))?;
        match serde_json::from_str(&line) {
            Ok(Answer::Ok(_)) => return Ok(ExitCode::SUCCESS),
            Ok(Answer::Error(message)) => return Err(message.into()),
            Err(_) => tell(&line)?,
        }
    }
    Err(broken_off(stream).into())
}

/// `weir handler`.
pub fn handler(options: HandlerOptions) -> Exit {
    let request = match options.action {
        HandlerAction::Read { handler, parameter } => Ask::Read { handler, parameter: parameter.join(" ") },
        HandlerAction::Write { handler, value } => Ask::Write { handler, value: value.join(" ") },
        HandlerAction::List { element: Some(element) } => {
            Ask::Read { handler: format!("{element}.handlers"), parameter: String::new() }
        }
        HandlerAction::List { element: None } => {
            Ask::Read { handler: "list".to_string(), parameter: String::new() }
        }
    };
    let (answer, _) = ask(&options.graph, &request)?;
    if options.json {
        let (ok, text) = match &answer {
            Ok(value) => (true, value),
            Err(message) => (false, message),
        };
        println!("{}", json!({ "ok": ok, if ok { "value" } else { "error" }: text }));
        return Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let value = answer?;
    match value.ends_with('\n') || value.is_empty() {
        true => print!("{value}"),
        false => println!("{value}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// `weir trace`.
pub fn trace(options: TraceOptions) -> Exit {
    let filter = options.filter.join(" ");
    Filter::new(&filter).map_err(Failure::Usage)?;
    let mut last = None;
    follow(&options.graph, &Ask::Trace { count: options.count, filter }, "the trace", |line| {
        if options.json {
            println!("{line}");
            return Ok(());
        }
        let seen = match serde_json::from_str(line).map_err(|error| error.to_string())? {
            Told::Seen(seen) => seen,
            Told::LeftOut { left_out } => {
                println!("  ({})", told_left_out(left_out, "step"));
                return Ok(());
            }
        };
        if last != Some(seen.packet) {
            println!("packet {}", seen.packet);
            last = Some(seen.packet);
        }
        println!("  {seen}");
        Ok(())
    })
}

/// What is told of what a reader was too slow for.
fn told_left_out(n: u64, thing: &str) -> String {
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    format!("left out, as not read in time: {}", counted(n, thing))
}

/// `weir tap`.
pub fn tap(options: TapOptions) -> Exit {
    const ETHERNET: u32 = 1;
    const RAW_IP: u32 = 101;
    let is_stdout = matches!(options.output.as_deref(), None | Some("-"));
    if is_stdout && std::io::stdout().is_terminal() {
        return Err(Failure::Usage(
            "standard output is a terminal: give packets to a pipe (`... | tcpdump -nr -`) or a file \
                    (`--output FILE`)"
                .to_string(),
        ));
    }
    if is_stdout {
        print::output().map(drop).map_err(|error| format!("standard output: {}", reason(&error)))?;
    }
    let link_type = if options.link == "ip" { RAW_IP } else { ETHERNET };
    let (answer, mut reader) = ask(&options.graph, &Ask::Tap { edge: options.edge, link_type })?;
    answer?;
    let out_name = if is_stdout { "standard output" } else { options.output.as_deref().unwrap_or_default() };
    let mut out: Box<dyn Write> = match options.output.as_deref() {
        None | Some("-") => Box::new(std::io::stdout()),
        Some(file) => Box::new(std::fs::File::create(file).map_err(|e| format!("{file}: {}", reason(&e)))?),
    };
    if is_stdout {
        print::end_with_reader();
    }
    let mut left_out = 0;
    let copied =
        copy_capture(&mut reader, &mut *out, out_name, options.count.unwrap_or(u64::MAX), &mut left_out);
    if left_out > 0 {
        eprintln!("weir: tap: {}", told_left_out(left_out, "packet"));
    }
    Ok(copied.map(|()| ExitCode::SUCCESS)?)
}

/// Copies a capture, of which no more than `count` records are wanted; what reads it may go away. Counts what was left out between them.
fn copy_capture(
    reader: &mut impl Read,
    out: &mut dyn Write,
    out_name: &str,
    count: u64,
    left_out: &mut u64,
) -> Result<(), String> {
    let mut read = |bytes: &mut [u8]| {
        reader.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => broken_off("the tap"),
            _ => reason(&error),
        })
    };
    let mut record = vec![0; 24];
    read(&mut record)?;
    for left in (0..=count).rev() {
        match out.write_all(&record).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            result => result.map_err(|error| format!("{out_name}: {}", reason(&error)))?,
        }
        if left == 0 {
            break;
        }
        // A record's header: two words of time, then the length of the data that follows.
        let mut header = [0; 16];
        read(&mut header)?;
        while let Some(n) = gap_of_tap(header) {
            *left_out = left_out.saturating_add(n);
            read(&mut header)?;
        }
        if header == TAP_END {
            break;
        }
        let [.., l0, l1, l2, l3, _, _, _, _] = header;
        record.clear();
        record.extend(header);
        record.resize(header.len() + u32::from_le_bytes([l0, l1, l2, l3]) as usize, 0);
        read(&mut record[header.len()..])?;
    }
    Ok(())
}

/// What is told of a stream whose end its graph did not say.
fn broken_off(stream: &str) -> String {
    format!("{stream} broke off: the graph was killed, has crashed, or ended before all was read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::protocol::tap_gap;

    #[test]
    fn what_is_left_out_of_a_tap_is_counted_and_not_copied() {
        let record = |n: u8| [&[n; 8], &[1, 0, 0, 0, 1, 0, 0, 0][..], &[n]].concat();
        let stream =
            [&[7; 24], &record(1)[..], &tap_gap(3), &record(2), &tap_gap(1 << 40), &tap_gap(1), &TAP_END]
                .concat();
        let copied = |stream: &[u8], count| {
            let (mut out, mut left_out) = (Vec::new(), 0);
            let result = copy_capture(&mut &stream[..], &mut out, "out", count, &mut left_out);
            (result, out, left_out)
        };
        let capture = [&[7; 24], &record(1)[..], &record(2)].concat();
        assert_eq!(copied(&stream, u64::MAX), (Ok(()), capture.clone(), (1 << 40) + 4));
        assert_eq!(copied(&stream, 2), (Ok(()), capture, 3));
        let cut = &stream[..stream.len() - 1];
        assert_eq!(copied(cut, u64::MAX).0, Err(broken_off("the tap")));
    }
}
