//! The end of sessions, mappings and blocks.

use super::entries::Inside;
use super::log::Event;
use super::nat::{remembers_host, seconds, Nat};
use super::sessions::SessionKey;
use super::{Protocol, NIL};

impl Nat {
    /// Ends a session, and its mapping if that was its last one.
    fn end_session(&mut self, idx: u32, key: SessionKey, now_ns: u64) {
        let Some((inside, mapping)) = self.mappings.get_mut(key.mapping) else { return };
        let remembers_host = remembers_host(self.settings.filtering, inside.protocol);
        if self.sessions.end(idx, &mut mapping.first_session, remembers_host).is_none() {
            return;
        }
        let is_last = mapping.first_session == NIL;
        if let Some((_, subscriber)) = self.subscribers.get_mut(mapping.subscriber) {
            subscriber.n_sessions = subscriber.n_sessions.saturating_sub(1);
        }
        if is_last {
            self.end(key.mapping, now_ns);
        }
    }

    /// Ends a mapping and its sessions.
    pub fn end(&mut self, idx: u32, now_ns: u64) {
        let Some((inside, mut mapping)) = self.mappings.remove(idx) else { return };
        self.wheel.cancel(idx);
        let remembers_host = remembers_host(self.settings.filtering, inside.protocol);
        let mut n_sessions = 0;
        while mapping.first_session != NIL {
            let session = mapping.first_session;
            if self.sessions.end(session, &mut mapping.first_session, remembers_host).is_none() {
                break;
            }
            n_sessions += 1;
        }
        if let Some((_, subscriber)) = self.subscribers.get_mut(mapping.subscriber) {
            subscriber.n_mappings = subscriber.n_mappings.saturating_sub(1);
            subscriber.n_sessions = subscriber.n_sessions.saturating_sub(n_sessions);
        }
        self.journal.mapping(|| Event::Unmapped(inside, mapping.external));
        // RFC 6888 REQ-8 excepts TCP, whose sessions are tracked to their end.
        let ready_s = match inside.protocol {
            Protocol::Tcp => seconds(now_ns),
            _ => self.ready_s(now_ns),
        };
        if let Some((block, 0)) = self.pool.release_port(mapping.external, inside.protocol, ready_s) {
            self.release_block(block, mapping.subscriber, now_ns);
        }
    }

    /// When what is released now may be used again.
    fn ready_s(&self, now_ns: u64) -> u32 {
        match self.settings.quarantine_s {
            0 => 0,
            // The present second has partly passed.
            quarantine_s => seconds(now_ns).saturating_add(quarantine_s).saturating_add(1),
        }
    }

    fn release_block(&mut self, block: u32, idx: u32, now_ns: u64) {
        let range = self.pool.range_of(block);
        let Some((&inside, subscriber)) = self.subscribers.get_mut(idx) else { return };
        let after = self.pool.block(block).map_or(NIL, |block| block.next);
        if subscriber.first_block == block {
            subscriber.first_block = after;
        } else {
            let mut at = subscriber.first_block;
            while let Some(known) = self.pool.block_mut(at) {
                if known.next == block {
                    known.next = after;
                    break;
                }
                at = known.next;
            }
        }
        subscriber.n_blocks = subscriber.n_blocks.saturating_sub(1);
        if subscriber.n_blocks == 0 {
            self.subscribers.remove(idx);
        }
        let ready_s = self.ready_s(now_ns);
        self.pool.release(block, ready_s);
        if !self.pool.is_fixed(block) {
            self.journal.block(|| Event::Released(inside, range));
        }
    }

    /// Ends what has timed out; whether `n_visits` were enough to find all of it.
    pub fn expire(&mut self, now_ns: u64, n_visits: usize) -> bool {
        let mut due = std::mem::take(&mut self.due);
        let mut is_done = self.wheel.advance(now_ns, n_visits, &mut due);
        for idx in due.drain(..) {
            let Some((_, mapping)) = self.mappings.get(idx) else { continue };
            if mapping.until_ns() > now_ns {
                self.wheel.schedule(idx, mapping.until_ns());
            } else {
                self.end(idx, now_ns);
            }
        }
        let mut ended = std::mem::take(&mut self.ended);
        is_done &= self.sessions.expire(now_ns, n_visits, &mut ended, &mut due);
        for (idx, key) in ended.drain(..) {
            self.end_session(idx, key, now_ns);
        }
        (self.due, self.ended) = (due, ended);
        is_done
    }

    /// Ends all mappings, or those of a subscriber; tells how many there were.
    pub fn flush(&mut self, address: Option<u32>, now_ns: u64) -> usize {
        let is_meant = |inside: &Inside| address.is_none_or(|address| inside.address == address);
        let indexes: Vec<u32> =
            self.mappings.iter().filter(|(_, inside, _)| is_meant(inside)).map(|(idx, ..)| idx).collect();
        indexes.iter().for_each(|idx| self.end(*idx, now_ns));
        self.fragments.clear();
        indexes.len()
    }
}
