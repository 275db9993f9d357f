//! Requests to a daemon.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use daemon::http::tls::certificates;
use daemon::restconf::DATA;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::rustls::{CertificateError, ClientConfig, Error as TlsError, RootCertStore};

use super::told;
use crate::patience::Patience;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a daemon may say nothing before the user is told that it does.
const SILENCE: Duration = Duration::from_secs(3);

/// Which daemon, and who asks.
#[derive(Args, Clone, Debug, Default)]
pub struct Daemon {
    /// The daemon's Unix socket [default: that of this user's daemon].
    #[arg(long, value_name = "PATH", env = "WEIR_SOCKET", global = true)]
    pub socket: Option<PathBuf>,
    /// A daemon that answers over TLS.
    #[arg(long, value_name = "https://HOST:PORT", env = "WEIR_SERVER", global = true, value_parser = server)]
    pub server: Option<String>,
    /// Act on the candidate, which runs when it is committed (`weir candidate commit`).
    #[arg(long, global = true)]
    pub candidate: bool,
    /// Token for --server.
    #[arg(long, env = "WEIR_TOKEN", hide_env_values = true, global = true)]
    pub token: Option<String>,
    /// Certificates (PEM) of those who sign the server's certificate.
    #[arg(long, value_name = "FILE", env = "WEIR_CA", global = true)]
    pub ca: Option<String>,
    /// The client's certificates (PEM) for --server.
    #[arg(long, value_name = "FILE", env = "WEIR_CERT", requires = "key", global = true)]
    pub cert: Option<String>,
    /// The client's private key (PEM).
    #[arg(long, value_name = "FILE", env = "WEIR_KEY", global = true)]
    pub key: Option<String>,
    /// How long to wait for it.
    #[command(flatten)]
    pub patience: Patience,
}

/// Checks where a daemon answers over TLS.
fn server(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").map(|host| host.trim_end_matches('/'));
    match host.is_some_and(|host| !host.is_empty() && !host.contains('/')) {
        true => Ok(text.to_string()),
        false => Err("expected https://HOST:PORT".to_string()),
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// The tag of the configuration as it is.
    pub tag: Option<String>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; an error if the daemon refused.
    pub fn json(self) -> Result<Value, String> {
        let body = self.ok()?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|error| format!("the daemon's answer is no JSON: {error}"))
    }

    /// Whether the daemon refused because what is meant is not there.
    pub fn is_missing(&self) -> bool {
        let body = || serde_json::from_slice(&self.body).unwrap_or_default();
        self.status == 404 || (self.status == 409 && told::is_missing(&body()))
    }

    /// The body; an error if the daemon refused.
    pub fn ok(self) -> Result<Vec<u8>, String> {
        if self.status < 400 {
            return Ok(self.body);
        }
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        Err(told::told(&body).unwrap_or_else(|| format!("the daemon answers with status {}", self.status)))
    }
}

impl Daemon {
    /// Asks and waits for the answer.
    pub fn ask(&self, method: &str, path: &str, body: Option<(&str, Vec<u8>)>) -> Result<Answer, String> {
        self.ask_if(method, path, body, None)
    }

    /// The same, if the configuration is still the one with this tag.
    pub fn ask_if(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
        tag: Option<&str>,
    ) -> Result<Answer, String> {
        let answered = async {
            let response = self.send(method, path, body, tag).await?;
            let status = response.status().as_u16();
            let tag = response.headers().get("etag").and_then(|tag| tag.to_str().ok()).map(str::to_string);
            let body =
                response.into_body().collect().await.map_err(|error| format!("{}: {error}", self.name()))?;
            Ok(Answer { status, tag, body: body.to_bytes().to_vec() })
        };
        runtime()?.block_on(async {
            let mut answered = std::pin::pin!(answered);
            if let Ok(answer) = tokio::time::timeout(SILENCE, &mut answered).await {
                return answer;
            }
            eprintln!(
                "weir: {}: no answer so far; the daemon may be busy, or stopped (SIGSTOP)",
                self.name()
            );
            let timed = tokio::time::timeout(TIMEOUT - SILENCE, answered).await;
            timed
                .unwrap_or_else(|_| Err(format!("{}: no answer within {} s", self.name(), TIMEOUT.as_secs())))
        })
    }

