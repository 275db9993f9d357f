//! Metrics in the text form of Prometheus.

use crate::restconf::{Reply, Service};

/// All metrics.
pub fn reply(_service: &Service) -> Reply {
    Reply::text(200, "text/plain; version=0.0.4", "")
}
