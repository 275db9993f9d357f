//! What was set for a device after it was read, and before it went.

use sys::link_request::LINK_LEN;
use sys::netlink::News;

use super::{address, entry, neighbour, route, Entry, Saved, KEPT_OF_LINK};

/// What a change does to a table.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Added,
    /// Added in the place of what is there.
    Replaced,
    Removed,
}

impl Saved {
    /// Follows what became of the device up to its end. News may begin before it was read.
    pub(crate) fn learn(&mut self, news: &[News]) {
        let mut is_up = self.flags & UP != 0;
        for one in news {
            let message = &one.message;
            let is_removal =
                [libc::RTM_DELADDR, libc::RTM_DELNEIGH, libc::RTM_DELROUTE].contains(&message.kind);
            let change = match (is_removal, one.replaces) {
                (true, _) => Change::Removed,
                (_, true) => Change::Replaced,
                _ => Change::Added,
            };
            match message.kind {
                libc::RTM_NEWLINK | libc::RTM_DELLINK => is_up &= self.learn_of_link(one),
                libc::RTM_NEWADDR | libc::RTM_DELADDR => {
                    let Some(address) = address(message, self.index) else { continue };
                    // The kernel never tells who removed one of IPv6; but what goes with the device does so once that is down.
                    let is_v6 = address.fixed[0] == libc::AF_INET6 as u8;
                    if !is_removal || one.was_asked_for || (is_v6 && is_up) {
                        set(&mut self.addresses, address, change, is_same_address);
                    }
                }
                libc::RTM_NEWNEIGH | libc::RTM_DELNEIGH if !is_removal || one.was_asked_for => {
                    let neighbour = neighbour(message, self.index);
                    neighbour.into_iter().for_each(|neighbour| {
                        set(&mut self.neighbours, neighbour, change, is_same_neighbour);
                    });
                }
                libc::RTM_NEWROUTE | libc::RTM_DELROUTE if !is_removal || one.was_asked_for => {
                    let is_same = match change {
                        Change::Replaced => is_in_place_of,
                        _ => |a: &Entry, b: &Entry| a == b,
                    };
                    route(message)
                        .into_iter()
                        .for_each(|route| set(&mut self.routes, route, change, is_same));
                }
                _ => {}
            }
        }
    }

    /// Whether the device can still be up.
    fn learn_of_link(&mut self, one: &News) -> bool {
        let Some(link) = entry(&one.message, LINK_LEN, |_| true) else { return true };
        let is_of_device =
            link.fixed[0] == libc::AF_UNSPEC as u8 && super::word(&link.fixed, 4) == self.index;
        if !is_of_device {
            return true;
        }
        if one.message.kind == libc::RTM_DELLINK {
            return false;
        }
        let flags = super::word(&link.fixed, 8);
        // It goes down by itself when it is removed, as it does when somebody takes it down.
        if flags & UP != 0 {
            self.flags = flags;
        }
        self.mac = link.mac().or(self.mac);
        self.mtu = link.mtu().or(self.mtu);
        for (kind, value) in link.attributes.into_iter().filter(|(kind, _)| KEPT_OF_LINK.contains(kind)) {
            match self.link.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, old)) => *old = value,
                None => self.link.push((kind, value)),
            }
        }
        flags & UP != 0
    }
}

const UP: u32 = libc::IFF_UP as u32;

/// Makes a change in a list in which each entry is there once.
fn set(list: &mut Vec<Entry>, entry: Entry, change: Change, is_same: impl Fn(&Entry, &Entry) -> bool) {
    let place = list.iter().position(|other| is_same(other, &entry));
    match (place, change) {
        (Some(place), Change::Removed) => drop(list.remove(place)),
        (Some(place), _) => list[place] = entry,
        (None, Change::Removed) => {}
        (None, _) => list.push(entry),
    }
}

fn is_same_address(a: &Entry, b: &Entry) -> bool {
    let local =
        |entry: &Entry| entry.find(libc::IFA_LOCAL).or(entry.find(libc::IFA_ADDRESS)).map(<[u8]>::to_vec);
    a.fixed[..2] == b.fixed[..2] && local(a) == local(b)
}

fn is_same_neighbour(a: &Entry, b: &Entry) -> bool {
    let is_proxy = |entry: &Entry| entry.fixed[10] & super::NTF_PROXY;
    a.find(libc::NDA_DST) == b.find(libc::NDA_DST) && is_proxy(a) == is_proxy(b)
}

