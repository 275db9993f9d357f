//! PPP over Ethernet as an access concentrator speaks it (RFC 2516), and PPP itself (RFC 1661). No I/O, no clock.

mod accounts;
pub mod auth;
pub mod discovery;
pub mod frame;
mod giving;
pub mod ipcp;
pub mod lcp;
pub mod link;
mod login;
pub mod negotiation;
pub mod path;
pub mod provisioning;
mod rejection;
pub mod server;
pub mod session;
pub mod statistics;
pub mod succession;
mod trial;

#[cfg(test)]
mod client;
#[cfg(test)]
mod tests;
