//! The connections of a web client: found by address and port, and ordered by when they last sent.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use super::connection::Connection;

/// What tells connections apart: address and port of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub source: Ipv4Addr,
    pub port: u16,
}

/// No place.
const NONE: u32 = u32::MAX;

/// A connection in its place, and its neighbours in two lists.
struct Entry {
    key: Key,
    connection: Option<Connection>,
    /// The one before it that has the same key.
    same_key: u32,
    older: u32,
    newer: u32,
}

/// Connections, each at a place that is its number as long as it lasts.
pub(super) struct Table {
    capacity: usize,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// The newest connection of each key.
    by_key: HashMap<Key, u32>,
    oldest: u32,
    newest: u32,
}

impl Table {
    /// An empty table for at most `capacity` connections.
    pub fn new(capacity: usize) -> Table {
        let (entries, free) = (Vec::new(), Vec::new());
        Table { capacity, entries, free, by_key: HashMap::new(), oldest: NONE, newest: NONE }
    }

    /// Most connections.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether there is no room for another one.
    pub fn is_full(&self) -> bool {
        self.free.is_empty() && self.entries.len() >= self.capacity
    }

    /// Adds a connection; it has sent nothing yet, and is in no order until it has.
    pub fn insert(&mut self, key: Key, connection: Connection) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let idx = self.free.pop().unwrap_or(self.entries.len() as u32);
        let same_key = self.by_key.insert(key, idx).unwrap_or(NONE);
        let entry = Entry { key, connection: Some(connection), same_key, older: NONE, newer: NONE };
        match self.entries.get_mut(idx as usize) {
            Some(place) => *place = entry,
            None => self.entries.push(entry),
        }
        Some(idx)
    }

    /// The newest connection with this key.
    pub fn find(&self, key: Key) -> Option<u32> {
        self.by_key.get(&key).copied()
    }

    /// A connection's key.
    pub fn key(&self, idx: u32) -> Option<Key> {
        self.entries.get(idx as usize).map(|entry| entry.key)
    }

    /// A connection.
    pub fn get_mut(&mut self, idx: u32) -> Option<&mut Connection> {
        self.entries.get_mut(idx as usize)?.connection.as_mut()
    }

    /// The connection that has not sent for the longest time.
    pub fn oldest(&self) -> Option<u32> {
        Some(self.oldest).filter(|idx| *idx != NONE)
    }

    /// The connection that has sent last.
    pub fn newest(&self) -> Option<u32> {
        Some(self.newest).filter(|idx| *idx != NONE)
    }

    /// A connection sends now.
    pub fn make_newest(&mut self, idx: u32) {
        self.take_out_of_order(idx);
        let last = std::mem::replace(&mut self.newest, idx);
        if let Some(entry) = self.entries.get_mut(idx as usize) {
            (entry.older, entry.newer) = (last, NONE);
        }
        match self.entries.get_mut(last as usize) {
            Some(before) => before.newer = idx,
            None => self.oldest = idx,
        }
    }

    /// Ends a connection.
    pub fn remove(&mut self, idx: u32) {
        self.take_out_of_order(idx);
        let Some(entry) = self.entries.get_mut(idx as usize) else { return };
        if entry.connection.take().is_none() {
            return;
        }
        let (key, before) = (entry.key, entry.same_key);
        self.free.push(idx);
        let mut at = self.by_key.get(&key).copied().unwrap_or(NONE);
        if at == idx {
            match before {
                NONE => self.by_key.remove(&key),
                before => self.by_key.insert(key, before),
            };
            return;
        }
        while let Some(entry) = self.entries.get_mut(at as usize) {
            if entry.same_key == idx {
                entry.same_key = before;
                return;
            }
            at = entry.same_key;
        }
    }

    fn take_out_of_order(&mut self, idx: u32) {
        let Some(entry) = self.entries.get_mut(idx as usize) else { return };
        let older = std::mem::replace(&mut entry.older, NONE);
        let newer = std::mem::replace(&mut entry.newer, NONE);
        match self.entries.get_mut(older as usize) {
            Some(entry) => entry.newer = newer,
            None if self.oldest == idx => self.oldest = newer,
            None => {}
        }
        match self.entries.get_mut(newer as usize) {
            Some(entry) => entry.older = older,
            None if self.newest == idx => self.newest = older,
            None => {}
        }
    }
}
