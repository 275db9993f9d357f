//! What a router's interface does about messages of neighbor discovery.

use std::net::Ipv6Addr;

use args::EtherAddr;
use element::{Ctx, Packet};

use super::{IP6Neighbors, Outgoing, DUPLICATE, INVALID, OFF_LINK};
use crate::ip6::discovery::{self, Heard, Said};

impl IP6Neighbors {
    /// Notes what a message says, and answers it.
    pub(super) fn receive(&mut self, ctx: &mut Ctx<'_>, packet: Packet, now: i64, outgoing: &mut Outgoing) {
        let Some(heard) = discovery::read(packet.data()) else { return ctx.drop_packet(INVALID, packet) };
        // What comes back from the network is no news.
        if heard.from == self.mac {
            return;
        }
        if !heard.source.is_unspecified() && !self.own.is_on_link(heard.source) {
            return ctx.drop_packet(OFF_LINK, packet);
        }
        let is_advertised =
            |said: &Said| matches!(said, Said::Advertisement(said) if self.own.contains(said.target));
        if self.own.contains(heard.source) || is_advertised(&heard.what) {
            self.tell_duplicate(ctx, &heard);
            return ctx.drop_packet(DUPLICATE, packet);
        }
        match heard.what {
            Said::Solicitation { target, mac } => self.answer(ctx, &heard, target, mac, now, outgoing),
            Said::Advertisement(said) => {
                let packets = self.cache.advertised(&said, now);
                if let Some(mac) = said.mac {
                    self.release(ctx, packets, mac, outgoing);
                }
            }
            Said::RouterSolicitation { mac: Some(mac) } if !heard.source.is_unspecified() => {
                let packets = self.cache.asked_by(heard.source, mac, now);
                self.release(ctx, packets, mac, outgoing);
            }
            Said::RouterSolicitation { .. } => {}
        }
    }

    fn answer(
        &mut self,
        ctx: &mut Ctx<'_>,
        heard: &Heard,
        target: Ipv6Addr,
        mac: Option<[u8; 6]>,
        now: i64,
        outgoing: &mut Outgoing,
    ) {
        let is_own = self.own.contains(target);
        if !is_own && !self.own.is_anycast(target) {
            return;
        }
        if let Some(mac) = mac {
            let packets = self.cache.asked_by(heard.source, mac, now);
            self.release(ctx, packets, mac, outgoing);
        }
        self.n_answers += 1;
        let to = mac.unwrap_or(heard.from);
        // Of what several have, nobody's word is above another's (RFC 4861, section 7.2.7).
        outgoing.push(ctx, 0, discovery::answer([self.mac, to], heard.source, target, is_own));
    }

    #[cold]
    fn tell_duplicate(&mut self, ctx: &mut Ctx<'_>, heard: &Heard) {
        if self.n_duplicates == 0 {
            let name = ctx.own_name().to_string();
            let mac = EtherAddr(heard.from).with_colons();
            ctx.chatter(&format!("{name}: station {mac} has an address of this interface"));
        }
        self.n_duplicates += 1;
    }
}
