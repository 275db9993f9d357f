//! Global handlers: those of the whole graph.

use element::{Handler, HandlerKind, Runtime};

use crate::change;
use crate::handlers::{configuration, describe};
use crate::world::World;

/// The version of Click whose behaviour this engine has.
pub const CLICK_VERSION: &str = "2.1";

/// The global handlers.
pub const HANDLERS: &[Handler] = &[
    Handler::read("version", "The version of Click whose behaviour the engine has."),
    Handler::read("driver", "The driver: userlevel."),
    Handler::read("config", "The configuration as it was given."),
    Handler::read("flatconfig", "The configuration with compound elements expanded."),
    Handler::read("requirements", "What the configuration requires, two lines each: kind and name."),
    Handler::read("handlers", "The global handlers."),
    Handler::read("list", "The number of elements and their names, a line each."),
    Handler::write("stop", "Stops the driver: takes this many (default 1) from its reasons to run."),
    Handler::read("classes", "The element classes, a line each."),
    Handler::read("packages", "The packages loaded, a line each: none."),
    Handler::read("drops", "Packets dropped: element, reason and number, a line each.").flags("unlisted"),
];

/// The handler of time, which cannot be changed if it is simulated.
const TIMEWARP: Handler = Handler::read_write("timewarp", "How much faster than on the wall time runs.");
const TIMEWARP_OF_SIMULATION: Handler = Handler { kind: HandlerKind::Read, ..TIMEWARP };

/// The handler of graphs that may be changed.
const HOTCONFIG: Handler =
    Handler::write("hotconfig", "Runs this configuration from now on, in the place of the one that runs.")
        .flags("raw");

/// How a global handler is used, if it exists.
pub fn kind(world: &World, name: &str) -> Option<HandlerKind> {
    all(world).find(|handler| handler.name == name).map(|handler| handler.kind)
}

/// The global handlers of a graph.
fn all(world: &World) -> impl Iterator<Item = &'static Handler> {
    let timewarp = if world.clock.is_simulated() { &TIMEWARP_OF_SIMULATION } else { &TIMEWARP };
    HANDLERS.iter().chain(world.has_hotconfig.then_some(&HOTCONFIG)).chain([timewarp])
}

/// Reads a global handler.
pub fn read(world: &mut World, name: &str) -> Result<String, String> {
    Ok(match name {
        "version" => CLICK_VERSION.to_string(),
        "driver" => "userlevel".to_string(),
        "config" if world.graph.requirements.iter().any(|(kind, _)| kind == "compact_config") => flat(world),
        "config" => world.source.clone(),
        "flatconfig" => flat(world),
        "requirements" => {
            world.graph.requirements.iter().map(|(kind, value)| format!("{kind}\n{value}\n")).collect()
        }
        "handlers" => {
            let mut text = String::new();
            for handler in all(world) {
                describe(&mut text, handler, handler.kind);
            }
            text
        }
        "list" => {
            let names: Vec<&str> =
                change::present(&world.graph).map(|(_, element)| element.name.as_str()).collect();
            names.iter().fold(format!("{}\n", names.len()), |text, name| text + name + "\n")
        }
        "classes" => (world.class_names)().iter().map(|name| format!("{name}\n")).collect(),
        "packages" => String::new(),
        "timewarp" if world.clock.is_simulated() => "simulation".to_string(),
        "timewarp" => world.clock.speed().to_string(),
        "drops" => {
            let mut text = String::new();
            for idx in 0..world.n_elements() {
                for (reason, n) in world.drops(idx) {
                    text += &format!("{}\t{reason}\t{n}\n", world.name(idx));
                }
            }
            text
        }
        _ => return Err(format!("no '{name}' read handler")),
    })
}

/// The graph as text, each element with the configuration that it has now.
pub(crate) fn flat(world: &mut World) -> String {
    let mut graph = (*world.graph).clone();
    for (idx, element) in graph.elements.iter_mut().enumerate() {
        element.config = configuration(world, idx);
    }
    (world.flatten)(&change::compact(&graph))
}

/// Writes a global handler.
pub fn write(world: &mut World, name: &str, value: &str) -> Result<(), String> {
    match name {
        "stop" => {
            let n = match value.trim() {
                "" => 1,
                text => args::integer::<i32>(text).unwrap_or(1),
            };
            world.adjust_runcount(-i64::from(n));
            Ok(())
        }
        "hotconfig" if world.has_hotconfig => world.change_to(value),
        "timewarp" if !world.clock.is_simulated() => {
            let speed = args::double(value.trim()).ok().filter(|speed| *speed > 0.0 && speed.is_finite());
            world.clock.set_speed(speed.ok_or("expected double")?);
            world.forget_times();
            Ok(())
        }
        _ => Err(format!("no '{name}' write handler")),
    }
}
