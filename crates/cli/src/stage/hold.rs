//! Keeping others from changing what is next to a stage, while a command does.
//!
//! A stage is held by one command at a time, for as long as the command keeps its connection: who dies lets go. Who needs several
//! stages takes them in the order of their numbers, so that no two commands wait for each other.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::others;
use crate::control::protocol::{Answer, Ask};
use crate::control::server::answer;

/// How long a command waits for those before it: longer than one of them takes at most.
const PATIENCE: Duration = Duration::from_secs(70);
/// How much longer it waits for the answer, which may be that it is not its turn yet.
const ANSWER: Duration = Duration::from_secs(1);

/// Whether this stage is held.
static IS_HELD: Mutex<bool> = Mutex::new(false);
/// It is held no more.
static LET_GO: Condvar = Condvar::new();

/// Lets the client of a connection hold this stage until it closes the connection.
pub fn give(mut stream: &UnixStream) -> std::io::Result<()> {
    let is_held = IS_HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut is_held, timeout) = LET_GO
        .wait_timeout_while(is_held, PATIENCE, |is_held| *is_held)
        .unwrap_or_else(PoisonError::into_inner);
    if timeout.timed_out() {
        drop(is_held);
        return answer(
            stream,
            &Answer::Error("another command is still changing its chain; try again".into()),
        );
    }
    *is_held = true;
    drop(is_held);
    let held = answer(stream, &Answer::Ok(String::new()));
    if held.is_ok() {
        // Nothing follows but the end.
        let _ = stream.read(&mut [0]);
    }
    *IS_HELD.lock().unwrap_or_else(PoisonError::into_inner) = false;
    LET_GO.notify_one();
    held
}

/// A stage that no other command changes the neighbours of.
struct Hold {
    id: u32,
    /// Closed, it is held no more.
    _line: UnixStream,
}

/// Stages whose neighbours no other command changes.
pub struct Holds(Vec<Hold>);

impl Holds {
    /// Holds the stages that `find` names, which may be others once this command's turn comes; and tells which they are.
    pub fn of<const N: usize>(
        find: impl Fn() -> Result<[u32; N], String>,
    ) -> Result<(Holds, [u32; N]), String> {
        let begin = Instant::now();
        loop {
            let ids = find()?;
            let mut sorted = ids;
            sorted.sort_unstable();
            let holds: Result<Vec<Hold>, String> = sorted.iter().map(|id| hold(*id)).collect();
            let is_late = begin.elapsed() > PATIENCE;
            match holds {
                Ok(holds) if find()? == ids => return Ok((Holds(holds), ids)),
                Ok(_) if is_late => return Err("other commands keep changing this chain; try again".into()),
                Err(error) if is_late => return Err(error),
                // One that has ended meanwhile is somebody's neighbour no more.
                Ok(_) | Err(_) => {}
            }
        }
    }

    /// Lets go of all stages but one.
    pub fn keep_only(&mut self, id: u32) {
        self.0.retain(|hold| hold.id == id);
    }
}

/// Holds a stage as soon as nobody else does.
fn hold(id: u32) -> Result<Hold, String> {
    let (_, line) = others::begin(id, &Ask::Hold, PATIENCE + ANSWER)?;
    Ok(Hold { id, _line: line })
}
