//! The concentrator's accounts: when a session begins and ends to carry IP packets, and what is told of it.

use args::EtherAddr;

use super::link::{Cause, Link};
use super::server::Server;
use super::session::{Account, Subscriber};
use crate::accounting::{Now, Record, Status};

impl Server {
    pub(super) fn begin_to_flow(&mut self, id: u16, subscriber: &mut Subscriber, now: Now) {
        self.statistics.opened += 1;
        let (Some(session), Some(address)) = (self.sessions.get_mut(usize::from(id)), subscriber.address)
        else {
            return;
        };
        session.address = address.to_bits();
        session.mru = subscriber.link.as_ref().map_or(session.mru, Link::mru);
        if subscriber.account.is_none() {
            let account = Account { id: self.journal.next_account(now.wall_ns), began_ns: now.steady_ns };
            subscriber.account = Some(account);
            let interim_ns = self.settings.interim_ns;
            subscriber.interim_at = (interim_ns > 0).then(|| now.steady_ns.saturating_add(interim_ns));
            self.record(id, subscriber, Status::Start, now);
        }
        self.schedule(id, subscriber);
    }

    pub(super) fn cease_to_flow(&mut self, id: u16) {
        if let Some(session) = self.sessions.get_mut(usize::from(id)) {
            session.address = 0;
        }
    }

    pub(super) fn stop_account(&mut self, id: u16, subscriber: &mut Subscriber, cause: Cause, now: Now) {
        self.cease_to_flow(id);
        self.record(id, subscriber, Status::Stop(cause.word()), now);
        (subscriber.account, subscriber.interim_at) = (None, None);
    }

    /// Writes an interim record if one is due.
    pub(super) fn report(&mut self, id: u16, now: Now) {
        let Some(mut subscriber) = self.take_subscriber(id) else { return };
        if subscriber.interim_at.is_some_and(|at| at <= now.steady_ns) {
            self.record(id, &subscriber, Status::Interim, now);
            subscriber.interim_at = Some(now.steady_ns.saturating_add(self.settings.interim_ns));
        }
        self.schedule(id, &subscriber);
        self.put_back(id, subscriber);
    }

    fn record(&mut self, id: u16, subscriber: &Subscriber, status: Status, now: Now) {
        let (Some(account), Some(session)) = (&subscriber.account, self.sessions.get(usize::from(id))) else {
            return;
        };
        let station = EtherAddr(session.station()).to_string();
        let address = subscriber.address.map(|address| address.to_string()).unwrap_or_default();
        let texts = [
            ("User-Name", &subscriber.name[..]),
            ("NAS-Identifier", &self.settings.link.name),
            ("Calling-Station-Id", &station),
            ("NAS-Port", &id.to_string()),
            ("Framed-IP-Address", &address),
        ];
        let Account { id: number, began_ns } = account;
        let (up, down) = (&session.up, &session.down);
        let record = Record { status, session: number, texts: &texts, began_ns: *began_ns, now, up, down };
        self.journal.write(&record);
    }
}
