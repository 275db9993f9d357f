//! Intrusion detection: rules, the search for their patterns, TCP streams, alerts.
//!
//! | module | holds |
//! |---|---|
//! | [`rules`] | rules and their language |
//! | [`packet`] | what a packet's headers say |
//! | [`search`] | finding the rules that a payload matches |
//! | [`stream`] | putting TCP streams together |
//! | [`flows`] | flows, and the memory of their streams |
//! | [`threshold`] | counting matches |
//! | [`detector`] | all of it, packet by packet |
//! | [`alert`] | alerts as lines of JSON |
//!
//! Nothing here does I/O or reads a clock.
#![forbid(unsafe_code)]

pub mod alert;
pub mod detector;
pub mod flows;
pub mod packet;
pub mod rules;
pub mod search;
pub mod stream;
pub mod threshold;
