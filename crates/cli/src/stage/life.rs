//! The life of a stage: it runs until its input ends, drains, finishes its outputs and goes.

mod last_words;
mod report;
mod ticker;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use engine::{Engine, Outcome};
use interfaces::stage::table::{self, lock, told, Life};
use sys::signals::Signal;

use super::options::StageOptions;
use super::status;
use crate::control::server::Server;
use crate::failure::Exit;
use crate::stop::Stop;
use last_words::LastWords;
use ticker::Ticker;

/// What the shell sees of a program that a closed pipe has ended: 128 and the number of SIGPIPE.
const BROKEN_PIPE: u8 = 141;
/// How often a stage that has nothing else to do looks whether its outputs took everything.
const LOOK: Duration = Duration::from_micros(200);
/// How long a stage that was told to stop tries to get rid of what waits.
const GRACE: Duration = Duration::from_secs(1);
/// How long a stage whose streams have ended waits to hear whether its program could be started.
const START: Duration = Duration::from_secs(5);

/// A stage that runs.
pub struct Stage {
    /// Goes before the server, which waits until traces and taps have told that they ended with the graph.
    engine: Engine,
    server: Server,
    drain: Duration,
    ending: Ending,
    drains: bool,
}

/// The end of a stage for another reason than that of its streams, with an exit status.
#[derive(Clone, Default)]
pub struct Ending(Arc<Reasons>);

#[derive(Default)]
struct Reasons {
    code: OnceLock<u8>,
    farewell: OnceLock<Farewell>,
    is_told: AtomicBool,
    /// Whether a program is being started, of which nobody knows yet whether it can be.
    is_starting: Mutex<bool>,
    is_known: Condvar,
}

/// What is told of the signal that asks a stage to stop.
type Farewell = Box<dyn Fn(i32) + Send + Sync>;

impl Ending {
    /// Ends the stage.
    pub fn end(&self, code: u8) {
        // Only the first reason counts.
        let _ = self.0.code.set(code);
        self.set_starting(false);
    }

    /// Says whether a program is being started: the stage does not end before it is known whether it can be.
    pub fn set_starting(&self, is_starting: bool) {
        *self.0.is_starting.lock().unwrap_or_else(PoisonError::into_inner) = is_starting;
        self.0.is_known.notify_all();
    }

    /// Waits until it is known whether the program could be started.
    fn await_start(&self) {
        let is_starting = self.0.is_starting.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever it yields, a reason to end is looked for.
        let _ = self.0.is_known.wait_timeout_while(is_starting, START, |is_starting| *is_starting);
    }

    /// Has a signal that asks the stage to stop call `farewell` instead, which must see to it that [`Ending::end`] follows.
    pub fn take_leave_with(&self, farewell: impl Fn(i32) + Send + Sync + 'static) {
        // There is one program at most.
        let _ = self.0.farewell.set(Box::new(farewell));
    }

    /// Has the program, if one runs, told that the stage ends, and waits until it has ended or was killed.
    fn see_off(&self) {
        let Some(farewell) = self.0.farewell.get() else { return };
        if !self.0.is_told.swap(true, Ordering::Relaxed) {
            farewell(Signal::Terminate.number());
        }
        let is_starting = self.0.is_starting.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.0.is_known.wait_timeout_while(is_starting, START, |_| self.code().is_none());
    }

    fn code(&self) -> Option<u8> {
        self.0.code.get().copied()
    }

    /// Whether the stage, which is asked to stop by this signal, goes on until [`Ending::end`] is called.
    fn is_taking_leave(&self, signal: Option<i32>) -> bool {
        let (Some(signal), Some(farewell), None) = (signal, self.0.farewell.get(), self.code()) else {
            return false;
        };
        if !self.0.is_told.swap(true, Ordering::Relaxed) {
            farewell(signal);
        }
        true
    }
}

/// How the draining of a stage goes.
struct Draining {
    patience: Duration,
    /// Packets in the graph when last one left, and until when the next must leave.
    least: Option<(usize, Instant)>,
}

impl Stage {
    /// A stage of a graph that is built.
    pub fn new(
        engine: Engine,
        server: Server,
        options: &StageOptions,
        ending: Ending,
    ) -> Result<Stage, String> {
        let drain = Duration::try_from_secs_f64(options.drain())
            .map_err(|_| format!("--drain {}: give a number of seconds", options.drain()))?;
        Ok(Stage { engine, server, drain, ending, drains: false })
    }

