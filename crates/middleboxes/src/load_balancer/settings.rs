//! Reads the balancer's arguments.

use std::net::Ipv4Addr;

use args::{Scope, Seconds};
use element::{Arg, Configure};
use wire::protocol;

use super::affinity::Affinity;
use super::backends::{Backend, Health, Place, Pool, Scheduler};
use super::connections::Connections;
use super::entry::Timeouts;
use super::fragments::Fragments;
use super::maglev::is_prime;

/// The arguments.
pub const ARGS: &[Arg] = &[
    Arg::rest(
        "SERVICE",
        "service",
        "`ADDRESS:PORT/tcp` or `/udp`, then its backends, `ADDRESS[:PORT][*WEIGHT][/HEALTH]` each; the port is by default the service's, the weight 1, the health `up` and not `down` or `drain`.",
    ),
    Arg::keyword("MODE", "word", "How packets get to backends: `nat`, `dsr` or `ipip`. Default nat."),
    Arg::keyword("SCHEDULER", "word", "How flows are given to backends: `maglev`, `rr` or `lc`. Default maglev."),
    Arg::keyword("TABLE_SIZE", "unsigned", "Places of a service's Maglev table, a prime number below 2^20. Default 65537."),
    Arg::keyword("CAPACITY", "unsigned", "Most connections at a time. Default 262144."),
    Arg::keyword("AFFINITY", "time", "How long a client comes back to its backend with new flows. Default 0, not at all."),
    Arg::keyword("LOCAL", "IP address", "Source of the packets that mode `ipip` makes, which needs it."),
    Arg::keyword("TCP_SYN_TIMEOUT", "time", "How long a connection lasts before the handshake is over. Default 30s."),
    Arg::keyword("TCP_TIMEOUT", "time", "How long a TCP connection lasts without packets. Default 15 min."),
    Arg::keyword("TCP_FIN_TIMEOUT", "time", "The same once one side has ended it. Default 2 min."),
    Arg::keyword("TCP_DONE_TIMEOUT", "time", "The same once both sides have, or one has reset it. Default 10s."),
    Arg::keyword("UDP_TIMEOUT", "time", "How long a UDP flow lasts without packets. Default 5 min."),
    Arg::keyword("FRAGMENTS", "unsigned", "Most packets whose fragments are awaited at a time. Default 1024."),
    Arg::keyword("FRAGMENT_TIMEOUT", "time", "How long the fragments of a packet are awaited. Default 30s."),
];

const MAX_WEIGHT: u32 = 65535;

/// How packets get to backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Their destination is rewritten, and the source of replies back.
    Nat,
    /// They stay as they are; the annotation says where they go.
    Direct,
    /// They are wrapped in IP.
    Tunnel(Ipv4Addr),
}

/// All that the arguments say.
pub struct Settings {
    /// How packets get to backends.
    pub mode: Mode,
    /// Services and backends.
    pub pool: Pool,
    /// No connections yet.
    pub connections: Connections,
    /// No clients yet.
    pub affinity: Affinity,
    /// No packets yet.
    pub fragments: Fragments,
}

/// Reads the arguments; mistakes are told to `conf`.
pub fn read(conf: &mut Configure<'_>) -> Settings {
    let texts = conf.args.rest();
    let mode = mode(conf);
    let scheduler = match conf.args.get_with("SCHEDULER", args::choice(&["maglev", "rr", "lc"])) {
        Some(1) => Scheduler::RoundRobin,
        Some(2) => Scheduler::LeastConnections,
        _ => Scheduler::Maglev,
    };
    let table_size = conf.args.get_or("TABLE_SIZE", 65537);
    if !is_prime(table_size) || table_size > 1 << 20 {
        conf.args.error("TABLE_SIZE", "must be a prime number below 2^20");
    }
    let capacity = conf.args.get_or("CAPACITY", 262_144);
    let n_fragments = conf.args.get_with("FRAGMENTS", args::bounded(1u32, 1 << 20)).unwrap_or(1024);
    let timeouts = Timeouts {
        syn_ms: milliseconds(conf, "TCP_SYN_TIMEOUT", 30),
        tcp_ms: milliseconds(conf, "TCP_TIMEOUT", 15 * 60),
        fin_ms: milliseconds(conf, "TCP_FIN_TIMEOUT", 120),
        done_ms: milliseconds(conf, "TCP_DONE_TIMEOUT", 10),
        udp_ms: milliseconds(conf, "UDP_TIMEOUT", 5 * 60),
    };
    let affinity_ms = milliseconds(conf, "AFFINITY", 0);
    let fragment_ms = milliseconds(conf, "FRAGMENT_TIMEOUT", 30);
    let mut pool = Pool::new(scheduler, table_size);
    for text in texts {
        if let Err(message) = add_service(&mut pool, &text, conf.scope) {
            conf.error(message);
        }
    }
    Settings {
        mode,
        pool,
        connections: Connections::new(capacity, timeouts),
        affinity: Affinity::new(capacity, affinity_ms),
        fragments: Fragments::new(n_fragments, u64::from(fragment_ms) * 1_000_000),
    }
}

