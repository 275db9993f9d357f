//! Joining two neighbouring stacks without a graph in between.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use element::output::tell;
use interfaces::stage::neighbour::Stack as Neighbour;
use interfaces::stage::{meeting, table, tap_port};
use stack::{Error, Peer, Port};
use sys::tap::Tap;

use super::{ends, Joint, SharedStack};
use crate::stage::status::{DeviceReader, STACK};

/// How long to wait for a neighbour before it is told that there is none.
const MEETING: Duration = Duration::from_secs(5);

const GONE: &str = "the device is gone with the neighbour's stack: start this one again";

/// What this stack offers to those next to it.
pub struct Offer {
    stack: SharedStack,
    joint: Option<Joint>,
    /// The stacks that were joined by a cable from here: by this device's name, and the name of theirs.
    peers: HashMap<String, (Peer, String)>,
    /// Taps that a neighbour moves packets of.
    lent: HashMap<String, OwnedFd>,
    wishes: Wishes,
}

/// Why joints that were wanted did not come about, by the interface's name.
#[derive(Clone, Default)]
pub struct Wishes(Arc<Mutex<HashMap<String, String>>>);

impl Wishes {
    fn note(&self, name: &str, reason: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_string(), reason.to_string());
    }

    /// Tells where another joint than the one that is wanted came about: now, or once the neighbour is met, or that none was.
    pub fn tell(self, wish: Joint, names: &[String]) {
        let shared = names.iter().filter_map(|name| table::find(name));
        let (met, mut others): (Vec<_>, Vec<_>) = shared.partition(|shared| table::lock(shared).has_met());
        met.iter().for_each(|shared| self.tell_one(wish, shared));
        let wait = move || {
            let begin = Instant::now();
            while !others.is_empty() && begin.elapsed() < MEETING {
                let n_met = meeting::count();
                others.retain(|shared| {
                    let has_met = table::lock(shared).has_met();
                    if has_met {
                        self.tell_one(wish, shared);
                    }
                    !has_met
                });
                if !others.is_empty() {
                    meeting::wait(n_met, MEETING.saturating_sub(begin.elapsed()));
                }
            }
            others.iter().for_each(|shared| self.tell_one(wish, shared));
        };
        // What cannot be told changes nothing.
        let _ = sys::thread::start("joints", sys::thread::SMALL_STACK, wait);
    }

    fn tell_one(&self, wish: Joint, shared: &table::Shared) {
        let report = table::lock(shared).report();
        let reasons = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = reasons.get(&report.name).map(String::as_str);
        if let Some(text) = unmet(wish, &report.name, report.joint, reason) {
            eprintln!("weir: linux: {text}");
        }
    }
}

/// What to say of an interface that has another joint than the one that is wanted.
fn unmet(wish: Joint, name: &str, joint: &str, reason: Option<&str>) -> Option<String> {
    let (flag, wanted) = match wish {
        Joint::Ring => ("ring", "ring"),
        Joint::Pump => ("pump", "pump"),
        Joint::Veth => ("veth", "cable"),
    };
    let reason = match joint {
        "pipe" => "no stage of weir is at its other end",
        "ring" | "pump" | "cable" if joint != wanted => {
            reason.unwrap_or("the neighbour is no stack, or does not allow it, or has no tap")
        }
        _ => return None,
    };
    Some(format!("{name}: joined by a {joint}, in spite of --joint {flag}: {reason}"))
}

impl Offer {
    /// The offer of a stack; `joint` is the only kind of joint that the user wants. Why it cannot be goes to `wishes`.
    pub fn new(stack: SharedStack, joint: Option<Joint>, wishes: Wishes) -> Offer {
        Offer { stack, joint, peers: HashMap::new(), lent: HashMap::new(), wishes }
    }

    fn allows(&self, joint: Joint) -> bool {
        self.joint.is_none_or(|wanted| wanted == joint)
    }
}

/// The graph's interface that is the stack's device `name`.
fn inner(name: &str) -> String {
    format!("{STACK}{name}")
}

/// Tells what went through the stack's devices. What the stack sends is what the interface received.
pub fn device_reader(stack: SharedStack) -> DeviceReader {
    Box::new(move |name| {
        let mut stack = stack.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = stack.statistics(name).ok()?;
        let drops = counted.drops_received + counted.drops_sent;
        Some((
            counted.packets_received,
            counted.bytes_received,
            counted.packets_sent,
            counted.bytes_sent,
            drops,
        ))
    })
}

/// Tells what went with a stack's device and could not be put back.
fn tell_left_out(name: &str, sentences: Vec<String>) {
    for sentence in sentences {
        tell(format_args!("weir: linux: {name}: {sentence}"));
    }
}

/// Takes the device's packets away from the graph.
fn let_go(name: &str) {
    if let Some(shared) = table::find(&inner(name)) {
        table::lock(&shared).clear();
    }
}

impl Neighbour for Offer {
    fn handle(&mut self, _name: &str) -> Option<OwnedFd> {
        if !self.allows(Joint::Veth) {
            return None;
        }
        let stack = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        stack.handle().try_clone_to_owned().ok()
    }

