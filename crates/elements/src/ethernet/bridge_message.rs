//! What bridges tell each other to agree on a tree: IEEE 802.1D, clause 9, in frames with an IEEE 802.2 header.

use std::cmp::Ordering;

/// Bytes of a frame, padding included.
pub const FRAME: usize = 60;
/// Bytes that are looked at.
const READ: usize = 52;

/// The group address of bridges.
const ALL_BRIDGES: [u8; 6] = [0x01, 0x80, 0xC2, 0, 0, 0];
/// Service access points and control field of bridge messages.
const LINK: [u8; 3] = [0x42, 0x42, 3];
const TOPOLOGY_CHANGE: u8 = 128;
const FLAG_CHANGE: u8 = 0x01;
const FLAG_ACKNOWLEDGED: u8 = 0x80;

const NS_PER_S: i64 = 1_000_000_000;

/// A message that a bridge sends, or what it knows from one it received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The bridge at the root of the tree, as priority and address in one number.
    pub root: u64,
    /// How far that is.
    pub cost: u32,
    /// The bridge that sends the message.
    pub bridge: u64,
    /// The port it sends it on.
    pub port: u16,
    has_change: bool,
    /// When the root sent what the message tells; `None`: it never expires.
    sent_ns: Option<i64>,
    /// Seconds until a message expires.
    pub max_age_s: u16,
    /// Seconds between messages of the root.
    pub hello_s: u16,
    /// Seconds that a port spends in each state on its way to forwarding.
    pub forward_delay_s: u16,
}

impl Message {
    /// The worst message: that of a port on which nothing was heard.
    pub const NONE: Message = Message {
        root: u64::MAX,
        cost: u32::MAX,
        bridge: u64::MAX,
        port: 0,
        has_change: false,
        sent_ns: None,
        max_age_s: 0,
        hello_s: 0,
        forward_delay_s: 0,
    };

    /// That of a bridge that takes itself for the root, with the times that the standard recommends.
    pub fn of_root(bridge: u64, port: u16) -> Message {
        let (max_age_s, hello_s, forward_delay_s) = (20, 2, 15);
        Message { root: bridge, cost: 0, bridge, port, max_age_s, hello_s, forward_delay_s, ..Message::NONE }
    }

    /// Reads a frame that is received at some time; `None` if it is too short.
    pub fn read(frame: &[u8], now_ns: i64) -> Option<Message> {
        let frame: &[u8; READ] = frame.first_chunk()?;
        let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let long = |at: usize| (0..4).fold(0, |value, i| value << 16 | u64::from(word(at + 2 * i)));
        Some(Message {
            root: long(22),
            cost: u32::from(word(30)) << 16 | u32::from(word(32)),
            bridge: long(34),
            port: word(42),
            has_change: frame[21] & FLAG_CHANGE != 0,
            sent_ns: Some(now_ns.saturating_sub(i64::from(age_us(word(44))) * 1000)),
            max_age_s: word(46) / 256,
            hello_s: word(48) / 256,
            forward_delay_s: word(50) / 256,
        })
    }

    /// Whether a frame acknowledges a change of the topology.
    pub fn acknowledges(frame: &[u8]) -> bool {
        frame.get(21).is_some_and(|flags| flags & FLAG_ACKNOWLEDGED != 0)
    }

    /// The frame in which `bridge` sends this on `port`, without its source.
    pub fn frame(&self, bridge: u64, port: u16, now_ns: impl FnOnce() -> i64) -> [u8; FRAME] {
        let mut frame = blank(38, 0);
        let age = self.sent_ns.map_or(0, |sent_ns| {
            let age_ns = now_ns().saturating_sub(sent_ns);
            let part = age_ns.rem_euclid(NS_PER_S) / 1000 * 256 / 1_000_000;
            (age_ns.div_euclid(NS_PER_S) as u16) << 8 | part as u16
        });
        frame[21] = if self.has_change { FLAG_CHANGE } else { 0 };
        frame[22..30].copy_from_slice(&self.root.to_be_bytes());
        frame[30..34].copy_from_slice(&self.cost.to_be_bytes());
        frame[34..42].copy_from_slice(&bridge.to_be_bytes());
        let words = [port, age, self.max_age_s << 8, self.hello_s << 8, self.forward_delay_s << 8];
        frame[42..52].copy_from_slice(words.map(u16::to_be_bytes).as_flattened());
        frame
    }

    /// The frame that tells the root of a change of the topology, without its source.
    pub fn change_frame() -> [u8; FRAME] {
        blank(7, TOPOLOGY_CHANGE)
    }

