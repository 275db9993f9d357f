//! How a command ends: its exit status tells a wrong command line from all else that fails.

use std::process::ExitCode;

/// How a command ends.
pub type Exit = Result<ExitCode, Failure>;

/// Why a command fails, in a user's words.
#[derive(Debug)]
pub enum Failure {
    /// The command line is wrong.
    Usage(String),
    /// Something else is.
    Other(String),
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Other(message)
    }
}

impl From<Failure> for String {
    fn from(failure: Failure) -> String {
        match failure {
            Failure::Usage(message) | Failure::Other(message) => message,
        }
    }
}

impl Failure {
    /// What is told of it.
    pub fn message(&self) -> &str {
        let (Failure::Usage(message) | Failure::Other(message)) = self;
        message
    }

    /// One for all of these, if there are any: a command line that is wrong in one place is wrong.
    pub fn of_all(failures: &[Failure]) -> Result<(), Failure> {
        let message = failures.iter().map(Failure::message).collect::<Vec<_>>().join("\nweir: ");
        match failures.iter().any(|failure| matches!(failure, Failure::Usage(_))) {
            _ if failures.is_empty() => Ok(()),
            true => Err(Failure::Usage(message)),
            false => Err(Failure::Other(message)),
        }
    }

    /// The failure with what is made of its message.
    pub fn map(self, told: impl FnOnce(String) -> String) -> Failure {
        match self {
            Failure::Usage(message) => Failure::Usage(told(message)),
            Failure::Other(message) => Failure::Other(told(message)),
        }
    }

    /// Tells it; the exit status.
    pub fn tell(self) -> ExitCode {
        // As other programs have it, and clap.
        const WRONG_USAGE: u8 = 2;
        eprintln!("weir: {}", self.message());
        match self {
            Failure::Usage(_) => ExitCode::from(WRONG_USAGE),
            Failure::Other(_) => ExitCode::FAILURE,
        }
    }
}
