//! Which methods a data resource has (RFC 8040, section 4).

use yang::{Kind, Node};

use crate::path::Place;

/// A node, as a path leads to it.
#[derive(Clone, Copy)]
pub struct Resource<'n> {
    /// The node.
    pub node: &'n Node,
    /// The node that holds it.
    pub parent: Option<&'n Node>,
    /// Whether the path leads to an entry of a list.
    pub is_entry: bool,
}

/// The methods, besides HEAD where GET is, and OPTIONS.
pub fn methods(resource: &Resource<'_>) -> &'static [&'static str] {
    let Resource { node, parent, is_entry } = *resource;
    let is_key = parent.is_some_and(|list| list.kind == Kind::List && list.keys.contains(&node.name));
    match node.kind {
        Kind::Action => &["POST"],
        Kind::Notification => &[],
        _ if !node.is_config || is_key => &["GET"],
        Kind::List if is_entry && may_gain(node) => &["GET", "POST", "PUT", "PATCH", "DELETE"],
        Kind::Container { .. } if may_gain(node) => &["GET", "POST", "PUT", "PATCH", "DELETE"],
        _ => &["GET", "PUT", "PATCH", "DELETE"],
    }
}

/// Whether children can be created in a node.
fn may_gain(node: &Node) -> bool {
    let is_data = |child: &Node| !matches!(child.kind, Kind::Action | Kind::Notification);
    node.data_children().any(|child| is_data(child) && child.is_config && !node.keys.contains(&child.name))
}

/// The methods of what a path leads to.
pub fn of_places(places: &[Place<'_>]) -> &'static [&'static str] {
    let Some((last, parents)) = places.split_last() else { return &["GET", "POST", "PATCH"] };
    methods(&Resource {
        node: last.node,
        parent: parents.last().map(|parent| parent.node),
        is_entry: last.keys.is_some(),
    })
}
