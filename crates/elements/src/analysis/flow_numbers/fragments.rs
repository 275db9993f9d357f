//! Fragments that wait for the first one of their packet.

use std::collections::VecDeque;

use element::{annotation, Packet};

use super::super::aggregate_ip_flows::set_number;
use super::super::flow_key::Header;
use super::{seconds, FlowNumbers, Fragment};

impl FlowNumbers {
    /// Keeps a packet that waits, and lets those go that need not wait any longer.
    pub fn add_fragment(&mut self, packet: Packet, flow: Option<u32>) {
        let Some((hosts, _)) = Header::of(&packet, self.takes_icmp).and_then(|header| header.hosts()) else {
            return;
        };
        self.note_time(packet.timestamp_ns());
        let mut queue = self.fragments.remove(&hosts).unwrap_or_default();
        queue.push_back(Fragment { packet, flow });
        self.release(&mut queue);
        if !queue.is_empty() {
            self.fragments.insert(hosts, queue);
        }
    }

    /// Lets the head of a queue go while it is too old or no fragment.
    pub(super) fn release(&mut self, queue: &mut VecDeque<Fragment>) {
        let oldest = self.now_s.wrapping_sub(self.timeouts.fragment) as i32;
        while let Some(head) = queue.front() {
            let is_old = (seconds(head.packet.timestamp_ns()) as i32) < oldest;
            let header = Header::of(&head.packet, self.takes_icmp);
            if !is_old && header.is_some_and(|header| header.is_fragment) {
                return;
            }
            self.release_head(queue);
        }
    }

    fn release_head(&mut self, queue: &mut VecDeque<Fragment>) {
        let Some(mut head) = queue.pop_front() else { return };
        let takes_icmp = self.takes_icmp;
        let id = Header::of(&head.packet, takes_icmp).map(|header| header.id());
        let is_same =
            |other: &Fragment| Header::of(&other.packet, takes_icmp).map(|header| header.id()) == id;
        if head.flow.is_none() {
            if let Some(other) = queue.iter().find(|other| other.flow.is_some() && is_same(other)) {
                head.flow = other.flow;
                set_number(
                    &mut head.packet,
                    other.packet.anno_u32(annotation::AGGREGATE),
                    other.packet.paint(),
                );
            }
        } else {
            let (number, paint) = (head.packet.anno_u32(annotation::AGGREGATE), head.packet.paint());
            for other in queue.iter_mut().filter(|other| is_same(other)) {
                other.flow = head.flow;
                set_number(&mut other.packet, number, paint);
            }
        }
        match head.flow {
            Some(idx) => {
                self.n_lookups += 1;
                if let Some((key, flow)) = self.flows.get_mut(idx) {
                    flow.looked_up = self.n_lookups;
                    flow.note(key.hosts.protocol, &head.packet);
                }
                self.released.push(head.packet);
            }
            None => self.n_lost += 1,
        }
    }
}
