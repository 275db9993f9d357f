//! The graph's side: a thread listens; what it is asked runs between two rounds of the driver.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use element::Runtime;
use engine::change::{Refusal, Revision, Subscriber};
use engine::world::World;
use graph::Diagnostics;
use interfaces::capture::{Precision, Timestamp, Writer};

use super::live::{Edit, Outcome, Past};
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
    reach: Reach,
}

/// How many answers are being written: the program ends only when they are, or after [`PATIENCE`].
type Answering = Arc<(Mutex<usize>, Condvar)>;

/// What another thread needs to reach the graph.
#[derive(Clone)]
pub struct Reach {
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
        let own = Reach { jobs: sender, waker, answering: Answering::default() };
        let reach = own.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let reach = reach.clone();
                std::thread::spawn(move || serve(stream, &reach));
            }
        });
        Ok(Server { path, jobs, reach: own })
    }

    /// What another thread needs to reach the graph.
    pub fn reach(&self) -> Reach {
        self.reach.clone()
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
        let (n_answering, changed) = &*self.reach.answering;
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
    pub fn ask<R: Send + 'static>(&self, f: impl FnOnce(&mut World) -> R + Send + 'static) -> Option<R> {
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
        Ok(Ask::Change { edit, dry }) => reach.answering(|| {
            let result = change(reach, &edit, dry);
            answer(&stream, &answer_of(result.transpose()))
        }),
        Ok(Ask::History) => reach.answering(|| {
            let past = reach.ask(|world| history(world));
            answer(&stream, &answer_of(past.map(|past| as_json(&past))))
        }),
        Ok(Ask::Subscribe { handler, element, ends }) => reach.answering(|| {
            let result = reach.ask(move |world| subscribe(world, Subscriber { handler, element }, ends));
            answer(&stream, &answer_of(result.map(|result| result.map(|()| String::new()))))
        }),
        Ok(Ask::Events) => events(&stream, reach),
        Ok(Ask::Trace { count, filter }) => trace(&stream, reach, count, &filter),
        Ok(Ask::Tap { edge, link_type }) => tap(&stream, reach, &edge, link_type),
    };
}

/// How often a change is prepared anew because the graph has changed meanwhile.
const MAX_TRIES: usize = 20;

fn as_json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

/// Changes the graph: everything is prepared here, beside the graph, which is only asked to go on with it. `None` if the graph has
/// ended.
fn change(reach: &Reach, edit: &Edit, dry: bool) -> Result<Option<String>, String> {
    for _ in 0..MAX_TRIES {
        let number = if let Edit::Rollback { revision } = edit { Some(*revision) } else { None };
        let seen = reach.ask(move |world| {
            let past = number.and_then(|number| world.revisions().get(number)).map(|past| past.graph.clone());
            (world.snapshot(), past)
        });
        let Some((snapshot, past)) = seen else { return Ok(None) };
        let snapshot = snapshot?;
        let mut diagnostics = Diagnostics::default();
        let wish = edit.wish(&snapshot, past.as_deref(), &mut diagnostics);
        let told = |diagnostics: &Diagnostics| -> Vec<String> {
            let texts = diagnostics.list.iter().map(|told| snapshot.loader().text(told));
            texts.map(|text| text.trim_end().to_string()).collect()
        };
        let wish = wish.map_err(|message| {
            let lines: Vec<String> = told(&diagnostics).into_iter().chain([message]).collect();
            lines.join("\n").trim_end().to_string()
        })?;
        let Some(prepared) = snapshot.prepare(wish, &mut diagnostics) else {
            return Err(told(&diagnostics).join("\n"));
        };
        let plan: Vec<String> = prepared.actions.iter().map(|action| action.to_string()).collect();
        let warnings = told(&diagnostics);
        if dry {
            return as_json(&Outcome { revision: None, plan, warnings }).map(Some);
        }
        let changed = reach.ask(move |world| {
            let mut diagnostics = Diagnostics::default();
            (world.change(prepared, &mut diagnostics), diagnostics)
        });
        match changed {
            None => return Ok(None),
            Some((Ok(changed), more)) => {
                let warnings = warnings.into_iter().chain(told(&more)).collect();
                return as_json(&Outcome { revision: Some(changed.revision), plan, warnings }).map(Some);
            }
            Some((Err(Refusal::Failed), more)) => return Err(told(&more).join("\n")),
            Some((Err(Refusal::Stale), _)) => {}
        }
    }
    Err("others change the graph all the time; try again".to_string())
}

/// The graphs that ran.
fn history(world: &World) -> Vec<Past> {
    let last = world.revisions().iter().next_back().map(|last| last.number);
    world.revisions().iter().map(|one| Past::new(one, Some(one.number) == last)).collect()
}

fn subscribe(world: &mut World, subscriber: Subscriber, ends: bool) -> Result<(), String> {
    if !ends {
        return world.subscribe(subscriber).map(drop);
    }
    if world.unsubscribe(&subscriber) {
        return Ok(());
    }
    let known = world.subscribers().iter().map(|one| match &one.element {
        Some(element) => format!("{} {element}", one.handler),
        None => one.handler.clone(),
    });
    Err(format!("no such subscription; there are: {}", known.collect::<Vec<_>>().join(", ")))
}

/// Tells of changes until the client goes away.
fn events(stream: &UnixStream, reach: &Reach) -> std::io::Result<()> {
    let (sender, receiver) = channel();
    let follower = move |revision: &Revision| sender.send(Past::new(revision, true)).is_ok();
    let followed = reach.ask(move |world| world.follow(Box::new(follower)));
    answer(stream, &answer_of(followed.map(|()| Ok(String::new()))))?;
    write_lines(stream, &receiver)
}

/// Writes what comes, a line of JSON each, until the client or the graph goes away.
fn write_lines<T: serde::Serialize>(mut stream: &UnixStream, receiver: &Receiver<T>) -> std::io::Result<()> {
    loop {
        match receiver.recv_timeout(QUIET) {
            Ok(value) => {
                let text = serde_json::to_string(&value).map_err(std::io::Error::other)?;
                writeln!(stream, "{text}")?;
            }
            Err(RecvTimeoutError::Timeout) if !is_gone(stream) => {}
            Err(_) => return Ok(()),
        }
    }
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

fn trace(stream: &UnixStream, reach: &Reach, count: u32, filter: &str) -> std::io::Result<()> {
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
    write_lines(stream, &receiver)
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
