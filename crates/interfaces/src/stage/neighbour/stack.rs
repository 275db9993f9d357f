//! What a Linux stack offers to the stacks next to it.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

/// What this process's stack offers to stacks next to it.
pub trait Stack: Send {
    /// What a neighbour needs to reach device `name` of this stack in the kernel.
    fn handle(&mut self, name: &str) -> Option<OwnedFd>;
    /// Lays a cable in the kernel between device `name` here and `peer_name` of the stack that gave `handle`.
    fn join(&mut self, name: &str, handle: OwnedFd, peer_name: &str) -> Result<(), String>;
    /// This process's end of device `name`, for a neighbour to use instead.
    fn tap(&mut self, name: &str) -> Option<OwnedFd>;
    /// Uses the neighbour's end of its device for what goes through interface `name` here.
    fn pump(&mut self, name: &str, tap: OwnedFd, peer_name: &str) -> Result<(), String>;
    /// A neighbour joined device `name` to its own, by a cable or a pump.
    fn joined(&mut self, name: &str);
    /// Why [`Stack::part`] cannot be, if it cannot.
    fn refuses_to_part(&self) -> Option<String>;
    /// Undoes what [`Stack::join`] or [`Stack::pump`] did: packets of device `name` come to this process again. Yields the other
    /// process's end of the neighbour's device, if that is a new one.
    fn part(&mut self, name: &str) -> Result<Option<OwnedFd>, String>;
    /// As [`Stack::part`], where the neighbour is gone.
    fn part_alone(&mut self, name: &str) -> Result<(), String>;
    /// The neighbour undid what it did to device `name`; this is the device's new other end, if it got one.
    fn parted(&mut self, name: &str, tap: Option<OwnedFd>) -> Result<(), String>;
}

static STACK: Mutex<Option<Box<dyn Stack>>> = Mutex::new(None);

/// Says that this process has a stack, whose devices are called as its interfaces are.
pub fn offer_stack(stack: Box<dyn Stack>) {
    *STACK.lock().unwrap_or_else(PoisonError::into_inner) = Some(stack);
}

/// Does something with this process's stack, if it has one.
pub fn with<R>(work: impl FnOnce(&mut dyn Stack) -> Option<R>) -> Option<R> {
    let mut stack = STACK.lock().unwrap_or_else(PoisonError::into_inner);
    work(stack.as_mut()?.as_mut())
}
