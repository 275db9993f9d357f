//! Accounts of sessions: counts each way, rates, and records with the attributes of RFC 2866 as lines of JSON.

use std::fmt::Write as _;

use args::Scope;
use element::{Ctx, RecordFile};

/// The time: of day for records, and steady for all that is measured, since the time of day may be set.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Since the epoch.
    pub wall_ns: i64,
    /// For rates, intervals and timers.
    pub steady_ns: i64,
}

impl Now {
    /// Now.
    pub fn of(ctx: &mut Ctx<'_>) -> Now {
        Now { wall_ns: ctx.now_ns(), steady_ns: ctx.recent_steady_ns() }
    }

    /// The steady time at a time of day: intervals between packets of a capture stay what they were.
    pub fn steady_at(self, wall_ns: i64) -> i64 {
        self.steady_ns.wrapping_sub(self.wall_ns.wrapping_sub(wall_ns))
    }
}

/// Counts and limit of one direction of a session. Its times are steady.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Packets that passed.
    pub n_packets: u64,
    /// Their bytes.
    pub n_bytes: u64,
    /// Packets over the rate.
    pub n_over: u64,
    /// The rate.
    pub meter: Meter,
}

impl Traffic {
    /// A direction with this limit, and no packets yet.
    pub fn limited(rate: Rate, now_ns: i64) -> Traffic {
        Traffic { meter: Meter::new(rate, now_ns), ..Traffic::default() }
    }

    /// Goes on from the counts of another one, with a limit of its own that is as far used.
    pub fn go_on_from(&mut self, old: &Traffic) {
        let meter = self.meter.used_as(&old.meter);
        *self = Traffic { meter, ..*old };
    }

    /// Counts a packet; false if it is over the rate.
    #[inline(always)]
    pub fn take(&mut self, n_bytes: usize, now_ns: i64) -> bool {
        let passes = self.meter.take(n_bytes, now_ns);
        if passes {
            self.n_packets += 1;
            self.n_bytes += n_bytes as u64;
        } else {
            self.n_over += 1;
        }
        passes
    }
}

/// A limit in bytes per second; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate(pub u32);

impl Rate {
    /// Reads one or two rates: both ways, or up and down.
    pub fn parse_both(words: &[String]) -> Result<(Rate, Rate), String> {
        let rate = |word: &String| args::bandwidth(word).map(|bandwidth| Rate(bandwidth.bytes_per_s));
        match words {
            [] => Ok((Rate(0), Rate(0))),
            [both] => rate(both).map(|rate| (rate, rate)),
            [up, down] => Ok((rate(up)?, rate(down)?)),
            _ => Err("expected `UP [DOWN]`".to_string()),
        }
    }

    /// [`Rate::parse_both`] of an argument.
    pub fn parse_arg(text: &str, _scope: &Scope<'_>) -> Result<(Rate, Rate), String> {
        Rate::parse_both(&args::split_words(text))
    }
}

/// Fraction bits of the time that a byte takes.
const FRACTION: u32 = 20;
/// A full bucket lasts for this long at the rate, or holds so many bytes if those are more.
const BURST_NS: i64 = 100_000_000;
const MIN_BURST: u64 = 6000;

/// A token bucket, kept as the time at which it will be full: one addition for a packet, no matter how long ago the last was.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meter {
    /// Time that a byte takes; 0 for no limit.
    ns_per_byte: u64,
    burst_ns: i64,
    full_at: i64,
}

impl Meter {
    /// A full bucket.
    pub fn new(rate: Rate, now_ns: i64) -> Meter {
        if rate.0 == 0 {
            return Meter::default();
        }
        let ns_per_byte = (1_000_000_000u64 << FRACTION) / u64::from(rate.0);
        // At most 6000 bytes at one a second: far from an overflow.
        let burst_ns = BURST_NS.max(((u128::from(MIN_BURST) * u128::from(ns_per_byte)) >> FRACTION) as i64);
        Meter { ns_per_byte, burst_ns, full_at: now_ns }
    }

    /// This bucket, which was full until now, with as many bytes taken out as of another one.
    fn used_as(self, old: &Meter) -> Meter {
        if old.ns_per_byte == 0 || self.ns_per_byte == 0 {
            return self;
        }
        let lacking_ns = i128::from(old.full_at.saturating_sub(self.full_at).max(0));
        let lacking_ns = lacking_ns * i128::from(self.ns_per_byte) / i128::from(old.ns_per_byte);
        let lacking_ns = i64::try_from(lacking_ns).unwrap_or(i64::MAX).min(self.burst_ns);
        Meter { full_at: self.full_at.saturating_add(lacking_ns), ..self }
    }

