//! The summary of a run: what went in, out and away.

use std::time::Duration;

use element::{Runtime, TOP};
use engine::world::World;
use serde_json::json;

use crate::drops::{self, Dropped};
use crate::numbers;

/// What went in, out and away.
pub struct Summary {
    elapsed: Duration,
    interfaces: Vec<Interface>,
    drops: Vec<Dropped>,
}

struct Interface {
    element: String,
    name: String,
    rx: Option<(u64, u64)>,
    tx: Option<(u64, u64)>,
}

/// Packets and bytes that an element received (`rx`) or sent (`tx`).
fn counts(world: &mut World, element: &str, way: &str) -> Option<(u64, u64)> {
    let mut number = |what: &str| numbers::read(world, &format!("{element}.{way}_{what}"));
    Some((number("packets")?, number("bytes")?))
}

impl Summary {
    /// What has happened so far.
    pub fn of(world: &mut World, elapsed: Duration) -> Summary {
        let mut interfaces = Vec::new();
        for idx in 0..world.n_elements() {
            let element = world.name(idx).to_string();
            let Ok(name) = world.read_handler(TOP, &format!("{element}.interface_name"), "") else {
                continue;
            };
            let (rx, tx) = (counts(world, &element, "rx"), counts(world, &element, "tx"));
            interfaces.push(Interface { element, name: name.trim().to_string(), rx, tx });
        }
        let mut drops = drops::of(world);
        drops.extend(drops::discarded(world));
        Summary { elapsed, interfaces, drops }
    }

    /// Looks again at what went out: what was to be written in the end may have failed.
    pub fn count_again(&mut self, world: &mut World) {
        for interface in &mut self.interfaces {
            interface.tx = counts(world, &interface.element, "tx").or(interface.tx);
        }
    }

    /// A line for the time, each interface and each drop.
    pub fn as_text(&self) -> String {
        let mut text = format!("ran {:.3} s\n", self.elapsed.as_secs_f64());
        for interface in &self.interfaces {
            for (way, counts) in [("in", interface.rx), ("out", interface.tx)] {
                if let Some((packets, bytes)) = counts {
                    let Interface { element, name, .. } = interface;
                    text += &format!(
                        "  {way:<4} {name:<28} {packets:>10} packets {bytes:>12} bytes  ({element})\n"
                    );
                }
            }
        }
        for Dropped { element, class, reason, n, .. } in drops::losses(&self.drops) {
            text +=
                &format!("  drop {reason:<28} {n:>10} packets                     ({element} :: {class})\n");
        }
        text
    }

    /// The same for programs.
    pub fn as_json(&self) -> serde_json::Value {
        let counts = |pair: Option<(u64, u64)>| {
            pair.map(|(packets, bytes)| json!({ "packets": packets, "bytes": bytes }))
        };
        let interfaces = self.interfaces.iter().map(|interface| {
            json!({
                "element": interface.element,
                "interface": interface.name,
                "in": counts(interface.rx),
                "out": counts(interface.tx),
            })
        });
        let drops = self.drops.iter().map(|Dropped { element, class, reason, n, .. }| {
            json!({ "element": element, "class": class, "reason": reason, "packets": n })
        });
        json!({
            "elapsed_s": self.elapsed.as_secs_f64(),
            "interfaces": interfaces.collect::<Vec<_>>(),
            "drops": drops.collect::<Vec<_>>(),
        })
    }
}
