//! The texts of handlers.

use std::fmt::Write;
use std::net::Ipv4Addr;

use super::entries::{Inside, Mapping};
use super::nat::Nat;
use super::{Endpoint, Protocol};

/// All mappings, a line each, in order.
pub fn mappings(nat: &Nat, now_ns: u64) -> String {
    lines(nat, nat.mappings.iter().map(|(_, inside, mapping)| (inside, mapping)), now_ns)
}

/// The mappings of a subscriber, or those of an external address and port.
pub fn table(nat: &Nat, parameter: &str, now_ns: u64) -> Result<String, String> {
    let parameter = parameter.trim();
    if let Some(external) = endpoint(parameter) {
        let found = Protocol::ALL.iter().filter_map(|protocol| nat.pool.mapping(external, *protocol));
        let found = found.filter_map(|idx| nat.mappings.get(idx));
        return Ok(lines(nat, found, now_ns));
    }
    let address = address(parameter)?;
    let found = nat.mappings.iter().filter(|(_, inside, _)| inside.address == address);
    Ok(lines(nat, found.map(|(_, inside, mapping)| (inside, mapping)), now_ns))
}

/// Who has an external address and port, or what a subscriber has.
pub fn lookup(nat: &Nat, parameter: &str) -> Result<String, String> {
    let parameter = parameter.trim();
    if let Some(external) = endpoint(parameter) {
        let block = nat.pool.block_at(external);
        let found = block.and_then(|idx| Some(block_line(nat, idx, nat.owner(idx)?)));
        return found.ok_or_else(|| format!("'{parameter}' is nobody's"));
    }
    let inside = address(parameter)?;
    let idx = nat.subscribers.find(&inside);
    // What is a subscriber's for good comes first, whether it is in use or not.
    let own = nat.fixed_block(inside);
    let mut text = own.map(|own| block_line(nat, own, inside)).unwrap_or_default();
    let mut at = idx.and_then(|idx| nat.subscribers.get(idx)).map_or(super::NIL, |(_, it)| it.first_block);
    while let Some(block) = nat.pool.block(at) {
        if own != Some(at) {
            text += &block_line(nat, at, inside);
        }
        at = block.next;
    }
    if text.is_empty() {
        return Err(format!("'{parameter}' has no block"));
    }
    Ok(text)
}

/// All subscribers, a line each, in order.
pub fn subscribers(nat: &Nat) -> String {
    let mut list: Vec<_> = nat.subscribers.iter().map(|(_, address, it)| (*address, *it)).collect();
    list.sort_unstable_by_key(|(address, _)| *address);
    let mut text = String::new();
    for (address, it) in list {
        let external = Ipv4Addr::from(nat.pool.ranges.address(it.address));
        let _ = writeln!(
            text,
            "{} {external} blocks {} mappings {} sessions {}",
            Ipv4Addr::from(address),
            it.n_blocks,
            it.n_mappings,
            it.n_sessions
        );
    }
    text
}

/// All blocks that are somebody's, a line each, in order of external addresses and ports.
pub fn blocks(nat: &Nat) -> String {
    let subscriber = |idx: u32| nat.subscribers.get(idx).map_or(0, |(address, _)| *address);
    nat.pool.assigned().map(|(idx, block)| block_line(nat, idx, subscriber(block.subscriber))).collect()
}

/// How much of each external address is in use, a line each, without those of which nothing is.
pub fn utilisation(nat: &Nat) -> String {
    let mut used = vec![(0u32, [0u32; Protocol::ALL.len()]); nat.pool.ranges.len() as usize];
    for (idx, block) in nat.pool.assigned() {
        if let Some((n_blocks, n_ports)) = used.get_mut(nat.pool.address_of(idx) as usize) {
            *n_blocks += 1;
            for protocol in Protocol::ALL {
                n_ports[protocol as usize] += nat.pool.n_used(block, protocol);
            }
        }
    }
    let per_address = nat.settings.blocks_per_address;
    let n_ports = per_address * nat.settings.block_size;
    let mut text = String::new();
    for (address, (n_blocks, [tcp, udp, icmp])) in (0..).zip(used).filter(|(_, (n_blocks, _))| *n_blocks > 0)
    {
        let address = Ipv4Addr::from(nat.pool.ranges.address(address));
        let _ = writeln!(
            text,
            "{address} blocks {n_blocks}/{per_address} tcp {tcp}/{n_ports} udp {udp}/{n_ports} icmp {icmp}/{n_ports}"
        );
    }
    text
}

/// The address in a handler's value.
pub fn address(text: &str) -> Result<u32, String> {
    let parsed: Result<Ipv4Addr, _> = text.trim().parse();
    parsed.map(Ipv4Addr::to_bits).map_err(|_| format!("'{text}' is no address and no ADDRESS:PORT"))
}

fn endpoint(text: &str) -> Option<Endpoint> {
    let (address, port) = text.split_once(':')?;
    let address: Ipv4Addr = address.parse().ok()?;
    Some(Endpoint { address: address.to_bits(), port: port.parse().ok()? })
}

fn block_line(nat: &Nat, idx: u32, inside: u32) -> String {
    let (address, first, last) = nat.pool.range_of(idx);
    let n_mappings = nat.pool.block(idx).map_or(0, |block| block.n_mappings);
    let (inside, address) = (Ipv4Addr::from(inside), Ipv4Addr::from(address));
    format!("{inside} {address} {first}-{last} mappings {n_mappings}\n")
}

fn lines<'a>(nat: &Nat, found: impl Iterator<Item = (&'a Inside, &'a Mapping)>, now_ns: u64) -> String {
    let mut list: Vec<_> = found.collect();
    let key = |inside: &Inside| (inside.address, inside.protocol as u8, inside.port);
    list.sort_unstable_by_key(|(inside, _)| key(inside));
    let mut text = String::new();
    for (inside, mapping) in list {
        let _ = write!(text, "{} {} {}", inside.protocol.name(), inside.endpoint(), mapping.external);
        if !nat.has_sessions(inside.protocol) {
            let _ = write!(text, " expires {}", left_s(mapping.until_ns(), now_ns));
        }
        for (key, session) in nat.sessions.of_mapping(mapping.first_session) {
            let _ = write!(text, ", {} ", key.remote);
            if inside.protocol == Protocol::Tcp {
                let _ = write!(text, "{} ", session.state.name());
            }
            let _ = write!(text, "expires {}", left_s(session.until_ns, now_ns));
        }
        text.push('\n');
    }
    text
}

fn left_s(until_ns: u64, now_ns: u64) -> u64 {
    until_ns.saturating_sub(now_ns).div_ceil(1_000_000_000)
}
