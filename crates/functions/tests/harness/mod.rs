//! Runs functions in tests: frames in words go in by ports in simulated time, and what comes out is told in words.
// Each test program uses a part of it.
#![allow(dead_code)]

mod build;
mod tell;

use std::sync::atomic::{AtomicU32, Ordering};

use functions::{Functions, Interfaces};
use serde_json::Value;

/// A datagram that suits most tests.
pub const UDP: &str = "UDP(10.0.0.1, 1000, 10.0.0.2, 53)";

/// How long functions run.
pub const TIME: &str = "2.5s";

/// Rounds that a graph may take.
const LIMIT: usize = 1_000_000;
/// When simulated time begins.
const BEGIN_S: u64 = 1_000_000_000;

/// A folder that is removed on drop.
pub struct Scratch(std::path::PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-functions-test-{}-{idx}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs an instance with frames by port; tells what it printed, the handlers' values, and what left it when and by which port. What
/// is wrong with the instance is told instead.
///
/// A frame is its kind and what that takes (see `build`), perhaps with words `NAME=VALUE` in front. Without `at=MS`, frame number
/// i comes i milliseconds after the start, half of one later at each further port.
pub fn run(name: &str, instance: Value, frames: &[(&str, &[&str])], reads: &[&str]) -> String {
    run_for(TIME, name, instance, frames, reads)
}

/// As [`run`], for a time.
pub fn run_for(
    time: &str,
    name: &str,
    instance: Value,
    frames: &[(&str, &[&str])],
    reads: &[&str],
) -> String {
    let connected: Vec<&str> = frames.iter().map(|(port, _)| *port).collect();
    match graph(name, &instance, &connected) {
        Ok((text, ports)) => run_graph(time, &text, &ports, frames, reads),
        Err(message) => message,
    }
}

/// The graph of an instance as a stage has it, and the names of its ports, of which some are `connected`.
pub fn graph(name: &str, instance: &Value, connected: &[&str]) -> Result<(String, Vec<String>), String> {
    let functions = Functions::shipped_one(name).ok_or_else(|| format!("no function `{name}`"))?;
    let function = functions.get(name).expect("it is the one");
    let all = serde_json::json!({ format!("{name}:{name}"): [instance] });
    functions.validate(&all).map_err(|problem| problem.to_string())?;
    let ports = function.ports(instance, connected)?;
    let text = function.render(instance, &ports, Interfaces)?;
    Ok((text, ports))
}

/// Runs a graph between interfaces for a time.
pub fn run_graph(
    time: &str,
    text: &str,
    interfaces: &[String],
    frames: &[(&str, &[&str])],
    reads: &[&str],
) -> String {
    let scratch = Scratch::new();
    let mut text = text.to_string();
    for (i, name) in interfaces.iter().enumerate() {
        let came = frames.iter().find(|(to, _)| to == name).map_or(&[][..], |(_, frames)| frames);
        let (input, output) = (scratch.path(&format!("{name}.in")), scratch.path(&format!("{name}.out")));
        std::fs::write(&input, build::capture(came, i)).unwrap();
        text = text.replace(&format!("FromInterface({name})"), &format!("{name}_in"));
        text = text.replace(&format!("ToInterface({name})"), &format!("{name}_out"));
        text = format!(
            "FromDump({input}, TIMING true) -> {name}_begin :: Classifier(0/fefefefefefe, -);\n\
             {name}_begin[0] -> Discard;\n{name}_begin[1] -> {name}_in :: Null;\n{name}_out :: SetTimestamp -> ToDump({output}, SNAPLEN 0);\n{text}"
        );
    }
    text += &format!("\nRandomSeed(1);\nDriverManager(wait {time}, stop);\n");
    let library = testing::Library::new(catalog::stock().folders().iter().map(|(_, classes)| *classes));
    let told = library.run_simulated(&text, reads, LIMIT);
    let mut lines = Vec::new();
    for name in interfaces {
        lines.extend(tell::capture(name, &scratch.path(&format!("{name}.out"))));
    }
    lines.sort_by_key(|(time_ns, _)| *time_ns);
    lines.iter().fold(told, |text, (_, line)| text + line + "\n")
}
