//! PPP over one session, as the side that is called: LCP, then the proof of who the peer is, then IPCP (RFC 1661, section 3).

use std::net::Ipv4Addr;

use super::auth::Proof;
use super::frame::{ppp, Sender};
use super::ipcp::IpcpOptions;
use super::lcp::{LcpOptions, Method};
use super::negotiation::{code, Change, Negotiation, MAX_CONFIGURE};
use super::trial::Trial;

/// How long a peer may take until it has an address.
pub const SETUP_NS: i64 = 60_000_000_000;

/// What all links have in common.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// This side's name, for challenges.
    pub name: String,
    /// How peers may prove who they are, first the one to be tried first; none: they need not.
    pub methods: Vec<Method>,
    /// This side's address.
    pub local: Ipv4Addr,
    /// Name servers for the peers.
    pub dns: [Option<Ipv4Addr>; 2],
    /// Time between echo requests; 0: none.
    pub echo_ns: i64,
    /// Echo requests without an answer after which the peer is gone.
    pub max_echoes: u32,
}

/// Why a link ended, in the words of RFC 2866, section 5.10.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The peer asked for it.
    UserRequest,
    /// The peer no longer answers.
    LostCarrier,
    /// The operator ended it.
    AdminReset,
    /// The graph ends.
    NasReboot,
    /// The peer began anew.
    PortReinit,
    /// The peer did not prove who it is, or no agreement was found.
    UserError,
}

impl Cause {
    /// The word.
    pub fn word(self) -> &'static str {
        match self {
            Cause::UserRequest => "User-Request",
            Cause::LostCarrier => "Lost-Carrier",
            Cause::AdminReset => "Admin-Reset",
            Cause::NasReboot => "NAS-Reboot",
            Cause::PortReinit => "Port-Reinit",
            Cause::UserError => "User-Error",
        }
    }
}

/// What the link tells whoever keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing.
    Nothing,
    /// The peer proves who it is: answer with [`Link::admit`] or [`Link::refuse`].
    Login(Vec<u8>, Proof),
    /// IP packets may flow.
    Up,
    /// They may not for now.
    Down,
    /// The peer began anew: who it is and which address it has is open again.
    Anew,
    /// It is over, and the session with it.
    Over(Cause),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Establish,
    Authenticate,
    Network,
    Terminate(Cause),
}

/// PPP with one peer.
pub struct Link {
    pub(super) lcp: Negotiation<LcpOptions>,
    ipcp: Negotiation<IpcpOptions>,
    pub(super) trial: Trial,
    pub(super) phase: Phase,
    set_up_by: Option<i64>,
    echo_at: Option<i64>,
    n_echoes: u32,
    /// The number of the last packet sent that is not part of a negotiation.
    pub(super) id: u8,
}

impl Link {
    /// Begins; `random` is for the magic number.
    pub fn open(settings: &LinkSettings, random: u32, now: i64, tx: &mut Sender<'_>) -> Link {
        let mut link = Link {
            lcp: Negotiation::new(LcpOptions::new(&settings.methods, random | 1)),
            ipcp: Negotiation::new(IpcpOptions::new(settings.local, settings.dns)),
            trial: Trial::default(),
            phase: Phase::Establish,
            set_up_by: Some(now + SETUP_NS),
            echo_at: None,
            n_echoes: 0,
            id: 0,
        };
        link.lcp.open(now, tx);
        link
    }

    /// The largest packet that the peer takes.
    pub fn mru(&self) -> u16 {
        self.lcp.options.peer_mru
    }

