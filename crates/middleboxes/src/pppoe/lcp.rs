//! The options of LCP (RFC 1661, section 6) that PPPoE has (RFC 2516, section 7).

use super::frame::ppp;
use super::negotiation::{put, Judgement, Options};

const MRU: u8 = 1;
const AUTHENTICATION: u8 = 3;
const MAGIC: u8 = 5;

/// The largest packet: what Ethernet carries, without the headers of PPPoE and PPP (RFC 2516, section 7).
pub const MAX_MRU: u16 = 1492;
/// The smallest packet that every IPv4 network carries (RFC 791).
const MIN_MRU: u16 = 68;
/// Algorithm MD5 (RFC 1994, section 3).
const CHAP_MD5: u8 = 5;

/// How a peer proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a password in the clear.
    Pap,
    /// By the hash of a challenge.
    Chap,
}

impl Method {
    /// The option's value.
    fn value(self) -> &'static [u8] {
        match self {
            Method::Pap => &[(ppp::PAP >> 8) as u8, ppp::PAP as u8],
            Method::Chap => &[(ppp::CHAP >> 8) as u8, ppp::CHAP as u8, CHAP_MD5],
        }
    }
}

/// What is asked of the peer, and what it asked.
pub struct LcpOptions {
    mru: Option<u16>,
    magic: Option<u32>,
    /// How the peer is to prove who it is: the first is asked for.
    methods: Vec<Method>,
    /// The largest packet that the peer takes.
    pub peer_mru: u16,
    /// The peer's magic number; 0 if it has none.
    pub peer_magic: u32,
}

impl LcpOptions {
    /// Options with a magic number; without methods nobody need prove anything.
    pub fn new(methods: &[Method], magic: u32) -> LcpOptions {
        LcpOptions {
            mru: Some(MAX_MRU),
            magic: Some(magic),
            methods: methods.to_vec(),
            peer_mru: MAX_MRU,
            peer_magic: 0,
        }
    }

    /// How the peer proves who it is; `None` if it need not.
    pub fn method(&self) -> Option<Method> {
        self.methods.first().copied()
    }

    /// This side's magic number; 0 if the peer knows none.
    pub fn magic(&self) -> u32 {
        self.magic.unwrap_or(0)
    }

    /// The peer would rather prove who it is in another way: the one that it names, or, if there is no such way, any
    /// but the one it was asked for. False if none is left.
    fn change_method(&mut self, wanted: &[u8]) -> bool {
        if let Some(idx) = self.methods.iter().position(|method| method.value() == wanted) {
            self.methods.swap(0, idx);
            return true;
        }
        let has_others = self.methods.len() > 1;
        if has_others {
            self.methods.remove(0);
        }
        has_others
    }

    /// Another magic number.
    fn change_magic(&mut self) {
        self.magic = self.magic.map(|magic| magic.wrapping_mul(0x9e37_79b1).rotate_left(13) | 1);
    }
}

impl Options for LcpOptions {
    const PROTOCOL: u16 = ppp::LCP;

    fn request(&self) -> Vec<u8> {
        let mut list = Vec::new();
        if let Some(mru) = self.mru {
            put(&mut list, MRU, &mru.to_be_bytes());
        }
        if let Some(method) = self.method() {
            put(&mut list, AUTHENTICATION, method.value());
        }
        if let Some(magic) = self.magic {
            put(&mut list, MAGIC, &magic.to_be_bytes());
        }
        list
    }

    fn judge(&self, kind: u8, value: &[u8]) -> Judgement {
        match (kind, value) {
            (MRU, [high, low]) => match u16::from_be_bytes([*high, *low]) {
                MIN_MRU..=MAX_MRU => Judgement::Agree,
                _ => Judgement::Suggest(MAX_MRU.to_be_bytes().to_vec()),
            },
            (MAGIC, [_, _, _, _]) => match u32::from_be_bytes(value.try_into().unwrap_or_default()) {
                // The same number on both sides: perhaps nobody else is there (RFC 1661, section 6.4).
                magic if magic == 0 || Some(magic) == self.magic => {
                    Judgement::Suggest((!magic).wrapping_mul(0x85eb_ca6b).to_be_bytes().to_vec())
                }
                _ => Judgement::Agree,
            },
            // Nobody proves anything to a peer; compression and character maps are not for PPPoE.
            _ => Judgement::Reject,
        }
    }

    fn lacking(&self, _kinds: &[u8]) -> Vec<u8> {
        Vec::new()
    }

    fn settle(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (MRU, [high, low]) => self.peer_mru = u16::from_be_bytes([*high, *low]),
            (MAGIC, [_, _, _, _]) => {
                self.peer_magic = u32::from_be_bytes(value.try_into().unwrap_or_default());
            }
            _ => {}
        }
    }

    fn suggested(&mut self, kind: u8, value: &[u8]) -> bool {
        match (kind, value) {
            (MRU, [high, low]) => {
                self.mru = Some(u16::from_be_bytes([*high, *low]).clamp(MIN_MRU, MAX_MRU));
                true
            }
            (AUTHENTICATION, value) => self.change_method(value),
            (MAGIC, _) => {
                self.change_magic();
                true
            }
            _ => true,
        }
    }

    fn rejected(&mut self, kind: u8) -> bool {
        match kind {
            MRU => self.mru = None,
            MAGIC => self.magic = None,
            AUTHENTICATION => return false,
            _ => {}
        }
        true
    }
}
