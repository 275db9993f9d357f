//! Stages as users run them: real processes in real pipelines, as root and as an ordinary user.
//!
//! Each test runs as the user who runs the tests, and, if that is root, again as an ordinary user without any privilege. A test
//! that cannot run fails.

mod captures;
mod changes;
mod chaos;
mod duplex;
mod examples;
mod files;
mod hostile;
mod linux;
mod live;
mod pipes;
mod process;
mod random;
mod router6;
mod status;
mod useless;