    /// What the link is about, in a word.
    pub fn phase(&self) -> &'static str {
        match self.phase {
            Phase::Establish => "establish",
            Phase::Authenticate => "authenticate",
            Phase::Network if self.ipcp.is_open() => "up",
            Phase::Network => "network",
            Phase::Terminate(_) => "terminate",
        }
    }

    /// When [`Link::expire`] is to be called.
    pub fn next_at(&self) -> Option<i64> {
        let times =
            [self.lcp.retry_at, self.ipcp.retry_at, self.trial.retry_at, self.set_up_by, self.echo_at];
        times.into_iter().flatten().min()
    }

    /// A PPP packet has arrived that is not IP.
    pub fn receive(
        &mut self,
        protocol: u16,
        body: &[u8],
        settings: &LinkSettings,
        now: i64,
        tx: &mut Sender<'_>,
    ) -> Event {
        let is_known = matches!(protocol, ppp::LCP | ppp::IPCP | ppp::PAP | ppp::CHAP);
        if !is_known {
            self.reject_protocol(protocol, body, tx);
            return Event::Nothing;
        }
        let Some((code, id, data)) = control_packet(body) else { return Event::Nothing };
        match (protocol, self.phase) {
            (ppp::LCP, _) => self.lcp_packet(code, id, data, body, settings, now, tx),
            (_, Phase::Establish | Phase::Terminate(_)) => Event::Nothing,
            (ppp::IPCP, Phase::Network) => self.ipcp_packet(code, id, data, body, now, tx),
            (ppp::PAP | ppp::CHAP, _) => self.proof_packet(protocol, code, id, data, tx),
            _ => Event::Nothing,
        }
    }

    /// The peer is admitted, and this is its address.
    pub fn admit(&mut self, address: Ipv4Addr, now: i64, tx: &mut Sender<'_>) {
        self.answer_proof(true, b"Welcome", tx);
        self.ipcp.options.address = address;
        self.phase = Phase::Network;
        self.ipcp.open(now, tx);
    }

    /// The peer is not admitted.
    pub fn refuse(&mut self, reason: &str, now: i64, tx: &mut Sender<'_>) {
        self.answer_proof(false, reason.as_bytes(), tx);
        self.terminate(Cause::UserError, now, tx);
    }

    /// Asks the peer to end.
    pub fn terminate(&mut self, cause: Cause, now: i64, tx: &mut Sender<'_>) {
        self.phase = Phase::Terminate(cause);
        self.stop_timers();
        self.ipcp.close();
        self.lcp.terminate(now, tx);
    }

    /// Timers may have expired.
    pub fn expire(&mut self, settings: &LinkSettings, now: i64, tx: &mut Sender<'_>) -> Event {
        let is_due = |at: Option<i64>| at.is_some_and(|at| at <= now);
        if self.lcp.expire(now, tx) == Change::Over {
            return self.over(Cause::LostCarrier);
        }
        if self.ipcp.expire(now, tx) == Change::Over || is_due(self.set_up_by) {
            return self.give_up(Cause::UserError, now, tx);
        }
        if is_due(self.trial.retry_at) {
            if self.trial.n_left == 0 {
                return self.give_up(Cause::UserError, now, tx);
            }
            self.challenge(settings, now, tx);
        }
        if is_due(self.echo_at) {
            if self.n_echoes >= settings.max_echoes {
                return self.over(Cause::LostCarrier);
            }
            self.n_echoes += 1;
            self.id = self.id.wrapping_add(1);
            let magic = self.lcp.options.magic().to_be_bytes();
            tx.control(ppp::LCP, code::ECHO, self.id, &magic);
            self.echo_at = Some(now + settings.echo_ns);
        }
        Event::Nothing
    }

    fn stop_timers(&mut self) {
        (self.set_up_by, self.echo_at, self.trial.retry_at) = (None, None, None);
    }

    /// The link ends without waiting for the peer.
    fn over(&mut self, cause: Cause) -> Event {
        self.stop_timers();
        self.ipcp.close();
        self.lcp.close();
        Event::Over(if let Phase::Terminate(first) = self.phase { first } else { cause })
    }

    /// The link is asked to end, unless it was already.
    pub(super) fn give_up(&mut self, cause: Cause, now: i64, tx: &mut Sender<'_>) -> Event {
        self.terminate(cause, now, tx);
        Event::Down
    }

    #[allow(clippy::too_many_arguments)]
    fn lcp_packet(
        &mut self,
        code: u8,
        id: u8,
        data: &[u8],
        body: &[u8],
        settings: &LinkSettings,
        now: i64,
        tx: &mut Sender<'_>,
    ) -> Event {
        match code {
            code::REQUEST..=code::TERMINATE_ACK => {
                let change = self.lcp.receive(code, id, data, now, tx);
                self.lcp_changed(change, settings, now, tx)
            }
            code::CODE_REJECT | code::PROTOCOL_REJECT => self.rejected(code, data, now, tx),
            code::ECHO if self.lcp.is_open() => {
                let magic = self.lcp.options.magic().to_be_bytes();
                let rest = data.get(magic.len()..).unwrap_or_default();
                tx.control(ppp::LCP, code::ECHO_REPLY, id, &[&magic[..], rest].concat());
                Event::Nothing
            }
            code::ECHO_REPLY => {
                self.n_echoes = 0;
                Event::Nothing
            }
            code::ECHO | code::DISCARD => Event::Nothing,
            _ => self.reject_code(ppp::LCP, body, tx),
        }
    }

    fn lcp_changed(
        &mut self,
        change: Change,
        settings: &LinkSettings,
        now: i64,
        tx: &mut Sender<'_>,
    ) -> Event {
        match change {
            Change::Nothing => Event::Nothing,
            Change::Up => self.established(settings, now, tx),
            Change::Down => {
                self.ipcp.close();
                self.stop_timers();
                self.phase = Phase::Establish;
                self.set_up_by = Some(now + SETUP_NS);
                Event::Anew
            }
            Change::Over if self.lcp.retry_at.is_some() => {
                // There was no agreement, and the peer was told.
                self.phase = Phase::Terminate(Cause::UserError);
                self.stop_timers();
                Event::Down
            }
            Change::Over => self.over(Cause::UserRequest),
        }
    }

    /// LCP is open: the peer is to prove who it is.
    fn established(&mut self, settings: &LinkSettings, now: i64, tx: &mut Sender<'_>) -> Event {
        self.n_echoes = 0;
        self.echo_at = (settings.echo_ns > 0).then_some(now + settings.echo_ns);
        self.phase = Phase::Authenticate;
        self.trial.answered = None;
        match self.lcp.options.method() {
            None => return Event::Login(Vec::new(), Proof::None),
            Some(Method::Pap) => {}
            Some(Method::Chap) => {
                self.trial.n_left = MAX_CONFIGURE;
                self.trial.id = self.trial.id.wrapping_add(1);
                self.challenge(settings, now, tx);
            }
        }
        Event::Nothing
    }

    fn ipcp_packet(
        &mut self,
        code: u8,
        id: u8,
        data: &[u8],
        body: &[u8],
        now: i64,
        tx: &mut Sender<'_>,
    ) -> Event {
        if code == code::CODE_REJECT {
            return self.rejected(code, data, now, tx);
        }
        if !matches!(code, code::REQUEST..=code::TERMINATE_ACK) {
            return self.reject_code(ppp::IPCP, body, tx);
        }
        match self.ipcp.receive(code, id, data, now, tx) {
            Change::Nothing => Event::Nothing,
            Change::Up => {
                self.set_up_by = None;
                Event::Up
            }
            Change::Down => Event::Down,
            // Without IP there is nothing left to do.
            Change::Over => self.give_up(Cause::UserRequest, now, tx),
        }
    }
}

/// Code, number and data of a control packet; what follows its length is padding.
fn control_packet(body: &[u8]) -> Option<(u8, u8, &[u8])> {
    let ([code, id, l0, l1], _) = body.split_first_chunk::<4>()?;
    let data = body.get(4..usize::from(u16::from_be_bytes([*l0, *l1])))?;
    Some((*code, *id, data))
}
