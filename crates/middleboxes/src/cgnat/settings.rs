//! What the arguments of `CarrierNAT` say.

use args::{Prefix, Scope, Timestamp};
use element::Configure;

use super::ranges::{self, Ranges};
use super::Protocol;

/// Whose packets from outside are let in through a mapping (RFC 4787, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// Anybody's.
    EndpointIndependent,
    /// Those of addresses that the subscriber has sent to.
    Address,
    /// Those of addresses and ports that the subscriber has sent to.
    AddressPort,
}

/// Time-outs in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Of established TCP sessions.
    pub established_ns: u64,
    /// Of TCP sessions that begin or end.
    pub transitory_ns: u64,
    /// Of UDP.
    pub udp_ns: u64,
    /// Of ICMP queries.
    pub icmp_ns: u64,
    /// Of what a first fragment told.
    pub fragment_ns: u64,
}

impl Timeouts {
    /// The time-out of a mapping of a protocol that has no sessions.
    #[inline]
    pub fn of(&self, protocol: Protocol) -> u64 {
        match protocol {
            Protocol::Tcp => self.established_ns,
            Protocol::Udp => self.udp_ns,
            Protocol::Icmp => self.icmp_ns,
        }
    }
}

/// What the arguments say.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// External addresses.
    pub pool: Ranges,
    /// Who is a subscriber; nothing: everybody.
    pub inside: Vec<Prefix>,
    /// The subscribers in order, if each has a block of its own from the start (RFC 7422).
    pub fixed: Option<Ranges>,
    /// First external port.
    pub first_port: u16,
    /// Ports of a block.
    pub block_size: u32,
    /// Blocks of an address.
    pub blocks_per_address: u32,
    /// Most blocks of a subscriber.
    pub n_blocks: u32,
    /// Most sessions of a subscriber.
    pub n_sessions: u32,
    /// Most mappings, and most sessions.
    pub capacity: u32,
    /// Most packets whose later fragments are awaited.
    pub n_fragments: u32,
    /// Whose packets are let in.
    pub filtering: Filtering,
    /// Whether all blocks of a subscriber are of one address.
    pub is_paired: bool,
    /// Whether external ports are as odd or even as the subscribers' own.
    pub keeps_parity: bool,
    /// Whether ports of a block are used in random order.
    pub is_random: bool,
    /// Time-outs.
    pub timeouts: Timeouts,
    /// Seconds for which released ports and blocks are not used again.
    pub quarantine_s: u32,
}

const FILTERINGS: [&str; 3] = ["endpoint-independent", "address", "address-port"];
/// More would need tables of gigabytes before the first packet came.
const MOST_BLOCKS: u64 = 1 << 22;

