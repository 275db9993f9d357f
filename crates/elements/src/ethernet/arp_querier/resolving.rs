//! How ARPQuerier finds the addresses of hosts: what it hears, and what it asks.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use args::EtherAddr;
use element::fast_path::put_frame;
use element::{annotation, Ctx, Packet};
use wire::{ethertype, Arp, Ethernet, ARP_REPLY, ARP_REQUEST};

use super::{ARPQuerier, NO_ADDRESS, NO_DESTINATION};
use crate::ethernet::arp_cache::shared::now_ms;
use crate::ethernet::arp_cache::{ArpCache, Kept};
use crate::ethernet::arp_frame::{self, FRAME};
use crate::ethernet::leaving::Leaving;

impl ARPQuerier {
    /// Notes what a reply, or a request, says and gives the packets that waited for it.
    pub(super) fn receive(
        &mut self,
        ctx: &mut Ctx<'_>,
        cache: &mut ArpCache,
        frame: &[u8],
    ) -> VecDeque<Packet> {
        let none = VecDeque::new();
        let Some(frame) = frame.first_chunk::<FRAME>() else { return none };
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let is_request = self.hears_requests && word(20) == ARP_REQUEST;
        if !is_request {
            self.n_responses = self.n_responses.wrapping_add(1);
        }
        let operation = if is_request { ARP_REQUEST } else { ARP_REPLY };
        let kinds = [word(12), word(14), word(16), word(20)];
        let sender = EtherAddr([frame[22], frame[23], frame[24], frame[25], frame[26], frame[27]]);
        let ip = Ipv4Addr::new(frame[28], frame[29], frame[30], frame[31]);
        if kinds != [ethertype::ARP, Arp::ETHERNET, ethertype::IPV4, operation] || sender.is_group() {
            return none;
        }
        // Nobody asked for it: it makes no entry, of which there may be too many.
        if is_request && !cache.has(ip) {
            return none;
        }
        cache.insert(ip, sender, now_ms(ctx));
        cache.take_packets(ip)
    }

    /// Sends a packet on its way with an Ethernet header, lets it wait, or drops it.
    #[inline]
    pub(super) fn send(
        &mut self,
        ctx: &mut Ctx<'_>,
        cache: &mut ArpCache,
        packet: Packet,
        leaving: &mut Leaving,
    ) {
        if self.ip.is_unspecified() {
            self.n_drops = self.n_drops.wrapping_add(1);
            return ctx.drop_packet(NO_ADDRESS, packet);
        }
        self.route(ctx, cache, packet, leaving);
        leaving.emit_if_due(ctx);
    }

    fn route(&mut self, ctx: &mut Ctx<'_>, cache: &mut ArpCache, mut packet: Packet, leaving: &mut Leaving) {
        let ip = packet.dst_ip();
        let destination = if let Some((address, polls)) = cache.lookup(ip, self.poll_ms, || now_ms(ctx)) {
            if polls {
                let to = if self.polls_by_broadcast { EtherAddr::BROADCAST } else { address };
                let query = self.query(&packet, to);
                leaving.ask(ctx, query);
            }
            address
        } else if ip.is_broadcast() || ip == self.broadcast || self.networks.is_broadcast(ip) {
            EtherAddr::BROADCAST
        } else if ip.is_multicast() {
            // RFC 1112, section 6.4.
            let [_, b1, b2, b3] = ip.octets();
            EtherAddr([0x01, 0x00, 0x5e, b1 & 0x7f, b2, b3])
        } else if ip.is_unspecified() {
            if !self.is_warned {
                let name = ctx.own_name().to_string();
                ctx.chatter(&format!(
                    "{name} :: ARPQuerier: would query for 0.0.0.0; missing dest IP addr annotation?"
                ));
                self.is_warned = true;
            }
            self.n_drops = self.n_drops.wrapping_add(1);
            return ctx.drop_packet(NO_DESTINATION, packet);
        } else {
            let query = self.query(&packet, EtherAddr::BROADCAST);
            if cache.save(ip, packet, now_ms(ctx)) == Kept::Query {
                leaving.ask(ctx, query);
            } else {
                self.n_queries = self.n_queries.wrapping_sub(1);
            }
            return;
        };
        put_frame(&mut packet, &self.header(destination));
        leaving.send(packet);
    }

    /// The Ethernet header of a packet to a host.
    #[inline]
    fn header(&self, to: EtherAddr) -> [u8; Ethernet::LEN] {
        let ([a, b, c, d, e, f], [g, h, i, j, k, l]) = (to.0, self.address.0);
        let [m, n] = ethertype::IPV4.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
    }

    /// A request for the address of the packet's destination.
    fn query(&mut self, about: &Packet, to: EtherAddr) -> Packet {
        self.n_queries = self.n_queries.wrapping_add(1);
        let own = self.networks.source_towards(about.dst_ip()).unwrap_or(self.ip);
        let mut query = arp_frame::request(to.0, (self.address.0, own), about.dst_ip());
        query.set_timestamp_ns(about.timestamp_ns());
        query.set_anno(annotation::VLAN_TCI, about.anno::<2>(annotation::VLAN_TCI));
        query
    }
}