/// Whether one route takes the place of the other: to the same destination, of the same importance, in the same table.
fn is_in_place_of(a: &Entry, b: &Entry) -> bool {
    const TABLE: usize = 4;
    let same = |kind| a.find(kind) == b.find(kind);
    a.fixed[..TABLE] == b.fixed[..TABLE]
        && same(libc::RTA_TABLE)
        && same(libc::RTA_DST)
        && same(libc::RTA_PRIORITY)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sys::netlink::Message;

    use super::*;

    const INDEX: u32 = 3;

    fn saved() -> Saved {
        Saved {
            name: "left".into(),
            index: INDEX,
            flags: UP,
            mac: None,
            mtu: None,
            link: Vec::new(),
            addresses: Vec::new(),
            neighbours: Vec::new(),
            routes: Vec::new(),
            settings: String::new(),
        }
    }

    fn news(kind: u16, fixed: &[u8], attributes: &[(u16, &[u8])], was_asked_for: bool) -> News {
        let mut payload = fixed.to_vec();
        for (kind, value) in attributes {
            payload.extend((value.len() as u16 + 4).to_ne_bytes());
            payload.extend(kind.to_ne_bytes());
            payload.extend(*value);
            payload.resize(payload.len().next_multiple_of(4), 0);
        }
        News { message: Message { kind, payload }, replaces: false, was_asked_for }
    }

    /// News of the address 10.0.0.`last`, or fd00::`last`, of a device.
    fn address(kind: u16, family: i32, index: u32, last: u8, was_asked_for: bool) -> News {
        let fixed = [&[family as u8, 24, 0, 0][..], &index.to_ne_bytes()].concat();
        let mut octets = if family == libc::AF_INET { vec![10, 0, 0, 0] } else { vec![0xfd; 16] };
        *octets.last_mut().unwrap() = last;
        news(kind, &fixed, &[(libc::IFA_ADDRESS, &octets)], was_asked_for)
    }

    fn link(flags: u32, mtu: u32) -> News {
        let fixed = [[0; 4], INDEX.to_ne_bytes(), flags.to_ne_bytes(), [0; 4]].concat();
        news(libc::RTM_NEWLINK, &fixed, &[(libc::IFLA_MTU, &mtu.to_ne_bytes())], false)
    }

    /// The last bytes of the addresses.
    fn last(saved: &Saved) -> Vec<u8> {
        saved.addresses.iter().map(|entry| *entry.find(libc::IFA_ADDRESS).unwrap().last().unwrap()).collect()
    }

    #[test]
    fn what_a_program_removes_is_gone_and_what_goes_with_the_device_is_not() {
        let (add, remove) = (libc::RTM_NEWADDR, libc::RTM_DELADDR);
        let mut device = saved();
        device.learn(&[
            address(add, libc::AF_INET, INDEX, 1, true),
            address(add, libc::AF_INET, INDEX, 2, true),
            address(add, libc::AF_INET, INDEX, 2, true),
            address(add, libc::AF_INET, INDEX + 1, 3, true),
            address(remove, libc::AF_INET, INDEX, 1, true),
            address(add, libc::AF_INET6, INDEX, 4, false),
            address(add, libc::AF_INET6, INDEX, 5, false),
            address(remove, libc::AF_INET6, INDEX, 4, false),
            link(UP, 1400),
            link(0, 1400),
            address(remove, libc::AF_INET, INDEX, 2, false),
            address(remove, libc::AF_INET6, INDEX, 5, false),
        ]);
        assert_eq!((last(&device), device.mtu, device.flags), (vec![2, 5], Some(1400), UP));
    }

    #[test]
    fn a_route_that_takes_the_place_of_another_does_so_here() {
        let route = |gateway: u8, replaces| {
            let fixed = [2, 0, 0, 0, 254, libc::RTPROT_STATIC, 0, 1, 0, 0, 0, 0];
            let by = [(libc::RTA_GATEWAY, &[10, 0, 0, gateway][..]), (libc::RTA_OIF, &[3, 0, 0, 0])];
            News { replaces, ..news(libc::RTM_NEWROUTE, &fixed, &by, true) }
        };
        let mut device = saved();
        device.learn(&[route(1, false), route(1, false), route(2, false)]);
        assert_eq!(device.routes.len(), 2);
        let mut device = saved();
        device.learn(&[route(1, false), route(2, true)]);
        assert_eq!(device.routes.len(), 1);
        assert_eq!(device.routes[0].find(libc::RTA_GATEWAY), Some(&[10, 0, 0, 2][..]));
    }

    proptest! {
        #[test]
        fn no_news_panics(kind in 16u16..32, payload in proptest::collection::vec(any::<u8>(), 0..64), was_asked_for: bool) {
            saved().learn(&[News { message: Message { kind, payload }, replaces: was_asked_for, was_asked_for }]);
        }
    }
}
