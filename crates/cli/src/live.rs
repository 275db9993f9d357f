//! `weir live`: changing a running graph.

pub mod watch;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use events::Event;
use serde::de::DeserializeOwned;

use crate::command::GraphName;
use crate::complete::graphs;
use crate::control::client;
use crate::control::live::{Edit, Outcome, Past};
use crate::control::protocol::Ask;
use crate::failure::Exit;
use crate::load::Origin;
use crate::patience::Patience;
use crate::print::counted;
use crate::stage::status::command::uptime;

/// Options of `weir live`.
#[derive(Args)]
pub struct LiveOptions {
    /// The running graph: its name (`weir run --name`), or a stage's number in `weir status`.
    #[arg(add = ArgValueCompleter::new(graphs::graphs))]
    pub graph: String,
    /// How long to wait for it.
    #[command(flatten)]
    pub patience: Patience,
    /// What to do.
    #[command(subcommand)]
    pub action: LiveAction,
    /// Print JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Tell what would be done, and do nothing.
    #[arg(long, global = true)]
    pub dry_run: bool,
}

/// What to do with a running graph.
#[derive(Subcommand)]
pub enum LiveAction {
    /// Print the configuration that runs.
    Show,
    /// One of the changes of a graph.
    #[command(flatten)]
    Edit(Edit),
    /// Go on with a whole configuration: elements of the same name go on with their state.
    Apply {
        /// The file, `-` for the standard input.
        #[arg(required_unless_present = "expression", value_parser = NonEmptyStringValueParser::new())]
        file: Option<String>,
        /// The configuration is EXPR itself.
        #[arg(short, long, value_name = "EXPR", conflicts_with = "file")]
        expression: Option<String>,
    },
    /// List the graphs that ran, the oldest first.
    History,
    /// Write a handler for each event, such as `log.run` of a Script: 'add c :: Counter', 'bind a[0] [0]c', 'down eth0 gone' ...
    Subscribe {
        /// `ELEMENT.HANDLER`.
        #[arg(add = ArgValueCompleter::new(graphs::subscribed))]
        handler: String,
        /// Only for events that concern this element.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        element: Option<String>,
    },
    /// End a subscription.
    Unsubscribe {
        /// `ELEMENT.HANDLER`.
        #[arg(add = ArgValueCompleter::new(graphs::subscribed))]
        handler: String,
        /// The element that it was given with.
        #[arg(add = ArgValueCompleter::new(graphs::elements))]
        element: Option<String>,
    },
    /// Tell when a value crosses a threshold: an event.
    Watch(watch::WatchOptions),
    /// Watch a value no longer.
    Unwatch {
        /// The watch.
        #[arg(add = ArgValueCompleter::new(graphs::watches))]
        name: String,
    },
    /// List what is watched.
    Watches,
    /// Print events as they happen: changes, values that cross thresholds, devices that go up or down.
    Events,
}

/// `weir live`.
pub fn run(options: LiveOptions) -> Exit {
    let LiveOptions { graph, patience, action, json, dry_run } = options;
    let graph = GraphName { graph: Some(graph), patience };
    let edit = match action {
        LiveAction::Show => {
            let ask = Ask::Read { handler: "flatconfig".into(), parameter: String::new() };
            let text = client::request(&graph, &ask)?;
            match json {
                true => println!("{}", serde_json::json!({ "configuration": text })),
                false => print!("{text}"),
            }
            return Ok(ExitCode::SUCCESS);
        }
        LiveAction::History => return history(&graph, json),
        LiveAction::Events => return follow(&graph, json),
        LiveAction::Watch(options) => {
            watch::watch(&graph, options)?;
            return Ok(ExitCode::SUCCESS);
        }
        LiveAction::Unwatch { name } => {
            client::request(&graph, &Ask::Unwatch { name })?;
            return Ok(ExitCode::SUCCESS);
        }
        LiveAction::Watches => return watch::watches(&graph, json),
        LiveAction::Subscribe { handler, element } => return subscribe(&graph, handler, element, false),
        LiveAction::Unsubscribe { handler, element } => return subscribe(&graph, handler, element, true),
        LiveAction::Edit(edit) => edit,
        LiveAction::Apply { file, expression } => {
            let origin = match (expression, file) {
                (Some(text), _) => Origin::Expression(text),
                (None, file) => Origin::named(&file.unwrap_or_default()),
            };
            Edit::Apply { name: origin.name().to_string(), text: origin.read()? }
        }
    };
    change(&graph, edit, dry_run, json)
}

fn change(graph: &GraphName, edit: Edit, dry: bool, json: bool) -> Exit {
    let text = client::request(graph, &Ask::Change { edit, dry })?;
    if json {
        println!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let outcome: Outcome = parse(&text)?;
    outcome.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    match outcome.revision {
        _ if outcome.plan.is_empty() => println!("nothing to change"),
        Some(revision) => println!("revision {revision}"),
        None => println!("would be done:"),
    }
    outcome.plan.iter().for_each(|step| println!("  {step}"));
    Ok(ExitCode::SUCCESS)
}

fn parse<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("the graph answers in words of another version: {error}"))
}

fn history(graph: &GraphName, json: bool) -> Exit {
    let text = client::request(graph, &Ask::History)?;
    if json {
        println!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    let past: Vec<Past> = parse(&text)?;
    past.iter().for_each(tell);
    Ok(ExitCode::SUCCESS)
}

fn tell(past: &Past) {
    let mark = if past.runs { "*" } else { " " };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let age = uptime(now.as_secs_f64() - past.since_ns as f64 / 1e9);
    println!(
        "{mark} {:<5} {:>10} ago  {} ({})",
        past.revision,
        age,
        past.title,
        counted(past.plan.len(), "step")
    );
}

fn follow(graph: &GraphName, json: bool) -> Exit {
    client::follow(graph, &Ask::Events, "the events", |line| {
        if json {
            println!("{line}");
            return Ok(());
        }
        let event: Event = parse(line)?;
        println!("{}  {}", event.time, event.sentence());
        event.texts("plan").for_each(|step| println!("  {step}"));
        Ok(())
    })
}

fn subscribe(graph: &GraphName, handler: String, element: Option<String>, ends: bool) -> Exit {
    client::request(graph, &Ask::Subscribe { handler, element, ends })?;
    Ok(ExitCode::SUCCESS)
}
