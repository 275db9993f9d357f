//! Looks at values from time to time, and tells when they cross thresholds.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::threshold::{Crossing, Monitor, Threshold};

/// Most watches at a time.
const MAX: usize = 1000;

/// Reads values, all at the same moment; `None` if there will be none any more.
pub type Read = Box<dyn Fn(&[String]) -> Option<Vec<Result<String, String>>> + Send + Sync>;
/// Hears of events.
pub type Tell = Box<dyn Fn(Event) + Send + Sync>;

/// Values that are looked at, each with a name. A thread looks, if there is something to look at.
pub struct Watches(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    read: Read,
    tell: Tell,
}

#[derive(Default)]
struct State {
    watches: BTreeMap<String, Watch>,
    /// How many there have been.
    n: u64,
    has_thread: bool,
    is_over: bool,
}

struct Watch {
    /// Tells it from others that had its name.
    number: u64,
    source: String,
    monitor: Monitor,
    due: Instant,
    value: Option<f64>,
    problem: Option<String>,
    crossed: Option<(Crossing, String)>,
}

/// What is told of a watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// Its name.
    pub name: String,
    /// What is looked at.
    pub source: String,
    /// What it is compared with.
    #[serde(flatten)]
    pub threshold: Threshold,
    /// What was compared last.
    pub value: Option<f64>,
    /// Why there is no value.
    pub problem: Option<String>,
    /// Which way the last event went.
    pub crossed: Option<Crossing>,
    /// When that was (RFC 3339).
    pub crossed_at: Option<String>,
}

impl Watches {
    /// Nothing is looked at yet.
    pub fn new(read: Read, tell: Tell) -> Watches {
        Watches(Arc::new(Shared { state: Mutex::default(), changed: Condvar::new(), read, tell }))
    }

    /// Looks at a value from now on; one that is looked at under that name already is not any more.
    pub fn set(&self, name: &str, source: &str, threshold: Threshold) -> Result<(), String> {
        threshold.check()?;
        let mut state = self.0.lock();
        if state.watches.len() >= MAX && !state.watches.contains_key(name) {
            return Err(format!("there are {MAX} watches already"));
        }
        state.put(name, source, threshold);
        self.wake(state);
        Ok(())
    }

    /// Looks no longer; false if there is no watch of that name.
    pub fn remove(&self, name: &str) -> bool {
        self.0.lock().watches.remove(name).is_some()
    }

    /// Looks at these values and no others: names, sources and thresholds. What stays the same goes on.
    pub fn set_all(&self, wanted: Vec<(String, String, Threshold)>) {
        let mut state = self.0.lock();
        state.watches.retain(|name, _| wanted.iter().any(|(known, _, _)| known == name));
        for (name, source, threshold) in wanted.into_iter().take(MAX) {
            let is_same = |watch: &Watch| watch.source == source && *watch.monitor.threshold() == threshold;
            if threshold.check().is_ok() && !state.watches.get(&name).is_some_and(is_same) {
                state.put(&name, &source, threshold);
            }
        }
        self.wake(state);
    }

    /// All watches and how they fare.
    pub fn told(&self) -> Vec<Told> {
        let told = |(name, watch): (&String, &Watch)| Told {
            name: name.clone(),
            source: watch.source.clone(),
            threshold: watch.monitor.threshold().clone(),
            value: watch.value,
            problem: watch.problem.clone(),
            crossed: watch.crossed.as_ref().map(|crossed| crossed.0),
            crossed_at: watch.crossed.as_ref().map(|crossed| crossed.1.clone()),
        };
        self.0.lock().watches.iter().map(told).collect()
    }

