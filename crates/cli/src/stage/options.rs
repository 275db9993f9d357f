//! What all stages have in common on the command line and in the environment.

use clap::builder::PossibleValue;
use clap::Args;
use graph::Graph;
use interfaces::capture::is_named_pcapng;
use interfaces::stage::{table, Endpoint, Format, Spec};
use tools::fuse;

/// Options of every stage.
#[derive(Args, Clone, Debug)]
pub struct StageOptions {
    /// Adds or replaces an interface: `left=tap:t0`, `aux=fifo:PATH`, `left=stdin fifo:BACK` (read, write; `-`: nothing). Kinds:
    /// stdin, stdout, fifo:PATH, tap:NAME[,address=A/LEN][,mtu=N], dev:NAME, file:PATH, unix:PATH, fd:N.
    #[arg(long = "if", value_name = "NAME=KIND", global = true, value_parser = interface)]
    pub interfaces: Vec<String>,
    /// How packets are written to a pipe that another program reads: pcap (nanoseconds), pcapng, or ascii, a packet a line
    /// [default: pcap, and pcapng for a file whose name says so]. What is read tells its format itself.
    #[arg(long, value_name = "FORMAT", global = true, value_parser = formats())]
    pub format: Option<String>,
    /// Packets that elements move at a time where the graph does not say [default: 64].
    #[arg(long, global = true, allow_negative_numbers = true, value_parser = clap::value_parser!(u16).range(1..=256))]
    burst: Option<u16>,
    /// How long to wait, once the input has ended, for packets that the graph still holds: as long as packets leave it, and this long
    /// after the last one [default: 2].
    #[arg(long, value_name = "SECONDS", global = true, allow_negative_numbers = true, value_parser = seconds)]
    drain: Option<f64>,
    /// Look for packets without pause instead of sleeping until some come: less delay, for a processor.
    #[arg(long, global = true)]
    pub spin: bool,
    /// Leave packets in the pipes, where the neighbour is weir as well: no shared memory, no joint in the kernel.
    #[arg(long, global = true)]
    pub plain: bool,
    /// How long its function holds packets on purpose, in seconds.
    #[arg(skip)]
    pub holds_s: f64,
    /// Interfaces that the command itself brings; those of the environment and of `--if` go before them.
    #[arg(skip)]
    pub own: Vec<(String, Spec)>,
}

/// How many packets elements move at a time unless told otherwise.
const BURST: u16 = 64;
/// How long a stage waits for packets that its graph holds unless told otherwise, in seconds.
const DRAIN: f64 = 2.0;

/// The longest time that a stage can be told to wait, in seconds: about 30 years.
const LONGEST: f64 = 1e9;

/// Checks `NAME=KIND`.
fn interface(text: &str) -> Result<String, String> {
    let (name, value) = split(text)?;
    table::check_name(name)?;
    Spec::parse(value).map(|_| text.to_string())
}

/// The parts of `NAME=KIND`.
fn split(text: &str) -> Result<(&str, &str), String> {
    text.split_once('=').ok_or_else(|| "give NAME=KIND, such as left=tap:t0 or right=stdout".to_string())
}

/// The formats; `binary`, which `IFTYPE0` and the like know as well, is the default one.
fn formats() -> clap::builder::PossibleValuesParser {
    let formats = Format::NAMES.map(PossibleValue::new).map(|value| match value.matches(PCAP, false) {
        true => value.alias(BINARY),
        false => value,
    });
    formats.into()
}

/// The format that `binary` is.
const PCAP: &str = "pcap";
/// See [`formats`].
const BINARY: &str = "binary";

/// Reads a time in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
    seconds.ok_or_else(|| format!("give a number of seconds from 0 to {LONGEST}"))
}

/// An interface as it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// What the graph calls it.
    pub name: String,
    /// What it is.
    pub spec: Spec,
    /// How packets are written to it.
    pub format: Format,
}

/// What the variables of an environment are.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Declared {
    /// Makes elements find it.
    pub fn declare(self) -> Result<(), String> {
        table::declare(&self.name, self.spec, self.format)
    }
}

/// The interfaces that a stage has unless told otherwise.
pub const LEFT: &str = "left";
/// See [`LEFT`].
pub const RIGHT: &str = "right";

impl StageOptions {
    /// How many packets elements move at a time.
    pub fn burst(&self) -> u16 {
        self.burst.unwrap_or(BURST)
    }

    /// How long a stage waits for packets that its graph holds, in seconds.
    pub fn drain(&self) -> f64 {
        self.drain.unwrap_or(DRAIN) + self.holds_s
    }

    /// Those of several stages that are one.
    pub fn fuse(&self, stages: &[&StageOptions]) -> StageOptions {
        let burst = stages.iter().map(|stage| stage.burst()).max();
        let drain = stages.iter().map(|stage| stage.drain() - stage.holds_s).reduce(f64::max);
        let holds_s = stages.iter().map(|stage| stage.holds_s).sum();
        let plain = stages.iter().any(|stage| stage.plain);
        let spin = stages.iter().any(|stage| stage.spin);
        StageOptions { burst, drain, holds_s, plain, spin, ..self.clone() }
    }

    /// What is not given here is as in `other`.
    pub fn inherit(&mut self, other: &StageOptions) {
        self.burst = self.burst.or(other.burst);
        self.drain = self.drain.or(other.drain);
        self.spin |= other.spin;
        self.plain |= other.plain;
    }

