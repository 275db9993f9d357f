//! Active queue management: dropping packets before queues are full.

pub mod codel_decision;
pub mod red_decision;
pub mod watched_queues;

element::elements![red, adaptive_red, codel];
