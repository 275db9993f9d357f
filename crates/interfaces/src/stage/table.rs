//! The interfaces of this process, by name.
//!
//! A command declares them before its graph is built; the first element that names one opens it.

mod inputs;
mod life;
mod standard;
mod told;
mod usage;

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sys::pipe;

use super::pipe_in::PipeIn;
use super::pipe_out::PipeOut;
use super::{descriptor, file, neighbour, packet_port, tap_port};
use super::{Endpoint, Format, Input, Interface, Output, Spec};

pub use inputs::{guarding_inputs, mark_file_read, refuse_input};
pub use life::{end_with, has_failed, is_asked_to_stop, is_ending, life, retire, stop_with, Life};
pub use told::{call_stage, told};
pub use usage::{mark_read, mark_written};

/// An interface that elements and the threads around them share.
pub type Shared = Arc<Mutex<Interface>>;

/// Most interfaces of a process: a bit each says whether it is full.
pub const MAX: usize = 64;

/// What was declared, and what became of it.
struct Declared {
    name: String,
    source: Source,
    opened: Option<Shared>,
}

/// What an interface is made of.
enum Source {
    Spec(Spec, Format),
    /// Made already, such as the taps of a stack.
    Made(Option<(Box<dyn Input>, Box<dyn Output>)>),
}

static TABLE: Mutex<Vec<Declared>> = Mutex::new(Vec::new());
/// A bit for each interface that packets wait at.
static FULL: AtomicU64 = AtomicU64::new(0);
/// Whether neighbours are not looked for.
static IS_PLAIN: AtomicBool = AtomicBool::new(false);

/// Whether packets are looked for without pause.
static SPINS: AtomicBool = AtomicBool::new(false);

/// Lets all interfaces of this process look for packets without pause: sooner seen, at the price of a processor.
pub fn spin() {
    SPINS.store(true, Ordering::Relaxed);
}

/// Whether packets are looked for without pause.
pub fn spins() -> bool {
    SPINS.load(Ordering::Relaxed)
}

fn table() -> MutexGuard<'static, Vec<Declared>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The interface, for a moment.
pub fn lock(shared: &Shared) -> MutexGuard<'_, Interface> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether this process is a stage.
pub fn is_stage() -> bool {
    !table().is_empty()
}

/// Declares an interface; one of the same name is replaced unless it is open.
pub fn declare(name: &str, spec: Spec, format: Format) -> Result<(), String> {
    add(name, Source::Spec(spec, format))
}

/// Declares an interface whose input and output are open.
pub fn declare_made(name: &str, input: Box<dyn Input>, output: Box<dyn Output>) -> Result<(), String> {
    add(name, Source::Made(Some((input, output))))
}

/// Refuses what cannot be the name of an interface.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(format!("`{name}` is no name for an interface; use letters, digits, `_`, `-` and `.`"));
    }
    Ok(())
}

fn add(name: &str, source: Source) -> Result<(), String> {
    check_name(name)?;
    let mut table = table();
    if let Some(declared) = table.iter_mut().find(|declared| declared.name == name) {
        if declared.opened.is_some() {
            return Err(format!("interface `{name}` is open already"));
        }
        declared.source = source;
        return Ok(());
    }
    if table.len() == MAX {
        return Err(format!("a stage has at most {MAX} interfaces"));
    }
    table.push(Declared { name: name.to_string(), source, opened: None });
    Ok(())
}

/// Opens the interface of this name, if it is not open; its number and itself.
pub fn open(name: &str) -> Result<(usize, Shared), String> {
    let mut table = table();
    let names: Vec<String> = table.iter().map(|declared| declared.name.clone()).collect();
    let Some(idx) = names.iter().position(|known| known == name) else {
        return Err(match names.as_slice() {
            [] => format!("no interface `{name}`: run the graph with `weir stage`"),
            names => {
                format!("no interface `{name}`; there are {}; `--if {name}=KIND` adds it", names.join(", "))
            }
        });
    };
    inputs::note(&table);
    let declared = &mut table[idx];
    if let Some(shared) = &declared.opened {
        return Ok((idx, shared.clone()));
    }
    let interface = make(name, &mut declared.source)?;
    let shared = Arc::new(Mutex::new(interface));
    declared.opened = Some(shared.clone());
    Ok((idx, shared))
}

fn make(name: &str, source: &mut Source) -> Result<Interface, String> {
    let words = |error: sys::SysError| error.to_string();
    let mut interface = Interface::new(name).map_err(words)?;
    let (input, output) = match source {
        Source::Made(made) => {
            let (input, output) = made.take().ok_or_else(|| format!("interface `{name}` was closed"))?;
            (Some(input), Some(output))
        }
        Source::Spec(spec, format) => {
            let spec = usage::directed(name, spec)?;
            if spec.output == Some(Endpoint::Nothing) {
                interface.want_no_output();
            }
            open_spec(name, &spec, *format)?
        }
    };
    if let Some(input) = input {
        interface.add_input(input).map_err(words)?;
    }
    if let Some(output) = output {
        interface.add_output(output).map_err(words)?;
    }
    Ok(interface)
}

