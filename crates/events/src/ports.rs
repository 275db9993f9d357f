//! Network devices that a graph uses: whether they can send and receive.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use sys::link_watch::{Link, LinkState, LinkWatch};
use sys::poll::{Interest, Poller, Waker};

use crate::event::Event;
use crate::watches::Tell;

/// Tells what a device is joined with.
pub type Joined = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Lets elements go on with another device of the name that they use.
pub type Reopen = Box<dyn Fn(&[String]) + Send + Sync>;

/// Whether a device is used still.
pub type IsUsed = Box<dyn Fn(&str) -> bool + Send + Sync>;

/// Tells when devices that are used go up, down or away. A thread listens to the kernel while there are any.
pub struct Ports {
    shared: Arc<Shared>,
}

struct Shared {
    waker: Waker,
    wanted: Mutex<Wanted>,
    states: Mutex<HashMap<String, LinkState>>,
    reopen: Reopen,
    is_used: IsUsed,
    tell: Tell,
    joined: OnceLock<Joined>,
}

#[derive(Default)]
struct Wanted {
    devices: Used,
    has_thread: bool,
    is_over: bool,
}

/// Devices with the elements that use them.
type Used = BTreeMap<String, Vec<String>>;

impl Ports {
    /// No devices yet. When another device has the name of one that was there, elements are let go on with it before that is told.
    pub fn new(reopen: Reopen, is_used: IsUsed, tell: Tell) -> Result<Ports, String> {
        let waker = Waker::new().map_err(|error| error.to_string())?;
        let (wanted, states, joined) = Default::default();
        Ok(Ports { shared: Arc::new(Shared { waker, wanted, states, reopen, is_used, tell, joined }) })
    }

    /// How a device that is used fares: `up`, or why it is not.
    pub fn state(&self, device: &str) -> Option<&'static str> {
        let states = self.shared.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.get(device).map(|state| reason(*state).unwrap_or("up"))
    }

    /// Lets events also tell what devices are joined with; to be called once.
    pub fn tell_joined(&self, joined: Joined) {
        // What is told already goes on.
        let _ = self.shared.joined.set(joined);
    }

    /// Tells of these devices from now on; of those that are new, how they fare. They are those of the calling thread's network
    /// namespace when there are some for the first time.
    pub fn set(&self, devices: Used) -> Result<(), String> {
        let mut wanted = self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.devices = devices;
        if !wanted.devices.is_empty() && !wanted.has_thread {
            let watch = LinkWatch::open().map_err(|error| error.to_string())?;
            let shared = self.shared.clone();
            let begun = sys::thread::start("ports", sys::thread::STACK, move || shared.run(watch));
            begun.map_err(|error| sys::no_thread(&error))?;
            wanted.has_thread = true;
        }
        drop(wanted);
        self.shared.waker.wake();
        Ok(())
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        self.shared.wanted.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.shared.waker.wake();
    }
}

impl Shared {
    fn run(&self, mut watch: LinkWatch) {
        let mut devices = Devices::default();
        // What cannot be asked for once cannot be the next time either.
        let Some(mut poller) = self.poller(&watch) else { return };
        devices.see_all(watch.all().unwrap_or_default());
        loop {
            self.waker.reset();
            let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            let (used, is_over) = (wanted.devices.clone(), wanted.is_over);
            drop(wanted);
            if is_over {
                return;
            }
            // What happened before somebody wanted a device is no news, but how the device fares.
            let mut changes = match watch.take() {
                Ok(Some(links)) => links.into_iter().flat_map(|link| devices.see(link)).collect(),
                Ok(None) => devices.see_all(watch.all().unwrap_or_default()),
                Err(_) => return,
            };
            changes.extend(devices.want(used));
            *self.states.lock().unwrap_or_else(PoisonError::into_inner) = devices.states();
            for Change { device, state, is_another } in changes {
                // A device that an element made goes with it, which the kernel may tell first.
                if state != LinkState::Up && !(self.is_used)(&device) {
                    continue;
                }
                if is_another {
                    (self.reopen)(devices.users(&device));
                }
                let joined = self.joined.get().and_then(|joined| joined(&device));
                (self.tell)(Event::port(&device, reason(state), devices.users(&device), joined));
            }
            if poller.wait(None).is_err() {
                return;
            }
        }
    }

    fn poller(&self, watch: &LinkWatch) -> Option<Poller> {
        let mut poller = Poller::new().ok()?;
        poller.add(watch.as_fd(), 0, Interest::READ).ok()?;
        poller.add(self.waker.as_fd(), 1, Interest::READ).ok()?;
        Some(poller)
    }
}

/// Why a device is down.
fn reason(state: LinkState) -> Option<&'static str> {
    match state {
        LinkState::Up => None,
        LinkState::Down => Some("down"),
        LinkState::NoCarrier => Some("no-carrier"),
        LinkState::Gone => Some("gone"),
    }
}

/// What is known of devices, and what was told.
#[derive(Default)]
struct Devices {
    known: HashMap<u32, (String, LinkState)>,
    used: Used,
    /// States, with the numbers of devices that are there.
    told: HashMap<String, (LinkState, Option<u32>)>,
}

/// What is to be told of a device.
struct Change {
    device: String,
    state: LinkState,
    /// Whether it has the name of one that was there before, or of one that was missing.
    is_another: bool,
}

type Changes = Vec<Change>;

