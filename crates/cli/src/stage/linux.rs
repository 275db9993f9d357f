//! `weir linux`: a whole Linux network stack as a stage.

mod company;
mod kernel;
mod program;

use std::ffi::OsString;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use clap::{Args, ValueEnum};
use interfaces::stage::{cable_port, neighbour, spec, table, tap_port, Input, Output};
use stack::{Options, Port, Program, Stack};
use sys::pipe::Kind;

use super::life::Ending;
use super::options::{StageOptions, LEFT, RIGHT};
use super::simple::address;
use super::status::{command_line, STACK};
use super::Plan;
use crate::failure::{Exit, Failure};

/// Options of `weir linux`.
#[derive(Args)]
pub struct LinuxOptions {
    /// Address of the stack on its interface `left`, such as 10.0.0.2/24 (can be repeated). Where none of --left, --right and
    /// --if speaks of `left` or `right`, the stack has an interface for each of standard input and output that is a pipe; with --left
    /// alone it is the right end of a chain, and what COMMAND prints goes to standard output.
    #[arg(long, value_name = "ADDR/LEN", value_parser = address)]
    pub left: Vec<String>,
    /// Address of the stack on its interface `right` (can be repeated); with --right alone it is the left end of a chain.
    #[arg(long, value_name = "ADDR/LEN", value_parser = address)]
    pub right: Vec<String>,
    /// Address on any other interface: NAME=ADDR/LEN (can be repeated).
    #[arg(long, value_name = "NAME=ADDR/LEN", value_parser = named_address)]
    pub address: Vec<String>,
    /// Default route of the stack (can be repeated: one for IPv4 and one for IPv6).
    #[arg(long, value_name = "ADDR", value_parser = gateway)]
    pub gateway: Vec<IpAddr>,
    /// Largest packet of the interfaces, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, allow_negative_numbers = true, value_parser = spec::parse_mtu)]
    pub mtu: u32,
    /// How to join a neighbouring stack: through a ring, by one process that moves packets between both stacks' taps, or by a
    /// cable in the kernel (`veth`, or `cable`, as `weir status` calls it). By default the last of these that is possible. Where
    /// the neighbour cannot or will not, it is told what came about.
    #[arg(long, value_name = "JOINT")]
    pub joint: Option<Joint>,
    /// Pass nothing on between the interfaces until COMMAND sets net.ipv4.ip_forward (net.ipv6.conf.all.forwarding) to 1, so that
    /// nothing gets past a firewall before its rules are there. By default a stack forwards from the start.
    #[arg(long)]
    pub no_forwarding: bool,
    /// End when COMMAND ends, with its status.
    #[arg(long)]
    pub while_running: bool,
    /// What all stages have; `--if NAME=KIND` adds an interface to the stack.
    #[command(flatten)]
    pub stage: StageOptions,
    /// Command to run in the stack; a shell if there is none. Where packets leave by standard output, what it prints there goes to
    /// standard error. Signals that ask the stage to end are passed on to it; when the pipe ends, it gets SIGTERM.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How two neighbouring stacks are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Joint {
    /// Shared memory between both processes.
    Ring,
    /// One process moves packets between both stacks' taps.
    Pump,
    /// A cable in the kernel; `cable` is the same.
    #[value(alias = "cable")]
    Veth,
}

/// A stack that the graph's thread and the others around it share.
pub type SharedStack = Arc<Mutex<Stack>>;

/// `weir linux`.
pub fn linux(options: LinuxOptions) -> Exit {
    let wanted = interfaces(&options).and_then(|names| Ok((stack_options(&options, &names)?, names)));
    let (stack_options, names) = wanted.map_err(|message| Failure::Usage(format!("linux: {message}")))?;
    // What the command line took is over; the stack's first process starts as a copy of this one.
    sys::heap::give_back();
    sys::heap::share();
    let mut first_look = None;
    let created = Stack::create_beside(&stack_options, || first_look = Some(company::FirstLook::begin()));
    let mut stack = created.map_err(|error| format!("linux: {error}"))?;
    if let Some(note) = stack.note() {
        eprintln!("weir: linux: {note}");
    }
    let mut text = String::new();
    for name in &names {
        let port = stack.take_port(name).ok_or_else(|| format!("linux: no port for interface `{name}`"))?;
        declare_port(name, port)?;
        text += &format!(
            "FromInterface({name}) -> ToInterface(stack.{name}); FromInterface(stack.{name}) -> ToInterface({name});\n"
        );
    }
    if names.is_empty() {
        // A stack that nothing leads to; the graph has nothing to do.
        text += "Idle -> Discard;";
    }
    let stack = Arc::new(Mutex::new(stack));
    let ending = Ending::default();
    let wishes = kernel::Wishes::default();
    let offered = kernel::Offer::new(stack.clone(), options.joint, wishes.clone());
    if options.joint != Some(Joint::Ring) {
        neighbour::offer_stack(Box::new(offered));
    }
    let mut plan = Plan::of_text(function(&options), text);
    plan.devices = Some(kernel::device_reader(stack.clone()));
    super::run_with(plan, &options.stage, ending.clone(), |waker| {
        company::await_neighbours(&names, first_look);
        if let Some(wish) = options.joint {
            wishes.clone().tell(wish, &names);
        }
        program::start(&stack, &options, &names, ending, waker)
    })
}

/// What an address of a named interface is.
const NAMED: &str = "give NAME=ADDR/LEN, such as dmz=10.0.0.1/24";

/// Checks `NAME=ADDR/LEN`.
fn named_address(text: &str) -> Result<String, String> {
    let (_, value) = text.split_once('=').ok_or(NAMED)?;
    address(value).map(|_| text.to_string())
}

