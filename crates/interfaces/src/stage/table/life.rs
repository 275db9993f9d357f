//! When a stage ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use element::failure;

use super::{lock, opened, table, usage, Endpoint, Source};

/// The interfaces whose end is that of the stage, if it is not that of all.
static SOURCES: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Since when the stage is being taken out of its chain.
static RETIRED: Mutex<Option<Instant>> = Mutex::new(None);
/// How long a stage that is taken out of its chain waits for the neighbours to say that nothing more comes from them: they may have
/// much else to do.
const FAREWELL: Duration = Duration::from_secs(30);

/// Where it is told that the user asks the stage to stop.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Says where it is told that the user asks the stage to stop.
pub fn stop_with(flag: Arc<AtomicBool>) {
    // A process is one stage.
    let _ = STOP.set(flag);
}

/// Whether the user asks the stage to stop: whoever keeps the graph's thread is to let go of it.
pub fn is_asked_to_stop() -> bool {
    STOP.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// Whether anything failed that was told.
pub fn has_failed() -> bool {
    failure::is_noted() || opened().iter().any(|shared| lock(shared).has_failed())
}

/// Says that the stage is being taken out of its chain: its neighbours go on without it, each way. What they leave is read to the
/// end of its ring, whoever else may have the pipe.
pub fn retire() {
    opened().iter().for_each(|shared| lock(shared).expect_no_more());
    *RETIRED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
}

/// Says that the stage ends when what these interfaces receive has ended, whatever may come from others.
pub fn end_with(names: Vec<String>) {
    *SOURCES.lock().unwrap_or_else(PoisonError::into_inner) = Some(names);
}

/// Where a stage is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Packets may come.
    Running,
    /// No more packets will come.
    Ended,
    /// Nobody will ever read what is sent.
    Closed,
}

/// Where this stage is: it ends when standard input has ended, or all streams that it reads have, or those of [`end_with`]; and
/// is closed when nobody reads its standard output any more, or none of its outputs takes anything.
pub fn life() -> Life {
    let life = life_of_streams();
    let retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_waiting = retired.is_some_and(|since| since.elapsed() < FAREWELL);
    // What comes from the right is as much worth as what came from the left. Devices, such as those of a stack, never end.
    if life == Life::Ended && is_waiting && opened().iter().any(|shared| lock(shared).has_stream()) {
        return Life::Running;
    }
    life
}

/// Whether the stage will end without anything else happening, if only it looks often enough whether it is empty.
pub fn is_ending() -> bool {
    life_of_streams() != Life::Running
}

fn life_of_streams() -> Life {
    let sources = SOURCES.lock().unwrap_or_else(PoisonError::into_inner);
    let table = table();
    let (mut n_streams, mut n_ended) = (0, 0);
    let (mut has_open, mut has_closed) = (false, false);
    for declared in table.iter() {
        // What was made already is a stack's device, which comes and goes as its joints do.
        let (Some(shared), Source::Spec(spec, _)) = (&declared.opened, &declared.source) else { continue };
        let (uses_stdin, uses_stdout) = (spec.uses(&Endpoint::Stdin), spec.uses(&Endpoint::Stdout));
        let interface = lock(shared);
        if uses_stdout && interface.is_closed() {
            return Life::Closed;
        }
        // The way back to a neighbour, which comes with the ring, may be written by nobody.
        if interface.is_written() && usage::is_written(&declared.name) {
            has_closed |= interface.is_closed();
            has_open |= !interface.is_closed();
        }
        if sources.as_ref().is_some_and(|names| !names.contains(&declared.name)) {
            continue;
        }
        if uses_stdin && interface.has_ended() {
            return Life::Ended;
        }
        if interface.is_read() && interface.reads_stream() && !uses_stdout {
            n_streams += 1;
            n_ended += usize::from(interface.has_ended());
        }
    }
    if has_closed && !has_open {
        return Life::Closed;
    }
    if n_streams > 0 && n_streams == n_ended {
        Life::Ended
    } else {
        Life::Running
    }
}
