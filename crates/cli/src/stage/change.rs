//! `weir insert`, `weir remove` and `weir replace`: other stages in a running chain, without an end of their neighbours'.
//!
//! All stages whose neighbours change are held, so that one command after the other changes a chain ([`Holds`]).
//! The stages next to the place are each given another pipe. Whoever writes finishes what it began in the old one; whoever
//! reads goes on in the new one once the old one has ended. So nothing is lost, and nothing overtakes.

mod newcomer;

use std::ffi::OsString;
use std::os::fd::{AsRawFd, RawFd};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;

use super::hold::Holds;
use super::options::{LEFT, RIGHT};
use super::status::Status;
use super::{others, process};
use crate::control::protocol::Ask;
use crate::failure::Exit;
use newcomer::{Newcomer, Wanted};

/// Options of `weir insert`.
#[derive(Args)]
pub struct InsertOptions {
    /// Insert it to the right of this stage.
    #[arg(long, value_name = "ID", required_unless_present = "before", conflicts_with = "before", value_parser = others::number)]
    pub after: Option<u32>,
    /// Insert it to the left of this stage.
    #[arg(long, value_name = "ID", value_parser = others::number)]
    pub before: Option<u32>,
    /// The new stage, such as `count` or `tee FILE`.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "STAGE")]
    pub stage: Vec<OsString>,
}

/// Options of `weir remove`.
#[derive(Args)]
pub struct RemoveOptions {
    /// The stage, by its number in `weir status`.
    #[arg(value_parser = others::number)]
    pub id: u32,
}

/// Options of `weir replace`.
#[derive(Args)]
pub struct ReplaceOptions {
    /// The stage, by its number in `weir status`.
    #[arg(value_parser = others::number)]
    pub id: u32,
    /// What takes its place.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "STAGE")]
    pub stage: Vec<OsString>,
}

/// How long a new stage may take to come up, and an old one to go, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long two stages may take to find each other.
const MEETING: Duration = Duration::from_millis(500);
/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(2);

/// A joint: which interface of which stage.
#[derive(Clone, Copy)]
struct Place {
    id: u32,
    interface: &'static str,
}

/// `weir insert`.
pub fn insert(options: &InsertOptions) -> Exit {
    let find = || match (options.after, options.before) {
        (Some(id), _) => Ok([id, neighbour(id, RIGHT)?]),
        (None, Some(id)) => Ok([neighbour(id, LEFT)?, id]),
        (None, None) => Err("insert: say where with --after or --before".to_string()),
    };
    let wanted = Wanted::of("insert", &options.stage)?;
    let mut new = Newcomer::start(&wanted, find()?[0])?;
    let (_holds, [left, right]) = Holds::of(find)?;
    part(left)?;
    new.take_place(left, right)?;
    println!("{}", new.id());
    Ok(ExitCode::SUCCESS)
}

/// `weir remove`.
pub fn remove(options: &RemoveOptions) -> Exit {
    let id = options.id;
    let (mut holds, [left, _, right]) = Holds::of(|| with_neighbours(id))?;
    part(left)?;
    part(id)?;
    let (reader, writer) = std::io::pipe().map_err(|error| format!("remove: {error}"))?;
    others::ask(id, &Ask::Retire)?;
    hand_over(Place { id: right, interface: LEFT }, reader.as_raw_fd())?;
    hand_over(Place { id: left, interface: RIGHT }, writer.as_raw_fd())?;
    drop((reader, writer));
    holds.keep_only(id);
    await_end(id)?;
    Ok(ExitCode::SUCCESS)
}

/// `weir replace`.
pub fn replace(options: &ReplaceOptions) -> Exit {
    let id = options.id;
    let wanted = Wanted::of("replace", &options.stage)?;
    let mut new = Newcomer::start(&wanted, with_neighbours(id)?[0])?;
    let (mut holds, [left, _, right]) = Holds::of(|| with_neighbours(id))?;
    part(left)?;
    part(id)?;
    others::ask(id, &Ask::Retire)?;
    new.take_place(left, right)?;
    holds.keep_only(id);
    await_end(id)?;
    println!("{}", new.id());
    Ok(ExitCode::SUCCESS)
}