    /// Declares the interfaces.
    pub fn declare(&self) -> Result<(), String> {
        self.set_up();
        let environment = |name: &str| std::env::var(name).ok();
        let declared = self.declared(&environment)?;
        declared.into_iter().try_for_each(|interface| interface.declare())
    }

    /// Lets all interfaces do as is wished.
    pub fn set_up(&self) {
        if self.spin {
            table::spin();
        }
        if self.plain {
            table::stay_with_pipes();
        }
    }

    /// The interfaces: `left` and `right`, those of the environment (`IF0=...`), those of `--if`; later ones replace earlier
    /// ones.
    pub fn declared(&self, environment: Environment<'_>) -> Result<Vec<Declared>, String> {
        let format = self.format();
        let mut specs = vec![(LEFT.to_string(), Spec::stdin()), (RIGHT.to_string(), Spec::stdout())];
        specs.extend(self.own.iter().cloned());
        for idx in 0..table::MAX {
            let Some(value) = environment(&format!("IF{idx}")) else { continue };
            let spec = Spec::parse(&value).map_err(|error| format!("IF{idx}: {error}"))?;
            specs.push((numbered(idx), spec));
        }
        let mut given: Vec<&str> = Vec::new();
        for text in &self.interfaces {
            let wrong = |error: String| format!("--if {text}: {error}");
            let (name, value) = split(text).map_err(wrong)?;
            if given.contains(&name) {
                return Err(wrong(format!("`{name}` is given twice; an interface is one thing")));
            }
            given.push(name);
            specs.push((name.to_string(), Spec::parse(value).map_err(wrong)?));
        }
        refuse_shared(&specs)?;
        let mut declared: Vec<Declared> = Vec::new();
        for (name, spec) in specs {
            let format = self.format.is_none().then(|| of_file(&spec)).flatten().unwrap_or(format);
            let format = format_of(&name, format, environment)?;
            let new = Declared { name, spec, format };
            match declared.iter_mut().find(|known| known.name == new.name) {
                Some(known) => *known = new,
                None => declared.push(new),
            }
        }
        Ok(declared)
    }

    /// Refuses an `--if` for an interface that a graph does not have.
    pub fn refuse_unknown(&self, graph: &Graph) -> Result<(), String> {
        let known = fuse::interfaces(graph);
        let name = |text: &String| text.split_once('=').map_or(text.clone(), |(name, _)| name.to_string());
        match self.interfaces.iter().find(|text| !known.contains(&name(text))) {
            None => Ok(()),
            Some(text) if known.is_empty() => Err(format!("--if {text}: the graph has no interfaces")),
            Some(text) => Err(format!(
                "--if {text}: the graph has no interface `{}`; it has {}",
                name(text),
                known.into_iter().collect::<Vec<_>>().join(", ")
            )),
        }
    }

    /// The names of the interfaces that the user speaks of.
    pub fn named(&self) -> std::collections::BTreeSet<String> {
        let own = self.own.iter().map(|(name, _)| name.clone());
        let flags = self.interfaces.iter().filter_map(|text| Some(text.split_once('=')?.0.to_string()));
        let of_environment = (0..table::MAX).filter(|idx| std::env::var_os(format!("IF{idx}")).is_some());
        own.chain(flags).chain(of_environment.map(numbered)).collect()
    }

    fn format(&self) -> Format {
        self.format.as_deref().and_then(Format::named).unwrap_or_default()
    }
}

/// The format that the name of a file asks for.
fn of_file(spec: &Spec) -> Option<Format> {
    match spec.output.as_ref().or(spec.input.as_ref()) {
        Some(Endpoint::File(path)) if is_named_pcapng(path) => Some(Format::Pcapng),
        _ => None,
    }
}

/// The format of one interface, which the environment may name (`IFTYPE0=ascii`).
fn format_of(name: &str, default: Format, environment: Environment<'_>) -> Result<Format, String> {
    let idx = match name {
        LEFT => Some(0),
        RIGHT => Some(1),
        name => name.strip_prefix("if").and_then(|digits| digits.parse::<usize>().ok()),
    };
    let Some(idx) = idx else { return Ok(default) };
    let variable = format!("IFTYPE{idx}");
    match environment(&variable) {
        Some(value) if value == BINARY => Ok(default),
        Some(value) => Format::named(&value).ok_or_else(|| {
            format!("{variable}: `{value}` is no format; choose {}", Format::NAMES.join(", "))
        }),
        None => Ok(default),
    }
}

/// The name of the environment's interface of this number.
fn numbered(idx: usize) -> String {
    match idx {
        0 => LEFT.to_string(),
        1 => RIGHT.to_string(),
        _ => format!("if{idx}"),
    }
}

/// Standard input and output serve one interface each: the last one that names them.
fn refuse_shared(specs: &[(String, Spec)]) -> Result<(), String> {
    for (endpoint, word) in [(Endpoint::Stdin, "stdin"), (Endpoint::Stdout, "stdout")] {
        let last_of = |name: &str| specs.iter().rev().find(|(other, _)| other == name).map(|(_, spec)| spec);
        let mut names: Vec<&str> = specs
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| last_of(name).is_some_and(|spec| spec.uses(&endpoint)))
            .collect();
        names.sort_unstable();
        names.dedup();
        let own = if endpoint == Endpoint::Stdin { LEFT } else { RIGHT };
        let others: Vec<&str> = names.into_iter().filter(|name| *name != own).collect();
        if others.len() > 1 {
            return Err(format!("{word} is both {} and {}; it can be one interface", others[0], others[1]));
        }
    }
    Ok(())
}
