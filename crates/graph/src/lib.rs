//! Graphs of elements: class facts, elements, edges, checks and pictures.
//!
//! This crate is pure data: it reads no file and no clock. `lang` makes a [`Graph`] from text, `engine` runs one.
#![forbid(unsafe_code)]

mod check;
mod diagnostic;
mod diff;
mod facts;
mod flow;
mod picture;
mod ports;
mod processing;
mod query;
#[cfg(test)]
mod testing;

pub use check::{check, check_unfinished, Checked, Port, Ports};
pub use diagnostic::{Diagnostic, Diagnostics, Place, Severity};
pub use diff::{diff, Action, NamedEnd};
pub use facts::{Arg, ArgKind, ClassFacts, Drop, Handler, HandlerKind};
pub use flow::{port_flow, FlowCode};
pub use picture::{dot, json, mermaid};
pub use ports::{OutputRule, PortCode, PortRange};
pub use processing::{Processing, ProcessingCode};
pub use query::{context_of, contexts};

/// Index of an element in [`Graph::elements`].
pub type ElementIdx = usize;

/// No element: names are looked up from the top.
pub const TOP: ElementIdx = ElementIdx::MAX;
/// Index of a port of an element.
pub type PortIdx = usize;

/// A flat graph: compound elements expanded, variables substituted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    /// The elements, in the order in which Click would number them.
    pub elements: Vec<Element>,
    /// The edges. A graph made from text has them in Click's order: by input, then by output, each once.
    pub connections: Vec<Connection>,
    /// `require(KIND VALUE)` statements, such as `("package", "foo")`.
    pub requirements: Vec<(String, String)>,
}

/// An element of a [`Graph`]: a named instance of a class with its configuration string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Full name, such as `nat/rw` or `Counter@3`.
    pub name: String,
    /// Class name, such as `Counter`.
    pub class: String,
    /// Configuration string, unparsed: what stood between the parentheses.
    pub config: String,
    /// Where the element was declared.
    pub place: Place,
}

/// One end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Endpoint {
    /// The element.
    pub element: ElementIdx,
    /// Its input or output port.
    pub port: PortIdx,
}

/// An edge: packets pass from an output port to an input port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Output port that packets leave.
    pub from: Endpoint,
    /// Input port that packets enter.
    pub to: Endpoint,
    /// Where the connection was written.
    pub place: Place,
}
