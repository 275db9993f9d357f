//! The stream of events (RFC 8040, section 3.8) as server-sent events.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::time::Duration;

use events::{Event, Hub};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use tokio::sync::mpsc;

use super::{answer, Answer};
use crate::events::notification;
use crate::fault::Fault;
use crate::restconf::{Reply, Request, Service};
use crate::roles::Access;

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Answers with events as they happen.
pub fn events(service: &Arc<Service>, request: &Request, name: &str) -> Answer {
    let refused = |fault: Fault| answer(Reply::json(fault.status, &fault.body()));
    if name != "NETCONF" {
        return refused(Fault::missing(format!("no stream `{name}`; there is NETCONF")));
    }
    if request.method != "GET" {
        let fault = Fault::not_allowed(format!("{} is not for this resource; allowed: GET", request.method));
        return answer(Reply::json(fault.status, &fault.body()).with("allow", "GET"));
    }
    if let Err(fault) = service.permit(&request.who, Access::Read, "") {
        return refused(fault);
    }
    let Some(receiver) = service.events.0.listen() else {
        return refused(Fault { status: 503, ..Fault::in_use("too many listen already; try again later") });
    };
    let (sender, frames) = mpsc::channel(16);
    let hub = service.events.0.clone();
    let begun = sys::thread::start("stream", sys::thread::STACK, move || forward(&hub, &receiver, &sender));
    if let Err(error) = begun {
        return refused(Fault { status: 503, ..Fault::in_use(format!("too much goes on: {error}")) });
    }
    let frames = tokio_stream::wrappers::ReceiverStream::new(frames);
    let stream = tokio_stream::StreamExt::map(frames, |bytes| bytes.map(Frame::data));
    let response = hyper::Response::builder()
        .header("content-type", "text/event-stream")
        .header("cache-control", "no-cache");
    response.body(StreamBody::new(stream).boxed()).unwrap_or_else(|_| answer(Reply::empty(500)))
}

/// Hands events on until the client is gone. The body has an end only where the events have: what breaks off is not whole.
fn forward(hub: &Hub, receiver: &Receiver<Arc<Event>>, sender: &mpsc::Sender<io::Result<Bytes>>) {
    loop {
        let text = match receiver.recv_timeout(KEEP_ALIVE) {
            Ok(event) => format!("data: {}\n\n", notification(&event)),
            Err(RecvTimeoutError::Timeout) => ":\n\n".to_string(),
            Err(RecvTimeoutError::Disconnected) if hub.has_ended() => return,
            Err(RecvTimeoutError::Disconnected) => {
                // The client may be gone.
                let _ = sender.blocking_send(Err(io::Error::other("the events are not read in time")));
                return;
            }
        };
        if sender.blocking_send(Ok(Bytes::from(text))).is_err() {
            return;
        }
    }
}
