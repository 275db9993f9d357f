//! Examples of commands, for their help and their manual pages.

use std::fmt::Write;

/// What the section of examples begins with.
pub const HEADING: &str = "Examples:";
/// The widest line of help.
const WIDTH: usize = 80;
/// In front of each line.
const INDENT: &str = "  ";

/// A purpose, and a line of shell.
type Example = (&'static str, &'static str);

const READ: [Example; 3] = [
    ("The packets of a capture, as tcpdump shows them", "weir read lan.pcap | tcpdump -nr -"),
    ("As lines of text", "weir read lan.pcap --format ascii | head -n 3"),
    ("At the pace at which they were captured", "weir read lan.pcap --timing | weir write out.pcap"),
];
const WRITE: [Example; 2] = [
    ("Keep some packets of a capture", "weir read lan.pcap | weir filter udp | weir write udp.pcap"),
    ("Compressed, in another format", "weir read lan.pcap | weir write out.pcapng.gz"),
];
const PORT: [Example; 2] = [
    ("Count what comes by a network device (as root)", "weir port eth0 | weir count | weir write out.pcap"),
    (
        "A firewall between two taps that are made",
        "weir port t0 --address 10.0.0.1/24 | weir firewall 'allow icmp' | weir port t1",
    ),
];
const LINUX: [Example; 3] = [
    (
        "Two stacks with a cable between them",
        "weir linux --right 10.0.0.1/24 --while-running -- ping -c 1 10.0.0.2 | weir linux --left 10.0.0.2/24 -- true",
    ),
    (
        "A server behind a firewall",
        "weir linux --right 10.0.0.1/24 --while-running -- ping -c 1 10.0.0.2 | weir firewall --stateful 'allow icmp' | weir linux --left 10.0.0.2/24 -- true",
    ),
    ("A program alone, without a network", "weir linux --while-running -- ip link"),
];
const STAGE: [Example; 2] = [
    (
        "A graph between standard input and standard output",
        "weir read lan.pcap | weir stage -e 'FromInterface(left) -> c :: Counter -> ToInterface(right)' | weir write out.pcap",
    ),
    (
        "With a third interface, for a copy",
        "weir read lan.pcap | weir stage --if copy=file:copy.pcap -e 'FromInterface(left) -> t :: Tee -> ToInterface(right); t[1] -> ToInterface(copy)' | weir write out.pcap",
    ),
];
const CHAIN: [Example; 3] = [
    ("A pipeline in one process", "weir chain 'read lan.pcap | filter udp | count | write out.pcap'"),
    ("With a program at its end", "weir chain 'read lan.pcap | filter arp | tcpdump -nr -'"),
    ("What would be joined how", "weir chain --explain 'read lan.pcap | count | write out.pcap'"),
];
const STATUS: [Example; 2] = [
    ("All running stages of this user", "weir status"),
    ("For a program, a line a stage", "weir status --json"),
];
const INSERT: [Example; 2] = [
    ("Count what leaves stage 4711 (`weir status` tells the numbers)", "weir insert --after 4711 count"),
    ("A filter in front of it", "weir insert --before 4711 filter not arp"),
];
const REMOVE: [Example; 2] = [
    ("Take stage 4711 out of its chain (`weir status` tells the numbers)", "weir remove 4711"),
    ("Take out the one that was put in", "id=$(weir insert --after 4711 count); weir remove $id"),
];
const REPLACE: [Example; 2] = [
    ("Another stage in the place of 4711 (`weir status` tells the numbers)", "weir replace 4711 count"),
    ("The same with other flags", "weir replace 4711 count --interval 1s"),
];

/// The examples of a command, as its help shows them, if it has any here.
pub fn of(command: &str) -> Option<String> {
    let examples: &[Example] = match command {
        "read" => &READ,
        "write" => &WRITE,
        "port" => &PORT,
        "linux" => &LINUX,
        "stage" => &STAGE,
        "chain" => &CHAIN,
        "status" => &STATUS,
        "insert" => &INSERT,
        "remove" => &REMOVE,
        "replace" => &REPLACE,
        _ => return None,
    };
    Some(section(examples.iter().copied()))
}