    /// Reads data.
    pub fn get(&self, path: &str) -> Result<Value, String> {
        self.ask("GET", path, None)?.json()
    }

    /// Sends data.
    pub fn send_json(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        value: &Value,
    ) -> Result<Value, String> {
        self.ask(method, path, Some((media_type, value.to_string().into_bytes())))?.json()
    }

    /// Calls `line` for each line that the daemon sends, until it returns false or the daemon ends; that it does so in order shows in
    /// the end of the body.
    pub fn follow(&self, path: &str, mut line: impl FnMut(&str) -> bool) -> Result<(), String> {
        runtime()?.block_on(async {
            let response = self.send("GET", path, None, None).await?;
            if response.status().as_u16() >= 400 {
                let (status, body) = (response.status().as_u16(), response.into_body().collect().await);
                let body = body.map_err(|error| error.to_string())?.to_bytes().to_vec();
                return Answer { status, tag: None, body }.ok().map(drop);
            }
            let (mut body, mut rest) = (response.into_body(), Vec::new());
            while let Some(frame) = body.frame().await {
                let broken = |_| {
                    format!(
                        "{}: the events broke off: the daemon was killed or has crashed, or they were not read in time",
                        self.name()
                    )
                };
                let frame = frame.map_err(broken)?;
                rest.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                    let text: Vec<u8> = rest.drain(..=end).collect();
                    if !line(String::from_utf8_lossy(&text).trim_end()) {
                        return Ok(());
                    }
                }
            }
            Ok(())
        })
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
        tag: Option<&str>,
    ) -> Result<hyper::Response<Incoming>, String> {
        let path = match (self.candidate, path.strip_prefix("/restconf/data")) {
            (true, Some(rest)) => format!("/restconf/ds/ietf-datastores:candidate{rest}"),
            _ => path.to_string(),
        };
        let path = path.as_str();
        let mut request = hyper::Request::builder().method(method).uri(path).header("host", self.host());
        request = request.header("accept", DATA);
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(tag) = tag {
            request = request.header("if-match", tag);
        }
        if let Some((media_type, _)) = &body {
            request = request.header("content-type", *media_type);
        }
        let body = Full::new(Bytes::from(body.map(|(_, bytes)| bytes).unwrap_or_default()));
        let request = request.body(body).map_err(|error| format!("{path}: {error}"))?;
        match &self.server {
            Some(_) => self.exchange(self.tls().await?, request).await,
            None => self.exchange(self.unix().await?, request).await,
        }
    }

    async fn exchange(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        request: hyper::Request<Full<Bytes>>,
    ) -> Result<hyper::Response<Incoming>, String> {
        let failed = |error: hyper::Error| format!("{}: {error}", self.name());
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(failed)
    }

    async fn unix(&self) -> Result<tokio::net::UnixStream, String> {
        let path = self.path()?;
        // Nothing else runs on this thread meanwhile.
        let connected = self.patience.until(|| std::os::unix::net::UnixStream::connect(&path));
        let connected = connected.and_then(|stream| {
            stream.set_nonblocking(true)?;
            tokio::net::UnixStream::from_std(stream)
        });
        connected.map_err(|error| {
            let remedy = match error.kind() {
                ErrorKind::PermissionDenied => {
                    "the socket is its owner's alone: let that daemon run with `weir serve --group GROUP`, a group that you are in, or \
                     name another --socket"
                }
                _ if self.patience.wait.is_some() => {
                    "no daemon answers there: start one with `weir serve`, or name its --socket"
                }
                _ => {
                    "no daemon answers there: start one with `weir serve`, name its --socket, or wait for one that starts with --wait"
                }
            };
            format!("{}: {}; {remedy}", path.display(), element::output::reason(&error))
        })
    }

    async fn tls(&self) -> Result<tokio_rustls::client::TlsStream<tokio::net::TcpStream>, String> {
        let host = self.host();
        let name = host
            .rsplit_once(':')
            .map_or(host.as_str(), |(name, _)| name)
            .trim_matches(['[', ']'])
            .to_string();
        let address = if host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
            host.clone()
        } else {
            format!("{host}:443")
        };
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", self.name());
        let connected = self.patience.until(|| std::net::TcpStream::connect(&address));
        let stream = connected
            .and_then(|stream| {
                stream.set_nonblocking(true)?;
                tokio::net::TcpStream::from_std(stream)
            })
            .map_err(|error| {
                let remedy = match error.kind() {
                    ErrorKind::ConnectionRefused if self.patience.wait.is_some() => {
                        "; no daemon answers there: start one with `weir serve --listen`"
                    }
                    ErrorKind::ConnectionRefused => {
                        "; no daemon answers there: start one with `weir serve --listen`, or wait for one that starts with --wait"
                    }
                    _ => "",
                };
                failed(&format!("{}{remedy}", element::output::reason(&error)))
            })?;
        let name = ServerName::try_from(name).map_err(|error| failed(&error))?;
        let connector = tokio_rustls::TlsConnector::from(Arc::new(self.tls_config()?));
        connector.connect(name, stream).await.map_err(|error| failed(&reason_of_tls(&error)))
    }

    fn tls_config(&self) -> Result<ClientConfig, String> {
        let failed = |path: &str, error: &dyn std::fmt::Display| format!("{path}: {error}");
        let mut roots = RootCertStore::empty();
        match &self.ca {
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| failed(path, &error))?;
                }
            }
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?.with_root_certificates(roots);
        match (&self.cert, &self.key) {
            (Some(cert), Some(key)) => {
                let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| failed(key, &error))?;
                builder
                    .with_client_auth_cert(certificates(cert)?, key_der)
                    .map_err(|error| failed(cert, &error))
            }
            _ => Ok(builder.with_no_client_auth()),
        }
    }

    fn path(&self) -> Result<PathBuf, String> {
        self.socket.clone().map_or_else(crate::serve::socket, Ok)
    }

    fn host(&self) -> String {
        let server = self.server.as_deref().unwrap_or("localhost");
        server.trim_start_matches("https://").trim_end_matches('/').to_string()
    }

    /// What messages call it.
    fn name(&self) -> String {
        match &self.server {
            Some(server) => server.clone(),
            None => self.path().map_or_else(|message| message, |path| path.display().to_string()),
        }
    }
}

