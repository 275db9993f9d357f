//! The graph's side: a thread listens; what it is asked runs between two rounds of the driver.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use element::Runtime;
use engine::world::World;
use interfaces::capture::{Precision, Timestamp, Writer};

use super::protocol::{self, Answer, Ask};
use crate::watch::{SharedTrace, Tap, Tapped, Trace};

/// Something to do with the graph, on its thread.
type Job = Box<dyn FnOnce(&mut World) + Send>;

/// Packets that a slow reader of a tap may be behind; more are left out of its copy.
const TAP_BACKLOG: usize = 4096;
/// How long the end waits for answers to be written.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often a quiet tap or trace looks whether its reader is gone.
const QUIET: Duration = Duration::from_millis(200);

/// A listening socket; it is removed at the end.
pub struct Server {
    path: PathBuf,
    jobs: Receiver<Job>,
    answering: Answering,
}

/// How many answers are being written: the program ends only when they are, or after [`PATIENCE`].
type Answering = Arc<(Mutex<usize>, Condvar)>;

/// What a connection needs to reach the graph.
#[derive(Clone)]
struct Reach {
    jobs: Sender<Job>,
    waker: Arc<UnixStream>,
    answering: Answering,
}

impl Server {
    /// Listens for the graph called `name`.
    pub fn listen(name: &str, world: &mut World) -> Result<Server, String> {
        let path = protocol::path(name)?;
        if UnixStream::connect(&path).is_ok() {
            return Err(format!("a graph named `{name}` runs already; choose another --name"));
        }
        // Nobody answers: what is there was left by a graph that was killed.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let waker = world.waker().and_then(|waker| waker.writer().ok());
        let waker = waker.ok_or("no descriptor is left; raise the limit of open files")?;
        let waker = Arc::new(waker);
        let (sender, jobs) = channel();
        let answering = Answering::default();
        let reach = Reach { jobs: sender, waker, answering: answering.clone() };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let reach = reach.clone();
                std::thread::spawn(move || serve(stream, &reach));
            }
        });
        Ok(Server { path, jobs, answering })
    }

    /// Does what was asked since the last call.
    pub fn work(&self, world: &mut World) {
        while let Ok(job) = self.jobs.try_recv() {
            job(world);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let (n_answering, changed) = &*self.answering;
        let guard = n_answering.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = changed.wait_timeout_while(guard, PATIENCE, |n| *n > 0);
    }
}

impl Reach {
    /// Runs `f`, which ends with an answer, and keeps the program from ending before.
    fn answering<R>(&self, f: impl FnOnce() -> R) -> R {
        let (n_answering, changed) = &*self.answering;
        *n_answering.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let result = f();
        *n_answering.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        changed.notify_all();
        result
    }

    /// Runs `f` on the graph's thread and waits for its result; `None` if the graph has ended.
    fn ask<R: Send + 'static>(&self, f: impl FnOnce(&mut World) -> R + Send + 'static) -> Option<R> {
        let (sender, receiver) = sync_channel(1);
        let job = Box::new(move |world: &mut World| {
            // The asker may have gone.
            let _ = sender.send(f(world));
        });
        self.jobs.send(job).ok()?;
        // A full socket means that the driver will wake anyway.
        let _ = (&*self.waker).write(&[0]);
        receiver.recv().ok()
    }
}

fn serve(stream: UnixStream, reach: &Reach) {
    let Ok(reader) = stream.try_clone() else { return };
    let mut line = String::new();
    if BufReader::new(reader).read_line(&mut line).is_err() {
        return;
    }
    // A client that goes away in the middle needs no answer.
    let _ = match serde_json::from_str(&line) {
        Err(error) => answer(&stream, &Answer::Error(format!("not a request: {error}"))),
        Ok(Ask::Read { handler, parameter }) => reach.answering(|| {
            let result = reach.ask(move |world| world.read_handler(usize::MAX, &handler, &parameter));
            answer(&stream, &answer_of(result))
        }),
        Ok(Ask::Write { handler, value }) => reach.answering(|| {
            let result = reach.ask(move |world| world.write_handler(usize::MAX, &handler, &value));
            answer(&stream, &answer_of(result.map(|result| result.map(|()| String::new()))))
        }),
        Ok(Ask::Status) => reach.answering(|| {
            let result = reach.ask(|world| {
                let status = crate::stage::status::of(world)?;
                serde_json::to_string(&status).map_err(|error| error.to_string())
            });
            answer(&stream, &answer_of(result))
        }),
        Ok(Ask::Retire) => {
            interfaces::stage::table::retire();
            answer(&stream, &Answer::Ok(String::new()))
        }
        Ok(Ask::Part { interface }) => {
            let result = interfaces::stage::neighbour::part(&interface);
            answer(&stream, &answer_of(Some(result.map(|()| String::new()))))
        }
        Ok(Ask::Succeed { interface, path }) => reach.answering(|| {
            let result = crate::stage::succeed(&interface, &path);
            answer(&stream, &answer_of(Some(result.map(|()| String::new()))))
        }),
        Ok(Ask::Trace { count, filter }) => trace(&stream, reach, count, &filter),
        Ok(Ask::Tap { edge, link_type }) => tap(&stream, reach, &edge, link_type),
    };
}

fn answer_of(result: Option<Result<String, String>>) -> Answer {
    match result {
        Some(Ok(value)) => Answer::Ok(value),
        Some(Err(message)) => Answer::Error(message),
        None => Answer::Error("the graph has ended".to_string()),
    }
}

fn answer(mut stream: &UnixStream, answer: &Answer) -> std::io::Result<()> {
    let text = serde_json::to_string(answer).map_err(std::io::Error::other)?;
    writeln!(stream, "{text}")
}

fn trace(mut stream: &UnixStream, reach: &Reach, count: u32, filter: &str) -> std::io::Result<()> {
    let (sender, receiver) = channel();
    let trace = match Trace::new(count, filter, sender) {
        Ok(trace) => trace,
        Err(message) => return answer(stream, &Answer::Error(message)),
    };
    let trace = SharedTrace::new(trace);
    if reach.ask(move |world| world.add_watchers(|| Box::new(trace.clone()))).is_none() {
        return answer(stream, &answer_of(None));
    }
    answer(stream, &Answer::Ok(String::new()))?;
    loop {
        match receiver.recv_timeout(QUIET) {
            Ok(seen) => {
                let text = serde_json::to_string(&seen).map_err(std::io::Error::other)?;
                writeln!(stream, "{text}")?;
            }
            Err(RecvTimeoutError::Timeout) if !is_gone(stream) => {}
            Err(_) => return Ok(()),
        }
    }
}

fn tap(stream: &UnixStream, reach: &Reach, edge: &str, link_type: u32) -> std::io::Result<()> {
    let (sender, receiver) = sync_channel::<Tapped>(TAP_BACKLOG);
    let edge = edge.to_string();
    let added = reach.ask(move |world| {
        let tap = Tap::new(world, &edge, sender)?;
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
                while let Ok(tapped) = receiver.try_recv() {
                    write_tapped(&mut writer, &tapped)?;
                }
                writer.flush()?;
            }
            Err(RecvTimeoutError::Timeout) if !is_gone(stream) => {}
            Err(_) => return Ok(()),
        }
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
