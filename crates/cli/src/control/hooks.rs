//! Options of commands that run hooks.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use events::{Hooks, Log, Settings};

/// Which programs are run for events.
#[derive(Args, Clone, Debug)]
pub struct HookOptions {
    /// Run FOLDER/EVENT for each event, such as FOLDER/port-down, with the event in JSON on its standard input and its facts in
    /// variables (WEIR_EVENT, WEIR_DEVICE, ...).
    #[arg(long, value_name = "FOLDER", value_hint = clap::ValueHint::DirPath)]
    pub hooks: Option<PathBuf>,
    /// A hook that takes longer is killed.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "hooks", value_parser = time)]
    pub hook_timeout: Duration,
}

impl HookOptions {
    /// The hooks, if there are to be any; `graph` is the graph's name, and `variables` are also in their environment.
    pub fn open(&self, graph: &str, variables: &[(&str, String)], log: Log) -> Result<Option<Hooks>, String> {
        let Some(folder) = self.hooks.clone() else { return Ok(None) };
        let own = [("WEIR_GRAPH", graph.to_string())];
        let variables = own.iter().chain(variables).map(|(name, value)| (name.to_string(), value.clone()));
        let (timeout, variables) = (self.hook_timeout, variables.collect());
        let hooks = Hooks::open(Settings { folder, timeout, variables, log });
        hooks.map(Some).map_err(|message| format!("--hooks {message}"))
    }
}

/// A time from 10 ms to a day.
pub fn time(text: &str) -> Result<Duration, String> {
    let seconds = args::timestamp(text)?.as_secs_f64();
    match (0.01..=86_400.0).contains(&seconds) {
        true => Ok(Duration::from_secs_f64(seconds)),
        false => Err("expected a time from 10ms to 24h".to_string()),
    }
}
