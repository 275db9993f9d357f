//! What elements dropped, and whose they are: an instance's, at one of its ports or within it.

use std::collections::HashMap;

use crate::graph::{self, Bodies};
use crate::topology::{Endpoint, Topology};

/// The handler that tells the drops of all elements: lines of element, reason and number with tabs between them.
pub const HANDLER: &str = "drops";

/// Packets that an element dropped for one reason.
pub struct Dropped<'t> {
    /// The instance.
    pub instance: &'t str,
    /// The port at which the element stands, if it is outside the instance.
    pub port: Option<&'t str>,
    /// The element, named as within the instance.
    pub element: &'t str,
    /// Why.
    pub reason: &'t str,
    /// How many.
    pub n: u64,
}

/// Elements between ports and the network, with the ports.
#[derive(Default)]
pub struct Owners(HashMap<String, (String, String)>);

impl Owners {
    /// Those of a topology.
    pub fn of(topology: &Topology) -> Owners {
        let ends = topology.links.iter().flat_map(|(from, to)| [(from, to), (to, from)]);
        let owned = ends.flat_map(|(own, outside)| {
            let Endpoint::Port { instance, port } = own else { return Vec::new() };
            let owner = (instance.clone(), port.clone());
            graph::outside(outside).into_iter().map(|element| (element, owner.clone())).collect()
        });
        Owners(owned.collect())
    }

    /// The instance and the port at which an element stands.
    pub fn port_of(&self, element: &str) -> Option<(&str, &str)> {
        self.0.get(element).map(|(instance, port)| (instance.as_str(), port.as_str()))
    }

    /// The drops of the elements of some instances.
    pub fn dropped<'t>(&'t self, text: &'t str, bodies: &'t Bodies) -> impl Iterator<Item = Dropped<'t>> {
        text.lines().filter_map(|line| {
            let mut parts = line.split('\t');
            let (name, reason, n) = (parts.next()?, parts.next()?, parts.next()?.trim().parse().ok()?);
            let (instance, port, element) = self.whose(name, bodies)?;
            bodies.contains_key(instance).then_some(Dropped { instance, port, element, reason, n })
        })
    }

    /// The instance to which an element belongs, the port at which it stands, and its name there.
    fn whose<'t>(&'t self, name: &'t str, bodies: &'t Bodies) -> Option<(&'t str, Option<&'t str>, &'t str)> {
        if let Some((instance, port)) = self.port_of(name) {
            return Some((instance, Some(port), name));
        }
        let Some(joint) = name.strip_prefix('_') else {
            let (instance, element) = name.split_once('/')?;
            return Some((instance, None, element));
        };
        // `_queue_edge_0` stands at a port of `edge`.
        let (instance, idx) = joint.split_once('_')?.1.rsplit_once('_')?;
        let port = bodies.get(instance)?.ports.get(idx.parse::<usize>().ok()?)?;
        Some((instance, Some(port), name))
    }
}
