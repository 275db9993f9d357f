//! The concentrator: its sessions, who they belong to, and what their links ask for.

use std::net::Ipv4Addr;

use element::Packet;
use table::flow::FlowTable;
use table::timeout::TimeWheel;
use wire::MacAddress;

use super::discovery::Concentrator;
use super::frame::{code, Sender};
use super::link::{Cause, Event, Link, LinkSettings};
use super::provisioning::{Pool, Provision, Users, MAX_ID};
use super::session::{Session, Subscriber};
use super::statistics::Statistics;
use crate::accounting::{Journal, Now, Rate};

/// A tick of the sessions' timers.
const TICK_NS: u64 = 1_000_000;

/// What was configured.
pub struct Settings {
    /// The Ethernet address on the access side.
    pub own: MacAddress,
    /// Name, services and secret.
    pub concentrator: Concentrator,
    /// What all links have in common.
    pub link: LinkSettings,
    /// Most sessions.
    pub max_sessions: usize,
    /// Most sessions of a station.
    pub max_per_station: u32,
    /// Rates up and down of those who have none of their own.
    pub rates: (Rate, Rate),
    /// Time between interim records; 0: none.
    pub interim_ns: i64,
}

/// What is known of a station with sessions.
#[derive(Clone, Copy)]
pub(super) struct Station {
    pub(super) n_sessions: u32,
    pub(super) newest: u16,
}

/// The concentrator.
pub struct Server {
    /// What was configured.
    pub settings: Settings,
    /// Who may come in.
    pub users: Users,
    /// Where records go.
    pub journal: Journal,
    /// What happened.
    pub statistics: Statistics,
    /// Frames that answer, for whoever calls to send.
    pub out: Vec<Packet>,
    pub(super) sessions: Vec<Session>,
    pub(super) subscribers: Vec<Option<Box<Subscriber>>>,
    /// Which session an address was given to.
    pub(super) by_address: FlowTable<u32, u16>,
    pub(super) stations: FlowTable<MacAddress, Station>,
    pub(super) pool: Pool,
    pub(super) wheel: TimeWheel,
    pub(super) n_sessions: usize,
    pub(super) last_id: u16,
    pub(super) n_random: u64,
    expired: Vec<u32>,
}

impl Server {
    /// One without sessions.
    pub fn new(settings: Settings, pool: Pool) -> Server {
        let limit = u32::from(u16::MAX) + 1;
        Server {
            settings,
            users: Users::default(),
            journal: Journal::default(),
            statistics: Statistics::default(),
            out: Vec::new(),
            sessions: Vec::new(),
            subscribers: Vec::new(),
            by_address: FlowTable::new(limit),
            stations: FlowTable::new(limit),
            pool,
            wheel: TimeWheel::new(TICK_NS, limit),
            n_sessions: 0,
            last_id: 0,
            n_random: 0,
            expired: Vec::new(),
        }
    }

    /// Number of sessions over which IP packets may flow.
    pub fn n_up(&self) -> usize {
        self.sessions.iter().filter(|session| session.address != 0).count()
    }

    /// When [`Server::expire`] is to be called, in steady time.
    pub fn next_at(&self) -> Option<i64> {
        self.wheel.next_ns().map(|at| i64::try_from(at).unwrap_or(i64::MAX))
    }

    /// A PPP packet other than IP has arrived over a session.
    pub fn control(&mut self, id: u16, protocol: u16, body: &[u8], now: Now) {
        if let Some(Some(subscriber)) = self.subscribers.get_mut(usize::from(id)) {
            subscriber.is_heard = true;
        }
        self.with_link(id, now, |link, settings, tx| {
            link.receive(protocol, body, settings, now.steady_ns, tx)
        });
    }

    /// Lets timers expire.
    pub fn expire(&mut self, now: Now) {
        let mut expired = std::mem::take(&mut self.expired);
        self.wheel.advance(u64::try_from(now.steady_ns).unwrap_or(0), MAX_ID.into(), &mut expired);
        for id in expired.drain(..) {
            // Indexes of the wheel are numbers of sessions.
            let id = id as u16;
            self.report(id, now);
            self.with_link(id, now, |link, settings, tx| link.expire(settings, now.steady_ns, tx));
        }
        self.expired = expired;
    }

