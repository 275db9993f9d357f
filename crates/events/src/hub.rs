//! Those who listen.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{sync_channel, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::event::Event;
use crate::hooks::Hooks;

/// Events that a listener may be behind; one that is further behind is let go.
const BACKLOG: usize = 1024;
/// Most listeners at a time.
const MAX_LISTENERS: usize = 256;

/// Writes a line to the handlers of elements that have subscribed to all events, or to those of one of these elements.
pub type Subscribed = Box<dyn Fn(String, Vec<String>) + Send + Sync>;

/// Tells those who listen of events, all in the same order; it waits for none of them but the elements.
#[derive(Default)]
pub struct Hub {
    listeners: Mutex<Vec<SyncSender<Arc<Event>>>>,
    has_ended: AtomicBool,
    elements: OnceLock<Subscribed>,
    hooks: OnceLock<Hooks>,
}

impl Hub {
    /// Nobody listens yet.
    pub fn new() -> Hub {
        Hub::default()
    }

    /// Also tells elements; to be called once.
    pub fn tell_elements(&self, subscribed: Subscribed) {
        // Whoever tells them already goes on.
        let _ = self.elements.set(subscribed);
    }

    /// Also runs programs; to be called once.
    pub fn run_hooks(&self, hooks: Hooks) {
        // Those that are there stay.
        let _ = self.hooks.set(hooks);
    }

    /// The programs that are run, if there are.
    pub fn hooks(&self) -> Option<&Hooks> {
        self.hooks.get()
    }

    /// Listens from now on; none if too many do already.
    pub fn listen(&self) -> Option<Receiver<Arc<Event>>> {
        let (sender, receiver) = sync_channel(BACKLOG);
        let mut all = self.lock();
        if all.len() >= MAX_LISTENERS {
            return None;
        }
        if !self.has_ended() {
            all.push(sender);
        }
        Some(receiver)
    }

    /// Lets go of all who listen: nothing happens any more.
    pub fn end(&self) {
        let mut all = self.lock();
        self.has_ended.store(true, Ordering::Release);
        all.clear();
    }

    /// Whether that is why a listener was let go, and not that it was too far behind.
    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Whether anybody but elements would hear of an event.
    pub fn is_heard(&self) -> bool {
        self.hooks.get().is_some() || !self.lock().is_empty()
    }

    /// Tells of an event. Not to be called by the graph's thread, for which elements wait.
    pub fn tell(&self, event: Event) {
        if let (Some(line), Some(subscribed)) = (event.line(), self.elements.get()) {
            subscribed(line, event.texts("element").map(str::to_string).collect());
        }
        let event = Arc::new(event);
        // The lock is what gives all the same order.
        let mut all = self.lock();
        if let Some(hooks) = self.hooks.get() {
            hooks.offer(&event);
        }
        // Whoever is too far behind finds the end of the stream behind what was sent.
        all.retain(|listener| listener.try_send(event.clone()).is_ok());
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SyncSender<Arc<Event>>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_is_too_far_behind_is_let_go_behind_what_was_sent() {
        let hub = Hub::new();
        let slow = hub.listen().unwrap();
        let quick = hub.listen().unwrap();
        for n in 0..BACKLOG + 5 {
            hub.tell(Event::new("test", json!({ "n": n })));
            assert_eq!(quick.recv().unwrap().facts["n"], n);
        }
        let heard: Vec<_> = slow.iter().map(|event| event.facts["n"].clone()).collect();
        assert_eq!((heard.len(), &heard[BACKLOG - 1]), (BACKLOG, &json!(BACKLOG - 1)));
        assert!(!hub.has_ended());
    }

    #[test]
    fn at_the_end_all_hear_what_was_told_and_are_let_go() {
        let hub = Hub::new();
        let before = hub.listen().unwrap();
        hub.tell(Event::new("last", json!({})));
        hub.end();
        assert_eq!(before.iter().count(), 1);
        assert!(hub.has_ended() && hub.listen().unwrap().recv().is_err());
    }

    #[test]
    fn there_are_not_endlessly_many_listeners_and_those_who_go_make_room() {
        let hub = Hub::new();
        let all: Vec<_> = (0..MAX_LISTENERS).map(|_| hub.listen().unwrap()).collect();
        assert!(hub.listen().is_none());
        drop(all);
        hub.tell(Event::new("test", json!({})));
        assert!(!hub.is_heard() && hub.listen().is_some());
    }
}
