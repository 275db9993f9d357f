//! The stack of slots that other threads gave back, under every interleaving of a few threads.
#![cfg(not(miri))]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

mod atomic {
    pub use loom::sync::atomic::{AtomicPtr, Ordering};
}

#[path = "../src/remote.rs"]
mod remote;

use remote::{Link, Remote};

struct Slot {
    below: UnsafeCell<*mut Slot>,
    mark: UnsafeCell<u32>,
}

impl Link for Slot {
    unsafe fn set_below(this: *mut Slot, below: *mut Slot) {
        // SAFETY: the caller holds the only pointer; the model complains if it does not.
        unsafe { (*this).below.with_mut(|place| *place = below) };
    }

    unsafe fn below(this: *mut Slot) -> *mut Slot {
        // SAFETY: as above.
        unsafe { (*this).below.with(|place| *place) }
    }
}

fn slot(mark: u32) -> *mut Slot {
    Box::into_raw(Box::new(Slot {
        below: UnsafeCell::new(std::ptr::null_mut()),
        mark: UnsafeCell::new(mark),
    }))
}

/// Takes all that lies on the stack; the marks that were written before the slots were given back.
fn take(stack: &Remote<Slot>) -> Vec<*mut Slot> {
    let mut taken = Vec::new();
    stack.take_all(|slot| taken.push(slot));
    taken
}

fn mark(slot: *mut Slot) -> u32 {
    // SAFETY: the slot was taken from the stack, so nobody else can reach it.
    unsafe { (*slot).mark.with(|place| *place) }
}

fn free(slot: *mut Slot) {
    // SAFETY: all slots come from `slot` and are freed once.
    drop(unsafe { Box::from_raw(slot) });
}

/// What a thread that gives `slot` back does: writes to it for the last time, then pushes it.
fn give_back(stack: &Remote<Slot>, slot: *mut Slot, mark: u32) {
    // SAFETY: until it is pushed, this thread holds the only pointer to the slot.
    unsafe {
        (*slot).mark.with_mut(|place| *place = mark);
        stack.push(slot);
    }
}

#[test]
fn every_slot_comes_home_once_with_what_was_last_written() {
    loom::model(|| {
        let stack = Arc::new(Remote::new());
        let givers: Vec<_> = (1..=2u32)
            .map(|n| {
                let (stack, slot) = (stack.clone(), slot(0) as usize);
                thread::spawn(move || give_back(&stack, slot as *mut Slot, n))
            })
            .collect();
        let mut home = take(&stack);
        for giver in givers {
            giver.join().expect("a giver does not panic");
        }
        home.extend(take(&stack));
        let mut marks: Vec<u32> = home.iter().map(|&slot| mark(slot)).collect();
        marks.sort_unstable();
        assert_eq!(marks, [1, 2]);
        home.into_iter().for_each(free);
    });
}

#[test]
fn a_slot_that_goes_round_again_is_not_mistaken() {
    loom::model(|| {
        let stack = Arc::new(Remote::new());
        let (first, second) = (slot(0) as usize, slot(0) as usize);
        let giver = {
            let stack = stack.clone();
            thread::spawn(move || give_back(&stack, first as *mut Slot, 1))
        };
        give_back(&stack, second as *mut Slot, 2);
        let mut home = Vec::new();
        for slot in take(&stack) {
            // What has come home is handed out and given back once more.
            give_back(&stack, slot, mark(slot) + 10);
        }
        giver.join().expect("the giver does not panic");
        home.extend(take(&stack));
        let mut marks: Vec<u32> = home.iter().map(|&slot| mark(slot)).collect();
        marks.sort_unstable();
        assert!(marks == [1, 12] || marks == [11, 12], "{marks:?}");
        home.into_iter().for_each(free);
    });
}