    /// Lets packets in the graph go on to its outputs when an element has stopped the driver, as they do in a pipeline whose
    /// first stage stops.
    pub fn draining_when_stopped(self, drains: bool) -> Stage {
        Stage { drains, ..self }
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Exit {
        let stop = Stop::listen(&mut self.engine.world);
        table::stop_with(stop.flag());
        let mut draining = Draining { patience: self.drain, least: None };
        let mut last_words = LastWords::default();
        let (mut life, mut has_stopped) = (Life::Running, false);
        let outcome = self.engine.run_while(|world| {
            self.server.work(world);
            let is_taking_leave = self.ending.is_taking_leave(stop.signal());
            if !is_taking_leave {
                stop.pass_on(world);
            }
            life = match self.ending.code() {
                Some(_) => Life::Ended,
                // The neighbours may have been asked to stop as well.
                None if is_taking_leave => Life::Running,
                None => table::life(),
            };
            match life {
                Life::Running => true,
                Life::Ended if !draining.is_done() => true,
                Life::Ended if !stop.is_asked() && !last_words.are_over(world) => true,
                _ if has_stopped => !world.is_idle(),
                _ => {
                    // The driver's manager may still have something to say.
                    has_stopped = true;
                    world.ask_to_stop();
                    true
                }
            }
        });
        let mut is_drained = has_stopped;
        if outcome == Outcome::Stopped && !has_stopped && self.drains {
            life = self.drain_stopped(&stop);
            is_drained = true;
        }
        Ok(self.leave(&stop, life, is_drained))
    }

    /// Sends what is left and tells what is to be told, also of what a graph that `is_drained` still holds; the exit status.
    fn leave(mut self, stop: &Stop, life: Life, is_drained: bool) -> ExitCode {
        // Where one output is read no more, others get what was sent to them, unless nobody reads it.
        let n_waiting = self.finish(stop, life == Life::Closed);
        if life != Life::Closed {
            report::tell_lost();
            let n_left = n_waiting as u64 + status::queued(&mut self.engine.world);
            match (stop.is_asked(), is_drained) {
                (true, _) => report::tell_left("stopped by a signal", n_left),
                (_, true) => report::tell_left("no packet left its graph any more (--drain)", n_left),
                // The graph ended itself.
                _ => {}
            }
            report::tell_drops(&self.engine.world);
        }
        report::tell_faults();
        self.engine.cleanup();
        self.ending.await_start();
        let code = self.ending.code();
        if code.is_none() {
            self.ending.see_off();
        }
        match (life, code) {
            (_, Some(code)) => ExitCode::from(code),
            _ if table::has_failed() => ExitCode::FAILURE,
            (Life::Closed, _) => ExitCode::from(BROKEN_PIPE),
            _ => ExitCode::SUCCESS,
        }
    }

    /// Drains the graph though one of its elements has stopped the driver.
    fn drain_stopped(&mut self, stop: &Stop) -> Life {
        // Packets that nothing moves wake nobody, yet the wait for them has an end.
        let _ticker = match Ticker::start(&mut self.engine.world) {
            Ok(ticker) => ticker,
            Err(message) => {
                eprintln!("{}; packets in the graph are lost", told(message));
                return Life::Ended;
            }
        };
        let mut draining = Draining { patience: self.drain, least: None };
        let (mut life, mut is_done) = (Life::Ended, false);
        while !is_done && !stop.is_asked() {
            self.engine.world.go_on();
            self.engine.run_while(|world| {
                self.server.work(world);
                stop.pass_on(world);
                life = table::life();
                let is_stuck =
                    world.is_still() && !table::opened().iter().any(|shared| lock(shared).is_full());
                is_done = life == Life::Closed || is_stuck || draining.is_done();
                !is_done
            });
        }
        life
    }

    /// Waits until everything that was sent is out, and says that nothing will follow. A user who stops the stage does not
    /// wait for a reader that does not read; nor does one that `is_closed`. Yields how many packets wait even so.
    fn finish(&mut self, stop: &Stop, is_closed: bool) -> usize {
        let interfaces = table::opened();
        let begin = Instant::now();
        while interfaces.iter().filter(|shared| !lock(shared).finish()).count() > 0 {
            if (is_closed || stop.is_asked()) && begin.elapsed() > GRACE {
                break;
            }
            // A neighbour may take its time, and users may want to know.
            self.server.work(&mut self.engine.world);
            std::thread::sleep(LOOK);
        }
        let n_waiting = interfaces.iter().map(|shared| lock(shared).n_waiting().0).sum();
        interfaces.iter().for_each(|shared| lock(shared).leave());
        n_waiting
    }
}

impl Draining {
    /// Whether the graph holds no more packets, or none has left it for long.
    fn is_done(&mut self) -> bool {
        let now = Instant::now();
        let (n_blocked, n_kept) = table::opened()
            .iter()
            .map(|shared| lock(shared).n_waiting())
            .fold((0, 0), |(blocked, kept), (more_blocked, more_kept)| {
                (blocked + more_blocked, kept + more_kept)
            });
        let n_left = packet::stats().in_use().saturating_sub(n_kept);
        if n_left == 0 {
            return true;
        }
        match &mut self.least {
            // What waits at an output waits for its reader, however long that takes.
            Some((least, until)) if n_left >= *least && n_blocked == 0 => now >= *until,
            least => {
                *least = Some((n_left, now + self.patience));
                false
            }
        }
    }
}
