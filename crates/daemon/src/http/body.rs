//! Bodies of requests, up to a limit, and of answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};

use super::places::Busy;
use crate::fault::Fault;
use crate::restconf::MAX_BODY;

/// The body of an answer, until whose end the request lasts.
pub struct Lasting {
    /// What is sent.
    pub body: BoxBody<Bytes, io::Error>,
    /// What goes with it.
    pub _busy: Busy,
}

impl Body for Lasting {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

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
