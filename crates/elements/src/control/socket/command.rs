//! Commands: a line, and the data that some of them bring along.

use super::reply::{Code, Reply};

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Nothing: an empty line.
    Nothing,
    /// Read a handler, with a parameter.
    Read { handler: String, param: String },
    /// Write a handler.
    Write { handler: String, value: String },
    /// Ask whether a handler can be read, or written.
    Check { handler: String, write: bool },
    /// Call an element's LLRPC.
    Llrpc { name: String, data: Vec<u8> },
    /// End the connection; `false` if there were superfluous words.
    Quit { is_plain: bool },
    /// Ask for the commands.
    Help,
    /// Something that is no command: the reply to it.
    Wrong(Reply),
}

/// What has been received of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// All of it, and how many bytes it took.
    All(Command, usize),
    /// Not all.
    Part,
}

impl Command {
    /// Takes a command from the beginning of what was received. `is_end` says that no more will follow.
    pub fn take(bytes: &[u8], is_end: bool) -> Received {
        let Some((len, after)) = line(bytes, is_end) else { return Received::Part };
        let text = String::from_utf8_lossy(bytes.get(..len).unwrap_or(&[])).into_owned();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let Some((first, args)) = words.split_first() else {
            return Received::All(Command::Nothing, after);
        };
        let name = first.to_ascii_uppercase();
        let input = Input { data: bytes.get(after..).unwrap_or(&[]), is_end };
        match parse(&name, args, &text, &input) {
            Some((command, n_data)) => Received::All(command, after + n_data),
            None => Received::Part,
        }
    }
}

/// What follows the line of a command.
struct Input<'b> {
    data: &'b [u8],
    is_end: bool,
}

/// A command and the number of bytes of data it took.
type Parsed = (Command, usize);

impl<'b> Input<'b> {
    /// The next `len` bytes; `None` if they are still to come.
    fn take(&self, len: usize) -> Option<Result<&'b [u8], Reply>> {
        match self.data.get(..len) {
            Some(data) => Some(Ok(data)),
            None => self.too_short(),
        }
    }

    fn too_short<T>(&self) -> Option<Result<T, Reply>> {
        self.is_end.then(|| Err(Reply::line(Code::Syntax, "Not enough data")))
    }

    /// What stands before a line equal to `end`, spaces at the end of lines not counted, and where the next line is.
    fn until(&self, end: &str) -> Option<Result<(&'b [u8], usize), Reply>> {
        let mut begin = 0;
        loop {
            let rest = self.data.get(begin..).unwrap_or(&[]);
            let Some(len) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return self.too_short();
            };
            let after = begin + len + newline_len(rest.get(len..).unwrap_or(&[]));
            if rest.get(..len).unwrap_or(&[]).trim_ascii_end() == end.as_bytes() {
                return Some(Ok((self.data.get(..begin).unwrap_or(&[]), after)));
            }
            begin = after;
        }
    }
}

/// Length of the first line and where what follows begins; `None` if its end is still to come.
fn line(bytes: &[u8], is_end: bool) -> Option<(usize, usize)> {
    match bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(len) => Some((len, len + newline_len(bytes.get(len..).unwrap_or(&[])))),
        None if is_end => Some((bytes.len(), bytes.len())),
        None => None,
    }
}

fn newline_len(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\r\n") {
        2
    } else {
        1
    }
}

fn wrong(code: Code, message: &str) -> Option<Parsed> {
    Some((Command::Wrong(Reply::line(code, message)), 0))
}

/// Parses a command; `None` if data is still to come.
fn parse(name: &str, args: &[&str], line: &str, input: &Input<'_>) -> Option<Parsed> {
    let wrong_number = || wrong(Code::Syntax, "Wrong number of arguments");
    match (name, args) {
        ("READ" | "GET" | "WRITE" | "SET", [handler, ..]) => {
            Some((call(name, handler, tail(line, args).as_bytes()), 0))
        }
        ("READDATA" | "WRITEDATA" | "SETDATA", [handler, len]) => match length(len) {
            Some(len) => data_call(name, handler, input.take(len)?, len),
            // Click forgets to put the name in.
            None => Some((Command::Wrong(Reply::unfinished(Code::Syntax, "Syntax error in '%s'")), 0)),
        },
        ("READUNTIL" | "WRITEUNTIL", [handler, ..]) => match input.until(tail(line, args))? {
            Ok((data, n_data)) => data_call(name, handler, Ok(data), n_data),
            Err(reply) => Some((Command::Wrong(reply), 0)),
        },
        ("CHECKREAD" | "CHECKWRITE", [handler]) => {
            let (handler, write) = (handler.to_string(), name == "CHECKWRITE");
            Some((Command::Check { handler, write }, 0))
        }
        ("LLRPC", [llrpc, lens @ ..]) if lens.len() <= 1 => {
            let Some(len) = lens.first().map_or(Some(0), |len| length(len)) else {
                return wrong(Code::Syntax, "Syntax error in 'llrpc'");
            };
            Some(match input.take(len)? {
                Ok(data) => (Command::Llrpc { name: llrpc.to_string(), data: data.to_vec() }, len),
                Err(reply) => (Command::Wrong(reply), 0),
            })
        }
        ("CLOSE" | "QUIT", _) => Some((Command::Quit { is_plain: args.is_empty() }, 0)),
        ("HELP", _) => Some((Command::Help, 0)),
        (
            "READ" | "GET" | "WRITE" | "SET" | "READDATA" | "WRITEDATA" | "SETDATA" | "READUNTIL"
            | "WRITEUNTIL" | "CHECKREAD" | "CHECKWRITE" | "LLRPC",
            _,
        ) => wrong_number(),
        _ => wrong(Code::Unimplemented, &format!("Command '{name}' unimplemented")),
    }
}

