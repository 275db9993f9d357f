//! Packaged network functions.
//!
//! A function is a folder ([`Package`]): a schema in YANG and a template from which, with the values that an instance has, the text
//! of a graph comes. [`Functions`] are those that know each other; a [`Function`] is one of them. Values are JSON, as RFC 7951
//! writes them.
#![forbid(unsafe_code)]

mod addresses;
mod check;
mod function;
mod package;
mod rate;
mod render;
mod shipped;
mod values;
mod words;

pub use check::check;
pub use function::{text_of, Function, Functions};
pub use package::Package;
pub use rate::Rate;
pub use render::{Interfaces, Placement, Rendering};
pub use values::identifier;
pub use words::{entries, entry, form_of, form_with, leaf, value_name};

/// The text of the module that all functions import.
pub const WEIR: &str = include_str!("../../../functions/weir.yang");

/// The name of that module.
pub const CORE: &str = "weir";
