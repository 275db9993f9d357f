//! Bodies of requests, up to a limit.

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;

use crate::fault::Fault;
use crate::restconf::MAX_BODY;

/// Reads a body.
pub async fn read(incoming: Incoming) -> Result<Vec<u8>, Fault> {
    let collected = Limited::new(incoming, MAX_BODY).collect().await;
    let collected =
        collected.map_err(|error| match error.downcast_ref::<http_body_util::LengthLimitError>() {
            Some(_) => Fault::too_big(format!("the body is longer than {} MiB", MAX_BODY >> 20)),
            None => Fault::malformed(format!("the body could not be read: {error}")),
        })?;
    Ok(collected.to_bytes().to_vec())
}
