//! The stages of this user: which there are, and how they are asked.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::process::{is_stopped, runs};
use super::status::Status;
use crate::control::protocol::{self, Answer, Ask};

/// What the names of stages' sockets begin with.
const PREFIX: &str = "stage-";
/// How long a stage may take to answer who changes it, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one may take to tell a user of itself: it may hang in a write.
const PATIENCE_TO_TELL: Duration = Duration::from_secs(2);
/// When to look whether one that has not answered is stopped, so that nothing is to be waited for.
const SILENCE: Duration = Duration::from_millis(500);

/// The name by which a stage's graph is found.
pub fn name_of(id: u32) -> String {
    format!("{PREFIX}{id}")
}

/// The number of the stage whose graph is found by this name.
pub fn number_of(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX).filter(|number| number.parse::<u32>().is_ok())
}

/// Reads the number of a stage.
pub fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected the number of a stage; `weir status` lists them".to_string())
}

/// Asks a stage.
pub fn ask(id: u32, ask: &Ask) -> Result<String, String> {
    begin(id, ask, PATIENCE).map(|(text, _)| text)
}

/// Asks a stage what lasts as long as the connection, which comes with the answer. One that is stopped is not waited for.
pub fn begin(id: u32, ask: &Ask, patience: Duration) -> Result<(String, UnixStream), String> {
    let path = protocol::path(&name_of(id))?;
    let gone = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock if runs(id) => no_answer(id),
        _ => format!("no stage {id} runs (`weir status` lists them)"),
    };
    let mut stream = UnixStream::connect(path).map_err(gone)?;
    stream.set_read_timeout(Some(SILENCE)).map_err(gone)?;
    let line = serde_json::to_string(ask).map_err(|error| error.to_string())?;
    writeln!(stream, "{line}").map_err(gone)?;
    let (begin, mut line, mut answers) = (Instant::now(), Vec::new(), BufReader::new(&stream));
    while let Err(error) = answers.read_until(b'\n', &mut line) {
        let is_slow = error.kind() == std::io::ErrorKind::WouldBlock && !is_stopped(id);
        if !is_slow || begin.elapsed() >= patience {
            return Err(gone(error));
        }
    }
    match serde_json::from_slice(&line) {
        Ok(Answer::Ok(text)) => Ok((text, stream)),
        Ok(Answer::Error(message)) => Err(format!("stage {id}: {message}")),
        Err(_) => Err(format!("stage {id} has ended")),
    }
}

/// What is said of a stage that does not answer.
pub fn no_answer(id: u32) -> String {
    let why = match is_stopped(id) {
        true => format!("it is stopped (SIGSTOP); `kill -CONT {id}` lets it go on"),
        false => "what it sends waits for a neighbour that does not read, or it has much to do".to_string(),
    };
    format!("stage {id} does not answer: {why}")
}

/// The status of a stage.
pub fn read(id: u32) -> Result<Status, String> {
    read_within(id, PATIENCE)
}

/// The status of a stage, for a user who waits for it.
pub fn read_soon(id: u32) -> Result<Status, String> {
    read_within(id, PATIENCE_TO_TELL)
}

fn read_within(id: u32, patience: Duration) -> Result<Status, String> {
    let (text, _) = begin(id, &Ask::Status, patience)?;
    serde_json::from_str(&text).map_err(|error| format!("stage {id} runs another version of weir: {error}"))
}

/// The stages of this user that can be asked, and those that could be when they were killed.
fn ids() -> Result<Vec<u32>, String> {
    Ok(protocol::names()?.iter().filter_map(|name| number_of(name)?.parse().ok()).collect())
}

/// Tells of a number whether a stage of this user has it and can be asked, or could be when it was killed. The folder
/// is not listed: killed stages may have left much there.
pub fn can_be_asked() -> Result<impl Fn(u32) -> bool, String> {
    let folder = protocol::folder()?;
    Ok(move |id| folder.join(protocol::file_name(&name_of(id))).exists())
}

/// The stages of this user that run, and those that do not answer.
pub fn running() -> Result<(Vec<Status>, Vec<u32>), String> {
    // All at once, as one that does not answer takes a while; as many as there can be threads.
    let ask = |id| {
        let read = move || read_soon(id);
        (id, sys::thread::start("status", sys::thread::STACK, read).ok())
    };
    let asked: Vec<_> = ids()?.into_iter().map(ask).collect();
    let (mut list, mut silent) = (Vec::new(), Vec::new());
    for (id, asking) in asked {
        let answer = match asking {
            Some(asking) => {
                asking.join().unwrap_or_else(|_| Err("the thread that asks has failed".to_string()))
            }
            None => read_soon(id),
        };
        match answer {
            Ok(status) => list.push(status),
            // A socket without a process was left by one that was killed.
            _ if !runs(id) => forget(id),
            _ => silent.push(id),
        }
    }
    Ok((list, silent))
}

/// Removes what a stage that was killed leaves.
pub fn forget(id: u32) {
    if let Ok(path) = protocol::path(&name_of(id)) {
        // It may have left nothing.
        let _ = std::fs::remove_file(path);
    }
}
