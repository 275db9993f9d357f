//! What can go wrong with a stack.

use sys::SysError;

use crate::Saved;

pub type Result<T> = std::result::Result<T, Error>;

/// What failed, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel refused something to this process.
    #[error(transparent)]
    System(#[from] SysError),
    /// The kernel refused something to the agent in the stack.
    #[error("in the new stack: {text}")]
    Agent { text: String },
    /// The agent is gone or does not answer.
    #[error("the stack's first process does not answer: it was killed, or runs another version of weir")]
    Silent,
    /// There is no interface or device of that name.
    #[error("the stack has no interface `{0}`")]
    NoInterface(String),
    /// Two interfaces have one name.
    #[error("two interfaces are called `{0}`: give each a name of its own")]
    SameName(String),
    /// The two stacks may not be joined in the kernel.
    #[error(
        "`{ours}` and `{theirs}` cannot be joined by a cable: {source}\n  help: both stacks must be of one user, and \
         started in one user namespace; packets can still pass between them otherwise"
    )]
    NotAllowed { ours: String, theirs: String, source: SysError },
    /// The cable failed after the devices it replaces had gone: [`crate::Stack::restore`] brings them back.
    #[error("the cable between `{}` and `{}` failed: {source}", ours.name(), theirs.name())]
    Lost { ours: Box<Saved>, theirs: Box<Saved>, source: Box<Error> },
}
