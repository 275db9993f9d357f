//! A page to look around with a browser: it is the same for all, holds no data, and asks for data as any other client does.

use std::sync::OnceLock;

use base64::Engine;
use sha2::{Digest, Sha256};

use crate::restconf::{Reply, Request};

const PAGE: &str = include_str!("page.html");

/// The page, if that is what a browser asks for: at `/`, at `/browse` and below, and where data is, if it would rather have HTML.
pub fn page(request: &Request) -> Option<Reply> {
    let path = request.path.trim_end_matches('/');
    let is_browse = path.is_empty() || path == "/browse" || path.starts_with("/browse/");
    let is_data = path == "/restconf/data" || path.starts_with("/restconf/data/");
    let is_here = is_browse || (is_data && prefers_html(request));
    (is_here && matches!(request.method.as_str(), "GET" | "HEAD")).then(|| {
        Reply::text(200, "text/html; charset=utf-8", PAGE)
            .with("content-security-policy", policy())
            .with("x-content-type-options", "nosniff")
            .with("referrer-policy", "no-referrer")
            .with("vary", "Accept")
    })
}

/// Whether HTML stands in front of what data is told in.
fn prefers_html(request: &Request) -> bool {
    let accepted = request.header("accept").unwrap_or_default();
    let first = accepted.split(',').map(|one| one.split(';').next().unwrap_or_default().trim());
    first.into_iter().find(|one| *one == "text/html" || one.contains("json") || *one == "*/*")
        == Some("text/html")
}

/// Only this script and this style, and only connections to here.
fn policy() -> &'static str {
    static POLICY: OnceLock<String> = OnceLock::new();
    POLICY.get_or_init(|| {
        let sum = |tag: &str| {
            let text = PAGE.split_once(&format!("<{tag}>")).and_then(|(_, rest)| rest.split_once(&format!("</{tag}>")));
            let text = text.map_or("", |(text, _)| text);
            base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text))
        };
        format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'",
            sum("script"),
            sum("style")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, path: &str, accept: &str) -> Option<Reply> {
        page(&Request {
            method: method.into(),
            path: path.into(),
            headers: vec![("accept".into(), accept.into())],
            ..Request::default()
        })
    }

    #[test]
    fn browsers_get_the_page_and_others_data() {
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for (method, path, accept, is_page) in [
            ("GET", "/", "*/*", true),
            ("HEAD", "/", "*/*", true),
            ("POST", "/", "*/*", false),
            ("GET", "/browse/x", "", true),
            ("GET", "/browser", browser, false),
            ("GET", "/restconf/data/nat:nat=a", browser, true),
            ("GET", "/restconf/data/nat:nat=a", "*/*", false),
            ("GET", "/restconf/data/nat:nat=a", "", false),
            ("GET", "/restconf/data", "application/yang-data+json, text/html", false),
            ("PUT", "/restconf/data/nat:nat=a", browser, false),
            ("GET", "/restconf/database", browser, false),
        ] {
            assert_eq!(asked(method, path, accept).is_some(), is_page, "{method} {path} {accept}");
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_its_policy_allows_no_more() {
        let policy = policy();
        assert!(
            policy.contains("default-src 'none'; script-src 'sha256-") && !policy.contains("unsafe"),
            "{policy}"
        );
        // One script and one style, whose sums are in the policy; nothing is run from attributes.
        for tag in ["<script", "<style"] {
            assert_eq!(PAGE.matches(tag).count(), 1, "{tag}");
        }
        for outside in ["src=", "style=", "onclick", "innerHTML", "@import", "url(", "https:"] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
    }
}