impl Settings {
    /// Reads all arguments but those of the log.
    pub fn configure(conf: &mut Configure<'_>) -> Settings {
        let pool = conf.args.need_with("POOL", Ranges::parse).unwrap_or_default();
        let inside = conf.args.get_with("INSIDE", ranges::prefixes).unwrap_or_default();
        let (first, last) = conf.args.get_with("PORTS", ports).unwrap_or((1024, 65535));
        let n_ports = u32::from(last - first) + 1;
        let block_size: u32 = conf.args.get_or("BLOCK_SIZE", 512.min(n_ports));
        if block_size == 0 || block_size > n_ports {
            conf.args.error("BLOCK_SIZE", format!("must be 1 to {n_ports}, the number of PORTS"));
        }
        let blocks_per_address = n_ports.checked_div(block_size).unwrap_or(0);
        if u64::from(blocks_per_address) * u64::from(pool.len()) > MOST_BLOCKS {
            conf.args.error("BLOCK_SIZE", format!("makes more than {MOST_BLOCKS} blocks of the POOL"));
        }
        let fixed = fixed(conf, u64::from(blocks_per_address) * u64::from(pool.len()));
        let n_blocks = positive(conf, "BLOCKS", 4);
        let n_sessions = positive(conf, "SESSIONS", 8192);
        let capacity = positive(conf, "CAPACITY", 1 << 22);
        let n_fragments = positive(conf, "FRAGMENTS", 8192);
        let filtering = conf.args.get_with("FILTERING", args::choice(&FILTERINGS)).unwrap_or(0);
        let filtering =
            [Filtering::EndpointIndependent, Filtering::Address, Filtering::AddressPort][filtering.min(2)];
        let is_paired = conf.args.get_with("POOLING", args::choice(&["paired", "arbitrary"])) != Some(1);
        let keeps_parity = conf.args.get_or("PARITY", false);
        let is_random = conf.args.get_or("RANDOM", true);
        // RFC 5382 REQ-5, RFC 4787 REQ-5, RFC 5508 REQ-2.
        let timeouts = Timeouts {
            established_ns: nanoseconds(conf, "TCP_TIMEOUT", 2 * 3600 + 4 * 60),
            transitory_ns: nanoseconds(conf, "TCP_TRANSITORY_TIMEOUT", 4 * 60),
            udp_ns: nanoseconds(conf, "UDP_TIMEOUT", 5 * 60),
            icmp_ns: nanoseconds(conf, "ICMP_TIMEOUT", 60),
            fragment_ns: nanoseconds(conf, "FRAGMENT_TIMEOUT", 30),
        };
        // RFC 6888 REQ-8.
        let quarantine_s = conf.args.get_or::<args::Seconds<0>>("QUARANTINE", args::Seconds(120)).0;
        Settings {
            pool,
            inside,
            fixed,
            first_port: first,
            block_size: block_size.max(1),
            blocks_per_address,
            n_blocks,
            n_sessions,
            capacity,
            n_fragments,
            filtering,
            is_paired,
            keeps_parity,
            is_random,
            timeouts,
            quarantine_s,
        }
    }
}

/// The subscribers who have blocks of their own from the start, of so many.
fn fixed(conf: &mut Configure<'_>, n_blocks: u64) -> Option<Ranges> {
    if !conf.args.get_or("DETERMINISTIC", false) {
        return None;
    }
    let inside = conf.args.get_with("INSIDE", Ranges::parse).unwrap_or_default();
    if inside.len() == 0 {
        conf.args.error("DETERMINISTIC", "needs INSIDE");
    } else if u64::from(inside.len()) > n_blocks {
        let message = format!("INSIDE has {} addresses, the POOL {n_blocks} blocks", inside.len());
        conf.args.error("DETERMINISTIC", message);
    }
    Some(inside)
}

fn positive(conf: &mut Configure<'_>, name: &'static str, default: u32) -> u32 {
    conf.args.get_with(name, args::bounded(1, 1 << 30)).unwrap_or(default)
}

fn nanoseconds(conf: &mut Configure<'_>, name: &'static str, default_s: u64) -> u64 {
    let time: Option<Timestamp> = conf.args.get(name);
    time.map_or(default_s * 1_000_000_000, |time| u64::try_from(time.as_nanos()).unwrap_or(0))
}

/// Parses `LOW-HIGH`, or one port.
fn ports(text: &str, _: &Scope<'_>) -> Result<(u16, u16), String> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    let bounded = |text: &str| args::bounded_integer(text.trim(), 1u16, u16::MAX).ok();
    match (bounded(low), bounded(high)) {
        (Some(low), Some(high)) if low <= high => Ok((low, high)),
        _ => Err("must be LOW-HIGH, ports from 1 to 65535".to_string()),
    }
}

/// The file of the log and whether it tells of mappings.
pub struct LogSettings {
    /// Its name; nothing: no log.
    pub name: String,
    /// Whether it tells of mappings.
    pub tells_mappings: bool,
}

impl LogSettings {
    /// Reads LOG and LOG_SESSIONS.
    pub fn configure(conf: &mut Configure<'_>) -> LogSettings {
        let args::Filename(name) = conf.args.get_or("LOG", args::Filename::default());
        LogSettings { name, tells_mappings: conf.args.get_or("LOG_SESSIONS", false) }
    }
}
