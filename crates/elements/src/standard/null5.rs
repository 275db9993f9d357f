//! Passes packets through unchanged, as `Null`, under a name of its own.
//!
//! In Click the classes `Null1` to `Null8` are copies of `Null` with which the cost of code is measured.
//!
//! ```click
//! Idle -> Null5 -> Discard;
//! ```

use element::{Causes, Class};

use super::null::Null;

/// The class.
pub const CLASS: Class = Class::new::<Null>("Null5", "1/1", "a/a", "x/x").causes(Causes::NOTHING).blind();
