//! The board: what the threads of a crew know of each other without a lock.

use std::collections::HashMap;
use std::sync::atomic::{fence, AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use element::{ElementIdx, HandlerCall};

use crate::wake::Waker;

/// A handler call that a thread asks the first one to make.
pub(crate) struct Note {
    /// The element that asks.
    pub from: ElementIdx,
    pub call: HandlerCall,
    /// Whether an error is to be told.
    pub tell: bool,
}

/// What everybody may know of a thread.
pub(crate) struct Desk {
    pub waker: Arc<Waker>,
    /// Whether it sleeps, or is about to, and must be woken for a parcel.
    is_asleep: AtomicBool,
    /// Whether it sleeps because a ring it sends through is full.
    waits_for_room: AtomicBool,
    /// How many want its world.
    n_wanting: AtomicU32,
    /// Whether it has stopped: it runs no task until it is told to go on.
    has_stopped: AtomicBool,
}

/// See the page above.
pub(crate) struct Board {
    desks: Vec<Desk>,
    /// Whether there is a processor for each thread, so that one may look around a little before it sleeps.
    pub may_spin: bool,
    is_over: AtomicBool,
    notes: Mutex<Vec<Note>>,
    has_notes: AtomicBool,
    agreed: Mutex<HashMap<ElementIdx, u64>>,
}

impl Board {
    /// A board for as many threads as there are wakers.
    pub fn new(wakers: Vec<Arc<Waker>>) -> Board {
        let desk = |waker| Desk {
            waker,
            is_asleep: AtomicBool::new(false),
            waits_for_room: AtomicBool::new(false),
            n_wanting: AtomicU32::new(0),
            has_stopped: AtomicBool::new(false),
        };
        let n = wakers.len();
        Board {
            may_spin: sys::cpu::allowed().is_ok_and(|cpus| cpus.len() >= n),
            desks: wakers.into_iter().map(desk).collect(),
            is_over: AtomicBool::new(false),
            notes: Mutex::default(),
            has_notes: AtomicBool::new(false),
            agreed: Mutex::default(),
        }
    }

    /// The desk of a thread of this crew.
    pub fn desk(&self, thread: usize) -> &Desk {
        &self.desks[thread]
    }

    /// Begins a run, or ends it: all threads but the first return.
    pub fn set_over(&self, is_over: bool) {
        self.is_over.store(is_over, Ordering::SeqCst);
        for desk in &self.desks {
            if !is_over {
                desk.has_stopped.store(false, Ordering::SeqCst);
            }
            desk.waker.wake();
        }
    }

    /// Whether the run has ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether any thread but the first has stopped.
    pub fn is_any_stopped(&self) -> bool {
        self.desks.iter().skip(1).any(Desk::has_stopped)
    }

    /// Whether all threads but the first have stopped.
    pub fn are_all_stopped(&self) -> bool {
        self.desks.iter().skip(1).all(Desk::has_stopped)
    }

    /// Asks the first thread to call a handler.
    pub fn leave_note(&self, note: Note) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(note);
        self.has_notes.store(true, Ordering::Release);
        self.desks[0].waker.wake();
    }

    /// Takes the handler calls that the first thread was asked for.
    pub fn take_notes(&self) -> Vec<Note> {
        if !self.has_notes.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        self.has_notes.store(false, Ordering::Release);
        std::mem::take(&mut *notes)
    }

    /// Forgets on which number the replicas of some elements have agreed.
    pub fn forget_agreed(&self, elements: &[ElementIdx]) {
        let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        agreed.retain(|element, _| !elements.contains(element));
    }

    /// The number on which the replicas of an element agree: the first proposal.
    pub fn agree(&self, element: ElementIdx, proposal: Option<u64>) -> Option<u64> {
        let mut agreed = self.agreed.lock().unwrap_or_else(PoisonError::into_inner);
        match (agreed.get(&element), proposal) {
            (Some(number), _) => Some(*number),
            (None, Some(number)) => {
                agreed.insert(element, number);
                Some(number)
            }
            (None, None) => None,
        }
    }
}

impl Desk {
    /// Says that the thread is about to sleep. It must look for parcels once more after this, and then sleep or
    /// [`Desk::rise`].
    pub fn lie_down(&self, waits_for_room: bool) {
        self.is_asleep.store(true, Ordering::Relaxed);
        self.waits_for_room.store(waits_for_room, Ordering::Relaxed);
        // The other side looks at the flags after it has changed what is looked at next.
        fence(Ordering::SeqCst);
    }

    /// Says that the thread is awake.
    pub fn rise(&self) {
        self.is_asleep.store(false, Ordering::Relaxed);
        self.waits_for_room.store(false, Ordering::Relaxed);
    }

    /// Wakes the thread for what has just been put where it looks.
    #[inline]
    pub fn nudge(&self) {
        fence(Ordering::SeqCst);
        if self.is_asleep.load(Ordering::Relaxed) {
            self.is_asleep.store(false, Ordering::Relaxed);
            self.waker.wake();
        }
    }

    /// Wakes the thread if it waits for room in a ring from which something has just been taken.
    #[inline]
    pub fn tell_of_room(&self) {
        fence(Ordering::SeqCst);
        if self.waits_for_room.load(Ordering::Relaxed) {
            self.waits_for_room.store(false, Ordering::Relaxed);
            self.waker.wake();
        }
    }

    /// Says that somebody wants the thread's world, or has got it.
    pub fn want(&self, wants: bool) {
        if wants {
            self.n_wanting.fetch_add(1, Ordering::SeqCst);
            self.waker.wake();
        } else {
            self.n_wanting.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Whether somebody wants the thread's world.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.n_wanting.load(Ordering::Relaxed) > 0
    }

    /// Says whether the thread has stopped.
    pub fn set_stopped(&self, has_stopped: bool) {
        self.has_stopped.store(has_stopped, Ordering::SeqCst);
    }

    /// Whether the thread has stopped.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::SeqCst)
    }
}