    fn join(&mut self, name: &str, handle: OwnedFd, peer_name: &str) -> Result<(), String> {
        if !self.allows(Joint::Veth) {
            return Err("not wanted".into());
        }
        let mut peer = Peer::from_fd(handle).map_err(|error| error.to_string())?;
        let mut stack = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        let joined = stack.join_veth(name, &mut peer, peer_name).inspect_err(|error| {
            if let Error::Lost { .. } = error {
                tell(format_args!(
                    "weir: linux: {error}\n  help: both stacks have lost these devices: start them again"
                ));
            }
        });
        let joined = joined.map_err(|error| error.to_string());
        joined.inspect_err(|error| self.wishes.note(name, error))?;
        tell_left_out(name, stack.take_left_out());
        tell_left_out(peer_name, peer.take_left_out());
        let_go(name);
        drop(stack);
        self.peers.insert(name.to_string(), (peer, peer_name.to_string()));
        Ok(())
    }

    fn tap(&mut self, name: &str) -> Option<OwnedFd> {
        if !self.allows(Joint::Pump) {
            return None;
        }
        table::lock(&table::find(&inner(name))?).tap()
    }

    fn pump(&mut self, name: &str, tap: OwnedFd, peer_name: &str) -> Result<(), String> {
        if !self.allows(Joint::Pump) {
            return Err("not wanted".into());
        }
        let shared = table::find(name).ok_or("no such interface")?;
        let tap =
            Tap::from_received(tap, stack::tap_options(peer_name)).map_err(|error| error.to_string())?;
        let (input, output) = tap_port::both(tap).map_err(|error| error.to_string())?;
        let result = table::lock(&shared).go_around(Box::new(input), Box::new(output));
        result.map_err(|error| error.to_string()).inspect_err(|error| self.wishes.note(name, error))
    }

    fn joined(&mut self, name: &str) {
        if let Some(tap) = table::find(&inner(name)).and_then(|shared| table::lock(&shared).tap()) {
            self.lent.insert(name.to_string(), tap);
        }
        let_go(name);
    }

    fn refuses_to_part(&self) -> Option<String> {
        let stack = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        stack.note().map(|_| {
            "joined to its neighbour in the kernel, which cannot be undone without taps\n  help: let the user open \
             /dev/net/tun (`chmod 0666 /dev/net/tun`), or start the stacks with --joint ring"
                .to_string()
        })
    }

    fn part(&mut self, name: &str) -> Result<Option<OwnedFd>, String> {
        let Some((mut peer, peer_name)) = self.peers.remove(name) else { return Ok(None) };
        let mut stack = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        let ports = stack.unjoin(name, &mut peer, &peer_name);
        tell_left_out(name, stack.take_left_out());
        tell_left_out(&peer_name, peer.take_left_out());
        let (ours, theirs) = ports.map_err(|error| error.to_string())?;
        take(name, ours)?;
        match theirs {
            Port::Tap(tap) => tap.as_fd().try_clone_to_owned().map(Some).map_err(|error| error.to_string()),
            Port::Cable(_) => Err("the neighbour's device cannot be given back to it without a tap".into()),
        }
    }

    fn part_alone(&mut self, name: &str) -> Result<(), String> {
        // Until it is dropped the kernel keeps the dead neighbour's network, with the other end of the cable: it would take this end
        // away in the middle.
        let Some(_peer) = self.peers.remove(name) else { return Ok(()) };
        let mut stack = self.stack.lock().unwrap_or_else(PoisonError::into_inner);
        let port = stack.unjoin_alone(name).map_err(|error| error.to_string())?;
        tell_left_out(name, stack.take_left_out());
        take(name, port)
    }

    fn parted(&mut self, name: &str, tap: Option<OwnedFd>) -> Result<(), String> {
        let lent = self.lent.remove(name);
        let tap = tap.or(lent).ok_or(GONE)?;
        let tap = Tap::from_received(tap, stack::tap_options(name));
        let tap =
            tap.map_err(|error| if error.is_device_gone() { GONE.to_string() } else { error.to_string() })?;
        take(name, Port::Tap(tap))
    }
}

/// Gives the graph the device's packets again.
fn take(name: &str, port: Port) -> Result<(), String> {
    let shared = table::find(&inner(name)).ok_or("no such interface")?;
    let (input, output) = ends(name, port).map_err(|error| error.to_string())?;
    let mut interface = table::lock(&shared);
    let added = interface.add_input(input).and_then(|()| interface.add_output(output));
    added.map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_that_is_not_met_is_told_with_what_came_about() {
        assert_eq!(unmet(Joint::Veth, "right", "cable", None), None);
        assert_eq!(unmet(Joint::Ring, "right", "ring", None), None);
        assert_eq!(unmet(Joint::Ring, "right", "file", None), None);
        let told = unmet(Joint::Veth, "right", "ring", Some("no memory"));
        assert_eq!(told.unwrap(), "right: joined by a ring, in spite of --joint veth: no memory");
        let told = unmet(Joint::Pump, "left", "pipe", None);
        let due = "left: joined by a pipe, in spite of --joint pump: no stage of weir is at its other end";
        assert_eq!(told.unwrap(), due);
    }
}
