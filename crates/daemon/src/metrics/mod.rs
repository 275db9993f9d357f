//! Metrics: facts of the daemon, traffic of ports, drops, and the counters and gauges that functions' schemas have.
//!
//! They are collected when somebody asks ([`collect`]), and told in the text form of Prometheus ([`text`]) or pushed as OTLP ([`push`]).

mod facts;
mod otlp;
pub mod push;
mod state;
mod text;

use std::collections::BTreeMap;

pub use facts::Facts;
pub use otlp::Teller;

use crate::restconf::{Reply, Service};
use crate::roles::Who;

/// Metrics of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// The name, without `_total`.
    pub name: String,
    /// What it tells.
    pub help: String,
    /// The unit of its values.
    pub unit: Option<String>,
    /// Whether it only grows.
    pub kind: Kind,
    /// Its values.
    pub samples: Vec<Sample>,
}

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts values by their size.
    Histogram,
}

/// A value with its labels.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Names and values.
    pub labels: Vec<(String, String)>,
    /// The value.
    pub value: Number,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// A whole number.
    Whole(u64),
    /// Any number.
    Real(f64),
    /// Numbers of values up to each bound (not added up, the last beyond all), and their sum.
    Spread {
        /// Upper bounds.
        bounds: &'static [f64],
        /// One more than bounds.
        counts: Vec<u64>,
        /// The sum of all values.
        sum: f64,
    },
}

impl Family {
    /// Without values.
    pub fn new(name: impl Into<String>, kind: Kind, help: impl Into<String>) -> Family {
        Family { name: name.into(), help: help.into(), unit: None, kind, samples: Vec::new() }
    }

    /// With a value.
    pub fn with(mut self, labels: &[(&str, &str)], value: Number) -> Family {
        let labels = labels.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        self.samples.push(Sample { labels, value });
        self
    }
}

/// All metrics that somebody may see, by name.
pub fn collect(service: &Service, who: &Who) -> Vec<Family> {
    let mut all: BTreeMap<String, Family> = BTreeMap::new();
    for family in facts::families(service).into_iter().chain(state::families(service, who)) {
        match all.get_mut(&family.name) {
            None => drop(all.insert(family.name.clone(), family)),
            // Names of nodes may become the same when `-` becomes `_`.
            Some(known) if known.kind == family.kind => known.samples.extend(family.samples),
            Some(_) => {}
        }
    }
    all.retain(|_, family| !family.samples.is_empty());
    all.into_values().collect()
}

/// All metrics for Prometheus.
pub fn reply(service: &Service, who: &Who) -> Reply {
    Reply::text(200, "text/plain; version=0.0.4; charset=utf-8", text::write(&collect(service, who)))
}
