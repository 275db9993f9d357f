//! Which packets a trace follows.

use element::Packet;

use super::filter::Filter;
use super::numbers::Numbers;

/// The first packets that match a filter, and their clones.
pub struct Followed {
    filter: Filter,
    /// So many more are to be followed.
    left: u32,
    n_begun: u32,
    /// Packets that are followed, by identity.
    packets: Numbers,
    /// The numbers of packets that were ever followed, by family: those of their clones.
    families: Numbers,
    /// Packets that a source cloned from one that it keeps, by identity, until one of them is followed: though of one family, they
    /// are not each other's clones.
    siblings: Numbers,
}

impl Followed {
    /// `count` packets that match a filter.
    pub fn new(count: u32, filter: Filter) -> Followed {
        let (packets, families, siblings) = Default::default();
        Followed { filter, left: count, n_begun: 0, packets, families, siblings }
    }

    /// Takes note of a packet that a source emits: it is new, even in memory that a followed packet had.
    pub fn begin(&mut self, packet: &Packet) {
        self.forget(packet);
        match packet.family() == packet.id() {
            true => _ = self.families.remove(packet.family()),
            false => self.siblings.insert(packet.id(), 0),
        }
    }

    /// The number of a packet, if it is followed or is to be from now on. Clones of a followed packet are followed too.
    pub fn number(&mut self, packet: &Packet) -> Option<u32> {
        let of_family =
            || self.families.get(packet.family()).filter(|_| self.siblings.get(packet.id()).is_none());
        if let Some(number) = self.packets.get(packet.id()).or_else(of_family) {
            self.packets.insert(packet.id(), number);
            return Some(number);
        }
        if self.left == 0 || !self.filter.matches(packet) {
            return None;
        }
        self.left -= 1;
        self.n_begun += 1;
        self.packets.insert(packet.id(), self.n_begun);
        self.families.insert(packet.family(), self.n_begun);
        self.siblings.remove(packet.id());
        Some(self.n_begun)
    }

    /// Forgets a packet that is no more; gives its number.
    pub fn forget(&mut self, packet: &Packet) -> Option<u32> {
        self.siblings.remove(packet.id());
        self.packets.remove(packet.id())
    }

    /// Whether all have gone their way.
    pub fn is_over(&self) -> bool {
        self.left == 0 && self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_source_clones_from_one_packet_is_not_taken_for_one() {
        let mut followed = Followed::new(9, Filter::new("udp").unwrap());
        let kept = Packet::from_bytes(&[0; 46]);
        let mut sent = [kept.clone(), kept.clone()];
        for packet in &sent {
            followed.begin(packet);
            assert_eq!(followed.number(packet), None, "it is no IP packet yet");
        }
        for packet in &mut sent {
            packet.data_mut()[..10].copy_from_slice(&[0x45, 0, 0, 46, 0, 0, 0, 0, 9, 17]);
        }
        assert_eq!(sent.each_ref().map(|packet| followed.number(packet)), [Some(1), Some(2)]);
        let clone = sent[1].clone();
        assert_eq!((followed.number(&clone), followed.number(&sent[0])), (Some(2), Some(1)));
        let third = kept.clone();
        followed.begin(&third);
        assert_eq!(followed.number(&sent[0].clone()), Some(2), "of its family, the last that was begun");
    }
}
