//! The part of a link that is about packets that one side does not understand (RFC 1661, sections 5.6 and 5.7).

use super::frame::{ppp, Sender};
use super::link::{Cause, Event, Link, Phase};
use super::negotiation::code;

impl Link {
    /// The peer does not know a code or a protocol.
    pub(super) fn rejected(&mut self, code: u8, data: &[u8], now: i64, tx: &mut Sender<'_>) -> Event {
        let is_vital = match (code, data) {
            (code::CODE_REJECT, [rejected, ..]) => *rejected <= code::CODE_REJECT,
            (code::PROTOCOL_REJECT, [high, low, ..]) => {
                let protocol = u16::from_be_bytes([*high, *low]);
                matches!(protocol, ppp::LCP | ppp::IPCP | ppp::PAP | ppp::CHAP | ppp::IPV4)
            }
            _ => false,
        };
        match self.phase {
            Phase::Terminate(_) => Event::Nothing,
            _ if is_vital => self.give_up(Cause::UserError, now, tx),
            _ => Event::Nothing,
        }
    }

    pub(super) fn reject_code(&mut self, protocol: u16, body: &[u8], tx: &mut Sender<'_>) -> Event {
        self.id = self.id.wrapping_add(1);
        let fits = body.len().min(usize::from(self.mru()) - 4);
        tx.control(protocol, code::CODE_REJECT, self.id, body.get(..fits).unwrap_or_default());
        Event::Nothing
    }

    pub(super) fn reject_protocol(&mut self, protocol: u16, body: &[u8], tx: &mut Sender<'_>) {
        if !self.lcp.is_open() {
            return;
        }
        self.id = self.id.wrapping_add(1);
        let fits = body.len().min(usize::from(self.mru()) - 6);
        let body = body.get(..fits).unwrap_or_default();
        tx.control(ppp::LCP, code::PROTOCOL_REJECT, self.id, &[&protocol.to_be_bytes(), body].concat());
    }
}
