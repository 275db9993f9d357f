//! Functions that treat each direction by itself, and may leave one alone.

use super::leaf::{Leaf, Place, Type};
use super::values::Values;

/// The parameter that chooses directions; `--left` and `--right` are short for its values.
pub const DIRECTION: Leaf = Leaf {
    name: "direction",
    ty: Type::Choice(&["both", "right", "left"]),
    help: "Which packets: those that go to the right, those that go to the left, or both.",
    default: Some("both"),
    place: Place::Option,
    short: None,
};

/// Words that are flags of their own for a value of [`DIRECTION`].
pub const SIDES: [&str; 2] = ["left", "right"];

/// A direction: what its elements are called, and from where to where it leads.
#[derive(Clone, Copy)]
pub struct Direction {
    /// The name of the interface that it leads to.
    pub to: &'static str,
    /// The name of the interface that it comes from.
    pub from: &'static str,
    /// Whether it was chosen.
    pub is_chosen: bool,
}

/// Both directions, to the right first.
pub fn directions(values: &Values) -> Result<[Direction; 2], String> {
    let chosen = values.need(DIRECTION.name)?;
    let direction = |to, from| Direction { to, from, is_chosen: chosen == "both" || chosen == to };
    Ok([direction("right", "left"), direction("left", "right")])
}

/// The graph in which the packets of each chosen direction go through `element`, called `to_right` or `to_left`.
pub fn each_way(values: &Values, element: &str) -> Result<String, String> {
    each_way_with(values, |_| element.to_string())
}

/// The same, with an element that depends on the direction.
pub fn each_way_with(values: &Values, element: impl Fn(Direction) -> String) -> Result<String, String> {
    let line = |direction: Direction| {
        let Direction { to, from, is_chosen } = direction;
        let between = match is_chosen {
            true => format!("-> to_{to} :: {} ", element(direction)),
            false => String::new(),
        };
        format!("FromInterface({from}) {between}-> ToInterface({to});\n")
    };
    Ok(directions(values)?.map(line).concat())
}