/// Puts this stage, which was started for that, between two others: the right one first, so that what comes out finds a reader.
/// `to` and `from` lead to the other ends of its pipes. A command that was killed between the two would leave a stage that sends to
/// nobody.
pub fn take_place(left: u32, right: u32, to: &str, from: &str) -> Result<(), String> {
    let (to, from) = (super::open_pipe(to)?, super::open_pipe(from)?);
    hand_over(Place { id: right, interface: LEFT }, from.as_raw_fd())?;
    hand_over(Place { id: left, interface: RIGHT }, to.as_raw_fd())
}

/// A stage between those on both sides of it.
fn with_neighbours(id: u32) -> Result<[u32; 3], String> {
    let told = |alone: Alone| match alone {
        Alone::AtEnd(error) => {
            format!("{error}\n  help: stage {id} is an end of its chain, which ends without it")
        }
        other => other.into(),
    };
    Ok([neighbour(id, LEFT).map_err(told)?, id, neighbour(id, RIGHT).map_err(told)?])
}

/// Why a stage has no neighbour.
enum Alone {
    /// It is not there, or cannot be asked.
    Gone(String),
    /// It is an end of its chain.
    AtEnd(String),
    /// It is another's neighbour.
    Apart(String),
}

impl From<Alone> for String {
    fn from(alone: Alone) -> String {
        let (Alone::Gone(error) | Alone::AtEnd(error) | Alone::Apart(error)) = alone;
        error
    }
}

/// The stage on one side of another. Where the chain was changed just now, both may not have met yet.
fn neighbour(id: u32, side: &'static str) -> Result<u32, Alone> {
    let begin = Instant::now();
    loop {
        match neighbour_now(id, side) {
            Err(Alone::AtEnd(_) | Alone::Apart(_)) if begin.elapsed() < MEETING => std::thread::sleep(LOOK),
            result => return result,
        }
    }
}

fn neighbour_now(id: u32, side: &'static str) -> Result<u32, Alone> {
    let status = others::read(id).map_err(Alone::Gone)?;
    let other = joined(&status, side).ok_or_else(|| {
        Alone::AtEnd(format!("stage {id} has no neighbour at its interface `{side}` that is a stage of weir"))
    })?;
    let facing = if side == LEFT { RIGHT } else { LEFT };
    let back = others::read(other).map_err(Alone::Apart)?;
    if joined(&back, facing) != Some(id) {
        return Err(Alone::Apart(format!("stages {id} and {other} are not joined as `left` and `right`")));
    }
    Ok(other)
}

/// Brings the packets between two neighbours back from the kernel, if they go there.
fn part(left: u32) -> Result<(), String> {
    let joint = |status: &Status| {
        let interface = status.interfaces.iter().find(|interface| interface.name == RIGHT);
        interface.map(|interface| interface.joint.clone()).unwrap_or_default()
    };
    if !["cable", "pump"].contains(&joint(&others::read(left)?).as_str()) {
        return Ok(());
    }
    others::ask(left, &Ask::Part { interface: RIGHT.to_string() })?;
    let begin = Instant::now();
    while joint(&others::read(left)?) != "ring" {
        if begin.elapsed() > PATIENCE {
            return Err(format!(
                "stage {left} and its neighbour could not be parted; the chain is as it was"
            ));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Who is at an interface.
fn joined(status: &Status, side: &str) -> Option<u32> {
    status.interfaces.iter().find(|interface| interface.name == side)?.neighbour
}

/// Gives a stage another pipe for an interface.
fn hand_over(place: Place, fd: RawFd) -> Result<(), String> {
    let interface = place.interface.to_string();
    others::ask(place.id, &Ask::Succeed { interface, path: path_of(fd) }).map(drop)
}

/// Where others can open a descriptor of this process.
fn path_of(fd: RawFd) -> String {
    format!("/proc/{}/fd/{fd}", std::process::id())
}

/// Waits until a stage has drained and gone.
fn await_end(id: u32) -> Result<(), String> {
    let begin = Instant::now();
    while process::runs(id) {
        if begin.elapsed() > PATIENCE {
            return Err(format!(
                "stage {id} is out of the chain, but still drains its queues; it ends when they are empty\n  help: \
                 `kill {id}` ends it now, and what it holds is lost"
            ));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