impl Devices {
    /// A device has changed; what is to be told.
    fn see(&mut self, link: Link) -> Changes {
        let Link { index, name, state } = link;
        let before = match state {
            LinkState::Gone => self.known.remove(&index),
            _ => self.known.insert(index, (name.clone(), state)),
        };
        // It may have had another name.
        let before = before.map(|(before, _)| before).filter(|before| *before != name);
        before.into_iter().chain([name]).filter_map(|name| self.news(&name)).collect()
    }

    /// All devices, where news is missing.
    fn see_all(&mut self, links: Vec<Link>) -> Changes {
        self.known = links.into_iter().map(|link| (link.index, (link.name, link.state))).collect();
        let used: Vec<String> = self.used.keys().cloned().collect();
        used.iter().filter_map(|name| self.news(name)).collect()
    }

    /// Other devices are used.
    fn want(&mut self, used: Used) -> Changes {
        self.told.retain(|name, _| used.contains_key(name));
        self.used = used;
        let new: Vec<String> =
            self.used.keys().filter(|name| !self.told.contains_key(*name)).cloned().collect();
        new.iter().filter_map(|name| self.news(name)).collect()
    }

    fn users(&self, device: &str) -> &[String] {
        self.used.get(device).map_or(&[], Vec::as_slice)
    }

    fn states(&self) -> HashMap<String, LinkState> {
        self.told.iter().map(|(name, (state, _))| (name.clone(), *state)).collect()
    }

    /// What is to be told of a device: whether it is up, whether it is there, and whether it is another one.
    fn news(&mut self, name: &str) -> Option<Change> {
        if !self.used.contains_key(name) {
            return None;
        }
        let found = self.known.iter().find(|(_, (known, _))| known == name);
        let (state, index) =
            found.map_or((LinkState::Gone, None), |(index, (_, state))| (*state, Some(*index)));
        let kind = |state| (state == LinkState::Up, state == LinkState::Gone);
        let before = self.told.insert(name.to_string(), (state, index));
        let is_another = index.is_some() && before.is_some_and(|(_, before)| before != index);
        let is_news = is_another || before.map(|(before, _)| kind(before)) != Some(kind(state));
        is_news.then(|| Change { device: name.to_string(), state, is_another })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use LinkState::{Down, Gone, NoCarrier, Up};

    fn link(index: u32, name: &str, state: LinkState) -> Link {
        Link { index, name: name.into(), state }
    }

    fn used(names: &[&str]) -> Used {
        names.iter().map(|name| (name.to_string(), Vec::new())).collect()
    }

    fn told(changes: Changes) -> String {
        let one = |Change { device, state, is_another }: Change| {
            let another = if is_another { "another " } else { "" };
            format!("{another}{device} {}", reason(state).unwrap_or("up"))
        };
        changes.into_iter().map(one).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn only_devices_that_are_used_are_told_of_and_only_when_they_go_up_down_or_away() {
        let mut devices = Devices::default();
        devices.see_all(vec![link(1, "lo", Up), link(2, "e0", Down)]);
        assert_eq!(told(devices.want(used(&["e0", "e9"]))), "e0 down, e9 gone");
        assert_eq!(told(devices.want(used(&["e0"]))), "");
        assert_eq!(told(devices.see(link(1, "lo", Down))), "");
        assert_eq!(told(devices.see(link(2, "e0", NoCarrier))), "");
        assert_eq!(told(devices.see(link(2, "e0", Up))), "e0 up");
        assert_eq!(told(devices.see(link(2, "e0", Up))), "");
        assert_eq!(told(devices.see(link(2, "e0", NoCarrier))), "e0 no-carrier");
        assert_eq!(told(devices.see(link(2, "e0", Gone))), "e0 gone");
        assert_eq!(told(devices.see(link(7, "e0", Down))), "another e0 down");
        assert_eq!(told(devices.see(link(7, "e0", Up))), "e0 up");
        assert_eq!(told(devices.see_all(vec![link(8, "e0", Up)])), "another e0 up");
        assert_eq!(told(devices.see_all(vec![link(1, "lo", Up)])), "e0 gone");
    }

    #[test]
    fn a_device_that_gets_another_name_is_gone_and_may_be_another_one() {
        let mut devices = Devices::default();
        devices.see(link(2, "a", Up));
        assert_eq!(told(devices.want(used(&["a", "b"]))), "a up, b gone");
        assert_eq!(told(devices.see(link(2, "b", Up))), "a gone, another b up");
    }

    proptest! {
        /// What was told last is always how things are.
        #[test]
        fn what_was_told_is_true(
            steps in proptest::collection::vec((1..4u32, 0..3usize, 0..4usize), 0..60)
        ) {
            let (names, kinds) = (["a", "b", "c"], [Up, Down, NoCarrier, Gone]);
            let mut devices = Devices::default();
            let states = |changes: Changes| changes.into_iter().map(|change| (change.device, change.state));
            let mut last: HashMap<String, LinkState> = states(devices.want(used(&["a", "b"]))).collect();
            for (index, name, state) in steps {
                // Two devices of a namespace have different names.
                if devices.known.iter().any(|(other, known)| *other != index && known.0 == names[name]) {
                    continue;
                }
                last.extend(states(devices.see(link(index, names[name], kinds[state]))));
                for name in ["a", "b"] {
                    let now = devices.known.values().find(|known| known.0 == name).map_or(Gone, |known| known.1);
                    prop_assert_eq!(last[name] == Up, now == Up);
                    prop_assert_eq!(last[name] == Gone, now == Gone);
                }
            }
        }
    }
}
