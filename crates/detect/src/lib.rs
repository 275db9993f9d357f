//! Intrusion detection: rules, the search for their patterns, TCP streams, alerts.
//!
//! | module | holds |
//! |---|---|
//! | [`rules`] | rules and their language |
//! | [`packet`] | what a packet's headers say |
//! | [`search`] | finding the rules that a payload matches |
//! | [`stream`] | putting TCP streams together |
//! | [`memory`] | the memory of streams |
//! | [`marks`] | what rules leave behind in streams |
//! | [`connection`] | what a packet does to its flow |
//! | [`flows`] | flows, never more than a limit |
//! | [`threshold`] | counting matches |
//! | [`detector`] | all of it, packet by packet |
//! | [`alert`] | alerts as lines of JSON |
//!
//! Nothing here does I/O or reads a clock.
#![forbid(unsafe_code)]

pub mod alert;
pub mod connection;
pub mod detector;
pub mod flows;
pub mod marks;
pub mod memory;
pub mod packet;
pub mod rules;
pub mod search;
pub mod stream;
pub mod threshold;
