//! RESTCONF (RFC 8040) over the store: from a request to an answer, without sockets.

mod accept;
mod body;
mod data;
mod fields;
mod functions;
mod library;
mod operations;
mod patch;
mod precondition;
pub(crate) mod query;
pub(crate) mod resource;
mod transaction;
pub(crate) mod view;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use events::Watches;
use serde_json::Value;

use crate::datastores::{Copies, Datastore};
use crate::events::Events;
use crate::fault::Fault;
use crate::roles::{Access, Rights, Who};
use crate::store::Store;

pub use body::MAX as MAX_BODY;

/// The media type of data.
pub const DATA: &str = "application/yang-data+json";
/// The media type of YANG Patch.
pub const PATCH: &str = "application/yang-patch+json";
/// The methods that any resource has.
const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"];

/// Answers requests.
pub struct Service {
    store: Mutex<Store>,
    /// What happens.
    pub events: Events,
    /// Where functions that are added are kept.
    folder: Option<std::path::PathBuf>,
    started: std::time::SystemTime,
    /// The configuration's other copies.
    pub(crate) copies: Copies,
    /// What is counted.
    pub(crate) facts: crate::metrics::Facts,
}

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its path, as it was written.
    pub path: String,
    /// What follows the question mark.
    pub query: String,
    /// Its header fields, names in small letters.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Who asks.
    pub who: Who,
    /// Which copy of the configuration it is about.
    pub datastore: Datastore,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its header fields.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Reply {
    /// An answer without a body.
    pub fn empty(status: u16) -> Reply {
        Reply { status, headers: Vec::new(), body: Vec::new() }
    }

    /// An answer in JSON.
    pub fn json(status: u16, value: &Value) -> Reply {
        Reply::text(status, DATA, value.to_string() + "\n")
    }

    /// An answer of some type.
    pub fn text(status: u16, media_type: &'static str, text: impl Into<Vec<u8>>) -> Reply {
        Reply { status, headers: vec![("content-type", media_type.to_string())], body: text.into() }
    }

    fn of(fault: &Fault) -> Reply {
        Reply::json(fault.status, &fault.body())
    }

    /// With a header field.
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Reply {
        self.headers.push((name, value.into()));
        self
    }
}

impl Service {
    /// Answers for a store. Functions that are added are kept in `folder`.
    pub fn new(store: Store, folder: Option<std::path::PathBuf>) -> Arc<Service> {
        Service::telling(store, folder, Events::default())
    }

    /// As [`Service::new`], with those who listen.
    pub fn telling(store: Store, folder: Option<std::path::PathBuf>, events: Events) -> Arc<Service> {
        let started = std::time::SystemTime::now();
        let state = folder.as_ref().and_then(|folder| Some(folder.parent()?.to_path_buf()));
        let service = Arc::new_cyclic(|own| {
            let copies = Copies::new(&store, state, own.clone());
            let store = store.with_watches(watches(own.clone(), &events));
            Service { store: Mutex::new(store), events, folder, started, copies, facts: Default::default() }
        });
        // Whoever looks at values finds the service now.
        service.store().follow();
        service
    }

    /// The store, for a moment.
    pub fn store(&self) -> MutexGuard<'_, Store> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The answer to a request.
    pub fn answer(&self, request: &Request) -> Reply {
        let result = self.dispatch(request);
        let mut reply = result.unwrap_or_else(|fault| Reply::of(&fault));
        if request.method == "HEAD" {
            reply.body.clear();
        }
        reply.headers.push(("cache-control", "no-cache".to_string()));
        self.note(request, reply.status);
        reply
    }

    /// Counts and logs an answer.
    pub(crate) fn note(&self, request: &Request, status: u16) {
        self.facts.answered(&request.method, status);
        let Request { method, path, who, .. } = request;
        tracing::debug!(target: "weir::api", method, path, status, who = who.name, "answered");
    }

