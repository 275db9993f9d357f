//! Who is admitted, with which address and rates.

use std::net::Ipv4Addr;

use wire::MacAddress;

use super::auth::Proof;
use super::frame::Sender;
use super::link::Cause;
use super::server::Server;
use super::session::{Session, Subscriber};
use crate::accounting::{Now, Rate, Traffic};

/// The address and the rates that are a subscriber's own.
type Granted = (Option<Ipv4Addr>, Option<(Rate, Rate)>);

impl Server {
    /// Admits a subscriber, or does not.
    pub(super) fn login(
        &mut self,
        id: u16,
        subscriber: &mut Subscriber,
        name: &[u8],
        proof: &Proof,
        now: Now,
    ) {
        let (own, peer) = (self.settings.own, self.station_of(id));
        let admitted = self.check(name, proof).and_then(|(address, rates)| {
            let given = match address {
                Some(address) => self.take_own(address, peer, now),
                None => {
                    let (users, local) = (&self.users, self.settings.link.local);
                    self.pool.allocate(|address| users.owns(address) || address == local)
                }
            };
            given.map(|address| (address, rates)).ok_or("no address")
        });
        match admitted {
            Ok((address, rates)) => {
                self.statistics.logins += 1;
                subscriber.name = String::from_utf8_lossy(name).into_owned();
                subscriber.address = Some(address);
                self.assign(id, address, rates, now);
                let mut tx = Sender { out: &mut self.out, own, peer, session: id };
                if let Some(link) = &mut subscriber.link {
                    link.admit(address, now.steady_ns, &mut tx);
                }
            }
            Err(reason) => {
                self.statistics.bad_logins += 1;
                let mut tx = Sender { out: &mut self.out, own, peer, session: id };
                if let Some(link) = &mut subscriber.link {
                    link.refuse(reason, now.steady_ns, &mut tx);
                }
            }
        }
    }

    /// Address and rates of who proves to be somebody.
    fn check(&self, name: &[u8], proof: &Proof) -> Result<Granted, &'static str> {
        if *proof == Proof::None {
            return Ok((None, None));
        }
        let user = self.users.get(name).filter(|user| proof.is_of(user.secret.as_bytes()));
        user.map(|user| (user.address, user.rates)).ok_or("name or secret is wrong")
    }

    /// Takes an address that is the subscriber's own; a session of the same station that has it is ended.
    fn take_own(&mut self, address: Ipv4Addr, station: MacAddress, now: Now) -> Option<Ipv4Addr> {
        let holder = self.by_address.find(&address.to_bits()).and_then(|idx| self.by_address.get(idx));
        if let Some((_, id)) = holder {
            let id = *id;
            if self.belongs(id, station) {
                self.end(id, Cause::PortReinit, now);
            }
        }
        (address != self.settings.link.local && self.pool.take(address)).then_some(address)
    }

    /// Notes that an address, which was taken, is a session's, and begins to count.
    pub(super) fn assign(&mut self, id: u16, address: Ipv4Addr, rates: Option<(Rate, Rate)>, now: Now) {
        // As many entries as there are numbers of sessions: there is room.
        let _ = self.by_address.insert(address.to_bits(), id);
        let (up, down) = rates.unwrap_or(self.settings.rates);
        if let Some(session) = self.sessions.get_mut(usize::from(id)) {
            (session.up, session.down) =
                (Traffic::limited(up, now.steady_ns), Traffic::limited(down, now.steady_ns));
            session.n_spoofed = 0;
        }
    }

    pub(super) fn release(&mut self, subscriber: &mut Subscriber) {
        if let Some(address) = subscriber.address.take() {
            self.by_address.remove_key(&address.to_bits());
            self.pool.release(address);
        }
    }

    fn station_of(&self, id: u16) -> MacAddress {
        self.sessions.get(usize::from(id)).map(Session::station).unwrap_or_default()
    }
}
