//! Facts of the daemon itself.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Family, Kind, Number};
use crate::restconf::Service;

/// Upper bounds of transactions' times, in seconds.
const BOUNDS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

/// What is counted while the daemon answers.
#[derive(Default)]
pub struct Facts(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    /// Requests by method and status.
    requests: BTreeMap<(&'static str, u16), u64>,
    /// Transactions by whether they were made.
    made: Spread,
    refused: Spread,
}

#[derive(Default)]
struct Spread {
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
}

impl Facts {
    /// Counts an answer.
    pub fn answered(&self, method: &str, status: u16) {
        const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];
        // Whoever asks may make up methods.
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        *self.lock().requests.entry((method, status)).or_default() += 1;
    }

    /// Counts a transaction.
    pub fn transacted(&self, is_made: bool, time: Duration) {
        let counted = &mut *self.lock();
        let spread = if is_made { &mut counted.made } else { &mut counted.refused };
        let slot = BOUNDS.iter().position(|bound| time.as_secs_f64() <= *bound).unwrap_or(BOUNDS.len());
        spread.counts[slot] += 1;
        spread.sum += time;
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spread {
    fn number(&self) -> Number {
        Number::Spread { bounds: BOUNDS, counts: self.counts.to_vec(), sum: self.sum.as_secs_f64() }
    }
}

/// The facts as metrics.
pub fn families(service: &Service) -> Vec<Family> {
    let mut all = about(service);
    let counted = service.facts.lock();
    let mut requests = Family::new(
        "weir_http_requests",
        Kind::Counter,
        "Requests that were answered, by method and status.",
    );
    for ((method, status), n) in &counted.requests {
        requests = requests.with(&[("method", method), ("status", &status.to_string())], Number::Whole(*n));
    }
    let times = "Transactions by whether they were made, and how long they took.";
    let mut transactions = Family::new("weir_transaction_duration_seconds", Kind::Histogram, times)
        .with(&[("result", "made")], counted.made.number())
        .with(&[("result", "refused")], counted.refused.number());
    transactions.unit = Some("s".to_string());
    all.extend([requests, transactions]);
    all
}

fn about(service: &Service) -> Vec<Family> {
    let store = service.store();
    let mut instances: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, function, _) in store.instances() {
        *instances.entry(function).or_default() += 1;
    }
    let mut by_function = Family::new("weir_instances", Kind::Gauge, "Instances, by function.");
    for function in store.functions().iter() {
        let n = instances.get(function.name()).copied().unwrap_or(0);
        by_function = by_function.with(&[("function", function.name())], Number::Whole(n));
    }
    let seconds = |name: &str, help: &str, value: Duration| {
        let family = Family::new(name, Kind::Gauge, help).with(&[], Number::Real(value.as_secs_f64()));
        Family { unit: Some("s".to_string()), ..family }
    };
    let since = service.started().duration_since(UNIX_EPOCH).unwrap_or_default();
    let uptime = SystemTime::now().duration_since(service.started()).unwrap_or_default();
    vec![
        Family::new("weir_build_info", Kind::Gauge, "Always 1; the label tells the version.")
            .with(&[("version", env!("CARGO_PKG_VERSION"))], Number::Whole(1)),
        Family::new(
            "weir_config_revision",
            Kind::Gauge,
            "The number of the configuration: another one, another number.",
        )
        .with(&[], Number::Whole(store.revision())),
        seconds("weir_start_time_seconds", "When the daemon was started, in seconds since 1970.", since),
        seconds("weir_uptime_seconds", "How long the daemon has been running.", uptime),
        by_function,
    ]
}
