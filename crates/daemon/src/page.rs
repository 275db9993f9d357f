//! A page to look around with a browser.

use crate::restconf::Reply;
use crate::store::Store;

/// The page.
pub fn page(_store: &Store) -> Reply {
    Reply::text(200, "text/html; charset=utf-8", "<!doctype html>")
}
