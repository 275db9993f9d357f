//! Pushes metrics to a collector of OpenTelemetry (OTLP over HTTP, in JSON).

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::{collect, otlp};
use crate::restconf::Service;
use crate::roles::{Role, Who};

/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MAX_ANSWER: usize = 64 << 10;
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
        let path = if uri.path() == "/" { "/v1/metrics" } else { uri.path() };
        let port = authority.port_u16().unwrap_or(4318);
        Ok(Collector {
            host: authority.to_string(),
            address: format!("{}:{port}", authority.host()),
            path: path.to_string(),
        })
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

/// Pushes all metrics again and again. What a collector did not take is told once, and again when it takes something.
pub async fn push(service: Arc<Service>, collector: Collector, interval: Duration) {
    let mut is_failing = false;
    let mut ticks = tokio::time::interval(interval.clamp(MIN_INTERVAL, MAX_INTERVAL));
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let result = tokio::time::timeout(TIMEOUT, push_once(&service, &collector)).await;
        let result = result.unwrap_or_else(|_| Err("it does not answer".to_string()));
        match &result {
            Err(message) if !is_failing => {
                tracing::warn!(target: "weir", collector = collector.host, "metrics cannot be pushed: {message}");
            }
            Ok(()) if is_failing => {
                tracing::info!(target: "weir", collector = collector.host, "metrics are pushed again")
            }
            _ => {}
        }
        is_failing = result.is_err();
    }
}

async fn push_once(service: &Arc<Service>, collector: &Collector) -> Result<(), String> {
    let service = service.clone();
    let body = tokio::task::spawn_blocking(move || {
        let all = Who { name: "otlp".to_string(), role: Role::Administer };
        otlp::request(&collect(&service, &all), service.started(), SystemTime::now()).to_string()
    });
    let body = body.await.map_err(|error| error.to_string())?;
    let told = |error: &dyn std::fmt::Display| error.to_string();
    let stream = TcpStream::connect(&collector.address).await.map_err(|error| told(&error))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| told(&error))?;
    let connection = tokio::spawn(connection);
    let request = hyper::Request::post(&collector.path)
        .header("host", &collector.host)
        .header("content-type", "application/json")
        .header("connection", "close")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| told(&error))?;
    let answer = sender.send_request(request).await.map_err(|error| told(&error))?;
    let status = answer.status();
    let _ = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
    connection.abort();
    match status.is_success() {
        true => Ok(()),
        false => Err(format!("it answers {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_named_by_its_url() {
        let told =
            |url| Collector::parse(url).map(|one| format!("{} {}", one.address, one.path)).map_err(|_| ());
        assert_eq!(told("http://127.0.0.1:4318"), Ok("127.0.0.1:4318 /v1/metrics".to_string()));
        assert_eq!(told("http://collector/otlp/m"), Ok("collector:4318 /otlp/m".to_string()));
        assert_eq!(told("http://[::1]:99/"), Ok("[::1]:99 /v1/metrics".to_string()));
        for bad in ["", "127.0.0.1:4318", "https://collector", "http://", "ftp://a", "http://a b"] {
            assert_eq!(told(bad), Err(()), "{bad}");
        }
    }
}
