//! HTTP/1.1 over sockets: each connection's requests become calls of [`Service::answer`].
//!
//! A Unix socket tells who is at its other end; over TCP there is always TLS, and certificates or tokens tell.

mod body;
mod patient;
mod places;
mod stream;
pub mod tls;

use std::convert::Infallible;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{combinators::BoxBody, BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::watch;

use crate::fault::Fault;
use crate::restconf::{Reply, Request, Service};
use crate::roles::{Role, Who};
use body::Lasting;
use patient::Patient;
use places::{Place, Places};
use tls::Tls;

/// Most connections at a time.
const MAX_CONNECTIONS: usize = 512;
/// How long a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to send a body, and to agree on TLS.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may leave no room for what it is sent.
const ROOM_TIMEOUT: Duration = Duration::from_secs(60);

/// How long the end waits for answers to be written.
const END_TIMEOUT: Duration = Duration::from_millis(500);

type Answer = hyper::Response<BoxBody<Bytes, std::io::Error>>;

/// What serves ends when the sender is gone.
pub type Ending = watch::Receiver<()>;

/// Who may use the Unix socket, by the numbers of the user and of all its groups.
pub type Peers = Arc<dyn Fn(u32, &[u32]) -> Who + Send + Sync>;

/// Serves a Unix socket.
pub async fn serve_unix(service: Arc<Service>, listener: UnixListener, peers: Peers, ending: Ending) {
    let accept = || async { listener.accept().await.map(|(stream, _)| stream) };
    let talk = |stream: UnixStream, place| {
        let groups = sys::unix::peer_groups(&stream).unwrap_or_default();
        let who = stream.peer_cred().map_or_else(|_| Who::default(), |peer| peers(peer.uid(), &groups));
        let client = Client { who, tls: None, place };
        converse(service.clone(), stream, client, ending.clone())
    };
    serve(accept, talk, ending.clone()).await;
}

/// Serves a TCP socket with TLS.
pub async fn serve_tls(service: Arc<Service>, listener: TcpListener, tls: Arc<Tls>, ending: Ending) {
    let accept = || async { listener.accept().await.map(|(stream, _)| stream) };
    let talk = |stream: TcpStream, place| {
        let (service, tls, ending) = (service.clone(), tls.clone(), ending.clone());
        async move {
            let _ = stream.set_nodelay(true);
            if let Ok(Ok((stream, who))) = tokio::time::timeout(BODY_TIMEOUT, tls.accept(stream)).await {
                converse(service, stream, Client { who, tls: Some(tls), place }, ending).await;
            }
        }
    };
    serve(accept, talk, ending.clone()).await;
}

/// Talks with all who come, up to a limit at a time, until the end.
async fn serve<S, A, T>(accept: impl Fn() -> A, talk: impl Fn(S, Arc<Place>) -> T, mut ending: Ending)
where
    A: Future<Output = std::io::Result<S>>,
    T: Future<Output = ()> + Send + 'static,
{
    let places = Places::new(MAX_CONNECTIONS);
    let come = async {
        loop {
            let Ok(stream) = accept().await else {
                pause().await;
                continue;
            };
            let place = places.take().await;
            let talk = talk(stream, place.clone());
            tokio::spawn(async move {
                tokio::select! {
                    biased;
                    () = place.is_given() => {}
                    () = talk => {}
                }
            });
        }
    };
    tokio::select! {
        () = come => {}
        _ = ending.changed() => {}
    }
    // Who does not read in time finds the connection broken.
    let _ = tokio::time::timeout(END_TIMEOUT, places.are_left()).await;
}

/// Descriptors may have run out: others end meanwhile.
async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

/// Who is at the other end of a connection.
#[derive(Clone)]
struct Client {
    who: Who,
    /// Where tokens tell who asks.
    tls: Option<Arc<Tls>>,
    place: Arc<Place>,
}

/// Answers the requests of a connection.
async fn converse(
    service: Arc<Service>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: Client,
    mut ending: Ending,
) {
    let handle = service_fn(move |request: hyper::Request<Incoming>| {
        let (service, client, busy) = (service.clone(), client.clone(), client.place.busy());
        async move {
            let answer = respond(service, request, client.who, client.tls).await;
            Ok::<_, Infallible>(answer.map(|body| Lasting { body, _busy: busy }))
        }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(64 << 10);
    let stream = TokioIo::new(Patient::new(stream, ROOM_TIMEOUT));
    let mut connection = std::pin::pin!(server.serve_connection(stream, handle));
    tokio::select! {
        // An error is the client's end.
        _ = &mut connection => return,
        _ = ending.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

async fn respond(
    service: Arc<Service>,
    request: hyper::Request<Incoming>,
    who: Who,
    tls: Option<Arc<Tls>>,
) -> Answer {
    let (head, incoming) = request.into_parts();
    let mut headers = Vec::new();
    for (name, value) in &head.headers {
        headers.push((name.as_str().to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
    }
    let mut request = Request {
        method: head.method.as_str().to_string(),
        path: head.uri.path().to_string(),
        query: head.uri.query().unwrap_or_default().to_string(),
        headers,
        body: Vec::new(),
        who,
        datastore: Default::default(),
    };
    if let (Role::Nobody, Some(tls)) = (request.who.role, &tls) {
        request.who = tls.who_has(request.header("authorization"));
        // The page holds no data, and has a place for a token.
        if request.who.role == Role::Nobody && crate::page::page(&request).is_none() {
            service.note(&request, 401);
            return answer(of_nobody(&request));
        }
    }
    if let Some(name) = request.path.strip_prefix("/restconf/streams/") {
        let reply = stream::events(&service, &request, name);
        service.note(&request, reply.status().as_u16());
        return reply;
    }
    let timed = tokio::time::timeout(BODY_TIMEOUT, body::read(incoming)).await;
    match timed.unwrap_or_else(|_| Err(Fault::malformed("the body did not come in time"))) {
        Ok(bytes) => request.body = bytes,
        Err(fault) => {
            service.note(&request, fault.status);
            return answer(Reply::json(fault.status, &fault.body()).with("connection", "close"));
        }
    }
    // It may wait for the data plane and for the disk.
    let done = tokio::task::spawn_blocking(move || service.answer(&request)).await;
    answer(
        done.unwrap_or_else(|_| Reply::json(500, &Fault::broken("the request could not be finished").body())),
    )
}

/// The answer to one of whom nothing is known.
fn of_nobody(request: &Request) -> Reply {
    let message = match request.header("authorization") {
        Some(_) => "the token is not known, or belongs to another name; `weir serve --tokens` names the file that has all",
        None => "a client certificate or a token is needed: Authorization: Bearer TOKEN",
    };
    let fault = Fault { status: 401, ..Fault::denied(message) };
    Reply::json(401, &fault.body()).with("www-authenticate", "Bearer, Basic realm=\"weir\"")
}

fn answer(reply: Reply) -> Answer {
    let mut response = hyper::Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        response = response.header(*name, value);
    }
    let body = |bytes| Full::new(bytes).map_err(|never: Infallible| match never {}).boxed();
    response.body(body(Bytes::from(reply.body))).unwrap_or_else(|_| {
        // A header's value held what headers cannot.
        let mut response = hyper::Response::new(body(Bytes::new()));
        *response.status_mut() = hyper::StatusCode::INTERNAL_SERVER_ERROR;
        response
    })
}
