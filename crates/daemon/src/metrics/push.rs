//! Pushes metrics to a collector of OpenTelemetry (OTLP over HTTP, in JSON).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use super::{collect, otlp, Teller};
use crate::restconf::Service;
use crate::roles::{Role, Who};

/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MAX_ANSWER: usize = 64 << 10;
/// Most letters of what a collector says that are logged.
const MAX_DETAIL: usize = 200;
/// Shortest time between two pushes.
const MIN_INTERVAL: Duration = Duration::from_millis(100);
/// Longest time between two pushes.
const MAX_INTERVAL: Duration = Duration::from_secs(86_400);

/// A collector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    host: String,
    /// What a connection is made to.
    address: String,
    path: String,
}

impl Collector {
    /// Reads `http://HOST[:PORT][/PATH]`. Without a path it is that of the protocol, without a port the protocol's too.
    pub fn parse(url: &str) -> Result<Collector, String> {
        let expected = "expected the URL of a collector, such as http://127.0.0.1:4318";
        let uri: Uri = url.parse().map_err(|_| format!("`{url}`: {expected}"))?;
        let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(format!(
                "`{url}`: {expected}; it is spoken to without TLS, so let one run on this machine"
            ));
        };
        if authority.as_str().contains('@') {
            return Err("neither names nor passwords are sent; leave out what stands before `@`".to_string());
        }
        let (host, text) = (authority.host(), authority.as_str());
        let port = match text.strip_prefix(host).and_then(|rest| rest.strip_prefix(':')) {
            None => 4318,
            Some(port) => match port.parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => return Err(format!("`{port}` is no port; expected 1 to 65535")),
            },
        };
        if host.is_empty() {
            return Err(format!("there is no host; {expected}"));
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let path = if path == "/" { "/v1/metrics" } else { path };
        Ok(Collector { host: text.to_string(), address: format!("{host}:{port}"), path: path.to_string() })
    }
}

/// Reads how often metrics are pushed, such as 10s.
pub fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    match (MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) {
        true => Ok(interval),
        false => Err("expected a time from 100ms to 1day".to_string()),
    }
}

/// Why a collector has not taken metrics.
struct Refusal {
    what: String,
    /// What the collector says about it; it may be another text each time.
    detail: String,
}

impl Refusal {
    fn of(what: impl std::fmt::Display) -> Refusal {
        Refusal { what: what.to_string(), detail: String::new() }
    }
}

/// Pushes all metrics again and again. What a collector did not take is told once for each reason, and it is told when it takes
/// something again.
pub async fn push(service: Arc<Service>, collector: Collector, interval: Duration, teller: Teller) {
    let mut told: Option<String> = None;
    let mut ticks = tokio::time::interval(interval.clamp(MIN_INTERVAL, MAX_INTERVAL));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let result = tokio::time::timeout(TIMEOUT, push_once(&service, &collector, &teller)).await;
        let refusal = result.unwrap_or_else(|_| Err(Refusal::of("it does not answer"))).err();
        match &refusal {
            Some(Refusal { what, detail }) if told.as_ref() != Some(what) => {
                tracing::warn!(target: "weir", collector = collector.host, "metrics cannot be pushed: {what}{detail}");
            }
            None if told.is_some() => {
                tracing::info!(target: "weir", collector = collector.host, "metrics are pushed again")
            }
            _ => {}
        }
        told = refusal.map(|refusal| refusal.what);
    }
}

async fn push_once(service: &Arc<Service>, collector: &Collector, teller: &Teller) -> Result<(), Refusal> {
    let (service, teller) = (service.clone(), teller.clone());
    let body = tokio::task::spawn_blocking(move || {
        let all = Who { name: "otlp".to_string(), role: Role::Administer };
        let families = collect(&service, &all);
        otlp::request(&teller, &families, service.started(), SystemTime::now()).to_string()
    });
    let body = body.await.map_err(Refusal::of)?;
    let stream =
        TcpStream::connect(&collector.address).await.map_err(|error| Refusal::of(sys::reason(&error)))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(Refusal::of)?;
    let connection = tokio::spawn(connection);
    let request = hyper::Request::post(&collector.path)
        .header("host", &collector.host)
        .header("content-type", "application/json")
        .header("connection", "close")
        .body(Full::new(Bytes::from(body)))
        .map_err(Refusal::of)?;
    let answer = sender.send_request(request).await.map_err(Refusal::of)?;
    let status = answer.status();
    let read = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
    connection.abort();
    let body = read.map(|body| body.to_bytes()).unwrap_or_default();
    refusal(status, &serde_json::from_slice(&body).unwrap_or_default()).map_or(Ok(()), Err)
}

/// What an answer refuses: all, or some of the values.
fn refusal(status: hyper::StatusCode, body: &Value) -> Option<Refusal> {
    let detail = |text: &Value| match text.as_str() {
        // It is a line of a log.
        Some(text) if !text.is_empty() => {
            format!(": {}", text.escape_debug().take(MAX_DETAIL).collect::<String>())
        }
        _ => String::new(),
    };
    if !status.is_success() {
        return Some(Refusal { what: format!("it answers {status}"), detail: detail(&body["message"]) });
    }
    let partial = &body["partialSuccess"];
    // 64-bit integers are strings in this JSON, but some write numbers.
    let rejected = &partial["rejectedDataPoints"];
    let n = rejected.as_str().and_then(|text| text.parse().ok()).or(rejected.as_u64()).unwrap_or(0);
    (n > 0)
        .then(|| Refusal { what: format!("it rejects {n} values"), detail: detail(&partial["errorMessage"]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_collector_is_named_by_its_url() {
        let told =
            |url| Collector::parse(url).map(|one| format!("{} {}", one.address, one.path)).map_err(|_| ());
        assert_eq!(told("http://127.0.0.1:4318"), Ok("127.0.0.1:4318 /v1/metrics".to_string()));
        assert_eq!(told("http://collector/otlp/m"), Ok("collector:4318 /otlp/m".to_string()));
        assert_eq!(told("http://collector/m?tenant=7"), Ok("collector:4318 /m?tenant=7".to_string()));
        assert_eq!(told("http://[::1]:99/"), Ok("[::1]:99 /v1/metrics".to_string()));
        for bad in ["", "127.0.0.1:4318", "https://collector", "http://", "ftp://a", "http://a b"] {
            assert_eq!(told(bad), Err(()), "{bad}");
        }
        for bad in
            ["http://a:99999", "http://a:0", "http://a:x", "http://a:", "http://:4318", "http://me:secret@a"]
        {
            assert_eq!(told(bad), Err(()), "{bad}");
        }
    }

    #[test]
    fn a_collector_tells_what_it_refuses() {
        let told = |status: u16, body| {
            let refusal = refusal(hyper::StatusCode::from_u16(status).unwrap(), &body);
            refusal.map(|Refusal { what, detail }| what + &detail)
        };
        assert_eq!(told(200, Value::Null), None);
        assert_eq!(told(200, json!({ "partialSuccess": {} })), None);
        assert_eq!(told(200, json!({ "partialSuccess": { "errorMessage": "slow down" } })), None);
        let partial = json!({ "partialSuccess": { "rejectedDataPoints": "3", "errorMessage": "too\nold" } });
        assert_eq!(told(200, partial).unwrap(), "it rejects 3 values: too\\nold");
        assert_eq!(told(503, json!("text")).unwrap(), "it answers 503 Service Unavailable");
        let told = told(400, json!({ "code": 3, "message": "x".repeat(1000) })).unwrap();
        assert_eq!(told.len(), "it answers 400 Bad Request: ".len() + MAX_DETAIL);
    }
}
