//! Keeping others from changing what is next to a stage, while a command does.
//!
//! A stage is held by one command at a time, for as long as the command keeps its connection: who dies lets go. Who needs several
//! stages takes them in the order of their numbers, so that no two commands wait for each other.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::status::name_of;
use crate::control::protocol::{self, Answer, Ask};
use crate::control::server::answer;

/// How long a command waits for those before it.
const PATIENCE: Duration = Duration::from_secs(12);
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
            let holds: Option<Vec<Hold>> = sorted
                .iter()
                .map(|id| hold(*id).transpose())
                .collect::<Option<Result<_, String>>>()
                .transpose()?;
            // One that has ended meanwhile is somebody's neighbour no more.
            if let Some(holds) = holds {
                if find()? == ids {
                    return Ok((Holds(holds), ids));
                }
            }
            if begin.elapsed() > PATIENCE {
                return Err("other commands keep changing this chain; try again".into());
            }
        }
    }

    /// Lets go of all stages but one.
    pub fn keep_only(&mut self, id: u32) {
        self.0.retain(|hold| hold.id == id);
    }
}

/// Holds a stage as soon as nobody else does; none if it has ended.
fn hold(id: u32) -> Result<Option<Hold>, String> {
    let Ok(mut stream) = UnixStream::connect(protocol::path(&name_of(id))?) else { return Ok(None) };
    let ask = serde_json::to_string(&Ask::Hold).map_err(|error| error.to_string())?;
    let mut line = String::new();
    let asked = stream
        .set_read_timeout(Some(PATIENCE + ANSWER))
        .and_then(|()| writeln!(stream, "{ask}"))
        .and_then(|()| BufReader::new(&stream).read_line(&mut line));
    match asked {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            return Err(format!("stage {id} does not answer: it may be stopped"));
        }
        Err(_) => return Ok(None),
        Ok(_) => {}
    }
    match serde_json::from_str(&line) {
        Ok(Answer::Ok(_)) => Ok(Some(Hold { id, _line: stream })),
        Ok(Answer::Error(message)) => Err(format!("stage {id}: {message}")),
        Err(_) => Ok(None),
    }
}