/// What an endpoint gives.
pub type Ends = (Option<Box<dyn Input>>, Option<Box<dyn Output>>);

fn open_spec(name: &str, spec: &Spec, format: Format) -> Result<Ends, String> {
    let (mut input, mut output) = (None, None);
    if let Spec { input: Some(Endpoint::Unix(path)), output: None } = spec {
        return descriptor::unix(path, format, Some(usage::is_written(name)));
    }
    if let Some(endpoint) = &spec.input {
        let (from, back) = open_endpoint(name, endpoint, format, true)?;
        input = from;
        if spec.output.is_none() {
            output = back;
        }
    }
    if let Some(endpoint) = &spec.output {
        let (from, to) = open_endpoint(name, endpoint, format, false)?;
        output = to;
        // Standard output may be a socket; of others it is said what is read.
        if spec.input.is_none() && *endpoint == Endpoint::Stdout {
            input = from;
        }
    }
    Ok((input, output))
}

fn open_endpoint(name: &str, endpoint: &Endpoint, format: Format, is_input: bool) -> Result<Ends, String> {
    match endpoint {
        Endpoint::Stdin => standard::input(format),
        Endpoint::Stdout => standard::output(format),
        Endpoint::Fifo(path) if is_input => file::fifo_in(path),
        Endpoint::Fifo(path) => file::fifo_out(path, format),
        Endpoint::Tap { name: device, .. } => {
            let device = if device.is_empty() { name } else { device };
            let (input, output) = tap_port::open(device, endpoint)?;
            Ok((Some(Box::new(input)), Some(Box::new(output))))
        }
        Endpoint::Device(device) => {
            let (input, output) = packet_port::open(device)?;
            Ok((Some(Box::new(input)), Some(Box::new(output))))
        }
        Endpoint::File(path) if is_input => file::input(path),
        Endpoint::File(path) => {
            inputs::refuse(inputs::of_path(path), path)?;
            file::output(path, format)
        }
        Endpoint::Unix(path) => descriptor::unix(path, format, None),
        Endpoint::Descriptor(number) => descriptor::inherited(*number, format),
        Endpoint::Nothing => Ok((None, None)),
    }
}

/// All interfaces that are open.
pub fn opened() -> Vec<Shared> {
    table().iter().filter_map(|declared| declared.opened.clone()).collect()
}

/// The open interface of this name.
pub fn find(name: &str) -> Option<Shared> {
    let table = table();
    table.iter().find(|declared| declared.name == name).and_then(|declared| declared.opened.clone())
}

/// Says whether packets wait at an interface; whether that is news.
pub fn set_full(idx: usize, is_full: bool) -> bool {
    let bit = 1u64 << idx;
    let before =
        if is_full { FULL.fetch_or(bit, Ordering::Relaxed) } else { FULL.fetch_and(!bit, Ordering::Relaxed) };
    (before & bit != 0) != is_full
}

/// Whether packets wait at another interface than this one. What comes in may have to go out there.
pub fn others_are_full(idx: usize) -> bool {
    FULL.load(Ordering::Relaxed) & !(1u64 << idx) != 0
}

/// Wakes who reads what was sent to any interface: before this thread waits for anything.
pub fn wake_readers() {
    opened().iter().for_each(|shared| lock(shared).wake_reader());
}

/// Makes neighbours find the pipes of all open interfaces.
pub fn look_for_neighbours() -> Result<(), String> {
    announce(&opened())
}

/// Leaves all packets in pipes, whoever is at their other ends.
pub fn stay_with_pipes() {
    IS_PLAIN.store(true, Ordering::Relaxed);
}

/// Whether [`stay_with_pipes`] was called.
pub fn stays_with_pipes() -> bool {
    IS_PLAIN.load(Ordering::Relaxed)
}

fn announce(interfaces: &[Shared]) -> Result<(), String> {
    if stays_with_pipes() {
        return Ok(());
    }
    neighbour::announce_pipes(interfaces)
}

/// Lets the interface of this name go on in another pipe. It reads that one once what it reads now has ended; it writes
/// to it from now on, and finishes what it has begun where it began. `file` is one end of the pipe and must not block.
pub fn succeed(name: &str, file: File, format: Format) -> Result<(), String> {
    let shared = find(name).ok_or_else(|| format!("no open interface `{name}`"))?;
    let (reads, _) = pipe::access(&file).map_err(|error| error.to_string())?;
    let label = format!("interface {name}");
    let mut interface = lock(&shared);
    let added = if reads {
        PipeIn::new(file, label).and_then(|input| interface.add_input(Box::new(input)))
    } else {
        let output = PipeOut::new(file, label, format);
        output.and_then(|output| interface.go_on_with(Box::new(output)))
    };
    added.map_err(|error| error.to_string())?;
    // Whoever is changed next is next to this one no more, though what it sent is still read.
    interface.forget_neighbour();
    drop(interface);
    announce(&[shared])
}
