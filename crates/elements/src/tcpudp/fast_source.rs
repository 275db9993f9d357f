//! What the sources of ready-made packets share: how fast, how many, and the headers.

use std::net::Ipv4Addr;

use args::EtherAddr;
use element::{Batch, Configure, Ctx, Handler, Packet, BATCH_MAX};
use wire::{checksum, protocol};

use crate::standard::gap_rate::{GapRate, MAX_RATE};
use crate::standard::jiffies;

/// Handlers that all of these sources have.
macro_rules! fast_handlers {
    ($($more:expr),* $(,)?) => {
        &[
            element::Handler::read("count", "Packets made."),
            $crate::tcpudp::fast_source::RATE,
            element::Handler::write("reset", "Counts anew.").flags("button"),
            element::Handler::write("active", "Whether packets are made; if so, counts anew.").flags("checkbox"),
            element::Handler::write("limit", "Most packets to make; negative is no limit."),
            $($more),*
        ]
    };
}
pub(super) use fast_handlers;

/// Reads what came of the rate; writes the rate.
pub const RATE: Handler = Handler::read_write(
    "rate",
    "Read: packets per second from the first to the last, 0 before the LIMIT. Written: the rate to keep.",
);

/// Length of the shortest packets.
const MIN_LEN: u32 = 60;
/// Length of the longest packets.
const MAX_LEN: u32 = 1 << 20;
/// Most flows of a source.
const MAX_FLOWS: u32 = 1 << 22;
/// Bytes up to the transport header: Ethernet and IPv4.
pub const TRANSPORT_AT: usize = 14 + 20;
const TTL: u8 = 250;

/// How fast and how many packets are made.
pub struct Pace {
    rate: GapRate,
    is_limited: bool,
    count: u32,
    limit: Option<u32>,
    is_active: bool,
    /// Jiffies of the first packet and of the last.
    first: u32,
    last: u32,
    /// The rate was too high and has been lowered.
    was_lowered: bool,
}

impl Pace {
    /// Reads RATE and LIMIT.
    pub fn configure(conf: &mut Configure<'_>) -> Pace {
        let rate: u32 = conf.args.need("RATE");
        let limit: i32 = conf.args.need("LIMIT");
        Pace {
            rate: GapRate::new(rate),
            is_limited: rate != 0,
            count: 0,
            limit: u32::try_from(limit).ok(),
            is_active: true,
            first: 0,
            last: 0,
            was_lowered: rate > MAX_RATE,
        }
    }

    /// Reads ACTIVE.
    pub fn configure_end(&mut self, conf: &mut Configure<'_>) {
        self.is_active = conf.args.get_or("ACTIVE", true);
    }

    /// Tells of a rate that was too high.
    pub fn tell(&self, conf: &mut Configure<'_>) {
        if self.was_lowered {
            conf.note(format!("rate too large; lowered to {MAX_RATE}"));
        }
    }

    /// Packets made so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether the limit is reached.
    pub fn is_over(&self) -> bool {
        self.limit.is_some_and(|limit| self.count >= limit)
    }

    /// Starts counting anew, but for the times.
    pub fn forget_count(&mut self) {
        self.count = 0;
    }

    /// Starts counting anew.
    pub fn reset(&mut self) {
        (self.count, self.first, self.last) = (0, 0, 0);
    }

    /// Up to `max` packets that `make` makes, as many as are due; fewer when it makes no more. Beyond the limit too: that is for
    /// `make` to see.
    pub fn pull(
        &mut self,
        ctx: &mut Ctx<'_>,
        max: usize,
        mut make: impl FnMut(&mut Ctx<'_>, &Pace) -> Option<Packet>,
    ) -> Batch {
        let mut batch = Batch::new();
        if !self.is_active {
            return batch;
        }
        let n_due = if self.is_limited { self.rate.n_due(ctx.now_ns()) } else { u64::MAX };
        while batch.len() < max.min(BATCH_MAX) && (batch.len() as u64) < n_due {
            self.rate.count(1);
            let Some(packet) = make(ctx, self) else { break };
            batch.push(packet);
            self.note(ctx);
        }
        batch
    }

    #[inline]
    fn note(&mut self, ctx: &mut Ctx<'_>) {
        self.count = self.count.wrapping_add(1);
        if self.count == 1 {
            self.first = jiffies::at(ctx.now_ns());
        }
        if self.is_over() {
            self.last = jiffies::at(ctx.now_ns());
        }
    }

    /// Reads `count` or `rate`.
    pub fn read(&self, name: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.count.to_string()),
            "rate" if self.last == 0 => Ok("0".to_string()),
            "rate" => {
                let n_jiffies = (self.last.wrapping_sub(self.first) as i32).max(1) as u32;
                Ok(((self.count.wrapping_mul(jiffies::PER_SECOND) / n_jiffies) as i32).to_string())
            }
            _ => Err(format!("no {name} read handler")),
        }
    }

    /// Writes `rate`, `limit`, `active` or `reset`; true if the source is to begin anew.
    pub fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "rate" => {
                let rate: u32 = args::integer(value).map_err(|_| "rate parameter must be integer >= 0")?;
                if rate > MAX_RATE {
                    return Err(format!("rate too large; max is {MAX_RATE}"));
                }
                self.rate.set_rate(rate, ctx.now_ns());
            }
            "limit" => {
                let limit: i32 = args::integer(value).map_err(|_| "limit parameter must be integer >= 0")?;
                self.limit = u32::try_from(limit).ok();
            }
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "active parameter must be boolean")?;
                if self.is_active {
                    self.reset();
                }
                return Ok(self.is_active);
            }
            "reset" => {
                self.reset();
                return Ok(true);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(false)
    }

    /// Goes on from the counts of the source that is replaced.
    pub fn take_over(&mut self, ctx: &mut Ctx<'_>, old: &Pace) {
        (self.count, self.first, self.last) = (old.count, old.first, old.last);
        let rate = self.rate.rate();
        self.rate = old.rate.clone();
        self.rate.set_rate(rate, ctx.now_ns());
    }
}

