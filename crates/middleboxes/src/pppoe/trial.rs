//! The part of a link in which the peer proves who it is.

use super::auth::{self, chap, pap, Proof, CHALLENGE_LEN};
use super::frame::{ppp, Sender};
use super::lcp::Method;
use super::link::{Event, Link, LinkSettings, Phase};
use super::negotiation::RESTART_NS;

/// Where the proof stands.
#[derive(Default)]
pub(super) struct Trial {
    pub(super) id: u8,
    pub(super) challenge: [u8; CHALLENGE_LEN],
    pub(super) n_left: u8,
    pub(super) retry_at: Option<i64>,
    /// The number of the packet that was answered, and whether the peer was admitted.
    pub(super) answered: Option<(u8, bool)>,
}

impl Link {
    /// Sets what the next challenge is to be.
    pub fn set_challenge(&mut self, challenge: [u8; CHALLENGE_LEN]) {
        if self.phase == Phase::Establish {
            self.trial.challenge = challenge;
        }
    }

    pub(super) fn challenge(&mut self, settings: &LinkSettings, now: i64, tx: &mut Sender<'_>) {
        let Trial { id, challenge, .. } = self.trial;
        let data = auth::put_counted(&challenge, settings.name.as_bytes());
        tx.control(ppp::CHAP, chap::CHALLENGE, id, &data);
        self.trial.n_left = self.trial.n_left.saturating_sub(1);
        self.trial.retry_at = Some(now + RESTART_NS);
    }

    pub(super) fn proof_packet(
        &mut self,
        protocol: u16,
        code: u8,
        id: u8,
        data: &[u8],
        tx: &mut Sender<'_>,
    ) -> Event {
        let method = self.lcp.options.method();
        let is_asked_for = match (protocol, code) {
            (ppp::PAP, pap::REQUEST) => method == Some(Method::Pap),
            (ppp::CHAP, chap::RESPONSE) => method == Some(Method::Chap) && id == self.trial.id,
            _ => false,
        };
        if !is_asked_for {
            return Event::Nothing;
        }
        if let Some((_, is_admitted)) = self.trial.answered {
            // The answer was lost (RFC 1994, section 4.1; RFC 1334, section 2).
            self.trial.answered = Some((id, is_admitted));
            self.answer_proof(is_admitted, b"", tx);
            return Event::Nothing;
        }
        let read = match protocol {
            ppp::PAP => {
                auth::parse_password(data).map(|(name, password)| (name, Proof::Password(password.to_vec())))
            }
            _ => auth::parse_response(data).map(|(value, name)| {
                let challenge = self.trial.challenge;
                (name, Proof::Response { id, challenge, value: value.to_vec() })
            }),
        };
        let Some((name, proof)) = read else { return Event::Nothing };
        self.trial.answered = Some((id, false));
        Event::Login(name.to_vec(), proof)
    }

    pub(super) fn answer_proof(&mut self, is_admitted: bool, message: &[u8], tx: &mut Sender<'_>) {
        self.trial.retry_at = None;
        let Some((id, _)) = self.trial.answered else { return };
        self.trial.answered = Some((id, is_admitted));
        match (self.lcp.options.method(), is_admitted) {
            (Some(Method::Pap), true) => tx.control(ppp::PAP, pap::ACK, id, &auth::put_counted(message, &[])),
            (Some(Method::Pap), false) => {
                tx.control(ppp::PAP, pap::NAK, id, &auth::put_counted(message, &[]))
            }
            (Some(Method::Chap), true) => tx.control(ppp::CHAP, chap::SUCCESS, id, message),
            (Some(Method::Chap), false) => tx.control(ppp::CHAP, chap::FAILURE, id, message),
            (None, _) => {}
        }
    }
}