    /// Takes so many bytes out if they are there.
    #[inline(always)]
    fn take(&mut self, n_bytes: usize, now_ns: i64) -> bool {
        if self.ns_per_byte == 0 {
            return true;
        }
        // A packet of 2^16 bytes at a byte a second: 2^16 * 2^50 would overflow, so it saturates and never passes.
        let cost_ns = ((n_bytes as u64).saturating_mul(self.ns_per_byte) >> FRACTION) as i64;
        let full_at = self.full_at.max(now_ns).saturating_add(cost_ns);
        let passes = full_at.saturating_sub(now_ns) <= self.burst_ns;
        if passes {
            self.full_at = full_at;
        }
        passes
    }
}

/// What a record is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The session began.
    Start,
    /// It goes on.
    Interim,
    /// It ended, and why.
    Stop(&'static str),
}

/// What a record tells.
pub struct Record<'a> {
    /// What it is for.
    pub status: Status,
    /// The account.
    pub session: &'a str,
    /// Further attributes that are texts.
    pub texts: &'a [(&'a str, &'a str)],
    /// When the account began, in steady time.
    pub began_ns: i64,
    /// Now.
    pub now: Now,
    /// From the subscriber.
    pub up: &'a Traffic,
    /// To the subscriber.
    pub down: &'a Traffic,
}

impl Record<'_> {
    /// The record as a line of JSON whose names are RADIUS attributes.
    pub fn to_line(&self) -> String {
        let (status, cause) = match self.status {
            Status::Start => ("Start", None),
            Status::Interim => ("Interim-Update", None),
            Status::Stop(cause) => ("Stop", Some(cause)),
        };
        let mut line = "{".to_string();
        put_text(&mut line, "Acct-Status-Type", status);
        put_text(&mut line, "Acct-Session-Id", self.session);
        self.texts.iter().for_each(|(name, value)| put_text(&mut line, name, value));
        put_number(&mut line, "Event-Timestamp", seconds(self.now.wall_ns));
        if self.status != Status::Start {
            put_number(&mut line, "Acct-Session-Time", seconds(self.now.steady_ns - self.began_ns));
            // The attributes have 32 bits, and others count how often they ran over (RFC 2869, section 5.1).
            let octets = [("Input", self.up.n_bytes), ("Output", self.down.n_bytes)];
            for (way, n_bytes) in octets {
                put_number(&mut line, &format!("Acct-{way}-Octets"), n_bytes & 0xffff_ffff);
                put_number(&mut line, &format!("Acct-{way}-Gigawords"), n_bytes >> 32);
            }
            put_number(&mut line, "Acct-Input-Packets", self.up.n_packets);
            put_number(&mut line, "Acct-Output-Packets", self.down.n_packets);
        }
        if let Some(cause) = cause {
            put_text(&mut line, "Acct-Terminate-Cause", cause);
        }
        line + "}\n"
    }
}

fn seconds(time_ns: i64) -> u64 {
    u64::try_from(time_ns / 1_000_000_000).unwrap_or(0)
}

fn put_name(line: &mut String, name: &str) {
    if line.len() > 1 {
        line.push(',');
    }
    put_string(line, name);
    line.push(':');
}

fn put_text(line: &mut String, name: &str, value: &str) {
    put_name(line, name);
    put_string(line, value);
}

fn put_number(line: &mut String, name: &str, value: u64) {
    put_name(line, name);
    let _ = write!(line, "{value}");
}

/// Adds a string with its quotes (RFC 8259, section 7).
fn put_string(line: &mut String, text: &str) {
    line.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => line.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(line, "\\u{:04x}", u32::from(c));
            }
            c => line.push(c),
        }
    }
    line.push('"');
}

/// The file that records go to.
#[derive(Default)]
pub struct Journal {
    file: Option<RecordFile>,
    n_accounts: u64,
    has_news: bool,
}

impl Journal {
    /// Opens the file; an empty name is none.
    pub fn open(&mut self, filename: &str) -> Result<(), String> {
        if !filename.is_empty() {
            self.file = Some(RecordFile::create(filename)?);
        }
        Ok(())
    }

    /// Goes on with the file and the numbers of another one.
    pub fn go_on_from(&mut self, old: &mut Journal) {
        std::mem::swap(self, old);
    }

    /// A number for a new account: the time in seconds and a running number.
    pub fn next_account(&mut self, now_ns: i64) -> String {
        self.n_accounts += 1;
        format!("{:08x}{:08x}", seconds(now_ns), self.n_accounts)
    }

