//! Who hears of changes.

use element::{HandlerUse, Runtime, TOP};
use graph::Action;

use super::revisions::Revision;
use crate::world::World;

/// Somebody who wants to hear of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscriber {
    /// The handler that is written for each step of a change.
    pub handler: String,
    /// The only element that it is to hear of.
    pub element: Option<String>,
}

/// Hears of each graph as it begins to run; it returns false when it is to hear no more.
pub type Follower = Box<dyn FnMut(&Revision) -> bool + Send>;

impl World {
    /// Lets a handler be written for each step of a change that concerns an element, or any; false if it is already.
    pub fn subscribe(&mut self, subscriber: Subscriber) -> Result<bool, String> {
        self.check_handler(TOP, &subscriber.handler, HandlerUse::Write)?;
        let is_new = !self.subscribers.contains(&subscriber);
        if is_new {
            self.subscribers.push(subscriber);
        }
        Ok(is_new)
    }

    /// Ends a subscription; false if there is none such.
    pub fn unsubscribe(&mut self, subscriber: &Subscriber) -> bool {
        let n = self.subscribers.len();
        self.subscribers.retain(|other| other != subscriber);
        self.subscribers.len() < n
    }

    /// Who hears of changes.
    pub fn subscribers(&self) -> &[Subscriber] {
        &self.subscribers
    }

    /// Tells somebody outside of the graph of each change from now on.
    pub fn follow(&mut self, follower: Follower) {
        self.followers.push(follower);
    }

    /// Tells of the change that was made last.
    pub(super) fn tell_change(&mut self, actions: &[Action]) {
        if let Some(last) = self.revisions.iter().next_back() {
            self.followers.retain_mut(|follower| follower(last));
        }
        if self.subscribers.is_empty() {
            return;
        }
        for action in actions {
            self.tell_concerned(&action.to_string(), &|element| action.concerns(element));
        }
        self.forget_unheard();
    }

    /// Tells subscribers of something that is no change, and that concerns these elements.
    pub fn tell_subscribers(&mut self, line: &str, elements: &[String]) {
        self.tell_concerned(line, &|element| elements.iter().any(|other| other == element));
        self.forget_unheard();
    }

    fn tell_concerned(&mut self, line: &str, concerns: &dyn Fn(&str) -> bool) {
        let subscribers = std::mem::take(&mut self.subscribers);
        let concerned = |one: &&Subscriber| one.element.as_ref().is_none_or(|element| concerns(element));
        for Subscriber { handler, .. } in subscribers.iter().filter(concerned) {
            self.forget_times();
            if let Err(message) = self.write_handler(TOP, handler, line) {
                self.chatter.say(&format!("{handler}: {message}"));
            }
        }
        // A handler may have subscribed others.
        let new = std::mem::replace(&mut self.subscribers, subscribers);
        self.subscribers.extend(new);
    }

    /// Those whose element is gone hear no more.
    fn forget_unheard(&mut self) {
        let subscribers = std::mem::take(&mut self.subscribers);
        let hears = |one: &Subscriber| self.check_handler(TOP, &one.handler, HandlerUse::Write).is_ok();
        self.subscribers = subscribers.into_iter().filter(hears).collect();
    }
}
