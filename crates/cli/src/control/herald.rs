//! What happens in a running graph, told to elements, clients and hooks.

use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Sender};
use std::sync::Arc;

use element::{HandlerUse, Runtime, TOP};
use engine::change::Revision;
use engine::world::World;
use events::{Event, Hooks, Hub, Ports, Replaced, Threshold, Watches};
use graph::Action;

use super::answers::listed;
use super::protocol::is_plain;
use super::server::Reach;

/// Classes whose elements use a network device, and the handlers that tell its name.
const DEVICES: &[(&str, &str)] = &[
    ("FromDevice", "interface_name"),
    ("ToDevice", "interface_name"),
    ("FromHost", "dev_name"),
    ("ToHost", "dev_name"),
    ("KernelTap", "interface_name"),
    ("KernelTun", "interface_name"),
];

/// The handler of those that can go on with another device of the same name.
const REOPEN: &str = "reopen";

/// Makes events of what happens in a graph.
pub struct Herald {
    /// Those who listen.
    pub hub: Arc<Hub>,
    /// Values that are looked at.
    pub watches: Watches,
    /// Devices that elements use.
    pub ports: Arc<Ports>,
    reach: Reach,
}

impl Herald {
    /// Tells of what happens from now on. To be called on the graph's thread.
    pub fn new(world: &mut World, reach: &Reach, hooks: Option<Hooks>) -> Result<Herald, String> {
        let hub = Arc::new(Hub::new());
        hooks.into_iter().for_each(|hooks| hub.run_hooks(hooks));
        let own = reach.clone();
        hub.tell_elements(Box::new(move |line, elements| {
            // A graph that has ended has nobody to tell.
            let _ = own.ask(move |world| world.tell_subscribers(&line, &elements));
        }));
        let (own, heard) = (reach.clone(), hub.clone());
        let read = move |handlers: &[String]| {
            let handlers = handlers.to_vec();
            own.ask(move |world| handlers.iter().map(|name| world.read_handler(TOP, name, "")).collect())
        };
        let watches = Watches::new(Box::new(read), Box::new(move |event| heard.tell(event)));
        let (own, heard) = (reach.clone(), hub.clone());
        let reopen = move |elements: &[String]| {
            let elements = elements.to_vec();
            own.ask(move |world| reopen(world, &elements));
        };
        let own = reach.clone();
        let is_used = move |device: &str| own.ask(devices).is_some_and(|used| used.contains_key(device));
        let tell = move |event| heard.tell(event);
        let ports = Arc::new(Ports::new(Box::new(reopen), Box::new(is_used), Box::new(tell))?);
        watch_devices(&ports, devices(world));
        let herald = Herald { hub, watches, ports, reach: reach.clone() };
        herald.follow(world);
        Ok(herald)
    }

    /// Tells of changes. The thread for that begins with the first: most graphs never change.
    fn follow(&self, world: &mut World) {
        let (hub, ports, reach) = (self.hub.clone(), self.ports.clone(), self.reach.clone());
        let mut teller = None;
        world.follow(Box::new(move |revision| {
            if teller.is_none() {
                let begun = start_teller(hub.clone(), ports.clone(), reach.clone());
                let told = |error| eprintln!("weir: nobody is told of changes: {}", sys::no_thread(&error));
                teller = begun.map_err(told).ok();
            }
            teller.as_ref().is_some_and(|teller| teller.send(revision.clone()).is_ok())
        }));
    }

    /// Looks at a handler's value from now on.
    pub fn watch(&self, name: &str, handler: &str, threshold: Threshold) -> Result<(), String> {
        if name.len() > 64 || !is_plain(name) {
            return Err(format!(
                "`{name}` is no name for a watch; use at most 64 letters, digits, `-`, `_` and `.`"
            ));
        }
        let checked = handler.to_string();
        let checked = self.reach.ask(move |world| world.check_handler(TOP, &checked, HandlerUse::Read("")));
        checked.ok_or("the graph has ended")??;
        self.watches.set(name, handler, threshold)
    }

    /// Looks at it no longer.
    pub fn unwatch(&self, name: &str) -> Result<(), String> {
        if self.watches.remove(name) {
            return Ok(());
        }
        let known: Vec<String> = self.watches.told().into_iter().map(|told| told.name).collect();
        Err(format!("no watch `{name}`; {}", listed(known, "`weir live GRAPH watch` makes one")))
    }
}

/// Begins to tell of the changes that are sent, on a thread of its own: packets do not wait for what is written about them.
fn start_teller(hub: Arc<Hub>, ports: Arc<Ports>, reach: Reach) -> std::io::Result<Sender<Revision>> {
    let (sender, revisions) = channel::<Revision>();
    let tell = move || {
        for revision in revisions {
            // A configuration can change without the graph.
            if hub.is_heard() && !revision.actions.is_empty() {
                let plan: Vec<String> = revision.actions.iter().map(Action::to_string).collect();
                let replaced: Vec<Replaced> = revision.actions.iter().filter_map(replaced).collect();
                hub.tell(Event::graph_changed(revision.number, &revision.title, &plan, &replaced));
            }
            if revision.actions.iter().any(is_of_element) {
                let Some(devices) = reach.ask(devices) else { return };
                watch_devices(&ports, devices);
            }
        }
    };
    sys::thread::start("herald", sys::thread::STACK, tell)?;
    Ok(sender)
}

/// Tells of these devices from now on. A graph can run without being told.
fn watch_devices(ports: &Ports, devices: BTreeMap<String, Vec<String>>) {
    if let Err(problem) = ports.set(devices) {
        eprintln!("weir: network devices cannot be watched: {problem}");
    }
}

/// Lets elements go on with another device of the name that theirs had.
fn reopen(world: &mut World, elements: &[String]) {
    for element in elements {
        let handler = format!("{element}.{REOPEN}");
        // What makes its device itself has no such handler.
        if world.check_handler(TOP, &handler, HandlerUse::Write).is_ok() {
            if let Err(problem) = world.write_handler(TOP, &handler, "") {
                eprintln!("weir: {element} cannot go on with its device: {problem}");
            }
        }
    }
}

/// Whether a step can change which devices are used.
fn is_of_element(action: &Action) -> bool {
    !matches!(action, Action::Connect { .. } | Action::Disconnect { .. })
}

/// What a step has put into the place of what.
fn replaced(action: &Action) -> Option<Replaced> {
    let Action::Replace { old, new } = action else { return None };
    let (old, new) = ((**old).clone(), (**new).clone());
    Some(Replaced {
        element: old.name,
        class: old.class,
        config: old.config,
        new_element: new.name,
        new_class: new.class,
        new_config: new.config,
    })
}

/// The devices that elements use.
fn devices(world: &mut World) -> BTreeMap<String, Vec<String>> {
    let mut devices: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for idx in 0..world.n_elements() {
        let class = world.class(idx);
        let Some((_, handler)) = DEVICES.iter().find(|(known, _)| *known == class) else { continue };
        let element = world.name(idx).to_string();
        if let Ok(device) = world.read_handler(TOP, &format!("{element}.{handler}"), "") {
            devices.entry(device.trim().to_string()).or_default().push(element);
        }
    }
    devices.remove("");
    devices
}