    /// Adds a session that lasts.
    pub fn provision(&mut self, provision: &Provision, now: Now) -> Result<(), String> {
        let Provision { station, id, address, rates } = *provision;
        if self.session(id).is_some() {
            return Err(format!("session {id} exists already"));
        }
        if self.n_sessions >= self.settings.max_sessions {
            return Err("too many sessions".to_string());
        }
        if address == self.settings.link.local || !self.pool.take(address) {
            return Err(format!("address {address} is taken already"));
        }
        self.insert(station, id, 0, None);
        self.assign(id, address, rates, now);
        let Some(mut subscriber) = self.take_subscriber(id) else { return Ok(()) };
        subscriber.address = Some(address);
        self.begin_to_flow(id, &mut subscriber, now);
        self.put_back(id, subscriber);
        Ok(())
    }

    /// Ends a session as the operator wishes: PPP first, if there is PPP.
    pub fn disconnect(&mut self, id: u16, now: Now) {
        let has_link = self.subscriber(id).is_some_and(|subscriber| subscriber.link.is_some());
        if !has_link {
            return self.end(id, Cause::AdminReset, now);
        }
        self.with_link(id, now, |link, _, tx| {
            link.terminate(Cause::AdminReset, now.steady_ns, tx);
            Event::Down
        });
    }

    /// Closes all accounts; the graph ends.
    pub fn close(&mut self, now: Now) {
        for id in 0..self.sessions.len() {
            let id = id as u16;
            if let Some(mut subscriber) = self.take_subscriber(id) {
                self.stop_account(id, &mut subscriber, Cause::NasReboot, now);
                self.put_back(id, subscriber);
            }
        }
    }

    /// Whether there is such a session of this station.
    pub fn belongs(&self, id: u16, station: MacAddress) -> bool {
        self.session(id).is_some_and(|session| session.station() == station)
    }

    /// Numbers of the sessions that a user, an address or a number names.
    pub fn find(&self, what: &str) -> Vec<u16> {
        let (address, number) = (what.parse::<Ipv4Addr>().ok(), what.parse::<u16>().ok());
        let is_meant = |id: &u16| {
            self.subscriber(*id).is_some_and(|subscriber| {
                number == Some(*id)
                    || address.is_some() && subscriber.address == address
                    || !what.is_empty() && subscriber.name == what
            })
        };
        (1..=MAX_ID).take(self.sessions.len()).filter(is_meant).collect()
    }

    /// The session of this number.
    pub fn session(&self, id: u16) -> Option<&Session> {
        self.sessions.get(usize::from(id)).filter(|session| session.station() != [0; 6])
    }

    /// What is known of a session besides.
    pub fn subscriber(&self, id: u16) -> Option<&Subscriber> {
        self.subscribers.get(usize::from(id))?.as_deref()
    }

    pub(super) fn insert(&mut self, station: MacAddress, id: u16, request: u64, link: Option<Link>) {
        let place = usize::from(id);
        if self.sessions.len() <= place {
            self.sessions.resize(place + 1, Session::default());
            self.subscribers.resize_with(place + 1, || None);
        }
        let subscriber = Subscriber {
            link,
            is_heard: false,
            request,
            name: String::new(),
            address: None,
            account: None,
            interim_at: None,
        };
        if let (Some(session), Some(entry)) = (self.sessions.get_mut(place), self.subscribers.get_mut(place))
        {
            *session = Session::new(self.settings.own, station, id);
            *entry = Some(Box::new(subscriber));
        }
        self.n_sessions += 1;
        let known = self.stations.find(&station).and_then(|idx| self.stations.get(idx));
        let n_sessions = known.map_or(0, |(_, station)| station.n_sessions) + 1;
        // As many entries as there are numbers of sessions: there is room.
        let _ = self.stations.insert(station, Station { n_sessions, newest: id });
    }

