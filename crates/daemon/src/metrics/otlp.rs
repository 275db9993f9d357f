//! Metrics as OpenTelemetry's protocol tells them in JSON (OTLP 1.0, `ExportMetricsServiceRequest`).

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{json, Value};

use super::{Family, Kind, Number, Sample};

/// Values are counted from the beginning on, not since the last time.
const CUMULATIVE: u8 = 2;

/// Who tells metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Teller {
    /// The machine's name.
    pub host: String,
    /// Tells a daemon from all others.
    pub id: String,
}

impl Teller {
    /// The daemon of this machine that answers at a socket.
    pub fn at(socket: &str) -> Teller {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Teller { id: format!("{host}:{socket}"), host }
    }
}

/// A request that tells metrics.
pub fn request(teller: &Teller, families: &[Family], started: SystemTime, now: SystemTime) -> Value {
    let times = (nanoseconds(started), nanoseconds(now));
    let metrics: Vec<Value> = families.iter().map(|family| metric(family, &times)).collect();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [
        ("service.name", "weir"),
        ("service.version", version),
        ("service.instance.id", &teller.id),
        ("host.name", &teller.host),
    ];
    json!({ "resourceMetrics": [{
        "resource": { "attributes": resource.map(|(name, value)| attribute(name, value)) },
        "scopeMetrics": [{ "scope": { "name": "weir", "version": version }, "metrics": metrics }],
    }] })
}

fn metric(family: &Family, times: &(String, String)) -> Value {
    let points: Vec<Value> = family.samples.iter().map(|sample| point(sample, times)).collect();
    let mut metric = json!({ "name": family.name, "description": family.help });
    if let Some(unit) = &family.unit {
        metric["unit"] = ucum(unit).into();
    }
    match family.kind {
        Kind::Counter => {
            metric["sum"] =
                json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true });
        }
        Kind::Gauge => metric["gauge"] = json!({ "dataPoints": points }),
        Kind::Histogram => {
            metric["histogram"] = json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE });
        }
    }
    metric
}

/// A unit of a schema as this protocol writes it (UCUM).
fn ucum(unit: &str) -> &str {
    match unit {
        "bytes" => "By",
        "seconds" => "s",
        "milliseconds" => "ms",
        "packets" => "{packet}",
        "packets per second" => "{packet}/s",
        other => other,
    }
}

/// 64-bit integers are strings in this JSON.
fn point(sample: &Sample, (start, now): &(String, String)) -> Value {
    let attributes: Vec<Value> = sample.labels.iter().map(|(name, value)| attribute(name, value)).collect();
    let mut point = json!({ "attributes": attributes, "startTimeUnixNano": start, "timeUnixNano": now });
    match &sample.value {
        Number::Whole(value) => point["asInt"] = value.to_string().into(),
        Number::Real(value) => point["asDouble"] = (*value).into(),
        Number::Spread { bounds, counts, sum } => {
            point["count"] = counts.iter().sum::<u64>().to_string().into();
            point["sum"] = (*sum).into();
            point["bucketCounts"] = counts.iter().map(u64::to_string).collect();
            point["explicitBounds"] = json!(bounds);
        }
    }
    point
}

fn attribute(name: &str, value: &str) -> Value {
    json!({ "key": name, "value": { "stringValue": value } })
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}
