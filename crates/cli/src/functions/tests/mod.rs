//! Functions by their command lines.

mod bridge;
mod count;
mod delay;
mod filter;
mod firewall;
mod hex;
mod loss;
mod nat;
mod print;
mod route;
mod shape;
mod tee;
