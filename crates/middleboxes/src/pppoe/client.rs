//! A client for tests: asks for a session, proves who it is, and takes the address that it is told.

use std::net::Ipv4Addr;

use element::Packet;
use wire::{MacAddress, BROADCAST};

use super::auth::{self, chap, pap};
use super::discovery::{put as put_tag, tag};
use super::frame::{code as discovery, ppp, Frame, Sender};
use super::negotiation::{code, put};

/// A client with one session.
pub struct Client {
    pub own: MacAddress,
    pub name: &'static str,
    pub secret: &'static str,
    pub session: u16,
    pub address: Ipv4Addr,
    pub dns: Option<Ipv4Addr>,
    /// Whether it was told that both sides agree on its address.
    pub is_up: bool,
    pub out: Vec<Packet>,
    server: MacAddress,
}

impl Client {
    pub fn new(n: u8, name: &'static str, secret: &'static str) -> Client {
        Client {
            own: [2, 0, 0, 0, 1, n],
            name,
            secret,
            session: 0,
            address: Ipv4Addr::UNSPECIFIED,
            dns: None,
            is_up: false,
            out: Vec::new(),
            server: BROADCAST,
        }
    }

    pub fn sender(&mut self) -> Sender<'_> {
        Sender { out: &mut self.out, own: self.own, peer: self.server, session: self.session }
    }

    /// Asks for offers.
    pub fn begin(&mut self) {
        (self.session, self.server, self.is_up) = (0, BROADCAST, false);
        self.address = Ipv4Addr::UNSPECIFIED;
        let tags = self.tags(None);
        self.sender().discovery(discovery::PADI, &tags);
    }

    /// Ends the session, politely or not.
    pub fn hang_up(&mut self, is_polite: bool) {
        if is_polite {
            self.sender().control(ppp::LCP, code::TERMINATE, 99, &[]);
        } else {
            self.sender().discovery(discovery::PADT, &[]);
        }
        self.is_up = false;
    }

    fn tags(&self, cookie: Option<&[u8]>) -> Vec<u8> {
        let mut tags = Vec::new();
        put_tag(&mut tags, tag::SERVICE_NAME, b"");
        put_tag(&mut tags, tag::HOST_UNIQ, &self.own);
        if let Some(cookie) = cookie {
            put_tag(&mut tags, tag::AC_COOKIE, cookie);
        }
        tags
    }

    fn ask_for_address(&mut self) {
        let mut options = Vec::new();
        put(&mut options, 3, &self.address.octets());
        if let Some(dns) = self.dns {
            put(&mut options, 129, &dns.octets());
        }
        self.sender().control(ppp::IPCP, code::REQUEST, 1, &options);
    }

    /// Answers a frame.
    pub fn receive(&mut self, packet: &Packet) {
        let Ok(frame) = Frame::parse(packet.data(), self.own) else { return };
        match frame.code {
            discovery::PADO => {
                self.server = frame.source;
                let at = frame.payload.windows(4).position(|tag| tag == [1, 4, 0, 16]).expect("a cookie");
                let tags = self.tags(frame.payload.get(at + 4..at + 20));
                self.sender().discovery(discovery::PADR, &tags);
            }
            discovery::PADS => {
                self.session = frame.session;
                if self.session != 0 {
                    self.sender().control(ppp::LCP, code::REQUEST, 1, &[5, 6, 1, 2, 3, 4]);
                }
            }
            discovery::PADT if frame.session == self.session => (self.session, self.is_up) = (0, false),
            0 if frame.session == self.session => self.receive_ppp(frame.payload),
            _ => {}
        }
    }

    fn receive_ppp(&mut self, payload: &[u8]) {
        let [p0, p1, kind, id, l0, l1, ..] = *payload else { panic!("a short packet") };
        let data = &payload[6..usize::from(u16::from_be_bytes([l0, l1])) + 2];
        let (protocol, name) = (u16::from_be_bytes([p0, p1]), self.name.as_bytes());
        match (protocol, kind) {
            (ppp::LCP | ppp::IPCP, code::REQUEST) => {
                let wants_pap = data.windows(4).any(|option| option == [3, 4, 0xc0, 0x23]);
                self.sender().control(protocol, code::ACK, id, data);
                if wants_pap {
                    let data = auth::put_counted(name, &auth::put_counted(self.secret.as_bytes(), &[]));
                    self.sender().control(ppp::PAP, pap::REQUEST, 1, &data);
                }
                if protocol == ppp::IPCP && !self.is_up {
                    self.ask_for_address();
                }
            }
            (ppp::CHAP, chap::CHALLENGE) => {
                let (challenge, _) = auth::parse_response(data).expect("a challenge");
                let value = auth::response(id, self.secret.as_bytes(), challenge);
                self.sender().control(ppp::CHAP, chap::RESPONSE, id, &auth::put_counted(&value, name));
            }
            (ppp::IPCP, code::NAK) => {
                self.address = Ipv4Addr::from(*data[2..].first_chunk::<4>().expect("an address"));
                self.ask_for_address();
            }
            (ppp::IPCP, code::ACK) => self.is_up = true,
            (ppp::LCP, code::ECHO) => self.sender().control(ppp::LCP, code::ECHO_REPLY, id, &[1, 2, 3, 4]),
            (ppp::LCP | ppp::IPCP, code::TERMINATE) => {
                self.is_up = false;
                self.sender().control(protocol, code::TERMINATE_ACK, id, &[]);
            }
            _ => {}
        }
    }
}