    /// Lets the thread look at what is due now; begins one if there is none.
    fn wake(&self, mut state: MutexGuard<'_, State>) {
        if !state.watches.is_empty() && !std::mem::replace(&mut state.has_thread, true) {
            let shared = self.0.clone();
            let begun = sys::thread::start("watch", sys::thread::STACK, move || shared.run());
            // Without one, what is wanted is known, and the next change tries again.
            state.has_thread = begun.is_ok();
        }
        drop(state);
        self.0.changed.notify_all();
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl State {
    fn put(&mut self, name: &str, source: &str, threshold: Threshold) {
        self.n += 1;
        let watch = Watch {
            number: self.n,
            source: source.to_string(),
            monitor: Monitor::new(threshold),
            due: Instant::now(),
            value: None,
            problem: None,
            crossed: None,
        };
        self.watches.insert(name.to_string(), watch);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        while let Some(due) = self.next() {
            let sources: Vec<String> = due.iter().map(|(_, _, source)| source.clone()).collect();
            let Some(values) = (self.read)(&sources) else { return };
            let mut events = Vec::new();
            let mut state = self.lock();
            for ((name, number, _), value) in due.iter().zip(values) {
                // It may have gone meanwhile.
                let watch = state.watches.get_mut(name).filter(|watch| watch.number == *number);
                events.extend(watch.and_then(|watch| watch.look(name, value)));
            }
            drop(state);
            events.into_iter().for_each(&self.tell);
        }
    }

    /// Waits until something is due: name, number and source of each. `None` at the end.
    fn next(&self) -> Option<Vec<(String, u64, String)>> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            let now = Instant::now();
            let mut due = Vec::new();
            for (name, watch) in &mut state.watches {
                if watch.due <= now {
                    let every = Duration::from_millis(watch.monitor.threshold().every_ms.into());
                    // Who is late is not late for ever.
                    watch.due = (watch.due + every).max(now + every / 2);
                    due.push((name.clone(), watch.number, watch.source.clone()));
                }
            }
            if !due.is_empty() {
                return Some(due);
            }
            let next = state.watches.values().map(|watch| watch.due).min();
            let patience = next.map_or(Duration::from_secs(3600), |next| next.saturating_duration_since(now));
            let waited = self.changed.wait_timeout(state, patience);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Watch {
    fn look(&mut self, name: &str, text: Result<String, String>) -> Option<Event> {
        let value = text.and_then(|text| number(&text).ok_or_else(|| "it is no number".to_string()));
        let value = match value {
            Ok(value) => value,
            Err(problem) => {
                self.monitor.miss();
                (self.value, self.problem) = (None, Some(problem));
                return None;
            }
        };
        let (value, crossing) = self.monitor.look(value);
        (self.value, self.problem) = (value, None);
        let (value, crossing) = (value?, crossing?);
        let event =
            Event::threshold_crossed(name, &self.source, crossing, value, self.monitor.bound(crossing));
        self.crossed = Some((crossing, event.time.clone()));
        Some(event)
    }
}

/// The number that a value is, `true` being 1.
fn number(text: &str) -> Option<f64> {
    match text.trim() {
        "true" => Some(1.0),
        "false" => Some(0.0),
        text => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{channel, Receiver};

    /// Watches of sources that give one value after the other, and hold the last; what they tell.
    fn watches(values: &[(&str, &[&str])]) -> (Watches, Receiver<Event>) {
        let mut left: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (source, values) in values {
            left.insert(source.to_string(), values.iter().rev().map(|value| value.to_string()).collect());
        }
        let left = Mutex::new(left);
        let read = move |sources: &[String]| {
            let mut left = left.lock().unwrap();
            let mut one = |source: &String| {
                let values = left.get_mut(source).ok_or_else(|| format!("no {source}"))?;
                let value = values.last().cloned().unwrap_or_default();
                if values.len() > 1 {
                    values.pop();
                }
                Ok(value)
            };
            Some(sources.iter().map(&mut one).collect())
        };
        let (sender, receiver) = channel();
        let tell = move |event| sender.send(event).unwrap_or(());
        (Watches::new(Box::new(read), Box::new(tell)), receiver)
    }

    fn threshold(rising: f64, falling: f64) -> Threshold {
        let (sample, startup) = Default::default();
        Threshold { rising: Some(rising), falling: Some(falling), sample, startup, every_ms: 10 }
    }

    #[test]
    fn crossings_are_told_in_order_and_remembered() {
        let (watches, told) = watches(&[("a.x", &["1", "9", "8.5", "9", "2", "9", "5"])]);
        watches.set("a", "a.x", threshold(9.0, 2.0)).unwrap();
        let lines: Vec<String> = told.iter().take(3).map(|event| event.line().unwrap()).collect();
        assert_eq!(lines, ["rising a a.x 9", "falling a a.x 2", "rising a a.x 9"]);
        let all = watches.told();
        assert_eq!((all[0].crossed, all[0].problem.clone()), (Some(Crossing::Rising), None));
        assert!(watches.remove("a") && !watches.remove("a"));
    }

    #[test]
    fn what_has_no_value_is_told_and_others_go_on() {
        let (watches, told) = watches(&[("words", &["no"]), ("flag", &["false", "true"])]);
        // The last is looked at twice behind the others.
        for source in ["words", "nothing", "flag"] {
            watches.set(source, source, threshold(1.0, 0.0)).unwrap();
        }
        assert_eq!(told.recv().unwrap().line().unwrap(), "rising flag flag 1");
        let problems: Vec<Option<String>> = watches.told().into_iter().map(|one| one.problem).collect();
        assert_eq!(problems, [None, Some("no nothing".into()), Some("it is no number".into())]);
    }

    #[test]
    fn what_stays_the_same_goes_on_and_what_changes_begins_anew() {
        let (watches, told) = watches(&[("x", &["9"]), ("y", &["9"])]);
        let one = |source: &str, bound| (source.to_string(), source.to_string(), threshold(bound, 0.0));
        watches.set_all(vec![one("x", 9.0), one("y", 9.0)]);
        assert_eq!(told.iter().take(2).count(), 2);
        watches.set_all(vec![one("x", 9.0), one("y", 8.0)]);
        assert_eq!(told.recv().unwrap().text("name"), "y");
        watches.set_all(Vec::new());
        assert_eq!(watches.told(), []);
    }

    #[test]
    fn there_are_not_endlessly_many() {
        let (watches, _told) = watches(&[]);
        for n in 0..MAX {
            watches
                .set(&n.to_string(), "x", Threshold { every_ms: 86_400_000, ..threshold(1.0, 0.0) })
                .unwrap();
        }
        assert!(watches.set("more", "x", threshold(1.0, 0.0)).is_err());
        assert!(watches.set("7", "y", threshold(1.0, 0.0)).is_ok());
    }
}
