//! What is told of packets that a device refuses: not a line for each.

/// How long the same error must not have come before it is told again, in nanoseconds.
const PAUSE_NS: i64 = 1_000_000_000;

/// The error that came last.
#[derive(Debug, Default)]
pub struct Refusals {
    errno: Option<i32>,
    until_ns: i64,
}

impl Refusals {
    /// Whether an error is to be told: it is another than the last one, or that was more than a second ago.
    pub fn is_new(&mut self, errno: Option<i32>, now_ns: i64) -> bool {
        let is_new = errno != self.errno || now_ns >= self.until_ns;
        *self = Refusals { errno, until_ns: now_ns.saturating_add(PAUSE_NS) };
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_told_when_it_begins_and_not_for_each_packet() {
        let (mut refusals, second_ns) = (Refusals::default(), PAUSE_NS);
        assert!(refusals.is_new(Some(100), 5));
        let told = (1..1000).filter(|i| refusals.is_new(Some(100), i * second_ns / 100)).count();
        assert_eq!(told, 0);
        assert!(refusals.is_new(Some(19), 10 * second_ns));
        assert!(!refusals.is_new(Some(19), 11 * second_ns - 1));
        assert!(refusals.is_new(Some(19), 20 * second_ns));
    }
}
