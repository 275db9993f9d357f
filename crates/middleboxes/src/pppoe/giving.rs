//! How the concentrator gives sessions away: its side of the discovery stage.

use wire::MacAddress;

use super::discovery::{tag, Request};
use super::frame::{code, Frame, Sender};
use super::link::{Cause, Link};
use super::provisioning::MAX_ID;
use super::server::Server;
use crate::accounting::Now;

impl Server {
    /// A frame of the discovery stage has arrived.
    pub fn discover(&mut self, frame: &Frame<'_>, now: Now) {
        match frame.code {
            code::PADI => self.offer(frame),
            code::PADR => self.give(frame, now),
            code::PADT if self.belongs(frame.session, frame.source) => {
                self.statistics.padt += 1;
                self.end(frame.session, Cause::UserRequest, now);
            }
            _ => {}
        }
    }

    fn offer(&mut self, frame: &Frame<'_>) {
        self.statistics.padi += 1;
        let Some(request) = Request::parse(frame.payload) else { return };
        if frame.session != 0 || !self.settings.concentrator.serves(request.service) {
            self.statistics.no_service += 1;
            return;
        }
        self.statistics.pado += 1;
        let tags = self.settings.concentrator.offer(frame.source, &request);
        self.sender(frame.source, 0).discovery(code::PADO, &tags);
    }

    /// Gives a session to who asks for one.
    fn give(&mut self, frame: &Frame<'_>, now: Now) {
        self.statistics.padr += 1;
        let station = frame.source;
        let Some(request) = Request::parse(frame.payload) else { return };
        let concentrator = &self.settings.concentrator;
        if frame.session != 0 || !concentrator.knows(station, &request) {
            self.statistics.bad_cookie += 1;
            return;
        }
        if !concentrator.serves(request.service) {
            self.statistics.no_service += 1;
            let tags = concentrator.refusal(&request, tag::SERVICE_NAME_ERROR, "no such service");
            return self.sender(station, 0).discovery(code::PADS, &tags);
        }
        let mark = concentrator
            .keyed(b"request", &[request.service, b"\0", request.host_uniq.unwrap_or_default()].concat());
        let mark = u64::from_ne_bytes(mark.first_chunk().copied().unwrap_or_default());
        let confirmation = concentrator.confirmation(&request);
        if let Some(id) = self.unheard(station, mark) {
            // The answer was lost.
            return self.sender(station, id).discovery(code::PADS, &confirmation);
        }
        let Some(id) = self.free_id(station) else {
            self.statistics.no_room += 1;
            let tags =
                self.settings.concentrator.refusal(&request, tag::AC_SYSTEM_ERROR, "too many sessions");
            return self.sender(station, 0).discovery(code::PADS, &tags);
        };
        self.statistics.pads += 1;
        self.sender(station, id).discovery(code::PADS, &confirmation);
        self.open(station, id, mark, now);
    }

    /// The session that a station was given for the same request and did not use yet.
    fn unheard(&self, station: MacAddress, request: u64) -> Option<u16> {
        let (_, known) = self.stations.get(self.stations.find(&station)?)?;
        let subscriber = self.subscriber(known.newest)?;
        let is_it = !subscriber.is_heard && subscriber.request == request && subscriber.link.is_some();
        (is_it && self.belongs(known.newest, station)).then_some(known.newest)
    }

    /// A number for a session of this station, if there may be another.
    fn free_id(&mut self, station: MacAddress) -> Option<u16> {
        let known = self.stations.find(&station).and_then(|idx| self.stations.get(idx));
        let n_sessions = known.map_or(0, |(_, station)| station.n_sessions);
        if n_sessions >= self.settings.max_per_station || self.n_sessions >= self.settings.max_sessions {
            return None;
        }
        // Numbers rest as long as possible before they are given again.
        for _ in 0..MAX_ID {
            self.last_id = self.last_id % MAX_ID + 1;
            if self.session(self.last_id).is_none() {
                return Some(self.last_id);
            }
        }
        None
    }

    fn open(&mut self, station: MacAddress, id: u16, request: u64, now: Now) {
        let random = self.random();
        let magic = u32::from_ne_bytes(random.first_chunk().copied().unwrap_or_default());
        let challenge = self.random();
        let mut tx = Sender { out: &mut self.out, own: self.settings.own, peer: station, session: id };
        let mut link = Link::open(&self.settings.link, magic, now.steady_ns, &mut tx);
        link.set_challenge(challenge);
        self.insert(station, id, request, Some(link));
        self.reschedule(id);
    }
}
