//! Stages that only move packets: `stage`, `read`, `write`, `port`.

use std::io::IsTerminal;

use clap::Args;
use interfaces::stage::{spec, Endpoint, Spec};
use sys::pipe::Kind;

use super::options::{StageOptions, LEFT, RIGHT};
use super::status::command_line;
use super::Plan;
use crate::command::SourceOptions;
use crate::failure::{Exit, Failure};
use crate::load::Request;

/// Options of `weir stage`.
#[derive(Args)]
pub struct GraphOptions {
    /// The configuration.
    #[command(flatten)]
    pub source: SourceOptions,
    /// What all stages have.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// Options of `weir read`.
#[derive(Args)]
pub struct ReadOptions {
    /// Capture file (pcap or pcapng, also `.gz` and `.bz2`), or lines of text as `--format ascii` writes them;
    /// `-` is standard input.
    #[arg(value_name = "FILE", value_parser = file)]
    pub file: String,
    /// Keep the packets' distances in time; of a capture of Ethernet frames.
    #[arg(long)]
    pub timing: bool,
    /// What all stages have.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// Options of `weir write`.
#[derive(Args)]
pub struct WriteOptions {
    /// Capture file: pcapng if its name ends with `.pcapng`, else pcap; compressed if `.gz` or `.bz2` follows.
    /// `-` is standard output. What the file holds goes when the first packet comes, unless weir still reads it.
    #[arg(value_name = "FILE", value_parser = output_file)]
    pub file: String,
    /// What all stages have; `--format` is the file's.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// Options of `weir port`.
#[derive(Args)]
pub struct PortOptions {
    /// A network device that is there, or the name of a tap to make.
    #[arg(value_name = "DEV", value_parser = device)]
    pub device: String,
    /// Address of the tap and its prefix length, such as 10.0.0.1/24 (can be repeated).
    #[arg(long, value_name = "ADDR/LEN", value_parser = address)]
    pub address: Vec<String>,
    /// Largest packet of the tap, in bytes.
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = spec::parse_mtu)]
    pub mtu: Option<u32>,
    /// At which end of the stage the device is; by default where no pipe is.
    #[arg(long, value_parser = [LEFT, RIGHT])]
    pub side: Option<String>,
    /// What all stages have.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// Checks the name of a file.
fn file(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the name is empty; name a capture file, or `-` for the standard stream".to_string()),
        text => Ok(text.to_string()),
    }
}

/// Checks the name of a file to write.
fn output_file(text: &str) -> Result<String, String> {
    const UNKNOWN: [&str; 7] = [".zst", ".xz", ".lz4", ".lzma", ".lz", ".zip", ".Z"];
    match UNKNOWN.iter().find(|ending| text.ends_with(*ending)) {
        Some(ending) => {
            Err(format!("captures are not written as `{ending}`; compressed ones end with `.gz` or `.bz2`"))
        }
        None => file(text),
    }
}

/// Checks the name of a device.
fn device(text: &str) -> Result<String, String> {
    match text {
        "" => Err("the name is empty; name a network device, or a tap to make".to_string()),
        text => spec::device_name(text),
    }
}

/// Checks an address with its prefix length.
pub fn address(text: &str) -> Result<String, String> {
    spec::address(text).map(|_| text.to_string())
}

/// `weir stage`.
pub fn graph(options: GraphOptions) -> Exit {
    let (plan, options) =
        plan_graph(options).map_err(|failure| failure.map(|told| format!("stage: {told}")))?;
    super::run(plan, &options)
}

/// What `weir stage` runs.
pub fn plan_graph(options: GraphOptions) -> Result<(Plan, StageOptions), Failure> {
    let request = Request::from_options(&options.source)?;
    let function = match &options.source.expression {
        Some(text) => command_line(["stage", "-e", &text.split_whitespace().collect::<Vec<_>>().join(" ")]),
        None => command_line(["stage"].into_iter().chain(options.source.words.iter().map(String::as_str))),
    };
    Ok((Plan::new(function, request), options.stage))
}

/// `weir read`.
pub fn read(options: ReadOptions) -> Exit {
    let (plan, options) = plan_read(options);
    super::run(plan, &options)
}

/// What `weir read` runs.
pub fn plan_read(mut options: ReadOptions) -> (Plan, StageOptions) {
    let file = &options.file;
    let function = command_line(["read", file]);
    let text = if options.timing {
        format!("FromDump({}, TIMING true, STOP true) -> ToInterface(right);", args::quote(file))
    } else {
        "FromInterface(left) -> ToInterface(right);".to_string()
    };
    let spec = match file.as_str() {
        "-" => Spec::stdin(),
        file => Spec { input: Some(Endpoint::File(file.to_string())), output: None },
    };
    options.stage.own.push((LEFT.to_string(), spec));
    (Plan::of_text(function, text), options.stage)
}

/// `weir write`.
pub fn write(options: WriteOptions) -> Exit {
    let (plan, options) = plan_write(options);
    super::run(plan, &options)
}

/// What `weir write` runs.
pub fn plan_write(mut options: WriteOptions) -> (Plan, StageOptions) {
    let function = command_line(["write", &options.file]);
    let output = match options.file.as_str() {
        "-" => Endpoint::Stdout,
        file => Endpoint::File(file.to_string()),
    };
    options.stage.own.push((RIGHT.to_string(), Spec { input: None, output: Some(output) }));
    (Plan::of_text(function, "FromInterface(left) -> ToInterface(right);".to_string()), options.stage)
}

/// `weir port`.
pub fn port(options: PortOptions) -> Exit {
    let (plan, options) = plan_port(options, free_side).map_err(Failure::Usage)?;
    super::run(plan, &options)
}

/// What `weir port` runs, at the side that `free_side` tells unless the options do.
pub fn plan_port(
    mut options: PortOptions,
    free_side: impl FnOnce() -> Result<&'static str, String>,
) -> Result<(Plan, StageOptions), String> {
    let device = &options.device;
    let is_there = sys::link::index(device).is_ok();
    if is_there && (!options.address.is_empty() || options.mtu.is_some()) {
        return Err(format!(
            "port: {device} is there already; --address and --mtu are for taps that are made"
        ));
    }
    let endpoint = if is_there {
        Endpoint::Device(device.clone())
    } else {
        tap(&options).map_err(|error| format!("port: {error}"))?
    };
    let side = match &options.side {
        Some(side) => side.clone(),
        None => free_side()?.to_string(),
    };
    options.stage.own.push((side, Spec { input: Some(endpoint), output: None }));
    let text = "FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(left);";
    Ok((Plan::of_text(command_line(["port", device]), text.to_string()), options.stage))
}

fn tap(options: &PortOptions) -> Result<Endpoint, String> {
    let addresses = options.address.iter().map(|text| spec::address(text)).collect::<Result<_, _>>()?;
    Ok(Endpoint::Tap { name: options.device.clone(), addresses, mtu: options.mtu })
}

/// The end of the stage where no pipe is.
pub fn free_side() -> Result<&'static str, String> {
    let is_stream = |fd: std::os::fd::BorrowedFd<'_>| {
        matches!(sys::pipe::kind(fd), Ok(Kind::Pipe(_) | Kind::Socket | Kind::File))
    };
    use std::os::fd::AsFd;
    let (input, output) = (std::io::stdin(), std::io::stdout());
    match (is_stream(input.as_fd()), is_stream(output.as_fd())) {
        (true, false) => Ok(RIGHT),
        (false, true) => Ok(LEFT),
        (true, true) => {
            Err("port: standard input and output both are pipes or files; say with --side which end of \
                             the chain the device is, or use `weir stage`"
                .to_string())
        }
        (false, false) if output.is_terminal() => {
            Err("port: neither standard input nor output is a pipe; a port is one end of a chain, as in \
                 `weir port t0 | weir print | weir port t1`"
                .to_string())
        }
        (false, false) => Ok(LEFT),
    }
}
