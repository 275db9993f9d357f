//! Lines that elements say about packets.

/// A line about a packet.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Where it is said; empty: on standard error.
    pub channel: &'a str,
    /// The packet's place among those that it set out with.
    pub place: u32,
    pub limit: Option<Limit>,
    pub text: &'a str,
}

/// How often lines may be said that tell the same, by whichever elements of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub what: &'static str,
    pub most: u32,
}