/// Reads the address of a gateway.
fn gateway(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| "give an address, such as 10.0.0.1 or fd00::1".to_string())
}

/// What `weir status` shows.
fn function(options: &LinuxOptions) -> String {
    let mut words = vec!["linux"];
    for (flag, values) in [("--left", &options.left), ("--right", &options.right)] {
        words.extend(values.iter().flat_map(|value| [flag, value.as_str()]));
    }
    words.push("--");
    let command: Vec<_> = options.command.iter().map(|word| word.to_string_lossy()).collect();
    words.extend(command.iter().map(|word| &**word));
    command_line(words)
}

/// The names of the stack's interfaces: those that an option speaks of. Where none speaks of `left` or `right`, both that a
/// pipe leads to.
fn interfaces(options: &LinuxOptions) -> Result<Vec<String>, String> {
    let named: Vec<String> = options.stage.named().into_iter().collect();
    let is_stream =
        |fd: std::os::fd::BorrowedFd<'_>| matches!(sys::pipe::kind(fd), Ok(Kind::Pipe(_) | Kind::Socket));
    let sides = [
        (LEFT, !options.left.is_empty(), is_stream(std::io::stdin().as_fd()), "input"),
        (RIGHT, !options.right.is_empty(), is_stream(std::io::stdout().as_fd()), "output"),
    ];
    let says_nothing =
        sides.iter().all(|(name, has_address, ..)| !has_address && !named.iter().any(|n| n == name));
    let mut names = Vec::new();
    for (name, has_address, is_stream, stream) in sides {
        let is_named = named.iter().any(|other| other == name);
        if is_named || (has_address || says_nothing) && is_stream {
            names.push(name.to_string());
        } else if has_address {
            return Err(format!(
                "--{name}: standard {stream} is no pipe, so that the stack has no interface `{name}`; give it one \
                 with --if {name}=KIND"
            ));
        }
    }
    names.extend(named.into_iter().filter(|name| name != LEFT && name != RIGHT));
    Ok(names)
}

fn stack_options(options: &LinuxOptions, names: &[String]) -> Result<Options, String> {
    let mut list: Vec<stack::Interface> = Vec::new();
    for name in names {
        let mut interface = stack::Interface::new(name.as_str());
        interface.mtu = options.mtu;
        list.push(interface);
    }
    let mut add = |flag: &str, name: &str, text: &str| -> Result<(), String> {
        let address = spec::address(text).map_err(|error| format!("{flag}: {error}"))?;
        let interface = list.iter_mut().find(|interface| interface.name == name);
        let known = || names.join(", ");
        let interface = interface.ok_or_else(|| {
            format!("{flag} {name}={text}: the stack has no interface `{name}`, only {}", known())
        })?;
        interface.addresses.push(address);
        Ok(())
    };
    options.left.iter().try_for_each(|text| add("--left", LEFT, text))?;
    options.right.iter().try_for_each(|text| add("--right", RIGHT, text))?;
    for text in &options.address {
        let (name, address) = text.split_once('=').ok_or_else(|| format!("--address {text}: {NAMED}"))?;
        add("--address", name, address)?;
    }
    for (i, gateway) in options.gateway.iter().enumerate() {
        if options.gateway[..i].iter().any(|other| other.is_ipv4() == gateway.is_ipv4()) {
            return Err(format!("--gateway {gateway}: the stack has a default route already; one is enough"));
        }
        add_gateway(&mut list, *gateway)?;
    }
    let program = match options.command.as_slice() {
        [] => Program::Shell,
        command => Program::Command(command.to_vec()),
    };
    // Where packets leave through standard output, the program's own output goes elsewhere.
    let output_to_errors = names.iter().any(|name| name == RIGHT);
    let forwarding = !options.no_forwarding;
    Ok(Options { output_to_errors, forwarding, ..Options::new(list, program) })
}

/// Adds the default route to the interface whose network has the gateway.
fn add_gateway(list: &mut [stack::Interface], gateway: IpAddr) -> Result<(), String> {
    let interface = list
        .iter_mut()
        .find(|interface| interface.addresses.iter().any(|(address, len)| is_near(*address, *len, gateway)))
        .ok_or_else(|| {
            format!("--gateway {gateway}: no interface of the stack has an address in its network")
        })?;
    let destination: IpAddr =
        if gateway.is_ipv4() { [0, 0, 0, 0].into() } else { std::net::Ipv6Addr::UNSPECIFIED.into() };
    interface.routes.push(stack::Route { destination, prefix_len: 0, gateway });
    Ok(())
}

fn is_near(address: IpAddr, len: u8, other: IpAddr) -> bool {
    let bits = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let ((address, width), (other, other_width)) = (bits(address), bits(other));
    let shift = 128 - u32::from(len);
    width == other_width && (shift == 128 || address >> shift == other >> shift)
}

/// Makes a port of the stack an interface of the graph.
fn declare_port(name: &str, port: Port) -> Result<(), String> {
    let (input, output) = ends(name, port).map_err(|error| error.to_string())?;
    table::declare_made(&format!("{STACK}{name}"), input, output)
}

/// The two directions of a port of the stack.
fn ends(name: &str, port: Port) -> sys::Result<(Box<dyn Input>, Box<dyn Output>)> {
    Ok(match port {
        Port::Tap(tap) => {
            let (input, output) = tap_port::both(tap)?;
            (Box::new(input), Box::new(output))
        }
        Port::Cable(cable) => {
            let (input, output) = cable_port::both(cable.rx, cable.tx, name)?;
            (Box::new(input), Box::new(output))
        }
    })
}