    fn dispatch(&self, request: &Request) -> Result<Reply, Fault> {
        let result = self.route(request);
        match &result {
            // Whatever is wrong with the path: the method is right for none.
            Err(fault) if fault.status == 400 && !METHODS.contains(&request.method.as_str()) => {
                let allowed = METHODS.join(", ");
                let message = format!("{} is for no resource; allowed: {allowed}", request.method);
                Ok(Reply::of(&Fault::not_allowed(message)).with("allow", allowed))
            }
            _ => result,
        }
    }

    fn route(&self, request: &Request) -> Result<Reply, Fault> {
        if let Some(page) = crate::page::page(request) {
            return Ok(page);
        }
        let path = request.path.trim_end_matches('/');
        let (head, rest) = split(path);
        match (head, rest) {
            ("restconf", rest) => self.restconf(request, rest),
            ("functions", rest) => self.functions(request, rest),
            (".well-known", "host-meta") => only(request, &["GET"], || Ok(library::host_meta())),
            ("yang", name) => only(request, &["GET"], || library::module(&self.store(), name)),
            ("", _) => only(request, &["GET"], || Err(Fault::missing("there is no page"))),
            ("openapi.json", "") => only(request, &["GET"], || {
                Ok(Reply::text(200, "application/json", crate::openapi::document(&self.store()).to_string()))
            }),
            ("metrics", "") => {
                self.permit(&request.who, Access::Read, "/metrics")?;
                only(request, &["GET"], || Ok(crate::metrics::reply(self, &request.who)))
            }
            _ => Err(Fault::missing(format!(
                "there is nothing at {path}; try /restconf/data, /functions, /openapi.json or /metrics"
            ))),
        }
    }

    fn restconf(&self, request: &Request, rest: &str) -> Result<Reply, Fault> {
        accept::check(request)?;
        let (head, rest) = split(rest);
        match head {
            "" => only(request, &["GET"], || Ok(library::root())),
            "data" => self.data(request, rest),
            "ds" => {
                let (name, rest) = split(rest);
                let datastore = Datastore::named(name).ok_or_else(|| {
                    Fault::missing(format!("no datastore `{name}`; there are ietf-datastores:running, candidate, startup and operational"))
                })?;
                self.data(&Request { datastore, ..request.clone() }, rest)
            }
            "operations" => self.operations(request, rest),
            "yang-library-version" => only(request, &["GET"], || Ok(library::version())),
            _ => Err(Fault::missing(format!("there is nothing at /restconf/{head}; try /restconf/data"))),
        }
    }

    /// Whether somebody may do something.
    pub(crate) fn permit(&self, who: &Who, access: Access, path: &str) -> Result<(), Fault> {
        self.rights(who).permit(access, path)
    }

    /// What somebody may do.
    pub(crate) fn rights(&self, who: &Who) -> Rights {
        let store = self.store();
        Rights::of(store.functions(), store.tree(), who)
    }

    /// Since when it answers.
    pub fn started(&self) -> std::time::SystemTime {
        self.started
    }
}

/// Looks at the values of thresholds for as long as there is a service.
fn watches(service: Weak<Service>, events: &Events) -> Watches {
    let read = move |paths: &[String]| {
        let service = service.upgrade()?;
        let store = service.store();
        Some(paths.iter().map(|path| crate::thresholds::value(&store, path)).collect())
    };
    let hub = events.0.clone();
    Watches::new(Box::new(read), Box::new(move |event| hub.tell(event)))
}

/// The first step of a path, and the rest.
fn split(path: &str) -> (&str, &str) {
    let path = path.trim_start_matches('/');
    path.split_once('/').unwrap_or((path, ""))
}

/// Answers if the method is one of some, or HEAD where GET is.
fn only(
    request: &Request,
    methods: &[&str],
    answer: impl FnOnce() -> Result<Reply, Fault>,
) -> Result<Reply, Fault> {
    let is_head = request.method == "HEAD" && methods.contains(&"GET");
    if is_head || methods.contains(&request.method.as_str()) {
        return answer();
    }
    let allowed = methods.join(", ");
    if request.method == "OPTIONS" {
        return Ok(Reply::empty(200).with("allow", allowed));
    }
    Ok(Reply::of(&Fault::not_allowed(format!(
        "{} is not for this resource; allowed: {allowed}",
        request.method
    )))
    .with("allow", allowed))
}