    /// Ends a session at once and tells its station.
    pub fn end(&mut self, id: u16, cause: Cause, now: Now) {
        let Some(session) = self.session(id) else { return };
        let station = session.station();
        if let Some(mut subscriber) = self.take_subscriber(id) {
            self.stop_account(id, &mut subscriber, cause, now);
            self.release(&mut subscriber);
        }
        self.sender(station, id).discovery(code::PADT, &[]);
        if let Some(session) = self.sessions.get_mut(usize::from(id)) {
            *session = Session::default();
        }
        self.wheel.cancel(id.into());
        self.n_sessions = self.n_sessions.saturating_sub(1);
        self.statistics.ended += 1;
        self.statistics.lost += u64::from(cause == Cause::LostCarrier);
        let Some(idx) = self.stations.find(&station) else { return };
        match self.stations.get_mut(idx) {
            Some((_, known)) if known.n_sessions > 1 => known.n_sessions -= 1,
            _ => {
                self.stations.remove(idx);
            }
        }
    }

    /// Lets the link of a session do something, and does what follows.
    fn with_link(
        &mut self,
        id: u16,
        now: Now,
        work: impl FnOnce(&mut Link, &LinkSettings, &mut Sender<'_>) -> Event,
    ) {
        let Some(peer) = self.session(id).map(Session::station) else { return };
        let Some(mut subscriber) = self.take_subscriber(id) else { return };
        let mut event = Event::Nothing;
        if let Some(link) = &mut subscriber.link {
            let mut tx = Sender { out: &mut self.out, own: self.settings.own, peer, session: id };
            event = work(link, &self.settings.link, &mut tx);
        }
        match event {
            Event::Nothing => {}
            Event::Login(name, proof) => self.login(id, &mut subscriber, &name, &proof, now),
            Event::Up => self.begin_to_flow(id, &mut subscriber, now),
            Event::Down => self.cease_to_flow(id),
            Event::Anew => {
                self.stop_account(id, &mut subscriber, Cause::PortReinit, now);
                self.release(&mut subscriber);
                let challenge = self.random();
                if let Some(link) = &mut subscriber.link {
                    link.set_challenge(challenge);
                }
            }
            Event::Over(cause) => {
                self.put_back(id, subscriber);
                return self.end(id, cause, now);
            }
        }
        self.put_back(id, subscriber);
        self.reschedule(id);
    }

    pub(super) fn take_subscriber(&mut self, id: u16) -> Option<Box<Subscriber>> {
        self.subscribers.get_mut(usize::from(id))?.take()
    }

    pub(super) fn put_back(&mut self, id: u16, subscriber: Box<Subscriber>) {
        if let Some(entry) = self.subscribers.get_mut(usize::from(id)) {
            *entry = Some(subscriber);
        }
    }

    pub(super) fn reschedule(&mut self, id: u16) {
        if let Some(subscriber) = self.take_subscriber(id) {
            self.schedule(id, &subscriber);
            self.put_back(id, subscriber);
        }
    }

    pub(super) fn schedule(&mut self, id: u16, subscriber: &Subscriber) {
        let link_at = subscriber.link.as_ref().and_then(Link::next_at);
        match link_at.into_iter().chain(subscriber.interim_at).min() {
            // Indexes are below the limit.
            Some(at) => _ = self.wheel.schedule(id.into(), u64::try_from(at).unwrap_or(0)),
            None => _ = self.wheel.cancel(id.into()),
        }
    }

    pub(super) fn sender(&mut self, peer: MacAddress, session: u16) -> Sender<'_> {
        Sender { out: &mut self.out, own: self.settings.own, peer, session }
    }

    /// Bytes that nobody foretells.
    pub(super) fn random(&mut self) -> [u8; 16] {
        self.n_random += 1;
        self.settings.concentrator.keyed(b"random", &self.n_random.to_be_bytes())
    }
}
