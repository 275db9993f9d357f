//! Data structures of the packet path: longest-prefix match, flow tables, expiry, queues and flow hashes.
//!
//! | module | for | cost of an operation |
//! |---|---|---|
//! | [`lpm`] | routes: longest-prefix match of IPv4 and IPv6 addresses | a lookup reads one slot a level of a multibit trie |
//! | [`flow`] | per-flow state under a keyed hash, entries named by a stable index | O(1), with no pause when it grows |
//! | [`keyed`] | the hash of such tables | a few ns |
//! | [`timeout`] | expiry of such entries | O(1) amortised |
//! | [`recent`] | what was noted lately: bounded, the oldest gives way | O(1) |
//! | [`chained`] | listing entries as Click does | a sort by bucket, only when somebody asks |
//! | [`symmetric`] | steering: one hash for both directions of a flow | a few ns |
//!
//! Nothing here does I/O, reads a clock or panics on its input. `examples/table_speed.rs` measures every operation.

#![deny(unsafe_code)]

pub mod chained;
mod chunks;
pub mod flow;
pub mod keyed;
pub mod lpm;
pub mod prefetch;
pub mod recent;
pub mod symmetric;
pub mod timeout;
