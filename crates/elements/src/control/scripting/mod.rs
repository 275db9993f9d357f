//! The language of `Script` and `DriverManager`.

mod arithmetic;
mod calls;
mod entry;
mod expand;
mod format;
mod print;
mod program;
mod report;
mod state;
mod steps;
mod words;

pub use arithmetic::arithmetic;
pub use entry::catch;
pub use expand::{expand, Reference};
pub use program::{Kind, Op, Program};

pub use report::Report;
pub use state::{Outcome, State};
pub use steps::{How, Runner};
pub use words::words;
