//! What all stages have in common on the command line and in the environment.

use clap::Args;
use interfaces::stage::{table, Endpoint, Format, Spec};

/// Options of every stage.
#[derive(Args, Clone, Debug)]
pub struct StageOptions {
    /// Adds or replaces an interface: `left=tap:t0`, `aux=fifo:PATH`, `left=stdin fifo:BACK` (read, write). Kinds: stdin,
    /// stdout, fifo:PATH, tap:NAME[,address=A/LEN][,mtu=N], dev:NAME, file:PATH, unix:PATH, fd:N.
    #[arg(long = "if", value_name = "NAME=KIND", global = true)]
    pub interfaces: Vec<String>,
    /// How packets are written to a pipe that another program reads: pcap (nanoseconds), pcapng, or ascii, a packet a line
    /// [default: pcap]. What is read tells its format itself.
    #[arg(long, value_name = "FORMAT", global = true, value_parser = Format::NAMES)]
    pub format: Option<String>,
    /// Packets that elements move at a time where the graph does not say.
    #[arg(long, default_value_t = 64, global = true, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub burst: u16,
    /// How long a stage whose input has ended waits for packets that its graph holds while none leaves.
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS", global = true)]
    pub drain: f64,
    /// Look for packets without pause instead of sleeping until some come: less delay, for a processor.
    #[arg(long, global = true)]
    pub spin: bool,
    /// Interfaces that the command itself brings; those of the environment and of `--if` go before them.
    #[arg(skip)]
    pub own: Vec<(String, Spec)>,
}

/// The interfaces that a stage has unless told otherwise.
pub const LEFT: &str = "left";
/// See [`LEFT`].
pub const RIGHT: &str = "right";

impl StageOptions {
    /// Declares the interfaces: `left` and `right`, those of the environment (`IF0=...`), those of `--if`; later ones replace
    /// earlier ones.
    pub fn declare(&self) -> Result<(), String> {
        if self.spin {
            table::spin();
        }
        let format = self.format();
        let mut specs = vec![(LEFT.to_string(), Spec::stdin()), (RIGHT.to_string(), Spec::stdout())];
        specs.extend(self.own.iter().cloned());
        for idx in 0..table::MAX {
            let Ok(value) = std::env::var(format!("IF{idx}")) else { continue };
            let spec = Spec::parse(&value).map_err(|error| format!("IF{idx}: {error}"))?;
            specs.push((numbered(idx), spec));
        }
        for text in &self.interfaces {
            let (name, value) = text
                .split_once('=')
                .ok_or_else(|| format!("--if {text}: give NAME=KIND, such as left=tap:t0 or right=stdout"))?;
            let spec = Spec::parse(value).map_err(|error| format!("--if {text}: {error}"))?;
            specs.push((name.to_string(), spec));
        }
        refuse_shared(&specs)?;
        for (name, spec) in specs {
            let format = self.format_of(&name, format)?;
            table::declare(&name, spec, format)?;
        }
        Ok(())
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

    /// The format of one interface, which the environment may name (`IFTYPE0=ascii`).
    fn format_of(&self, name: &str, default: Format) -> Result<Format, String> {
        let idx = match name {
            LEFT => Some(0),
            RIGHT => Some(1),
            name => name.strip_prefix("if").and_then(|digits| digits.parse::<usize>().ok()),
        };
        let Some(idx) = idx else { return Ok(default) };
        let variable = format!("IFTYPE{idx}");
        match std::env::var(&variable) {
            Ok(value) if value == "binary" => Ok(default),
            Ok(value) => Format::named(&value).ok_or_else(|| {
                format!("{variable}: `{value}` is no format; choose binary, {}", Format::NAMES.join(", "))
            }),
            Err(_) => Ok(default),
        }
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
