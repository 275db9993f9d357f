//! The options of IPCP: the peer's address (RFC 1332) and its name servers (RFC 1877).

use std::net::Ipv4Addr;

use super::frame::ppp;
use super::negotiation::{put, Judgement, Options};

const ADDRESS: u8 = 3;
const PRIMARY_DNS: u8 = 129;
const SECONDARY_DNS: u8 = 131;

/// What is told the peer.
pub struct IpcpOptions {
    /// This side's address; `None` if the peer does not want to know.
    local: Option<Ipv4Addr>,
    /// The address that the peer is to have.
    pub address: Ipv4Addr,
    /// Its name servers, first and second.
    dns: [Option<Ipv4Addr>; 2],
}

impl IpcpOptions {
    /// Options for a peer whose address is not known yet.
    pub fn new(local: Ipv4Addr, dns: [Option<Ipv4Addr>; 2]) -> IpcpOptions {
        IpcpOptions { local: Some(local), address: Ipv4Addr::UNSPECIFIED, dns }
    }
}

fn expect(address: Ipv4Addr, value: &[u8]) -> Judgement {
    if value == address.octets() {
        Judgement::Agree
    } else {
        Judgement::Suggest(address.octets().to_vec())
    }
}

impl Options for IpcpOptions {
    const PROTOCOL: u16 = ppp::IPCP;

    fn request(&self) -> Vec<u8> {
        let mut list = Vec::new();
        if let Some(local) = self.local {
            put(&mut list, ADDRESS, &local.octets());
        }
        list
    }

    fn judge(&self, kind: u8, value: &[u8]) -> Judgement {
        match (kind, self.dns) {
            (ADDRESS, _) => expect(self.address, value),
            (PRIMARY_DNS, [Some(server), _]) | (SECONDARY_DNS, [_, Some(server)]) => expect(server, value),
            _ => Judgement::Reject,
        }
    }

    /// The peer must hear of its address, whether it asks or not (RFC 1332, section 3.3).
    fn lacking(&self, kinds: &[u8]) -> Vec<u8> {
        let mut list = Vec::new();
        if !kinds.contains(&ADDRESS) {
            put(&mut list, ADDRESS, &self.address.octets());
        }
        list
    }

    fn settle(&mut self, _kind: u8, _value: &[u8]) {}

    /// This side's address is not for the peer to choose.
    fn suggested(&mut self, _kind: u8, _value: &[u8]) -> bool {
        true
    }

    fn rejected(&mut self, kind: u8) -> bool {
        if kind == ADDRESS {
            self.local = None;
        }
        true
    }
}
