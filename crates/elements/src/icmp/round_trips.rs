//! When echo requests were sent, and how long their replies took.

/// Sequence numbers.
const NUMBERS: usize = 1 << 16;

/// What became of the request of a sequence number.
#[derive(Clone, Copy, Default)]
struct Request {
    /// Nanoseconds since the epoch; 0 if none was sent.
    sent_ns: i64,
    is_answered: bool,
}

/// Times from requests to replies.
pub struct RoundTrips {
    requests: Vec<Request>,
    n_received: u32,
    n_duplicates: u32,
    min_us: u32,
    max_us: u32,
    sum_us: u64,
    /// Sum of the squares.
    sum_us2: u64,
}

impl Default for RoundTrips {
    /// Nothing sent yet.
    fn default() -> RoundTrips {
        RoundTrips {
            requests: vec![Request::default(); NUMBERS],
            n_received: 0,
            n_duplicates: 0,
            min_us: 0,
            max_us: 0,
            sum_us: 0,
            sum_us2: 0,
        }
    }
}

impl RoundTrips {
    /// A request was sent.
    pub fn send(&mut self, number: u16, sent_ns: i64) {
        if let Some(request) = self.requests.get_mut(usize::from(number)) {
            *request = Request { sent_ns, is_answered: false };
        }
    }

    /// A reply came: the microseconds it took, 0 if it has no timestamp; `None` if there was no request.
    pub fn receive(&mut self, number: u16, received_ns: i64) -> Option<u32> {
        let request = self.requests.get_mut(usize::from(number)).filter(|request| request.sent_ns != 0)?;
        self.n_duplicates += u32::from(std::mem::replace(&mut request.is_answered, true));
        let mut trip_us = 0;
        if received_ns != 0 {
            trip_us = received_ns.wrapping_sub(request.sent_ns).div_euclid(1000) as u32;
            let is_first = self.n_received == 0;
            self.min_us = if is_first { trip_us } else { self.min_us.min(trip_us) };
            self.max_us = self.max_us.max(trip_us);
            self.sum_us = self.sum_us.wrapping_add(u64::from(trip_us));
            self.sum_us2 = self.sum_us2.wrapping_add(u64::from(trip_us) * u64::from(trip_us));
        }
        self.n_received = self.n_received.saturating_add(1);
        Some(trip_us)
    }

    /// The shortest.
    pub fn min_us(&self) -> u32 {
        self.min_us
    }

    /// The longest.
    pub fn max_us(&self) -> u32 {
        self.max_us
    }

    /// The mean.
    pub fn mean_us(&self) -> u32 {
        (self.sum_us / u64::from(self.n_received.max(1))) as u32
    }

    /// What ping(1) tells at its end, `n_sent` requests having been sent.
    pub fn summary(&self, n_sent: i32) -> String {
        let (received, duplicates) = (i64::from(self.n_received), i64::from(self.n_duplicates));
        let mut text = format!("{n_sent} packets transmitted, {} received", received - duplicates);
        if duplicates > 0 {
            text += &format!(", +{duplicates} duplicates");
        }
        if n_sent != 0 {
            // Replies count once as received and duplicates twice, as in Click.
            let lost = (i64::from(n_sent) - received - duplicates) * 100 / i64::from(n_sent);
            text += &format!(", {lost}% packet loss\n");
        }
        if self.n_received > 0 {
            let mean = self.sum_us / u64::from(self.n_received);
            let mean2 = self.sum_us2 / u64::from(self.n_received);
            let deviation = mean2.saturating_sub(mean.wrapping_mul(mean)).isqrt();
            let times = [u64::from(self.min_us), mean, u64::from(self.max_us), deviation];
            let times = times.map(|us| format!("{}.{:03}", us / 1000, us % 1000));
            text += &format!("rtt min/avg/max/mdev = {}\n", times.join("/"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn duplicates_and_losses_are_counted() {
        let mut trips = RoundTrips::default();
        assert_eq!(trips.summary(0), "0 packets transmitted, 0 received");
        trips.send(1, 1_000_000);
        trips.send(2, 2_000_000);
        trips.send(3, 3_000_000);
        let seen = [
            trips.receive(1, 2_500_000),
            trips.receive(1, 3_500_000),
            trips.receive(4, 1),
            trips.receive(2, 0),
        ];
        assert_eq!(seen, [Some(1500), Some(2500), None, Some(0)]);
        expect![[r#"
            4 packets transmitted, 2 received, +1 duplicates, 0% packet loss
            rtt min/avg/max/mdev = 1.500/1.333/2.500/1.027
        "#]]
        .assert_eq(&trips.summary(4));
    }
}
