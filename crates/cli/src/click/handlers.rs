//! Handlers that the command line names: `-h` and `--exit-handler`.

use std::io::Write;

use element::output::StandardOutput;
use element::Runtime;
use engine::Engine;

/// No element: names are looked up from the top.
const TOP: usize = usize::MAX;

/// Prints read handlers to the standard output, with their names if there are several; false if any failed.
pub fn print(engine: &mut Engine, names: &[String]) -> bool {
    let with_names = names.len() > 1;
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
    ok
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
    // Click says nothing of a handler that fails here.
    if let Ok(mut text) = engine.world.read_handler(TOP, name, "") {
        if !text.is_empty() && !text.ends_with('\n') && !engine.world.handler_is_raw(name) {
            text.push('\n');
        }
        let _ = output.write_all(text.as_bytes());
    }
    if with_name {
        let _ = writeln!(output);
    }
    let _ = output.flush();
    true
}

/// The exit code that a handler gives: a number, or a boolean (true is 0).
pub fn exit_value(engine: &mut Engine, name: &str) -> i32 {
    let text = match engine.world.read_handler(TOP, name, "") {
        Err(message) if !engine.world.handler_exists(TOP, name).0 => {
            eprintln!("{message}");
            return -1;
        }
        // Click says nothing of a handler that fails here.
        result => result.unwrap_or_default(),
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

/// Whether a shell pattern (`*`, `?`, `[set]`) matches a name.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern.split_first(), name.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => (0..=name.len()).any(|n| glob(rest, name.get(n..).unwrap_or(&[]))),
        (Some((b'?', rest)), Some((_, tail))) => glob(rest, tail),
        (Some((b'[', rest)), Some((first, tail))) => match set(rest) {
            Some((members, negated, rest)) => {
                let member = members.iter().any(|(low, high)| (low..=high).contains(&first));
                member != negated && glob(rest, tail)
            }
            None => *first == b'[' && glob(rest, tail),
        },
        (Some((b'\\', rest)), Some((first, tail))) if !rest.is_empty() => {
            rest.first() == Some(first) && glob(&rest[1..], tail)
        }
        (Some((p, rest)), Some((first, tail))) => p == first && glob(rest, tail),
        _ => false,
    }
}

/// Ranges of bytes, first and last.
type Members = Vec<(u8, u8)>;

/// The members of a set, whether they are excluded, and what follows the closing bracket.
fn set(text: &[u8]) -> Option<(Members, bool, &[u8])> {
    let negated = matches!(text.first(), Some(b'^' | b'!'));
    let mut rest = if negated { &text[1..] } else { text };
    let mut members = Vec::new();
    loop {
        match rest {
            [b']', tail @ ..] if !members.is_empty() => return Some((members, negated, tail)),
            [low, b'-', high, tail @ ..] if *high != b']' => {
                members.push((*low, *high));
                rest = tail;
            }
            [byte, tail @ ..] => {
                members.push((*byte, *byte));
                rest = tail;
            }
            [] => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn shell_patterns() {
        let cases = [("c*", "c1", true), ("c?", "c", false), ("[a-c]x", "bx", true), ("[^a]x", "ax", false)];
        for (pattern, name, expected) in cases {
            assert_eq!(glob(pattern.as_bytes(), name.as_bytes()), expected, "{pattern} {name}");
        }
    }
}
