//! TLS, and who is at its other end: a client certificate or a token tells.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use tokio::net::TcpStream;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_rustls::TlsAcceptor;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::roles::{Role, Who};

/// Names of files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The server's certificates, PEM.
    pub certificate: String,
    /// The server's key, PEM.
    pub key: String,
    /// Those who sign clients' certificates, PEM.
    pub clients: Option<String>,
    /// Lines `NAME ROLE SHA256`, the last the hexadecimal SHA-256 sum of a token.
    pub tokens: Option<String>,
}

/// What a server needs to speak TLS. It is read anew when a file has changed.
pub struct Tls {
    files: Files,
    known: Mutex<Known>,
}

/// What is known of the files.
struct Known {
    stamps: Vec<Stamp>,
    /// When they were last looked at.
    looked: Instant,
    read: Arc<Read>,
}

/// How long a connection that lasts may go by tokens that are no longer in their file.
const LOOK: Duration = Duration::from_secs(1);

/// What tells that a file is another than before: its number, length and time; none if there is none.
type Stamp = Option<(u64, u64, i64, i64)>;

/// What the files hold.
struct Read {
    acceptor: TlsAcceptor,
    tokens: HashMap<[u8; 32], Who>,
}

impl Tls {
    /// Reads the files.
    pub fn new(files: &Files) -> Result<Tls, String> {
        // Whoever changes one while it is read changes it once more for this.
        let stamps = files.stamps();
        let read = Read::new(files)?;
        let known = Known { stamps, looked: Instant::now(), read: Arc::new(read) };
        Ok(Tls { files: files.clone(), known: Mutex::new(known) })
    }

    /// Reads the files anew, whether they have changed or not.
    pub fn read_anew(&self) {
        self.known().stamps.clear();
        self.read(Instant::now());
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the files hold, or held not long ago.
    fn recent(&self, now: Instant) -> Arc<Read> {
        let known = self.known();
        if now.saturating_duration_since(known.looked) < LOOK {
            return known.read.clone();
        }
        drop(known);
        self.read(now)
    }

    /// What the files hold now. What cannot be used is told of, and what they held before goes on.
    fn read(&self, now: Instant) -> Arc<Read> {
        let stamps = self.files.stamps();
        let mut known = self.known();
        known.looked = now;
        if known.stamps != stamps {
            match Read::new(&self.files) {
                Ok(new) => {
                    tracing::info!(target: "weir", "certificates and tokens are read anew");
                    known.read = Arc::new(new);
                }
                Err(message) => {
                    tracing::warn!(target: "weir", "what was read before stays: {message}");
                }
            }
            known.stamps = stamps;
        }
        known.read.clone()
    }

    /// Agrees on TLS; who the client is by its certificate.
    pub async fn accept(&self, stream: TcpStream) -> std::io::Result<(TlsStream<TcpStream>, Who)> {
        let read = self.read(Instant::now());
        let stream = read.acceptor.accept(stream).await?;
        let certificate = stream.get_ref().1.peer_certificates().and_then(|chain| chain.first());
        let who = certificate.map_or_else(Who::default, |certificate| of_certificate(certificate));
        Ok((stream, who))
    }

    /// Who has a token, by the schemes `Bearer` (RFC 6750) and `Basic` (RFC 7617), the latter with the name that belongs to it.
    pub fn who_has(&self, authorization: Option<&str>) -> Who {
        let read = self.recent(Instant::now());
        let (scheme, text) = authorization.and_then(|value| value.split_once(' ')).unwrap_or_default();
        // Sums are compared, not tokens: how long that takes tells nothing of a token.
        let has = |token: &str| read.tokens.get::<[u8; 32]>(&Sha256::digest(token.trim()).into());
        let who = match scheme.to_ascii_lowercase().as_str() {
            "bearer" => has(text),
            "basic" => basic(text).and_then(|(name, token)| has(&token).filter(|who| who.name == name)),
            _ => None,
        };
        who.cloned().unwrap_or_default()
    }
}

impl Files {
    fn stamps(&self) -> Vec<Stamp> {
        let names = [Some(&self.certificate), Some(&self.key), self.clients.as_ref(), self.tokens.as_ref()];
        let stamp = |name: &String| {
            let facts = std::fs::metadata(name).ok()?;
            Some((facts.ino(), facts.len(), facts.mtime(), facts.mtime_nsec()))
        };
        names.into_iter().flatten().map(stamp).collect()
    }
}

impl Read {
    fn new(files: &Files) -> Result<Read, String> {
        let failed = |path: &str, error: &dyn std::fmt::Display| format!("{path}: {}", sys::reason(error));
        let chain: Vec<CertificateDer<'static>> = certificates(&files.certificate)?;
        let key = PrivateKeyDer::from_pem_file(Path::new(&files.key))
            .map_err(|error| failed(&files.key, &error))?;
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match &files.clients {
            None => builder.with_no_client_auth(),
            Some(path) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| failed(path, &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                let verifier =
                    if files.tokens.is_some() { verifier.allow_unauthenticated() } else { verifier };
                builder.with_client_cert_verifier(verifier.build().map_err(|error| failed(path, &error))?)
            }
        };
        let config =
            builder.with_single_cert(chain, key).map_err(|error| failed(&files.certificate, &error))?;
        let tokens = files.tokens.as_deref().map_or_else(|| Ok(HashMap::new()), tokens)?;
        Ok(Read { acceptor: TlsAcceptor::from(Arc::new(config)), tokens })
    }
}

/// Reads certificates (PEM).
pub fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{path}: {}", sys::reason(error));
    let read = CertificateDer::pem_file_iter(Path::new(path)).map_err(|error| failed(&error))?;
    let list = read.collect::<Result<Vec<_>, _>>().map_err(|error| failed(&error))?;
    if list.is_empty() {
        return Err(failed(&"it holds no certificate in PEM"));
    }
    Ok(list)
}