fn mode(conf: &mut Configure<'_>) -> Mode {
    let mode = conf.args.get_with("MODE", args::choice(&["nat", "dsr", "ipip"]));
    let local: Option<Ipv4Addr> = conf.args.get("LOCAL");
    match (mode, local) {
        (Some(2), Some(local)) => Mode::Tunnel(local),
        (Some(2), None) => {
            conf.args.fail("mode ipip needs LOCAL, the source of what it sends");
            Mode::Direct
        }
        (Some(1), _) => Mode::Direct,
        _ => Mode::Nat,
    }
}

/// Times are kept modulo 2^32 ms.
fn milliseconds(conf: &mut Configure<'_>, name: &'static str, default_s: u32) -> u32 {
    let Seconds(ms) = conf.args.get_or(name, Seconds::<3>(default_s * 1000));
    ms.min(i32::MAX as u32)
}

fn add_service(pool: &mut Pool, text: &str, scope: &Scope<'_>) -> Result<(), String> {
    let words = args::split_words(text);
    let Some((place, backends)) = words.split_first() else { return Err("empty argument".to_string()) };
    let place = self::place(place, scope)?;
    if pool.service_at(&place).is_some() {
        return Err(format!("service {place} is there twice"));
    }
    let number = pool.add_service(place)?;
    for word in backends {
        pool.add_backend(backend(word, number, &place, scope)?)?;
    }
    Ok(())
}

/// Reads `ADDRESS:PORT/PROTOCOL`.
pub fn place(word: &str, scope: &Scope<'_>) -> Result<Place, String> {
    let wrong = || format!("'{word}' is no service, expected 'ADDRESS:PORT/tcp' or 'ADDRESS:PORT/udp'");
    let (rest, name) = word.split_once('/').ok_or_else(wrong)?;
    let protocol = match name {
        "tcp" => protocol::TCP,
        "udp" => protocol::UDP,
        _ => return Err(wrong()),
    };
    let (address, port) = rest.split_once(':').ok_or_else(wrong)?;
    let address = args::ip(address, scope).map_err(|_| wrong())?.to_bits();
    let port = args::port(port, scope, protocol).map_err(|_| wrong())?;
    Ok(Place { address, port, protocol })
}

/// Reads `ADDRESS[:PORT][*WEIGHT][/HEALTH]`.
pub fn backend(word: &str, service: u16, place: &Place, scope: &Scope<'_>) -> Result<Backend, String> {
    let wrong = || format!("'{word}' is no backend, expected 'ADDRESS[:PORT][*WEIGHT][/HEALTH]'");
    let (rest, health) = match word.split_once('/') {
        Some((rest, health)) => (rest, self::health(health).ok_or_else(wrong)?),
        None => (word, Health::Up),
    };
    let (rest, weight) = match rest.split_once('*') {
        Some((rest, weight)) => (rest, self::weight(weight).map_err(|_| wrong())?),
        None => (rest, 1),
    };
    let (address, port) = address_and_port(rest, place, scope).ok_or_else(wrong)?;
    Ok(Backend { health, configured: health, ..Backend::new(service, address, port, weight) })
}

/// Reads `ADDRESS[:PORT]`; the port is by default the service's.
pub fn address_and_port(word: &str, place: &Place, scope: &Scope<'_>) -> Option<(u32, u16)> {
    let (address, port) = match word.split_once(':') {
        Some((address, port)) => (address, args::port(port, scope, place.protocol).ok()?),
        None => (word, place.port),
    };
    Some((args::ip(address, scope).ok()?.to_bits(), port))
}

/// Reads what may go to a backend.
pub fn health(word: &str) -> Option<Health> {
    match word {
        "up" => Some(Health::Up),
        "down" => Some(Health::Down),
        "drain" => Some(Health::Drain),
        _ => None,
    }
}

/// Reads a weight.
pub fn weight(word: &str) -> Result<u32, String> {
    args::bounded_integer(word, 0, MAX_WEIGHT)
}
