//! The graph's side: a thread listens; what it is asked runs between two rounds of the driver.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use element::output::reason;
use element::{Runtime, TOP};
use engine::change::Subscriber;
use engine::world::World;
use events::Hooks;
use sys::unix::{listen_at, peer_credentials, Listening, SocketFile};

use super::answers::{as_json, change, history, subscribe};
use super::herald::Herald;
use super::protocol::{self, Answer, Ask};
use super::streams::{events, tap, trace};

/// Something to do with the graph, on its thread.
type Job = Box<dyn FnOnce(&mut World) + Send>;

/// How long others that begin to listen at the same time are waited for.
const BEGIN_PATIENCE: Duration = Duration::from_secs(2);
/// How long the end waits for answers to be written.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long those who connect wait to be tried again when this process can have no more descriptors.
const NO_ROOM: Duration = Duration::from_millis(50);

/// What a graph does besides its packets: it answers on sockets, which are removed at the end, and tells what happens.
pub struct Server {
    sockets: Vec<SocketFile>,
    jobs: Receiver<Job>,
    reach: Reach,
    herald: Arc<Herald>,
}

/// How many answers are being written: the program ends only when they are, or after [`PATIENCE`].
type Answering = Arc<(Mutex<usize>, Condvar)>;

/// What another thread needs to reach the graph.
#[derive(Clone)]
pub struct Reach {
    jobs: Sender<Job>,
    waker: Arc<UnixStream>,
    answering: Answering,
    /// Whether the graph is made of a configuration, anew with each change of that.
    pub is_configured: bool,
}

impl Server {
    /// For a graph that nobody calls yet. Hooks hear of all that happens from now on.
    pub fn nameless(world: &mut World, hooks: Option<Hooks>) -> Result<Server, String> {
        let waker = world.waker().and_then(|waker| waker.writer().ok());
        let waker = waker.ok_or("no descriptor is left; raise the limit of open files")?;
        let waker = Arc::new(waker);
        let (sender, jobs) = channel();
        let reach = Reach { jobs: sender, waker, answering: Answering::default(), is_configured: false };
        let herald = Arc::new(Herald::new(world, &reach, hooks)?);
        Ok(Server { sockets: Vec::new(), jobs, reach, herald })
    }

    /// Marks the graph as made of a configuration: who wants to change it otherwise, by a socket that is listened to from now
    /// on, is told so.
    pub fn set_configured(&mut self) {
        self.reach.is_configured = true;
    }

    /// Listens for those who call the graph `name`.
    pub fn listen(&mut self, name: &str) -> Result<(), String> {
        self.listen_unless(name, |_| format!("a graph named `{name}` runs already; choose another --name"))
    }

