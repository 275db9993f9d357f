//! Functions by their command lines.

mod bridge;
mod count;
mod delay;
mod filter;
mod firewall;
mod hex;
mod loss;
mod mirror;
mod nat;
mod policer;
mod print;
mod route;
mod shape;
mod tee;