/// A section of examples, in lines that fit a terminal and can be pasted into a shell.
pub fn section<'a>(examples: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::from(HEADING);
    for (purpose, line) in examples {
        for part in folded(purpose, WIDTH - INDENT.len() - 2) {
            // Writing to a String cannot fail.
            let _ = write!(text, "\n{INDENT}# {part}");
        }
        for (idx, part) in broken(line, WIDTH - 2 * INDENT.len()).iter().enumerate() {
            let more = if idx == 0 { "" } else { INDENT };
            let _ = write!(text, "\n{INDENT}{more}{part}");
        }
    }
    text
}

/// A sentence in lines of at most `width` characters, if its words allow that.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.len() + 1 + word.len() <= width) {
            Some(line) => *line = format!("{line} {word}"),
            None => lines.push(word.to_string()),
        }
    }
    lines
}

/// A line of shell in lines of at most `width` characters: broken behind `|`, else at a blank with a backslash in front of the break.
/// Quoted text is broken behind `;` or in front of `->`, where a graph may have a break.
fn broken(line: &str, width: usize) -> Vec<String> {
    if line.len() <= width {
        return vec![line.to_string()];
    }
    let mut lines: Vec<String> = Vec::new();
    for stage in split_unquoted(line, " | ") {
        let is_last = line.ends_with(stage);
        let stage = if is_last { stage.to_string() } else { format!("{stage} |") };
        match lines.last_mut().filter(|line| line.len() + 1 + stage.len() <= width) {
            Some(line) => *line = format!("{line} {stage}"),
            None => lines.extend(narrow(&stage, width)),
        }
    }
    lines
}

/// As [`broken`], of one stage.
fn narrow(stage: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = stage;
    while rest.len() > width {
        let (mut quote, mut at) = (None, None);
        for (idx, c) in rest.char_indices().take_while(|(idx, _)| *idx + 2 <= width) {
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, ' ') => at = Some((idx, " \\")),
                (Some(_), ' ') if rest[idx..].starts_with(" ->") || rest[..idx].ends_with(';') => {
                    at = Some((idx, ""));
                }
                _ => {}
            }
        }
        let Some((idx, mark)) = at else { break };
        lines.push(format!("{}{mark}", &rest[..idx]));
        rest = &rest[idx + 1..];
    }
    lines.push(rest.to_string());
    lines
}

/// The parts of a line between separators that are not quoted.
fn split_unquoted<'a>(line: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut begin, mut quote) = (Vec::new(), 0, None);
    for (idx, c) in line.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, _) if idx >= begin && line[idx..].starts_with(separator) => {
                parts.push(&line[begin..idx]);
                begin = idx + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&line[begin..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_where_a_shell_allows_it() {
        let line = "weir read lan.pcap | weir shape 'a | b' | weir write out.pcap";
        assert_eq!(broken(line, 80), [line]);
        assert_eq!(broken(line, 42), ["weir read lan.pcap | weir shape 'a | b' |", "weir write out.pcap"]);
        assert_eq!(broken(line, 20), ["weir read lan.pcap |", "weir shape 'a | b' |", "weir write out.pcap"]);
        assert_eq!(
            broken("weir linux --right 10.0.0.1/24 -- true", 32),
            ["weir linux --right 10.0.0.1/24 \\", "-- true"]
        );
        assert_eq!(
            broken("weir stage -e 'Idle -> Null -> Discard'", 30),
            ["weir stage -e 'Idle -> Null", "-> Discard'"]
        );
        assert_eq!(folded("some words of a line", 10), ["some words", "of a line"]);
    }

    #[test]
    fn help_has_no_line_that_a_terminal_breaks() {
        let mut examples = crate::command::full();
        examples.build();
        let mut n = 0;
        for command in examples.get_subcommands() {
            let Some(text) = command.get_after_help().map(ToString::to_string) else { continue };
            let wide = text.lines().find(|line| line.chars().count() > WIDTH);
            assert_eq!(wide, None, "{}", command.get_name());
            n += usize::from(text.starts_with(HEADING));
        }
        assert!(n > 20, "only {n} commands have examples");
    }
}
