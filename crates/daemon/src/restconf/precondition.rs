//! Requests that are about one configuration and no other (RFC 8040, section 3.4.1), or about what is there or not there (RFC 9110,
//! sections 13.1.1 and 13.1.2).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;

use super::Request;
use crate::fault::Fault;
use crate::store::Store;

/// Chosen anew whenever a daemon starts: what is told now is not what an earlier one told by the same number.
static START: LazyLock<u32> = LazyLock::new(|| RandomState::new().build_hasher().finish() as u32);

/// Whether the configuration is one that the request is about; `is_there` if the target is.
pub fn check(request: &Request, store: &Store, is_there: bool) -> Result<(), Fault> {
    let tag = etag(store);
    let changed = "the configuration has changed meanwhile: read it again, then make your change";
    match request.header("if-match") {
        Some("*") if !is_there => {
            return Err(Fault::precondition("there is nothing yet, and If-Match is `*`"))
        }
        Some(tags) if !is_same(tags, &tag) => return Err(Fault::precondition(changed)),
        _ => {}
    }
    match request.header("if-none-match") {
        Some("*") if !is_there => {}
        Some("*") => return Err(Fault::precondition("there is something already, and If-None-Match is `*`")),
        Some(tags) if matches(tags, &tag) => {
            return Err(Fault::precondition("If-None-Match names the present configuration"));
        }
        _ => {}
    }
    if let Some(text) = request.header("if-unmodified-since") {
        let since = httpdate::parse_http_date(text)
            .map_err(|_| Fault::malformed(format!("`{text}` is no date of HTTP")))?;
        // Dates count whole seconds.
        if store.changed() >= since + std::time::Duration::from_secs(1) {
            return Err(Fault::precondition(changed));
        }
    }
    Ok(())
}

/// The tag of the configuration as it is (RFC 8040, section 3.4.1.2).
pub fn etag(store: &Store) -> String {
    format!("\"{:x}-{:x}\"", *START, store.version())
}

/// Whether one of some tags is this one, which a weak tag never is (strong comparison; RFC 9110, section 8.8.3.2); `*` is any.
fn is_same(tags: &str, tag: &str) -> bool {
    is_among(tags, |one| one == tag)
}

/// The same by weak comparison: a weak tag may be it as well.
pub fn matches(tags: &str, tag: &str) -> bool {
    is_among(tags, |one| one.strip_prefix("W/").unwrap_or(one) == tag)
}

fn is_among(tags: &str, is_it: impl Fn(&str) -> bool) -> bool {
    tags.split(',').map(str::trim).any(|one| one == "*" || is_it(one))
}

/// A date as HTTP writes it.
pub fn date(time: std::time::SystemTime) -> String {
    httpdate::fmt_http_date(time)
}
