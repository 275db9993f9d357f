//! Sessions: with whom a mapping talks, where that matters.
//!
//! TCP mappings live as long as one of their connections. Other mappings have sessions if the filter asks for them.

use std::hash::{Hash, Hasher};

use table::flow::FlowTable;
use table::timeout::TimeWheel;

use super::tcp::State;
use super::{Endpoint, NIL};

/// A mapping and whom it talks with; port 0 stands for all ports of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionKey {
    /// Index of the mapping.
    pub mapping: u32,
    /// The other end.
    pub remote: Endpoint,
}

impl Hash for SessionKey {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.mapping) << 32 | u64::from(self.remote.address));
        state.write_u16(self.remote.port);
    }
}

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    /// When it ends.
    pub until_ns: u64,
    /// State of the TCP connection.
    pub state: State,
    /// The sessions of the same mapping before and after it.
    before: u32,
    after: u32,
}

/// All sessions.
pub struct Sessions {
    table: FlowTable<SessionKey, Session>,
    wheel: TimeWheel,
    /// How many sessions let in packets of an address, for filters by address alone.
    hosts: FlowTable<SessionKey, u32>,
}

impl Sessions {
    /// No sessions, of which there may be `limit`.
    pub fn new(tick_ns: u64, limit: u32) -> Sessions {
        Sessions {
            table: FlowTable::new(limit),
            wheel: TimeWheel::new(tick_ns, u32::MAX),
            hosts: FlowTable::new(limit),
        }
    }

    /// Number of sessions.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Starts loading what [`Sessions::find`] reads.
    #[inline(always)]
    pub fn prefetch(&self, key: &SessionKey) -> u64 {
        let hash = self.table.hash_of(key);
        self.table.prefetch(hash);
        hash
    }

    /// Starts loading the session that a hash most likely stands for.
    #[inline(always)]
    pub fn prefetch_session(&self, hash: u64) {
        self.table.prefetch_entry(hash);
    }

    /// The index of a session.
    #[inline]
    pub fn find(&self, key: &SessionKey) -> Option<u32> {
        self.table.find(key)
    }

    /// A session, to be changed.
    #[inline]
    pub fn get_mut(&mut self, idx: u32) -> Option<&mut Session> {
        self.table.get_mut(idx).map(|(_, session)| session)
    }

    /// Whether a mapping has a session with this address, as [`Sessions::begin`] was told to remember.
    pub fn knows_host(&self, key: &SessionKey) -> bool {
        self.hosts.find(&host(key)).is_some()
    }

    /// Adds a session before the first one of its mapping; `false` if there is no room. `knows_host` lets its address be
    /// remembered.
    pub fn begin(
        &mut self,
        key: SessionKey,
        state: State,
        until_ns: u64,
        first: &mut u32,
        remembers_host: bool,
    ) -> bool {
        if self.table.is_full() || remembers_host && !self.add_host(&key) {
            return false;
        }
        let session = Session { until_ns, state, before: NIL, after: *first };
        let Ok(idx) = self.table.insert(key, session) else { return false };
        if let Some(next) = self.get_mut(*first) {
            next.before = idx;
        }
        *first = idx;
        self.wheel.schedule(idx, until_ns)
    }

    /// Removes a session; yields its key.
    pub fn end(&mut self, idx: u32, first: &mut u32, remembers_host: bool) -> Option<SessionKey> {
        let (key, session) = self.table.remove(idx)?;
        self.wheel.cancel(idx);
        if let Some(next) = self.get_mut(session.after) {
            next.before = session.before;
        }
        match self.get_mut(session.before) {
            Some(previous) => previous.after = session.after,
            None => *first = session.after,
        }
        if remembers_host {
            self.remove_host(&key);
        }
        Some(key)
    }

    /// Sets when a session ends. A later end costs nothing until the former one has come.
    #[inline]
    pub fn renew(&mut self, idx: u32, until_ns: u64) {
        let Some((_, session)) = self.table.get_mut(idx) else { return };
        let is_earlier = until_ns < session.until_ns;
        session.until_ns = until_ns;
        if is_earlier {
            self.wheel.schedule(idx, until_ns);
        }
    }

    /// Appends the sessions whose end has come; whether `n_visits` were enough to find all.
    pub fn expire(
        &mut self,
        now_ns: u64,
        n_visits: usize,
        ended: &mut Vec<(u32, SessionKey)>,
        due: &mut Vec<u32>,
    ) -> bool {
        let is_done = self.wheel.advance(now_ns, n_visits, due);
        for idx in due.drain(..) {
            let Some((key, session)) = self.table.get(idx) else { continue };
            if session.until_ns > now_ns {
                self.wheel.schedule(idx, session.until_ns);
            } else {
                ended.push((idx, *key));
            }
        }
        is_done
    }

    /// When a session may end next.
    pub fn next_ns(&self) -> Option<u64> {
        self.wheel.next_ns()
    }

    /// The sessions of a mapping, the first of which is given.
    pub fn of_mapping(&self, first: u32) -> impl Iterator<Item = (&SessionKey, &Session)> {
        let mut at = first;
        std::iter::from_fn(move || {
            let (key, session) = self.table.get(at)?;
            at = session.after;
            Some((key, session))
        })
    }

    fn add_host(&mut self, key: &SessionKey) -> bool {
        let key = host(key);
        match self.hosts.find(&key).and_then(|idx| self.hosts.get_mut(idx)) {
            Some((_, n_sessions)) => {
                *n_sessions += 1;
                true
            }
            None => self.hosts.insert(key, 1).is_ok(),
        }
    }

    fn remove_host(&mut self, key: &SessionKey) {
        let Some(idx) = self.hosts.find(&host(key)) else { return };
        let Some((_, n_sessions)) = self.hosts.get_mut(idx) else { return };
        *n_sessions = n_sessions.saturating_sub(1);
        if *n_sessions == 0 {
            self.hosts.remove(idx);
        }
    }

    /// Sets how many there may be; those that are there stay.
    pub fn set_limit(&mut self, limit: u32) {
        self.table.set_limit(limit);
        self.hosts.set_limit(limit);
    }
}

fn host(key: &SessionKey) -> SessionKey {
    SessionKey { remote: Endpoint { port: 0, ..key.remote }, ..*key }
}
