//! Requests that are about one configuration and no other (RFC 8040, section 3.4.1).

use super::Request;
use crate::fault::Fault;
use crate::store::Store;

/// Whether the configuration is one that the request is about.
pub fn check(request: &Request, store: &Store) -> Result<(), Fault> {
    let tag = etag(store);
    let changed = "the configuration has changed meanwhile: read it again, then make your change";
    if request.header("if-match").is_some_and(|tags| !matches(tags, &tag)) {
        return Err(Fault::precondition(changed));
    }
    if request.header("if-none-match").is_some_and(|tags| matches(tags, &tag)) {
        return Err(Fault::precondition("If-None-Match names the present configuration"));
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
    format!("\"{:x}\"", store.revision())
}

/// Whether one of some tags is this one.
pub fn matches(tags: &str, tag: &str) -> bool {
    tags.split(',').any(|one| one.trim() == "*" || one.trim().trim_start_matches("W/") == tag)
}

/// A date as HTTP writes it.
pub fn date(time: std::time::SystemTime) -> String {
    httpdate::fmt_http_date(time)
}