    /// Writes a record.
    pub fn write(&mut self, record: &Record<'_>) {
        if let Some(file) = &mut self.file {
            file.write(record.to_line().as_bytes());
            self.has_news = true;
        }
    }

    /// Hands what was written to the system. A full disk does not end sessions.
    pub fn flush(&mut self, ctx: &mut Ctx<'_>) {
        if std::mem::take(&mut self.has_news) {
            if let Some(file) = &mut self.file {
                file.flush();
                file.tell_fault(ctx);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn another_rate_goes_on_with_as_much_used() {
        let mut slow = Traffic::limited(Rate(1000), 0);
        assert!(slow.take(6000, 0) && !slow.take(1, 0));
        // A second later it has 1000 bytes again; a million times as fast, the rest takes 5 us.
        let mut fast = Traffic::limited(Rate(1_000_000_000), 1_000_000_000);
        fast.go_on_from(&slow);
        assert_eq!((fast.n_packets, fast.meter.full_at), (1, 1_000_005_000));
        let mut slower = Traffic::limited(Rate(1), 1_000_000_000);
        slower.go_on_from(&fast);
        assert!(slower.take(1000, 1_000_000_000) && !slower.take(1, 1_000_000_000));
        let mut free = Traffic::limited(Rate(0), 0);
        free.go_on_from(&slow);
        assert!(free.take(1 << 16, 0));
    }

    #[test]
    fn a_clock_that_is_set_changes_no_interval() {
        let second = 1_000_000_000;
        let before = Now { wall_ns: 1000 * second, steady_ns: 50 * second };
        let set = Now { wall_ns: 4601 * second, steady_ns: 51 * second };
        assert_eq!(set.steady_at(set.wall_ns) - before.steady_at(before.wall_ns), second);
        // Nor do packets of a capture come closer, of whatever time they are.
        assert_eq!(set.steady_at(9 * second) - set.steady_at(2 * second), 7 * second);
    }

    #[test]
    fn records_are_json_whatever_the_name() {
        let up = Traffic { n_packets: 3, n_bytes: 5_000_000_000, ..Traffic::default() };
        let record = |status| {
            Record {
                status,
                session: "1",
                texts: &[("User-Name", "a\"\\\n\u{7f}é")],
                // Meanwhile the clock was set back.
                began_ns: 1_000_000_000,
                now: Now { wall_ns: 31_000_000_000, steady_ns: 61_000_000_000 },
                up: &up,
                down: &up,
            }
            .to_line()
        };
        expect![[r#"
            {"Acct-Status-Type":"Start","Acct-Session-Id":"1","User-Name":"a\"\\\u000a\u007fé","Event-Timestamp":31}
            {"Acct-Status-Type":"Stop","Acct-Session-Id":"1","User-Name":"a\"\\\u000a\u007fé","Event-Timestamp":31,"Acct-Session-Time":60,"Acct-Input-Octets":705032704,"Acct-Input-Gigawords":1,"Acct-Output-Octets":705032704,"Acct-Output-Gigawords":1,"Acct-Input-Packets":3,"Acct-Output-Packets":3,"Acct-Terminate-Cause":"User-Request"}
        "#]]
        .assert_eq(&(record(Status::Start) + &record(Status::Stop("User-Request"))));
    }

    #[test]
    fn a_bucket_gives_its_burst_and_then_the_rate() {
        let mut traffic = Traffic::limited(Rate(100_000), 0);
        let mut passed = |now_ns| (0..20).filter(|_| traffic.take(1000, now_ns)).count();
        assert_eq!(
            [passed(0), passed(10_000_000), passed(10_000_000), passed(1_000_000_000)],
            [10, 1, 0, 10]
        );
        assert_eq!((traffic.n_packets, traffic.n_over, traffic.n_bytes), (21, 59, 21_000));
    }

    proptest! {
        #[test]
        fn no_more_passes_than_rate_and_burst(
            rate in 1u32.., packets in prop::collection::vec((0usize..70_000, 0i64..1_000_000_000), 1..100),
        ) {
            let mut traffic = Traffic::limited(Rate(rate), 0);
            let mut now_ns = 0;
            for (n_bytes, wait_ns) in packets {
                now_ns += wait_ns;
                traffic.take(n_bytes, now_ns);
            }
            let most = (now_ns as f64 / 1e9 + 0.1) * f64::from(rate) + 6000.0;
            // A byte's time is rounded down, by one part in 2^18 at the highest rate.
            prop_assert!(traffic.n_bytes as f64 <= most * 1.0001 + 1.0, "{} of {most}", traffic.n_bytes);
        }
    }
}
