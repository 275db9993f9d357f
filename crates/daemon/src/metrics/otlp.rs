//! Metrics as OpenTelemetry's protocol tells them in JSON (OTLP 1.0, `ExportMetricsServiceRequest`).

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{json, Value};

use super::{Family, Kind, Number, Sample};

/// Values are counted from the beginning on, not since the last time.
const CUMULATIVE: u8 = 2;

/// A request that tells metrics.
pub fn request(families: &[Family], started: SystemTime, now: SystemTime) -> Value {
    let times = (nanoseconds(started), nanoseconds(now));
    let metrics: Vec<Value> = families.iter().map(|family| metric(family, &times)).collect();
    let version = env!("CARGO_PKG_VERSION");
    let resource = [("service.name", "weir"), ("service.version", version)];
    json!({ "resourceMetrics": [{
        "resource": { "attributes": resource.map(|(name, value)| attribute(name, value)) },
        "scopeMetrics": [{ "scope": { "name": "weir", "version": version }, "metrics": metrics }],
    }] })
}

fn metric(family: &Family, times: &(String, String)) -> Value {
    let points: Vec<Value> = family.samples.iter().map(|sample| point(sample, times)).collect();
    let mut metric = json!({ "name": family.name, "description": family.help });
    if let Some(unit) = &family.unit {
        metric["unit"] = unit.as_str().into();
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
