//! The commands that `weir bench` measures.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use element::output::reason;

use crate::failure::Failure;

/// A measured command, which takes Click's command line.
pub struct Contestant {
    /// What the tables call it.
    pub name: String,
    program: String,
    args: Vec<String>,
    /// Processors that it runs on.
    pub n_cores: usize,
}

impl Contestant {
    /// This program first, on several cores if so told and then on one as well, with bursts if so told, then those of
    /// `--vs [NAME=]COMMAND`; each must exist.
    pub fn all(vs: &[String], cores: Option<u16>, burst: Option<u16>) -> Result<Vec<Contestant>, Failure> {
        let n_allowed = sys::cpu::allowed().map_or(usize::MAX, |cpus| cpus.len());
        if let Some(n) = cores.filter(|n| usize::from(*n) > n_allowed) {
            return Err(Failure::Usage(format!(
                "--cores {n}: this process may use {n_allowed}; cores that share a processor measure nothing"
            )));
        }
        let me = std::env::current_exe().map_err(|error| reason(&error))?;
        let program = me.to_string_lossy().into_owned();
        let way = match burst {
            Some(n) => format!("run --quiet --burst {n}"),
            None => "click".to_string(),
        };
        let own = |name: &str, further: &[&str], n_cores: usize| {
            let args = way.split(' ').chain(further.iter().copied()).map(str::to_string).collect();
            Contestant { name: name.to_string(), program: program.clone(), args, n_cores }
        };
        let mut all = vec![match cores {
            Some(n) => own("weir", &["--cores", &n.to_string()], usize::from(n)),
            None => own("weir", &[], 1),
        }];
        all.extend(cores.map(|_| own("one core", &[], 1)));
        for command in vs {
            let contestant = Contestant::of(command).map_err(Failure::Usage)?;
            match all.iter().any(|other| other.name == contestant.name) {
                true => {
                    return Err(Failure::Usage(format!(
                        "--vs: two commands are called `{0}`; tell them apart as in --vs other={0}",
                        contestant.name
                    )))
                }
                false => all.push(contestant),
            }
        }
        Ok(all)
    }

    fn of(command: &str) -> Result<Contestant, String> {
        let (name, command) = match command.split_once('=') {
            Some((name, rest)) if !name.contains(['/', ' ']) => (Some(name), rest),
            _ => (None, command),
        };
        let mut words = command.split_whitespace().map(str::to_string);
        let program = words.next().ok_or("--vs: the command is empty")?;
        let program = found(&program).ok_or_else(|| {
            format!("--vs: there is no command `{program}`; give its path, or add its folder to PATH")
        })?;
        let base = program.rsplit('/').next().unwrap_or(&program);
        let name = name.unwrap_or(base).to_string();
        Ok(Contestant { name, program, args: words.collect(), n_cores: 1 })
    }

    /// The command with these further arguments and without input.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).args(args).stdin(Stdio::null());
        command
    }

    /// The same program, told to run a graph in its own way instead of Click's.
    pub fn command_run(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["run", "--quiet"]).args(args).stdin(Stdio::null());
        command
    }
}

/// Starts a command on `n` processors, `cpu` being the first; this program itself stays free to run on the others.
pub fn spawn_on(cpu: usize, n: usize, command: &mut Command) -> Result<Child, String> {
    let told = |error| format!("--cpu {cpu}: {error}");
    let allowed = sys::cpu::allowed().map_err(told)?;
    let cpus: Vec<usize> = (cpu..).take(n).collect();
    sys::cpu::allow_thread(&cpus).map_err(told)?;
    let child = command
        .spawn()
        .map_err(|error| format!("{}: {}", command.get_program().to_string_lossy(), reason(&error)));
    sys::cpu::allow_thread(&allowed).map_err(told)?;
    child
}

/// The absolute path of a program, which may be looked for in `PATH`: graphs are run in their own folders.
fn found(program: &str) -> Option<String> {
    let whole = |path: &Path| -> Option<String> {
        let path = path.is_file().then(|| std::path::absolute(path).ok()).flatten()?;
        Some(path.to_string_lossy().into_owned())
    };
    if program.contains('/') {
        return whole(Path::new(program));
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).find_map(|folder| whole(&folder.join(program)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_bursts_graphs_run_in_the_own_way() {
        let args = |cores, burst| {
            let all = Contestant::all(&[], cores, burst).expect("the program exists");
            all.into_iter().map(|contestant| contestant.args.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(args(None, None), ["click"]);
        assert_eq!(args(None, Some(8)), ["run --quiet --burst 8"]);
        assert_eq!(args(Some(1), Some(8)), ["run --quiet --burst 8 --cores 1", "run --quiet --burst 8"]);
    }
}