    /// As [`Server::listen`]; `taken` tells what is wrong if another process, whose number may be known, has the name.
    pub fn listen_unless(
        &mut self,
        name: &str,
        taken: impl FnOnce(Option<i32>) -> String,
    ) -> Result<(), String> {
        let path = protocol::path(name)?;
        let failed = |error| format!("{}: {}", path.display(), reason(&error));
        let listening = listen_at(&path, BEGIN_PATIENCE).map_err(failed)?;
        let (listener, socket) = match listening {
            Listening::Here(listener, socket) => (listener, socket),
            Listening::Elsewhere(stream) => {
                let other = stream.and_then(|stream| peer_credentials(stream).ok());
                return Err(taken(other.map(|other| other.pid)));
            }
        };
        self.sockets.push(socket);
        let (reach, herald) = (self.reach.clone(), self.herald.clone());
        let listen = move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else {
                    // No descriptor is free, and who connects still waits: it would fail at once again.
                    std::thread::sleep(NO_ROOM);
                    continue;
                };
                let (reach, herald) = (reach.clone(), herald.clone());
                let serve = move || serve(stream, &reach, &herald);
                // Without a thread for it, a client finds the end.
                drop(sys::thread::start("answer", sys::thread::STACK, serve));
            }
        };
        let begun = sys::thread::start("control", sys::thread::STACK, listen);
        begun.map(drop).map_err(|error| sys::no_thread(&error))
    }

    /// What tells of events.
    pub fn herald(&self) -> &Arc<Herald> {
        &self.herald
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
        self.sockets.clear();
        self.herald.hub.end();
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

fn serve(stream: UnixStream, reach: &Reach, herald: &Herald) {
    let Ok(reader) = stream.try_clone() else { return };
    let mut line = String::new();
    if BufReader::new(reader).read_line(&mut line).is_err() {
        return;
    }
    // A client that goes away in the middle needs no answer.
    let _ = match serde_json::from_str(&line) {
        Err(error) => answer(&stream, &Answer::Error(format!("not a request: {error}"))),
        Ok(Ask::Events) => reach.answering(|| events(&stream, herald)),
        Ok(Ask::Trace { count, filter }) => reach.answering(|| trace(&stream, reach, count, &filter)),
        Ok(Ask::Hold) => crate::stage::hold::give(&stream),
        Ok(Ask::Tap { edge, link_type }) => reach.answering(|| tap(&stream, reach, &edge, link_type)),
        Ok(ask) => reach.answering(|| answer(&stream, &answer_of(value(ask, reach, herald)))),
    };
}

/// The value that answers a request; `None` if the graph has ended.
fn value(ask: Ask, reach: &Reach, herald: &Herald) -> Option<Result<String, String>> {
    let nothing = |result: Result<(), String>| result.map(|()| String::new());
    let told = |message: String| element::spoken(&message).into_owned();
    match ask {
        Ask::Read { handler, parameter } => {
            reach.ask(move |world| world.read_handler(TOP, &handler, &parameter).map_err(told))
        }
        Ask::Write { handler, value } => {
            reach.ask(move |world| world.write_handler(TOP, &handler, &value).map_err(told)).map(nothing)
        }
        Ask::Status => reach.ask(|world| as_json(&crate::stage::status::of(world)?)),
        Ask::Retire => {
            interfaces::stage::table::retire();
            Some(Ok(String::new()))
        }
        Ask::Part { interface } => Some(nothing(interfaces::stage::neighbour::part(&interface))),
        Ask::TakePlace { left, right, to, from } => {
            Some(nothing(crate::stage::change::take_place(left, right, &to, &from)))
        }
        Ask::Succeed { interface, path } => Some(nothing(crate::stage::succeed(&interface, &path))),
        Ask::Change { edit, dry } => change(reach, &edit, dry).transpose(),
        Ask::History => reach.ask(history).map(|past| as_json(&past)),
        Ask::Subscribe { handler, element, ends } => {
            reach.ask(move |world| subscribe(world, Subscriber { handler, element }, ends)).map(nothing)
        }
        Ask::Watch { name, handler, threshold } => Some(nothing(herald.watch(&name, &handler, threshold))),
        Ask::Unwatch { name } => Some(nothing(herald.unwatch(&name))),
        Ask::Watches => Some(as_json(&herald.watches.told())),
        Ask::Events | Ask::Hold | Ask::Trace { .. } | Ask::Tap { .. } => {
            Some(Err("what lasts as long as its connection has no value".to_string()))
        }
    }
}

/// The answer that a result is; none if the graph has ended.
pub fn answer_of(result: Option<Result<String, String>>) -> Answer {
    match result {
        Some(Ok(value)) => Answer::Ok(value),
        Some(Err(message)) => Answer::Error(message),
        None => Answer::Error("the graph has ended".to_string()),
    }
}

/// Writes an answer.
pub fn answer(mut stream: &UnixStream, answer: &Answer) -> std::io::Result<()> {
    let text = serde_json::to_string(answer).map_err(std::io::Error::other)?;
    writeln!(stream, "{text}")
}