/// The name is the subject's common name, the role its organizational unit; without one, it may read.
fn of_certificate(certificate: &CertificateDer<'_>) -> Who {
    let Ok((_, parsed)) = X509Certificate::from_der(certificate) else { return Who::default() };
    let subject = parsed.subject();
    let name =
        subject.iter_common_name().find_map(|name| name.as_str().ok()).unwrap_or("certificate").to_string();
    let role = subject.iter_organizational_unit().find_map(|unit| Role::named(unit.as_str().ok()?));
    Who { name, role: role.unwrap_or(Role::Read) }
}

/// Name and token of `Basic`.
fn basic(text: &str) -> Option<(String, String)> {
    let bytes = base64::prelude::BASE64_STANDARD.decode(text.trim()).ok()?;
    let (name, token) = std::str::from_utf8(&bytes).ok()?.split_once(':')?;
    Some((name.to_string(), token.to_string()))
}

/// Reads a file of tokens.
fn tokens(path: &str) -> Result<HashMap<[u8; 32], Who>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {}", sys::reason(&error)))?;
    let mut tokens = HashMap::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |what: &str| format!("{path}: line {}: {what}; expected NAME ROLE SHA256", i + 1);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, role, sum] = words.as_slice() else {
            return Err(wrong(&format!("there are {} words", words.len())));
        };
        let role = Role::named(role)
            .ok_or_else(|| wrong(&format!("`{role}` is no role; there are read, operate and administer")))?;
        let sum =
            hex(sum).ok_or_else(|| wrong("the last word is no SHA-256 sum of 64 hexadecimal digits"))?;
        tokens.insert(sum, Who { name: name.to_string(), role });
    }
    Ok(tokens)
}

fn hex(text: &str) -> Option<[u8; 32]> {
    let mut sum = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in sum.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * i..2 * i + 2)?, 16).ok()?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_looked_at_once_a_second_by_a_connection_that_lasts_and_by_each_new_one() {
        let folder = std::env::temp_dir().join(format!("weir-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name).to_str().unwrap().to_string();
        let files = Files {
            certificate: path("c.pem"),
            key: path("k.pem"),
            clients: None,
            tokens: Some(path("tokens")),
        };
        let made = std::process::Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
            .args(["-subj", "/CN=localhost", "-keyout", &files.key, "-out", &files.certificate])
            .output();
        assert!(made.unwrap().status.success());
        let write = |name: &str| {
            std::fs::write(path("tokens"), format!("{name} read {}\n", "0a".repeat(32))).unwrap();
        };
        let name = |read: Arc<Read>| read.tokens[&[0x0a; 32]].name.clone();
        write("ann");
        let tls = Tls::new(&files).unwrap();
        let looked = tls.known().looked;
        write("robot");
        assert_eq!(name(tls.recent(looked + LOOK - Duration::from_nanos(1))), "ann");
        assert_eq!(name(tls.recent(looked + LOOK)), "robot");
        write("ann");
        assert_eq!(name(tls.recent(looked + LOOK)), "robot");
        assert_eq!(name(tls.read(looked + LOOK)), "ann");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
