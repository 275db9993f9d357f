//! Going on with the sessions of another concentrator, whose arguments may have been others.

use super::link::Cause;
use super::provisioning::Provision;
use super::server::Server;
use crate::accounting::{Meter, Now};

impl Server {
    /// Whether subscribers of another one are subscribers of this one: they know its addresses.
    pub fn can_go_on_from(&self, old: &Server) -> bool {
        (old.settings.own, old.settings.link.local) == (self.settings.own, self.settings.link.local)
    }

    /// Goes on with another one's sessions and accounts. Sessions that last are those of `provisions`; what is wrong with them is
    /// returned, a sentence each.
    pub fn take_over(
        &mut self,
        old: &mut Server,
        provisions: &[Provision],
        has_secret: bool,
        now: Now,
    ) -> Vec<String> {
        std::mem::swap(self, old);
        std::mem::swap(&mut self.settings, &mut old.settings);
        std::mem::swap(&mut self.users, &mut old.users);
        std::mem::swap(&mut self.pool, &mut old.pool);
        if !has_secret {
            std::mem::swap(&mut self.settings.concentrator.secret, &mut old.settings.concentrator.secret);
        }
        for subscriber in self.subscribers.iter().flatten() {
            if let Some(address) = subscriber.address {
                self.pool.take(address);
            }
        }
        self.end_others(provisions, now);
        let mut told = Vec::new();
        for provision in provisions {
            if self.has(provision) {
                self.limit(provision, now);
            } else if let Err(message) = self.provision(provision, now) {
                told.push(message);
            }
        }
        told
    }

    /// Ends the sessions that last and are not among `provisions`.
    fn end_others(&mut self, provisions: &[Provision], now: Now) {
        let lasts = |id: &u16| self.subscriber(*id).is_some_and(|subscriber| subscriber.link.is_none());
        let lasting: Vec<u16> = (0..self.sessions.len()).map(|id| id as u16).filter(lasts).collect();
        for id in lasting {
            let is_meant = |provision: &Provision| provision.id == id && self.has(provision);
            if !provisions.iter().any(is_meant) {
                self.end(id, Cause::AdminReset, now);
            }
        }
    }

    fn has(&self, provision: &Provision) -> bool {
        let subscriber = self.subscriber(provision.id);
        let is_it =
            subscriber.is_some_and(|known| known.link.is_none() && known.address == Some(provision.address));
        is_it && self.belongs(provision.id, provision.station)
    }

    /// Sets the rates of a session that lasts.
    fn limit(&mut self, provision: &Provision, now: Now) {
        let (up, down) = provision.rates.unwrap_or(self.settings.rates);
        if let Some(session) = self.sessions.get_mut(usize::from(provision.id)) {
            session.up.meter = Meter::new(up, now.steady_ns);
            session.down.meter = Meter::new(down, now.steady_ns);
        }
    }
}