fn data_call(name: &str, handler: &str, data: Result<&[u8], Reply>, n_data: usize) -> Option<Parsed> {
    Some(match data {
        Ok(data) => (call(name, handler, data), n_data),
        Err(reply) => (Command::Wrong(reply), 0),
    })
}

fn call(name: &str, handler: &str, data: &[u8]) -> Command {
    let handler = handler.to_string();
    let text = String::from_utf8_lossy(data).into_owned();
    if name.starts_with(['R', 'G']) {
        Command::Read { handler, param: text }
    } else {
        Command::Write { handler, value: text }
    }
}

fn length(word: &str) -> Option<usize> {
    args::integer::<i32>(word).ok().and_then(|len| usize::try_from(len).ok())
}

/// The line from the word after the handler to the last word, as it was written.
fn tail<'l>(line: &'l str, args: &[&'l str]) -> &'l str {
    let Some(word) = args.get(1) else { return "" };
    let begin = (word.as_ptr() as usize).wrapping_sub(line.as_ptr() as usize);
    line.get(begin..).unwrap_or("").trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(text: &str, expect: Expect) {
        let shown = match Command::take(text.as_bytes(), false) {
            Received::All(Command::Wrong(reply), n) => {
                format!("{} bytes: {}", n, String::from_utf8_lossy(reply.as_bytes()).trim_end())
            }
            Received::All(command, n) => format!("{n} bytes: {command:?}"),
            Received::Part => "to be continued".to_string(),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn commands_are_lines() {
        check("read a.b\r\nx", expect![[r#"10 bytes: Read { handler: "a.b", param: "" }"#]]);
        check("WRITE a.b  1  2 \nx", expect![[r#"17 bytes: Write { handler: "a.b", value: "1  2" }"#]]);
        check("get a.b", expect!["to be continued"]);
        check("\n\n", expect!["1 bytes: Nothing"]);
        check("checkwrite a\r", expect![[r#"13 bytes: Check { handler: "a", write: true }"#]]);
        check("quit now\r\n", expect!["10 bytes: Quit { is_plain: false }"]);
    }

    #[test]
    fn data_follows_the_line() {
        check("readdata a 3\r\nabcd", expect![[r#"17 bytes: Read { handler: "a", param: "abc" }"#]]);
        check("writedata a 3\nab", expect!["to be continued"]);
        check(
            "writeuntil a END  it\nx\ny\nEND  it \nz",
            expect![[r#"34 bytes: Write { handler: "a", value: "x\ny\n" }"#]],
        );
        check("readuntil a\n\r\nz", expect![[r#"14 bytes: Read { handler: "a", param: "" }"#]]);
        check("readuntil a\nx", expect!["to be continued"]);
        check(
            "llrpc a#80044006 2\nxyz",
            expect![[r#"21 bytes: Llrpc { name: "a#80044006", data: [120, 121] }"#]],
        );
    }

    #[test]
    fn mistakes_are_answered() {
        check("read\n", expect!["5 bytes: 500 Wrong number of arguments"]);
        check("readdata a b\n", expect!["13 bytes: 500-Syntax error in '%s'"]);
        check("llrpc a b\n", expect!["10 bytes: 500 Syntax error in 'llrpc'"]);
        check("checkread a b\n", expect!["14 bytes: 500 Wrong number of arguments"]);
        check("foo\n", expect!["4 bytes: 501 Command 'FOO' unimplemented"]);
        let reply = Reply::line(Code::Syntax, "Not enough data");
        let taken = Command::take(b"writedata a 3\nab", true);
        assert_eq!(taken, Received::All(Command::Wrong(reply), 14));
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(
            name in "(READ|WRITEUNTIL|READDATA|LLRPC)?",
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            is_end in any::<bool>(),
        ) {
            let text = [name.as_bytes(), b" a ", &bytes].concat();
            match Command::take(&text, is_end) {
                Received::All(_, n) => prop_assert!(n > 0 && n <= text.len()),
                Received::Part => prop_assert!(!is_end),
            }
        }
    }
}
