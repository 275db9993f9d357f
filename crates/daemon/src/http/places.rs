//! Places for connections: one without a request gives way to who comes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A number of places.
pub struct Places {
    limit: usize,
    state: Mutex<State>,
    /// Told when a place is left, or may be given to somebody else.
    changed: Notify,
}

#[derive(Default)]
struct State {
    n_taken: usize,
    n_turns: u64,
    /// Connections without a request, the one that has been so for longest first.
    idle: BTreeMap<u64, Arc<Notify>>,
}

/// The place of a connection.
pub struct Place {
    places: Arc<Places>,
    /// Since when it has no request; none if it has one. It is among the idle ones unless it was given to somebody else.
    since: Mutex<Option<u64>>,
    given: Arc<Notify>,
}

/// A request of a connection, which keeps its place meanwhile.
pub struct Busy(Arc<Place>);

impl Places {
    /// All are free.
    pub fn new(limit: usize) -> Arc<Places> {
        Arc::new(Places { limit, state: Mutex::default(), changed: Notify::new() })
    }

    /// Takes a place, be it that of the connection which has had no request for longest; waits while all have one.
    pub async fn take(self: &Arc<Places>) -> Arc<Place> {
        loop {
            if let Some(place) = self.try_take() {
                return place;
            }
            self.changed.notified().await;
        }
    }

    fn try_take(self: &Arc<Places>) -> Option<Arc<Place>> {
        let mut state = self.lock();
        match state.n_taken < self.limit {
            true => state.n_taken += 1,
            false => state.idle.pop_first()?.1.notify_one(),
        }
        let given = Arc::new(Notify::new());
        let since = Mutex::new(Some(state.wait(&given)));
        Some(Arc::new(Place { places: self.clone(), since, given }))
    }

    /// Waits until nobody has a place.
    pub async fn are_left(&self) {
        while self.lock().n_taken > 0 {
            self.changed.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Adds a connection to the idle ones; since when it is.
    fn wait(&mut self, given: &Arc<Notify>) -> u64 {
        self.n_turns += 1;
        self.idle.insert(self.n_turns, given.clone());
        self.n_turns
    }
}

impl Place {
    /// Waits until the place is somebody else's.
    pub async fn is_given(&self) {
        self.given.notified().await;
    }

    /// Keeps the place for a request.
    pub fn busy(self: &Arc<Place>) -> Busy {
        let (mut since, mut state) = (self.since(), self.places.lock());
        if since.is_some_and(|turn| state.idle.remove(&turn).is_some()) {
            *since = None;
        }
        Busy(self.clone())
    }

    fn since(&self) -> MutexGuard<'_, Option<u64>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let place = &self.0;
        let mut since = place.since();
        if since.is_none() {
            *since = Some(place.places.lock().wait(&place.given));
            place.places.changed.notify_one();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let since = *self.since();
        let mut state = self.places.lock();
        if since.is_none_or(|turn| state.idle.remove(&turn).is_some()) {
            state.n_taken -= 1;
            self.places.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_been_idle_for_longest_gives_way() {
        let places = Places::new(3);
        let [a, b, c] = [0; 3].map(|_| places.try_take().unwrap());
        // The first has had a request since the second came, and the last has one.
        drop(a.busy());
        let busy = c.busy();
        let d = places.try_take().unwrap();
        let is_idle = |place: &Place| {
            let since = *place.since();
            since.is_some_and(|turn| places.lock().idle.contains_key(&turn))
        };
        assert_eq!([&a, &b, &c, &d].map(|place| is_idle(place)), [true, false, false, true]);
        let (keep, also) = (a.busy(), d.busy());
        assert!(places.try_take().is_none(), "all have requests");
        // A request on a place that is somebody else's keeps nothing, and its end frees nothing.
        drop(b.busy());
        drop(b);
        assert!(places.try_take().is_none());
        drop(keep);
        assert!(places.try_take().is_some_and(|place| is_idle(&place)));
        drop((busy, also, a, c, d));
        let state = places.lock();
        assert_eq!((state.n_taken, state.idle.len()), (0, 0));
    }
}
