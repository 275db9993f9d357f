//! `weir candidate`: a configuration that is prepared before it runs.

use clap::{Args, Subcommand};
use daemon::restconf::DATA;
use serde_json::{json, Value};

use super::{Daemon, Format};

/// Options of `weir candidate`.
#[derive(Args)]
pub struct CandidateOptions {
    /// What to do.
    #[command(subcommand)]
    pub action: CandidateAction,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// What to do with the candidate.
#[derive(Subcommand)]
pub enum CandidateAction {
    /// Print the candidate.
    Show {
        /// How it is printed.
        #[command(flatten)]
        format: Format,
    },
    /// Make it run: all at once.
    Commit {
        /// Go back to what ran before unless `weir candidate confirm` follows within SECONDS.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        confirm_within: Option<u32>,
    },
    /// Keep what was committed.
    Confirm,
    /// Take back what was committed and not confirmed.
    Cancel,
    /// Forget the candidate.
    Discard,
    /// Put the running configuration by, for `weir serve --startup`.
    Save,
}

/// Reads how long a confirmation is waited for.
fn seconds(text: &str) -> Result<u32, String> {
    let seconds = text.parse().ok().filter(|seconds| (1..=86400).contains(seconds));
    seconds.ok_or_else(|| "expected a number of seconds from 1 to 86400, such as 60".to_string())
}

/// Does it.
pub fn run(options: &CandidateOptions) -> Result<(), String> {
    let daemon = &options.daemon;
    let call = |name: &str, input: Option<Value>| {
        let path = format!("/restconf/operations/weir:{name}");
        let body = input.map(|input| (DATA, json!({ "weir:input": input }).to_string().into_bytes()));
        daemon.ask("POST", &path, body)?.ok().map(drop)
    };
    match &options.action {
        CandidateAction::Show { format } => {
            let all = daemon.get("/restconf/ds/ietf-datastores:candidate?content=config")?;
            format.print(all.get("ietf-restconf:data").unwrap_or(&all))
        }
        CandidateAction::Commit { confirm_within: None } => call("commit", None),
        CandidateAction::Commit { confirm_within: Some(seconds) } => {
            call("commit", Some(json!({ "confirmed": [null], "confirm-timeout": seconds })))
        }
        CandidateAction::Confirm => call("confirm-commit", None),
        CandidateAction::Cancel => call("cancel-commit", None),
        CandidateAction::Discard => call("discard-changes", None),
        CandidateAction::Save => call("save-startup", None),
    }
}
