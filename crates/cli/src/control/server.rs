//! The graph's side: a thread listens; what it is asked runs between two rounds of the driver.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use element::Runtime;
use engine::change::Subscriber;
use engine::world::World;
use events::Hooks;

use super::answers::{as_json, change, history, subscribe};
use super::herald::Herald;
use super::protocol::{self, Answer, Ask};
use super::streams::{events, tap, trace};

/// Something to do with the graph, on its thread.
type Job = Box<dyn FnOnce(&mut World) + Send>;

/// How long the end waits for answers to be written.
const PATIENCE: Duration = Duration::from_millis(500);

/// What a graph does besides its packets: it answers on sockets, which are removed at the end, and tells what happens.
pub struct Server {
    paths: Vec<PathBuf>,
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
}

impl Server {
    /// For a graph that nobody calls yet. Hooks hear of all that happens from now on.
    pub fn nameless(world: &mut World, hooks: Option<Hooks>) -> Result<Server, String> {
        let waker = world.waker().and_then(|waker| waker.writer().ok());
        let waker = waker.ok_or("no descriptor is left; raise the limit of open files")?;
        let waker = Arc::new(waker);
        let (sender, jobs) = channel();
        let reach = Reach { jobs: sender, waker, answering: Answering::default() };
        let herald = Arc::new(Herald::new(world, &reach, hooks)?);
        Ok(Server { paths: Vec::new(), jobs, reach, herald })
    }

    /// Listens for those who call the graph `name`.
    pub fn listen(&mut self, name: &str) -> Result<(), String> {
        let path = protocol::path(name)?;
        if UnixStream::connect(&path).is_ok() {
            return Err(format!("a graph named `{name}` runs already; choose another --name"));
        }
        // Nobody answers: what is there was left by a graph that was killed.
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        self.paths.push(path);
        let (reach, herald) = (self.reach.clone(), self.herald.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reach, herald) = (reach.clone(), herald.clone());
                std::thread::spawn(move || serve(stream, &reach, &herald));
            }
        });
        Ok(())
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
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
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
        Ok(Ask::Watch { name, handler, threshold }) => reach.answering(|| {
            let result = herald.watch(&name, &handler, threshold);
            answer(&stream, &answer_of(Some(result.map(|()| String::new()))))
        }),
        Ok(Ask::Unwatch { name }) => {
            let result = herald.unwatch(&name);
            answer(&stream, &answer_of(Some(result.map(|()| String::new()))))
        }
        Ok(Ask::Watches) => answer(&stream, &answer_of(Some(as_json(&herald.watches.told())))),
        Ok(Ask::Events) => events(&stream, herald),
        Ok(Ask::Trace { count, filter }) => trace(&stream, reach, count, &filter),
        Ok(Ask::Tap { edge, link_type }) => tap(&stream, reach, &edge, link_type),
    };
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
