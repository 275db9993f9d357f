//! Options that are made only for the command that was given.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use super::examples;

/// Options of a command, and its examples: clap makes them when it comes to that command, not whenever a command line is read.
/// Not for commands with commands of their own, of which completions have to know before.
pub struct Deferred<T>(pub T);

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        T::from_arg_matches(matches).map(Deferred)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<T: Args> Args for Deferred<T> {
    fn augment_args(command: Command) -> Command {
        command.defer(made::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        T::augment_args_for_update(command)
    }
}

/// The command with its options. What its line in the list of commands says stays.
fn made<T: Args>(command: Command) -> Command {
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    let examples = examples::of(command.get_name());
    let command =
        T::augment_args(command).about(Resettable::from(about)).long_about(Resettable::from(long_about));
    match examples {
        Some(text) => command.after_help(text),
        None => command,
    }
}