/// The Ethernet and IP addresses of ready-made packets.
pub struct Ends<A = Ipv4Addr> {
    /// Link-layer source.
    pub ether_source: EtherAddr,
    /// Network-layer source.
    pub source: A,
    /// Link-layer destination.
    pub ether_destination: EtherAddr,
    /// Network-layer destination.
    pub destination: A,
}

impl Ends {
    /// A packet of `len` bytes with Ethernet and IPv4 header, and zeros behind.
    pub fn packet(&self, len: u32, protocol: u8) -> Packet {
        let mut packet = Packet::zeroed(len as usize);
        if let Some(headers) = packet.data_mut().first_chunk_mut::<TRANSPORT_AT>() {
            headers[..6].copy_from_slice(&self.ether_destination.0);
            headers[6..12].copy_from_slice(&self.ether_source.0);
            headers[12..14].copy_from_slice(&[8, 0]);
            let ip = &mut headers[14..];
            [ip[0], ip[8], ip[9]] = [0x45, TTL, protocol];
            ip[2..4].copy_from_slice(&((len - 14) as u16).to_be_bytes());
            ip[12..16].copy_from_slice(&self.source.octets());
            ip[16..20].copy_from_slice(&self.destination.octets());
            let sum = checksum::checksum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        packet.set_network_header(14, 20);
        packet.set_dst_ip(self.destination);
        packet
    }

    /// The sum of the pseudo-header of a segment in a packet of `len` bytes. All its bytes that nobody writes are zeros.
    pub fn pseudo_sum(&self, len: u32, protocol: u8) -> u64 {
        let segment_len = (len as usize - TRANSPORT_AT) as u16;
        u64::from(checksum::pseudo_ipv4(self.source, self.destination, protocol, segment_len))
    }
}

/// A UDP packet of `len` bytes without ports, and the sum of its segment if it is to have a checksum.
pub fn udp_template(ends: &Ends, len: u32, has_checksum: bool) -> (Packet, Option<u64>) {
    let mut packet = ends.packet(len, protocol::UDP);
    let udp_len = (len as usize - TRANSPORT_AT) as u16;
    if let Some(field) = packet.data_mut().get_mut(TRANSPORT_AT + 4..TRANSPORT_AT + 6) {
        field.copy_from_slice(&udp_len.to_be_bytes());
    }
    let sum = ends.pseudo_sum(len, protocol::UDP) + u64::from(udp_len);
    (packet, has_checksum.then_some(sum))
}

/// Writes ports into a packet of [`udp_template`], and the checksum if there is the sum of the rest.
#[inline]
pub fn write_udp(packet: &mut Packet, source: [u8; 2], destination: [u8; 2], sum: Option<u64>) {
    let udp = packet.data_mut().get_mut(TRANSPORT_AT..).and_then(|udp| udp.first_chunk_mut::<8>());
    let Some(udp) = udp else { return };
    udp[..2].copy_from_slice(&source);
    udp[2..4].copy_from_slice(&destination);
    if let Some(sum) = sum {
        let ports = u64::from(u16::from_be_bytes(source)) + u64::from(u16::from_be_bytes(destination));
        udp[6..8].copy_from_slice(&(!checksum::fold(sum + ports)).to_be_bytes());
    }
}

/// A length of packets, and what is wrong with the one that was asked for; refused if packets would be too large.
pub fn checked_len(len: u32) -> Result<(u32, Option<&'static str>), String> {
    match len {
        ..MIN_LEN => Ok((MIN_LEN, Some("warning: packet length < 60, defaulting to 60"))),
        MIN_LEN..=MAX_LEN => Ok((len, None)),
        _ => Err(format!("packet length too large; max is {MAX_LEN}")),
    }
}

/// A random port. As Click: never the last one.
pub fn random_port(ctx: &mut Ctx<'_>) -> [u8; 2] {
    // Click keeps the random number as the machine does, the low byte first.
    (((ctx.random() >> 2) % 0xffff) as u16).to_le_bytes()
}

/// A number of flows that memory has room for.
pub fn checked_flows(n_flows: u32) -> Result<usize, String> {
    match n_flows {
        ..=MAX_FLOWS => Ok(n_flows as usize),
        _ => Err(format!("too many flows; max is {MAX_FLOWS}")),
    }
}
