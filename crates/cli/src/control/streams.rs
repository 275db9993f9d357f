//! What is answered line after line, or packet after packet, until the client goes away.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

use interfaces::capture::{Precision, Timestamp, Writer};

use super::herald::Herald;
use super::protocol::{tap_gap, Answer, TAP_END};
use super::server::{answer, answer_of, Reach};
use crate::watch::{Filter, SharedTrace, Tap, Tapped, Told, Trace};

/// Packets that a slow reader of a tap may be behind; more are left out of its copy, and counted.
const TAP_BACKLOG: usize = 4096;
/// Steps of packets that a slow reader of a trace may be behind; more are left out, and counted.
const TRACE_BACKLOG: usize = 4096;
/// How often a quiet stream looks whether its reader is gone.
const QUIET: Duration = Duration::from_millis(200);

/// Tells of events until the client goes away, or is too far behind. A last answer says how it ended: a graph that is killed gives none.
pub fn events(stream: &UnixStream, herald: &Herald) -> std::io::Result<()> {
    let Some(receiver) = herald.hub.listen() else {
        return answer(stream, &Answer::Error("too many listen already; try again later".to_string()));
    };
    answer(stream, &Answer::Ok(String::new()))?;
    write_lines(stream, &receiver, |event| &**event)?;
    let end = match herald.hub.has_ended() {
        true => Answer::Ok(String::new()),
        false => Answer::Error("the events are not read in time".to_string()),
    };
    answer(stream, &end)
}

/// Writes what comes, a line of JSON each, until the client or the graph goes away.
fn write_lines<T, V: serde::Serialize>(
    stream: &UnixStream,
    receiver: &Receiver<T>,
    inner: impl Fn(&T) -> &V,
) -> std::io::Result<()> {
    loop {
        match receiver.recv_timeout(QUIET) {
            Ok(value) => write_line(stream, inner(&value))?,
            Err(RecvTimeoutError::Timeout) if !is_gone(stream) => {}
            Err(_) => return Ok(()),
        }
    }
}

fn write_line(mut stream: &UnixStream, value: &impl serde::Serialize) -> std::io::Result<()> {
    let text = serde_json::to_string(value).map_err(std::io::Error::other)?;
    writeln!(stream, "{text}")
}

/// Tells what elements do with packets. A last answer says that all has been told: a graph that is killed gives none.
pub fn trace(stream: &UnixStream, reach: &Reach, count: u32, filter: &str) -> std::io::Result<()> {
    let (sender, receiver) = sync_channel(TRACE_BACKLOG);
    let trace = match Filter::new(filter) {
        Ok(filter) => Trace::new(count, filter, sender),
        Err(message) => return answer(stream, &Answer::Error(message)),
    };
    let left_out = trace.left_out();
    let trace = SharedTrace::new(trace);
    if reach.ask(move |world| world.add_watchers(|| Box::new(trace.clone()))).is_none() {
        return answer(stream, &answer_of(None));
    }
    answer(stream, &Answer::Ok(String::new()))?;
    write_lines(stream, &receiver, |told| told)?;
    match left_out.load(Ordering::Relaxed) {
        0 => {}
        left_out => write_line(stream, &Told::LeftOut { left_out })?,
    }
    answer(stream, &Answer::Ok(String::new()))
}

/// Copies packets, and says when they have ended: a graph that is killed does not.
pub fn tap(stream: &UnixStream, reach: &Reach, edge: &str, link_type: u32) -> std::io::Result<()> {
    let (sender, receiver) = sync_channel::<Tapped>(TAP_BACKLOG);
    let left_out = Arc::new(AtomicU64::new(0));
    let (edge, counter) = (edge.to_string(), left_out.clone());
    let added = reach.ask(move |world| {
        let tap = Tap::new(world, &edge, sender, counter)?;
        world.add_watchers(|| Box::new(tap.clone()));
        Ok(String::new())
    });
    let first = answer_of(added);
    answer(stream, &first)?;
    if matches!(first, Answer::Error(_)) {
        return Ok(());
    }
    let mut writer = Writer::pcap(stream, link_type, 262_144, Precision::Nano);
    writer.flush()?;
    loop {
        match receiver.recv_timeout(QUIET) {
            Ok(tapped) => {
                write_tapped(&mut writer, &tapped)?;
                for tapped in receiver.try_iter().take(TAP_BACKLOG) {
                    write_tapped(&mut writer, &tapped)?;
                }
                writer.flush()?;
                write_gap(stream, &left_out)?;
            }
            Err(RecvTimeoutError::Timeout) if !is_gone(stream) => {}
            Err(_) => break,
        }
    }
    drop(writer);
    write_gap(stream, &left_out)?;
    (&*stream).write_all(&TAP_END)
}

/// Says how many packets were left out behind those that were written.
fn write_gap(mut stream: &UnixStream, left_out: &AtomicU64) -> std::io::Result<()> {
    match left_out.swap(0, Ordering::Relaxed) {
        0 => Ok(()),
        n => stream.write_all(&tap_gap(n)),
    }
}

fn write_tapped(writer: &mut Writer<&UnixStream>, tapped: &Tapped) -> std::io::Result<()> {
    let timestamp = Timestamp {
        seconds: tapped.timestamp_ns.div_euclid(1_000_000_000),
        nanoseconds: tapped.timestamp_ns.rem_euclid(1_000_000_000) as u32,
    };
    writer.write(timestamp, tapped.data.len() as u32, &tapped.data)
}

/// Whether the client has closed its end.
fn is_gone(stream: &UnixStream) -> bool {
    let Ok(peer) = stream.try_clone() else { return true };
    if peer.set_nonblocking(true).is_err() {
        return true;
    }
    let mut peer_reader = &peer;
    let gone = matches!(std::io::Read::read(&mut peer_reader, &mut [0; 16]), Ok(0));
    peer.set_nonblocking(false).is_err() || gone
}
