//! Handlers that the command line names: `-h` and `--exit-handler`.

use std::io::{IsTerminal, Write};

use element::output::StandardOutput;
use element::{failure, HandlerCall, HandlerUse, Runtime, TOP};
use engine::Engine;

/// Prints read handlers to the standard output, with their names if there are several; false if any failed. Unless somebody
/// sees them at once, they follow what is told of errors, as Click's do, which wait in a buffer.
pub fn print(engine: &mut Engine, names: &[String]) -> bool {
    let with_names = names.len() > 1;
    let n_failures = failure::n_noted();
    let mut ok = true;
    for name in names {
        match expand(engine, name) {
            Ok((list, many)) => {
                for name in list {
                    ok &= print_one(engine, &name, with_names || many);
                }
            }
            Err(message) => {
                eprintln!("{message}");
                ok = false;
            }
        }
    }
    // What elements fail at while they answer counts, too.
    ok && failure::n_noted() == n_failures
}

/// The handlers that `name` means: the element may be a pattern or a class. True if it is.
fn expand(engine: &Engine, name: &str) -> Result<(Vec<String>, bool), String> {
    let world = &engine.world;
    let Some((element, handler)) = name.split_once('.') else { return Ok((vec![name.to_string()], false)) };
    if world.find(element, TOP).is_some() {
        return Ok((vec![name.to_string()], false));
    }
    let is_pattern = element.contains(['?', '*', '[']);
    let matches = |idx: &usize| match is_pattern {
        true => glob(element.as_bytes(), world.name(*idx).as_bytes()),
        false => world.class(*idx) == element,
    };
    let found: Vec<usize> = (0..world.n_elements()).filter(matches).collect();
    if found.is_empty() {
        let what = if is_pattern { "no element matching" } else { "no element" };
        return Err(format!("{what} '{element}'"));
    }
    let names = found.iter().map(|idx| format!("{}.{handler}", world.name(*idx)));
    Ok((names.filter(|name| world.handler_exists(TOP, name).0).collect(), true))
}

fn print_one(engine: &mut Engine, name: &str, with_name: bool) -> bool {
    if !engine.world.handler_exists(TOP, name).0 {
        let (_, writable) = engine.world.handler_visible(TOP, name);
        let message =
            if writable { format!("'{name}' is a write handler") } else { format!("no '{name}' handler") };
        eprintln!("{message}");
        return false;
    }
    // Elements may have written there, too.
    let mut output = StandardOutput;
    if with_name {
        let _ = writeln!(output, "{name}:");
    }
    if let Ok(mut text) = read_silently(engine, name, "") {
        if !text.is_empty() && !text.ends_with('\n') && !engine.world.handler_is_raw(name) {
            text.push('\n');
        }
        let _ = output.write_all(text.as_bytes());
    }
    if with_name {
        let _ = writeln!(output);
    }
    if std::io::stdout().is_terminal() {
        let _ = output.flush();
    }
    true
}

/// Reads a handler; neither Click nor we say what it has to say besides, nor that it fails.
fn read_silently(engine: &mut Engine, name: &str, param: &str) -> Result<String, String> {
    let outer = engine.world.collect_told(Some(Vec::new()));
    let result = engine.world.read_handler(TOP, name, param);
    engine.world.collect_told(outer);
    result
}

/// The exit code that a handler call gives: a number, or a boolean (true is 0).
pub fn exit_value(engine: &mut Engine, call: &str) -> i32 {
    let found = HandlerCall::parse(&args::uncomment(call)).and_then(|call| {
        engine.world.check_handler(TOP, &call.name, HandlerUse::Read(&call.value))?;
        Ok(call)
    });
    let text = match found {
        Ok(call) => read_silently(engine, &call.name, &call.value).unwrap_or_default(),
        Err(message) => {
            eprintln!("{message}");
            return -1;
        }
    };
    let text = args::uncomment(&text);
    let text = text.trim();
    match (args::integer::<i32>(text), args::boolean(text)) {
        (Ok(value), _) => value,
        (_, Ok(value)) => i32::from(!value),
        _ => {
            eprintln!("exit handler value should be integer");
            -1
        }
    }
}

/// Whether a pattern matches a name, as Click has it: `*`, `?`, and `[set]`, whose first character is not in the set unless
/// it is `^`, which excludes the set but for its first character; there are no ranges.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let mut at = Progress { pattern: 0, name: 0 };
    // Where to go on behind the last star when what follows it does not match.
    let mut back: Option<Progress> = None;
    while at.name < name.len() || at.pattern < pattern.len() {
        if pattern.get(at.pattern) == Some(&b'*') {
            at.pattern += 1;
            back = Some(at);
            continue;
        }
        match one(&pattern[at.pattern..], name.get(at.name).copied()) {
            Some(len) => at = Progress { pattern: at.pattern + len, name: at.name + 1 },
            None => match &mut back {
                Some(star) if star.name < name.len() => {
                    star.name += 1;
                    at = *star;
                }
                _ => return false,
            },
        }
    }
    true
}

/// How much of a pattern and of a name has been compared.
#[derive(Clone, Copy)]
struct Progress {
    pattern: usize,
    name: usize,
}

/// The length of the pattern's part that matches one byte of the name.
fn one(pattern: &[u8], byte: Option<u8>) -> Option<usize> {
    let byte = byte?;
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', rest @ ..] => {
            let is_negated = rest.first() == Some(&b'^');
            let set = rest.get(1 + usize::from(is_negated)..).unwrap_or(&[]);
            match set.iter().position(|member| *member == b']') {
                Some(last) => {
                    // The closing bracket counts, too.
                    let found = set[..=last].contains(&byte);
                    (found != is_negated).then_some(3 + usize::from(is_negated) + last)
                }
                None => (byte == b'[').then_some(1),
            }
        }
        [b'\\', literal, ..] => (byte == *literal).then_some(2),
        [literal, ..] => (byte == *literal).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_match_as_in_click() {
        let cases = [
            ("c*", "c1", true),
            ("c?", "c", false),
            ("*b*d", "abcbd", true),
            ("*b", "bc", false),
            ("\\*", "*", true),
            ("[ic]", "c", true),
            ("[ic]", "i", false),
            ("[!c]", "c", true),
            ("[^c]", "c", true),
            ("[^xc]", "c", false),
            ("[c-i]", "i", true),
            ("[c-i]", "d", false),
            ("[c", "[c", true),
            ("[xa]b*", "abc", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