/// Why TLS could not be agreed on, in a user's words.
fn reason_of_tls(error: &std::io::Error) -> String {
    use CertificateError as Wrong;
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    let Some(TlsError::InvalidCertificate(wrong)) = inner else { return error.to_string() };
    let why = match wrong {
        Wrong::BadSignature => "its signer has the name of one that is trusted, but another key; give the certificate of who has signed it with --ca FILE",
        Wrong::UnknownIssuer => "nobody who is trusted has signed it; give the certificate of who did with --ca FILE",
        Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => "it is for another host; name it in --server as the certificate does",
        Wrong::Expired | Wrong::ExpiredContext { .. } => "it has expired; renew it",
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => "it is not valid yet; look at the clocks",
        Wrong::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            "it is one that signs others (CA:TRUE); let it sign one for the server, and give it itself with --ca FILE"
        }
        other => return format!("the server's certificate is refused: {other}"),
    };
    format!("the server's certificate is refused: {why}")
}

fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_that_another_key_has_signed_is_refused_with_what_to_do() {
        let error = std::io::Error::other(TlsError::InvalidCertificate(CertificateError::BadSignature));
        let told = reason_of_tls(&error);
        assert!(told.ends_with("give the certificate of who has signed it with --ca FILE"), "{told}");
    }
}