    /// The same as a neighbour of the sender tells it.
    pub fn farther(&self) -> Message {
        Message { cost: self.cost.wrapping_add(1), ..*self }
    }

    /// Compares with another message; the better one is less.
    pub fn compare(&self, other: &Message) -> Ordering {
        self.compare_as(self.bridge, self.port, other)
    }

    /// The same as if `bridge` had sent this on `port`.
    pub fn compare_as(&self, bridge: u64, port: u16, other: &Message) -> Ordering {
        (self.root, self.cost, bridge, port).cmp(&(other.root, other.cost, other.bridge, other.port))
    }

    /// Forgets a message that is not newer than a time; whether it did.
    pub fn expire(&mut self, cutoff_ns: i64) -> bool {
        let is_old = self.sent_ns.is_some_and(|sent_ns| sent_ns <= cutoff_ns);
        if is_old {
            let Message { root, cost, bridge, sent_ns, has_change, .. } = Message::NONE;
            *self = Message { root, cost, bridge, sent_ns, has_change, ..*self };
        }
        is_old
    }

    /// The message in a line.
    pub fn line(&self) -> String {
        let Message { root, cost, bridge, port, max_age_s, hello_s, forward_delay_s, .. } = *self;
        let change = if self.has_change { "TC" } else { "tc" };
        format!(
            " {bridge:>16x}:{port:04x}: {change}  {cost:x} -> {root:>16x}  m/h/d: {max_age_s:x}/{hello_s:x}/{forward_delay_s:x}\n"
        )
    }
}

/// A frame in a line: all that it says, or that it tells of a change; `None` if it is too short.
pub fn describe(frame: &[u8]) -> Option<String> {
    let frame: &[u8; READ] = frame.first_chunk()?;
    if frame[20] == TOPOLOGY_CHANGE {
        return Some("TCM".to_string());
    }
    let word = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let long = |at: usize| (0..4).fold(0u64, |value, i| value << 16 | u64::from(word(at + 2 * i)));
    let kind = if frame[20] == 0 { "CFG" } else { "???" };
    let acknowledged = if frame[21] & FLAG_ACKNOWLEDGED != 0 { "TCA" } else { "tca" };
    let change = if frame[21] & FLAG_CHANGE != 0 { "TC" } else { "tc" };
    let cost = u32::from(word(30)) << 16 | u32::from(word(32));
    let (bridge, port, root) = (long(34), word(42), long(22));
    let [age, max_age, hello, delay] = [44, 46, 48, 50].map(word);
    Some(format!(
        "{kind} {bridge:>16x}:{port:04x}: {acknowledged} {change}  {cost:08x} -> {root:>16x}  \
         a/m/h/d: {age:x}/{max_age:x}/{hello:x}/{delay:x}"
    ))
}

/// A message's age in microseconds, from 256ths of a second; Click's product has 32 bits.
fn age_us(age: u16) -> i32 {
    i32::from(age).wrapping_mul(1_000_000) / 256
}

fn blank(len: u16, kind: u8) -> [u8; FRAME] {
    let mut frame = [0; FRAME];
    frame[..6].copy_from_slice(&ALL_BRIDGES);
    frame[12..14].copy_from_slice(&len.to_be_bytes());
    frame[14..17].copy_from_slice(&LINK);
    frame[20] = kind;
    frame
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ages_are_in_256ths_of_a_second() {
        let mut message = Message::of_root(1, 2);
        message.sent_ns = Some(10 * NS_PER_S);
        let frame = message.frame(3, 4, || 12 * NS_PER_S + NS_PER_S / 2);
        assert_eq!(frame[44..46], [2, 128]);
        let read = Message::read(&frame, 20 * NS_PER_S).unwrap();
        assert_eq!(read, Message { bridge: 3, port: 4, sent_ns: Some(17_500_000_000), ..message });
    }

    #[test]
    fn old_messages_become_the_worst() {
        let mut message = Message::read(&Message::of_root(1, 2).frame(1, 2, || 0), 5).unwrap();
        assert!(!message.expire(4) && message.expire(5) && !message.expire(i64::MAX));
        assert_eq!(message.compare(&Message::of_root(u64::MAX - 1, 9)), Ordering::Greater);
    }

    proptest! {
        #[test]
        fn any_frame_is_a_message_or_not(frame in prop::collection::vec(any::<u8>(), 0..70), now_ns: i64) {
            let message = Message::read(&frame, now_ns);
            prop_assert_eq!(message.is_some(), frame.len() >= READ);
            prop_assert!(message.is_none_or(|message| message.line().ends_with('\n')));
        }
    }
}
