//! Logs: what is logged, and how that changes while the daemon runs.
//!
//! Events have the targets `weir` (start, stop, transactions, refusals, problems of the data plane), `weir::api` (requests), `weir::hook` (what hooks
//! print) and `weir::element` (what elements print, with the names of the instance and the element). The container `/weir:logging` decides on
//! levels at once; what it does not say, the filter from the command line decides on. An event that is off costs a load from memory.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use functions::CORE;
use serde_json::Value;
use tracing::level_filters::LevelFilter;
use tracing::Dispatch;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{reload, Layer, Registry};

use crate::drops::Owners;

/// The target of what elements print.
const ELEMENT: &str = "weir::element";
/// The level of what elements print.
const PRINTED: u8 = 3;
/// The level of what they print of failures.
const WARNED: u8 = 2;

/// A log whose levels can be changed.
pub struct Logs {
    filter: reload::Handle<Targets, Registry>,
    /// What the command line says.
    start: Targets,
    /// What the configuration says.
    config: Mutex<Value>,
    levels: Levels,
    owners: RwLock<Owners>,
}

/// Levels of elements.
struct Levels {
    /// The level of those that are not named.
    all: AtomicU8,
    /// Levels of instances and of elements in them.
    named: RwLock<Vec<(String, u8)>>,
}

impl Logs {
    /// A log that writes to `writer`, a line or an object of JSON for each event; `filter` is a level, or levels of targets such as
    /// `info,weir::api=debug`.
    pub fn new<W>(filter: &str, is_json: bool, writer: W) -> Result<(Arc<Logs>, Dispatch), String>
    where
        W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
    {
        let start = parse(filter)?;
        // Whatever features others want of the crate: logs are for files too.
        let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer);
        let layer = if is_json { layer.json().flatten_event(true).boxed() } else { layer.boxed() };
        let (reloaded, handle) = reload::Layer::new(with_elements(start.clone()));
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(layer.with_filter(reloaded)));
        let all = AtomicU8::new(level_of(&start));
        let levels = Levels { all, named: RwLock::default() };
        let (config, owners) = (Mutex::new(Value::Null), RwLock::default());
        Ok((Arc::new(Logs { filter: handle, start, config, levels, owners }), dispatch))
    }

    /// A log on standard error, for the whole process.
    pub fn install(filter: &str, is_json: bool) -> Result<Arc<Logs>, String> {
        let (logs, dispatch) = Logs::new(filter, is_json, std::io::stderr)?;
        tracing::dispatcher::set_global_default(dispatch).map_err(|error| error.to_string())?;
        Ok(logs)
    }

    /// Does as the configuration says from now on.
    pub fn follow(&self, tree: &Value) {
        let wanted = tree.get(format!("{CORE}:logging")).cloned().unwrap_or_default();
        let mut config = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if *config == wanted {
            return;
        }
        let level = |entry: &Value| entry.get("level").and_then(Value::as_str).and_then(number);
        let filter = match level(&wanted) {
            Some(level) => Targets::new().with_default(filter_of(level)),
            None => self.start.clone(),
        };
        let elements = wanted.get("element").and_then(Value::as_array).into_iter().flatten();
        let named =
            elements.filter_map(|entry| Some((entry.get("name")?.as_str()?.to_string(), level(entry)?)));
        *self.levels.named.write().unwrap_or_else(PoisonError::into_inner) = named.collect();
        self.levels.all.store(level_of(&filter), Ordering::Relaxed);
        if let Err(error) = self.filter.reload(with_elements(filter)) {
            tracing::warn!(target: "weir", "the levels of logs cannot be changed: {error}");
        }
        *config = wanted;
    }

    /// Knows from now on which elements stand at which ports.
    pub(crate) fn know(&self, owners: Owners) {
        *self.owners.write().unwrap_or_else(PoisonError::into_inner) = owners;
    }

    /// Logs what an element prints, if the levels of its instance and of itself say so; a warning if it is about a failure.
    pub fn hear(&self, element: &str, text: &str, is_failure: bool) {
        let owners = self.owners.read().unwrap_or_else(PoisonError::into_inner);
        let (instance, port, name) = match (owners.port_of(element), element.split_once('/')) {
            (Some((instance, port)), _) => (instance, Some(port), element),
            (None, Some((instance, name))) => (instance, None, name),
            (None, None) => ("", None, element),
        };
        let level = match port {
            Some(_) => self.levels.of(&format!("{instance}/{name}")),
            None => self.levels.of(element),
        };
        for line in text.lines() {
            match is_failure {
                true if level >= WARNED => {
                    tracing::warn!(target: ELEMENT, instance, port, element = name, "{line}")
                }
                false if level >= PRINTED => {
                    tracing::info!(target: ELEMENT, instance, port, element = name, "{line}")
                }
                _ => {}
            }
        }
    }
}

impl Levels {
    /// The level of an element: that of the longest name above it.
    fn of(&self, element: &str) -> u8 {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner);
        let above = named.iter().filter(|(name, _)| {
            element.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let nearest = above.max_by_key(|(name, _)| name.len());
        nearest.map_or_else(|| self.all.load(Ordering::Relaxed), |(_, level)| *level)
    }
}

/// Reads a level, or levels of targets.
fn parse(filter: &str) -> Result<Targets, String> {
    const EXPECTED: &str = "expected a level (off, error, warn, info, debug or trace), or levels of targets such as info,weir::api=debug";
    // A word that is no level would be taken for a target.
    let wrong =
        filter.split(',').find(|part| !part.contains('=') && part.trim().parse::<LevelFilter>().is_err());
    if let Some(word) = wrong {
        return Err(format!("`{filter}`: `{word}` is no level; {EXPECTED}"));
    }
    filter.parse().map_err(|error| format!("`{filter}`: {error}; {EXPECTED}"))
}

/// What elements print was filtered already.
fn with_elements(filter: Targets) -> Targets {
    filter.with_target(ELEMENT, LevelFilter::TRACE)
}

/// The level that a filter gives elements.
fn level_of(filter: &Targets) -> u8 {
    let levels = [
        tracing::Level::ERROR,
        tracing::Level::WARN,
        tracing::Level::INFO,
        tracing::Level::DEBUG,
        tracing::Level::TRACE,
    ];
    let n = levels.iter().take_while(|level| filter.would_enable(ELEMENT, level)).count();
    u8::try_from(n).unwrap_or(PRINTED)
}

fn number(level: &str) -> Option<u8> {
    let names = ["off", "error", "warn", "info", "debug", "trace"];
    names.iter().position(|name| *name == level).and_then(|idx| u8::try_from(idx).ok())
}

fn filter_of(level: u8) -> LevelFilter {
    let filters =
        [LevelFilter::OFF, LevelFilter::ERROR, LevelFilter::WARN, LevelFilter::INFO, LevelFilter::DEBUG];
    filters.get(usize::from(level)).copied().unwrap_or(LevelFilter::TRACE)
}
