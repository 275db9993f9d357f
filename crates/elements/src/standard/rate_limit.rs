//! What the elements that let packets through at a rate share: a token bucket and its arguments.

use element::{Arg, Batch, Configure, Failed, Refusal};

use super::jiffies;
use super::token_bucket::TokenBucket;

/// Tokens that must be in a bucket of bytes: then any packet may pass.
const BYTES_AT_LEAST: u32 = 131_072;

/// Milliseconds of the rate that a bucket holds unless told otherwise.
const BURST_MS: u32 = 20;

/// The arguments of a limit in packets.
pub const PACKET_ARGS: &[Arg] = &[
    Arg::required("RATE", "unsigned", "Packets per second."),
    Arg::keyword("BURST_DURATION", "time", "Capacity of the token bucket, as a time at RATE. Default 20 ms."),
    Arg::keyword("BURST_SIZE", "unsigned", "Capacity of the token bucket in packets."),
];

/// The arguments of a limit in bytes.
pub const BYTE_ARGS: &[Arg] = &[
    Arg::required("RATE", "bandwidth", "Bytes, or another unit, per second."),
    Arg::keyword("BURST_DURATION", "time", "Capacity of the token bucket, as a time at RATE. Default 20 ms."),
    Arg::keyword(
        "BURST_BYTES",
        "unsigned",
        "Capacity of the token bucket in bytes, to which 131072 are added.",
    ),
];

/// What failed writes to the handlers of elements with a rate return.
pub const REFUSALS: &[(&str, Refusal)] = &[("rate", Refusal::Misread), ("config", Refusal::Misread)];

/// What is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets per second.
    Packets,
    /// Bytes per second.
    Bytes,
}

/// A limit: lets packets through as long as there are tokens.
pub struct RateLimit {
    bucket: TokenBucket,
    unit: Unit,
}

enum Burst {
    Duration { ms: u32 },
    Tokens(u32),
}

impl RateLimit {
    /// Reads the arguments, which are [`PACKET_ARGS`] or [`BYTE_ARGS`].
    pub fn configure(conf: &mut Configure<'_>, unit: Unit) -> Result<RateLimit, Failed> {
        let (rate, burst_name) = match unit {
            Unit::Packets => (conf.args.need("RATE"), "BURST_SIZE"),
            Unit::Bytes => (conf.args.need::<args::Bandwidth>("RATE").bytes_per_s, "BURST_BYTES"),
        };
        let duration: Option<args::Seconds<3>> = conf.args.get("BURST_DURATION");
        let tokens: Option<u32> = conf.args.get(burst_name);
        if duration.is_some() && tokens.is_some() {
            conf.args.fail("cannot specify both BURST_DURATION and BURST_SIZE");
        }
        conf.finish()?;
        let ms = duration.map_or(BURST_MS, |seconds| seconds.0);
        let burst = tokens.map_or(Burst::Duration { ms }, Burst::Tokens);
        let bucket = TokenBucket::new(rate, capacity(unit, rate, burst));
        Ok(RateLimit { bucket, unit })
    }

    /// Takes over how full the bucket of a limit is that this one replaces.
    pub fn take_over(&mut self, old: &RateLimit) {
        if old.unit == self.unit {
            self.bucket.take_fill(&old.bucket);
        }
    }

    /// Sets the rate from what was written to a handler; the capacity is again what it is unless told otherwise.
    pub fn write_rate(&mut self, value: &str) -> Result<(), String> {
        let rate = match self.unit {
            Unit::Packets => args::integer(value),
            Unit::Bytes => args::bandwidth(value).map(|bandwidth| bandwidth.bytes_per_s),
        };
        let rate = rate.map_err(|error| format!("RATE: {error}"))?;
        self.bucket.set_rate(rate, capacity(self.unit, rate, Burst::Duration { ms: BURST_MS }));
        Ok(())
    }

    /// The rate as text.
    pub fn unparse(&self) -> String {
        match self.unit {
            Unit::Packets => self.bucket.rate().to_string(),
            Unit::Bytes => args::unparse_bandwidth(self.bucket.rate()),
        }
    }

    /// Whether bytes are limited.
    pub fn is_in_bytes(&self) -> bool {
        self.unit == Unit::Bytes
    }

    /// Adds the tokens that have come by now.
    #[inline]
    pub fn refill(&mut self, now_ns: i64) {
        self.bucket.refill(jiffies::at(now_ns));
    }

    /// How many packets may be asked for: of those that come, [`RateLimit::n_passing`] pass.
    #[inline]
    pub fn n_wanted(&self, max: usize) -> usize {
        match self.unit {
            Unit::Packets => max.min(self.bucket.size() as usize),
            // How many pass depends on their lengths.
            Unit::Bytes => usize::from(self.bucket.contains(BYTES_AT_LEAST)).min(max),
        }
    }

    /// Takes the tokens of the first packets of a batch, as many as may pass, and yields their number.
    #[inline]
    pub fn n_passing(&mut self, batch: &Batch) -> usize {
        match self.unit {
            Unit::Packets => {
                let n = batch.len().min(self.bucket.size() as usize);
                self.bucket.remove(n as u32);
                n
            }
            Unit::Bytes => {
                let passes = |packet: &&element::Packet| {
                    let passes = self.bucket.contains(BYTES_AT_LEAST);
                    if passes {
                        self.bucket.remove(u32::try_from(packet.len()).unwrap_or(u32::MAX));
                    }
                    passes
                };
                batch.iter().take_while(passes).count()
            }
        }
    }

    /// Nanoseconds until the next packet may pass.
    pub fn ns_until_next(&self) -> i64 {
        self.bucket.ns_until_contains(match self.unit {
            Unit::Packets => 1,
            Unit::Bytes => BYTES_AT_LEAST,
        })
    }
}

/// The capacity of the bucket in tokens.
fn capacity(unit: Unit, rate: u32, burst: Burst) -> u32 {
    let tokens = match burst {
        Burst::Tokens(tokens) => tokens,
        Burst::Duration { ms } => u32::try_from(u64::from(rate) * u64::from(ms) / 1000).unwrap_or(u32::MAX),
    };
    match unit {
        Unit::Packets => tokens.max(1),
        Unit::Bytes => tokens.saturating_add(BYTES_AT_LEAST),
    }
}
