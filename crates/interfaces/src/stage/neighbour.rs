//! Finding the process at the other end of a pipe, and agreeing to go on in shared memory.
//!
//! A thread does this beside the graph. Each end of a pipe listens on an abstract Unix socket named after the pipe's inode.
//! The writer connects to the reader; a reader that starts later knocks at the writer's socket first. Then:
//!
//! 1. the writer sends HELLO: a reference to its pipe, memory with two rings, and what wakes either side;
//! 2. the reader checks credentials, pipe and memory, and answers WELCOME with a reference to its own end;
//! 3. the writer sends SWITCH, and writes nothing to the pipe any more: once the reader has read what is in it, it goes on in the
//!    ring. SWITCH is received only when that is arranged, and the writer does not end before: so nobody takes what its successor
//!    writes to the pipe for its own.
//!
//! Where both are Linux stacks, WELCOME carries what the writer needs to join them in the kernel, or to move packets between both
//! stacks' taps by itself ([`Stack`]); then it sends CABLE or PUMP instead of SWITCH. Before another stage is put in between, PART
//! asks the writer to undo that, PARTED tells that it has, and both begin again, with a ring only.
//!
//! Nothing of this is ever written to the pipe itself. Nobody is told anything but this user's processes, root's, and, by root's,
//! those that have the other end of the pipe. Whoever is refused stays with the pipe. The connection stays open: its
//! end tells that the other process is gone.

mod end;
mod message;
mod office;
mod rendezvous;
mod stack;

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use sys::pipe::PipeId;
use sys::poll::Waker;

use super::joint::Line;
use super::table::{lock, told, Shared};
use message::Message;
use office::Office;

pub use stack::{offer_stack, Stack};

/// An end of a pipe whose other end is to be looked for.
type New = (Shared, PipeId, Side);

/// Pipes whose other ends are looked for.
struct Desk {
    new: VecDeque<New>,
    /// Interfaces whose packets are to come back from the kernel.
    to_part: Vec<String>,
    /// How often it was asked whether everything that others said was heard, and how often that was answered.
    n_asked: u64,
    n_answered: u64,
    waker: Waker,
}

static DESK: Mutex<Option<Desk>> = Mutex::new(None);
/// An answer was given.
static ANSWERED: Condvar = Condvar::new();

/// Which end of the pipe this process has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Reader,
    Writer,
}

/// Stack of the thread.
const THREAD_STACK: usize = 128 * 1024;

/// Looks for the other ends of these interfaces' pipes from now on. For the first ones it has begun when this returns: their
/// neighbours either were found or will find these.
pub fn announce_pipes(interfaces: &[Shared]) -> Result<(), String> {
    let mut new = VecDeque::new();
    for shared in interfaces {
        let (inputs, outputs) = lock(shared).pipes();
        new.extend(inputs.into_iter().map(|id| (shared.clone(), id, Side::Reader)));
        new.extend(outputs.into_iter().map(|id| (shared.clone(), id, Side::Writer)));
    }
    if new.is_empty() {
        return Ok(());
    }
    let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(desk) = desk.as_mut() {
        desk.new.extend(new);
        desk.waker.wake();
        return Ok(());
    }
    let waker = Waker::new().map_err(|error| error.to_string())?;
    let mut office = Office::new(waker.clone()).map_err(|error| error.to_string())?;
    new.into_iter().for_each(|new| office.add(new));
    let begun = sys::thread::start("neighbours", THREAD_STACK, move || office.work());
    begun.map_err(|error| sys::no_thread(&error))?;
    *desk = Some(Desk { new: VecDeque::new(), to_part: Vec::new(), n_asked: 0, n_answered: 0, waker });
    Ok(())
}

/// Waits until what others have said before is heard; it may take `patience` at most.
pub fn hear_out(patience: Duration) {
    let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(open) = desk.as_mut() else { return };
    open.n_asked += 1;
    open.waker.wake();
    let asked = open.n_asked;
    let is_open = |desk: &mut Option<Desk>| desk.as_ref().is_some_and(|desk| desk.n_answered < asked);
    // Whatever it yields, who waits looks for itself.
    let _ = ANSWERED.wait_timeout_while(desk, patience, is_open);
}

/// Lets the packets of an interface that go from stack to stack in the kernel come back into this process, so that another stage
/// can be put there. That takes a moment.
pub fn part(name: &str) -> Result<(), String> {
    if let Some(reason) = stack::with(|stack| stack.refuses_to_part()) {
        return Err(reason);
    }
    let mut desk = DESK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(desk) = desk.as_mut() {
        desk.to_part.push(name.to_string());
        desk.waker.wake();
    }
    Ok(())
}

/// Sends SWITCH; false if the neighbour is gone.
pub fn announce(line: &Line) -> bool {
    Message::new(message::SWITCH, 0).send(line, &[]).is_ok()
}

/// Tells what went wrong with an interface.
fn tell(name: &str, message: &str) {
    element::output::tell(format_args!("{}", told(format_args!("{name}: {message}"))));
}

/// Answers a question: everything was heard.
fn answer(asked: u64) {
    if let Some(desk) = DESK.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        desk.n_answered = asked;
    }
    ANSWERED.notify_all();
}
