//! What figures of the command line may be.

use std::str::FromStr;

/// A number of packets.
pub fn number<N: FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| "expected a number of packets, such as 100".to_string())
}

/// A number of packets to wait for.
pub fn packets(text: &str) -> Result<u32, String> {
    match number(text)? {
        // It would wait for a packet only to leave it out.
        0 => Err("expected at least 1 packet".to_string()),
        n => Ok(n),
    }
}

/// A number of rounds or changes.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| *n > 0).ok_or_else(|| "expected a number, at least 1".to_string())
}

/// Seconds of measuring.
pub fn duration(text: &str) -> Result<f64, String> {
    seconds(text).filter(|seconds| *seconds > 0.0).ok_or_else(|| "expected seconds, more than 0".to_string())
}

/// Seconds before measuring.
pub fn warm(text: &str) -> Result<f64, String> {
    seconds(text).ok_or_else(|| "expected seconds, 0 or more".to_string())
}

fn seconds(text: &str) -> Option<f64> {
    text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
}
