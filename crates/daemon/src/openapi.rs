//! The OpenAPI document.

use crate::store::Store;

/// The document.
pub fn document(_store: &Store) -> serde_json::Value {
    serde_json::json!({ "openapi": "3.1.0" })
}
