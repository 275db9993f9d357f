//! Rates, and what may pass at once at a rate.

/// A rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Rate {
    BytesPerSecond(u32),
    PacketsPerSecond(u32),
}

/// What may pass at once.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Burst {
    /// Bytes or packets.
    Size(u32),
    Milliseconds(u32),
}

/// Bytes of the longest packet, one that is still to be cut into segments.
const LONGEST: f64 = 65536.0;

impl Rate {
    /// Reads `10Mbps`, `1GBps` or `10kpps`.
    pub fn parse(text: &str) -> Result<Rate, String> {
        const EXPECTED: &str =
            "expected a rate such as 10Mbps, 1GBps or 10kpps, from 8bps to 34Gbps or from 1pps to 1Gpps";
        let rate = match text.strip_suffix("pps") {
            Some(number) => scaled(number).filter(|rate| *rate <= 1_000_000_000).map(Rate::PacketsPerSecond),
            None if !text.ends_with("ps") && !text.ends_with("/s") => None,
            None => args::bandwidth(text).ok().map(|rate| Rate::BytesPerSecond(rate.bytes_per_s)),
        };
        let rate = rate.filter(|rate| !matches!(rate, Rate::BytesPerSecond(0) | Rate::PacketsPerSecond(0)));
        rate.ok_or_else(|| EXPECTED.to_string())
    }

    /// After how many seconds without a packet none comes any more: twice what the longest takes.
    pub fn longest_s(self) -> f64 {
        match self {
            Rate::BytesPerSecond(rate) => 2.0 * LONGEST / f64::from(rate),
            Rate::PacketsPerSecond(rate) => 2.0 / f64::from(rate),
        }
    }
}

impl Burst {
    /// Reads a number of bytes or packets, or a time.
    pub fn parse(text: &str) -> Result<Burst, String> {
        const EXPECTED: &str =
            "expected a number of bytes or packets such as 15000 or 64k, or a time such as 5ms";
        if text.ends_with('s') {
            let ms = args::timestamp(text).ok().map(|time| time.as_nanos() / 1_000_000);
            let ms = ms.and_then(|ms| u32::try_from(ms).ok()).filter(|ms| (1..=10_000).contains(ms));
            return ms.map(Burst::Milliseconds).ok_or_else(|| "expected a time from 1ms to 10s".to_string());
        }
        let size = scaled(text).filter(|size| (1..=1_000_000_000).contains(size));
        size.map(Burst::Size).ok_or_else(|| EXPECTED.to_string())
    }
}

/// A number with the prefix of a unit, `k`, `M` or `G`.
fn scaled(text: &str) -> Option<u32> {
    let (number, factor) = match text.chars().last()? {
        'k' => (text.get(..text.len() - 1)?, 1e3),
        'M' => (text.get(..text.len() - 1)?, 1e6),
        'G' => (text.get(..text.len() - 1)?, 1e9),
        _ => (text, 1.0),
    };
    let number = number.trim().parse::<f64>().ok()? * factor;
    (0.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32)
}

/// Reads a probability, `1%` or `0.01`.
pub fn probability(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix('%') {
        Some(percent) => (percent, 100.0),
        None => (text, 1.0),
    };
    let number = number.trim().parse::<f64>().ok().map(|number| number / unit);
    let probability = number.filter(|probability| (0.0..=1.0).contains(probability));
    probability.ok_or_else(|| "expected a probability such as 1% or 0.01, at most 100% or 1".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_bursts_are_read() {
        for (text, rate) in [
            ("8Mbps", Rate::BytesPerSecond(1_000_000)),
            ("1kBps", Rate::BytesPerSecond(1000)),
            ("2.5kpps", Rate::PacketsPerSecond(2500)),
            ("7pps", Rate::PacketsPerSecond(7)),
        ] {
            assert_eq!(Rate::parse(text), Ok(rate), "{text}");
        }
        assert_eq!(Rate::BytesPerSecond(65536).longest_s(), 2.0);
        assert_eq!(Rate::PacketsPerSecond(4).longest_s(), 0.5);
        for text in ["", "10", "fast", "0Mbps", "0pps", "-1pps", "99Gpps", "1e99pps", "Mbps"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
        assert_eq!(Burst::parse("64k"), Ok(Burst::Size(64_000)));
        assert_eq!(Burst::parse("5ms"), Ok(Burst::Milliseconds(5)));
        assert!(Burst::parse("0").is_err() && Burst::parse("20s").is_err() && Burst::parse("x").is_err());
    }
}
