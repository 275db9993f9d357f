//! The handlers that work on words, truth values and the world outside.

use std::fs::File;
use std::io::Read;

use args::{boolean, filename, integer, next_word, quote, unquote, unquote_text, Args, Scope, Timestamp};
use element::output::reason;
use element::{Arg, Ctx};
use rustix::process::{kill_current_process_group, kill_process, kill_process_group, Pid, Signal};

use super::format::sprintf;
use super::program::signal_number;

/// What the handler called `name` says, or `None` if there is none of that name.
pub fn words(ctx: &mut Ctx<'_>, name: &str, param: &str) -> Option<Result<String, String>> {
    Some(match name {
        "first" => Ok(next_word(param).0.to_string()),
        "not" => truth(param).map(|x| (!x).to_string()),
        "and" | "or" | "nand" | "nor" => combine(name, param),
        "if" => choose(param),
        "in" => Ok(is_in(param).to_string()),
        "now" => Ok(Timestamp::from_nanos(ctx.now_ns()).to_string()),
        "random" => random(ctx, param),
        "length" => Ok(param.len().to_string()),
        "unquote" => Ok(unquote_text(param)),
        "sprintf" => sprintf(param),
        "readable" => Ok(all_exist(ctx, param, |(readable, _)| readable).to_string()),
        "writable" => Ok(all_exist(ctx, param, |(_, writable)| writable).to_string()),
        "cat" => cat(param, &ctx.scope()),
        "catq" => cat(param, &ctx.scope()).map(quote),
        "kill" => kill(param),
        _ => return None,
    })
}

fn truth(text: &str) -> Result<bool, String> {
    boolean(text).map_err(|_| "syntax error".to_string())
}

/// Conjunctions and disjunctions. A list is read only until the result is known. `nand` is false of any list, as Click's is.
fn combine(name: &str, param: &str) -> Result<String, String> {
    let start = matches!(name, "and" | "nand");
    let (mut value, mut rest) = (start, param);
    while value == start && !rest.is_empty() {
        let (word, after) = next_word(rest);
        rest = after;
        let x = truth(word)?;
        value = if name == "and" { value && x } else { value || x };
    }
    Ok((value != matches!(name, "nand" | "nor")).to_string())
}

fn choose(param: &str) -> Result<String, String> {
    let (condition, rest) = next_word(param);
    let (first, rest) = next_word(rest);
    let chosen = if truth(condition)? { first } else { next_word(rest).0 };
    Ok(chosen.to_string())
}

fn is_in(param: &str) -> bool {
    let (word, mut rest) = next_word(param);
    let word = unquote(word);
    while !word.is_empty() && !rest.is_empty() {
        let (other, after) = next_word(rest);
        if unquote(other) == word {
            return true;
        }
        rest = after;
    }
    false
}

/// A random number of 31 bits, or one between two bounds.
fn random(ctx: &mut Ctx<'_>, param: &str) -> Result<String, String> {
    const ARGS: &[Arg] = &[
        Arg::required("N1", "unsigned", "The lower bound."),
        Arg::required("N2", "unsigned", "The upper bound."),
    ];
    if param.is_empty() {
        return Ok(ctx.random().to_string());
    }
    let scope = Scope::builtin();
    let mut args = Args::from_words(param, ARGS, &scope);
    let (low, high): (u32, u32) = (args.need("N1"), args.need("N2"));
    args.finish().map_err(|errors| errors.join("\n"))?;
    if high < low {
        return Err("bad N".to_string());
    }
    Ok(ctx.random_between(low, high).to_string())
}

fn all_exist(ctx: &Ctx<'_>, param: &str, is_wanted: impl Fn((bool, bool)) -> bool) -> bool {
    args::split_words(param).iter().all(|name| {
        let name = args::string(name).unwrap_or_default();
        is_wanted(ctx.handler_exists(&name))
    })
}

/// What a file holds; `-` is the standard input.
fn cat(param: &str, scope: &Scope<'_>) -> Result<String, String> {
    let path = filename(param, scope).map_err(|_| "bad FILE")?;
    let mut bytes = Vec::new();
    let read = match path.as_str() {
        "-" => std::io::stdin().read_to_end(&mut bytes),
        _ => File::open(&path).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map_err(|error| format!("{path}: {}", reason(&error)))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn kill(param: &str) -> Result<String, String> {
    let (word, mut rest) = next_word(param);
    let signo = signal_number(word).filter(|n| (0..=32).contains(n)).ok_or("bad SIGNO")?;
    while !rest.is_empty() {
        let (word, after) = next_word(rest);
        rest = after;
        let pid = integer::<i32>(word).map_err(|_| "bad PID")?;
        send(pid, signo)
            .map_err(|error| format!("kill({pid}, {signo}): {}", reason(&std::io::Error::from(error))))?;
    }
    Ok(String::new())
}

/// Sends a signal to a process, or to a process group if the number is 0 or negative. Never to all processes.
fn send(pid: i32, signo: i32) -> rustix::io::Result<()> {
    let target = Pid::from_raw(pid.saturating_abs());
    let Some(signal) = Signal::from_named_raw(signo) else {
        return match target {
            Some(target) if signo == 0 && pid > 0 => rustix::process::test_kill_process(target),
            _ => Err(rustix::io::Errno::INVAL),
        };
    };
    match target {
        None => kill_current_process_group(signal),
        Some(target) if pid > 0 => kill_process(target, signal),
        Some(_) if pid == -1 => Err(rustix::io::Errno::PERM),
        Some(target) => kill_process_group(target, signal),
    }
}
