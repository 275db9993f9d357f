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
    /// More than there may be, which ends the connection: the reply to it.
    TooMuch(Reply),
}

/// What has been received of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// All of it, and how many bytes it took.
    All(Command, usize),
    /// Not all.
    Part,
    /// More than there may be: the reply to it.
    TooMuch(Reply),
}

/// Most bytes of a line.
pub const LINE_MAX: usize = 64 << 10;
/// Most bytes of the data of a command.
pub const DATA_MAX: usize = 16 << 20;

/// The beginning of a command of which the rest is still to come. What was looked at once is not looked at again.
#[derive(Debug, Default)]
pub struct Begun {
    /// Bytes of the line that do not end it.
    n_scanned: usize,
    call: Option<Call>,
}

/// A command whose data is still to come.
#[derive(Debug)]
struct Call {
    name: String,
    handler: String,
    data: Data,
    /// Where the data begins.
    begin: usize,
    /// The line ended with a carriage return, of which the line feed may be still to come.
    awaits_feed: bool,
}

/// How the end of data is known.
#[derive(Debug)]
enum Data {
    /// By the number of bytes.
    Len(usize),
    /// By a line equal to this one, spaces at the end of lines not counted.
    Until {
        end: String,
        /// Where the line begins that was looked at last.
        line: usize,
        /// Bytes of that line that do not end it.
        n_scanned: usize,
    },
}

/// What a line is.
enum Parsed {
    Whole(Command),
    Call(Data),
}

impl Begun {
    /// Takes a command from the beginning of what was received, to which this belongs. `is_end` says that no more will follow.
    pub fn take(&mut self, bytes: &[u8], is_end: bool) -> Received {
        let received = self.take_some(bytes, is_end);
        if received != Received::Part {
            *self = Begun::default();
        }
        received
    }

    fn take_some(&mut self, bytes: &[u8], is_end: bool) -> Received {
        if self.call.is_none() {
            match self.take_line(bytes, is_end) {
                Ok(call) => self.call = Some(call),
                Err(received) => return received,
            }
        }
        self.call.as_mut().map_or(Received::Part, |call| call.take(bytes, is_end))
    }

    /// Takes the line of a command whose data follows; whatever else there is is all that is taken.
    fn take_line(&mut self, bytes: &[u8], is_end: bool) -> Result<Call, Received> {
        let (len, begin) = match line(bytes, &mut self.n_scanned, is_end) {
            Some((len, begin)) if len <= LINE_MAX => (len, begin),
            None if bytes.len() <= LINE_MAX => return Err(Received::Part),
            _ => return Err(Received::TooMuch(Reply::line(Code::Syntax, "Line too long"))),
        };
        let text = String::from_utf8_lossy(bytes.get(..len).unwrap_or(&[])).into_owned();
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let Some((first, args)) = words.split_first() else {
            return Err(Received::All(Command::Nothing, begin));
        };
        let name = first.to_ascii_uppercase();
        match parse(&name, args, &text) {
            Parsed::Whole(command) => Err(Received::All(command, begin)),
            Parsed::Call(data) => {
                let handler = args.first().map_or("", |word| word).to_string();
                let awaits_feed = bytes.len() == begin && bytes.ends_with(b"\r");
                Ok(Call { name, handler, data, begin, awaits_feed })
            }
        }
    }
}

impl Call {
    fn take(&mut self, bytes: &[u8], is_end: bool) -> Received {
        if let (true, Some(next)) = (self.awaits_feed, bytes.get(self.begin)) {
            self.begin += usize::from(*next == b'\n');
            self.awaits_feed = false;
        }
        let after = bytes.get(self.begin..).unwrap_or(&[]);
        let data = match &mut self.data {
            Data::Len(len) if *len <= DATA_MAX => after.get(..*len).map(|data| (data, *len)),
            Data::Len(_) => return self.too_large(),
            Data::Until { end, line, n_scanned } => until(after, end, line, n_scanned),
        };
        match data {
            Some((data, _)) if data.len() > DATA_MAX => self.too_large(),
            Some((data, n_bytes)) => {
                Received::All(with_data(&self.name, &self.handler, data), self.begin + n_bytes)
            }
            None if is_end => {
                Received::All(Command::Wrong(Reply::line(Code::Syntax, "Not enough data")), self.begin)
            }
            // Behind the data stands the line that ends it.
            None if after.len() > DATA_MAX + LINE_MAX => self.too_large(),
            None => Received::Part,
        }
    }

    fn too_large(&self) -> Received {
        let what = match self.name.as_str() {
            "LLRPC" => "LLRPC",
            name if is_read(name) => "read handler",
            _ => "write handler",
        };
        let message = format!("Data too large for {what} '{}'", self.handler);
        Received::TooMuch(Reply::line(Code::DataTooBig, &message))
    }
}

/// What stands before the line `end`, and where the next line is; `None` if they are still to come.
fn until<'b>(
    bytes: &'b [u8],
    end: &str,
    begin: &mut usize,
    n_scanned: &mut usize,
) -> Option<(&'b [u8], usize)> {
    // Nothing had come behind the last line, not even its line feed.
    let is_cut = *n_scanned == 0 && bytes.get(..*begin).unwrap_or(&[]).ends_with(b"\r");
    if is_cut && bytes.get(*begin) == Some(&b'\n') {
        *begin += 1;
    }
    loop {
        let rest = bytes.get(*begin..).unwrap_or(&[]);
        let (len, after) = line(rest, n_scanned, false)?;
        let is_end = rest.get(..len).unwrap_or(&[]).trim_ascii_end() == end.as_bytes();
        if is_end {
            return Some((bytes.get(..*begin).unwrap_or(&[]), *begin + after));
        }
        (*begin, *n_scanned) = (*begin + after, 0);
    }
}

/// Length of the first line and where what follows begins; `None` if its end is still to come, which is not among the first `n_scanned`
/// bytes.
fn line(bytes: &[u8], n_scanned: &mut usize, is_end: bool) -> Option<(usize, usize)> {
    let new = bytes.get(*n_scanned..).unwrap_or(&[]);
    match new.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        Some(len) => {
            let len = *n_scanned + len;
            Some((len, len + newline_len(bytes.get(len..).unwrap_or(&[]))))
        }
        None if is_end => Some((bytes.len(), bytes.len())),
        None => {
            *n_scanned = bytes.len();
            None
        }
    }
}

fn newline_len(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"\r\n") {
        2
    } else {
        1
    }
}

fn wrong(code: Code, message: &str) -> Parsed {
    Parsed::Whole(Command::Wrong(Reply::line(code, message)))
}

/// Parses the line of a command.
fn parse(name: &str, args: &[&str], line: &str) -> Parsed {
    let wrong_number = || wrong(Code::Syntax, "Wrong number of arguments");
    match (name, args) {
        ("READ" | "GET" | "WRITE" | "SET", [handler, ..]) => {
            Parsed::Whole(with_data(name, handler, tail(line, args).as_bytes()))
        }
        ("READDATA" | "WRITEDATA" | "SETDATA", [_, len]) => match length(len) {
            Some(len) => Parsed::Call(Data::Len(len)),
            // Click forgets to put the name in.
            None => Parsed::Whole(Command::Wrong(Reply::unfinished(Code::Syntax, "Syntax error in '%s'"))),
        },
        ("READUNTIL" | "WRITEUNTIL", [_, ..]) => {
            Parsed::Call(Data::Until { end: tail(line, args).to_string(), line: 0, n_scanned: 0 })
        }
        ("CHECKREAD" | "CHECKWRITE", [handler]) => {
            let (handler, write) = (handler.to_string(), name == "CHECKWRITE");
            Parsed::Whole(Command::Check { handler, write })
        }
        ("LLRPC", [_, lens @ ..]) if lens.len() <= 1 => {
            match lens.first().map_or(Some(0), |len| length(len)) {
                Some(len) => Parsed::Call(Data::Len(len)),
                None => wrong(Code::Syntax, "Syntax error in 'llrpc'"),
            }
        }
        ("CLOSE" | "QUIT", _) => Parsed::Whole(Command::Quit { is_plain: args.is_empty() }),
        ("HELP", _) => Parsed::Whole(Command::Help),
        (
            "READ" | "GET" | "WRITE" | "SET" | "READDATA" | "WRITEDATA" | "SETDATA" | "READUNTIL"
            | "WRITEUNTIL" | "CHECKREAD" | "CHECKWRITE" | "LLRPC",
            _,
        ) => wrong_number(),
        _ => wrong(Code::Unimplemented, &format!("Command '{name}' unimplemented")),
    }
}

fn is_read(name: &str) -> bool {
    name.starts_with(['R', 'G'])
}

fn with_data(name: &str, handler: &str, data: &[u8]) -> Command {
    let handler = handler.to_string();
    if name == "LLRPC" {
        return Command::Llrpc { name: handler, data: data.to_vec() };
    }
    let text = String::from_utf8_lossy(data).into_owned();
    match is_read(name) {
        true => Command::Read { handler, param: text },
        false => Command::Write { handler, value: text },
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
        let shown = match Begun::default().take(text.as_bytes(), false) {
            Received::All(Command::Wrong(reply), n) => {
                format!("{} bytes: {}", n, String::from_utf8_lossy(reply.as_bytes()).trim_end())
            }
            Received::All(command, n) => format!("{n} bytes: {command:?}"),
            Received::Part => "to be continued".to_string(),
            Received::TooMuch(reply) => String::from_utf8_lossy(reply.as_bytes()).trim_end().to_string(),
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
        let taken = Begun::default().take(b"writedata a 3\nab", true);
        assert_eq!(taken, Received::All(Command::Wrong(reply), 14));
    }

    #[test]
    fn what_was_looked_at_is_not_looked_at_again() {
        let mut begun = Begun::default();
        assert_eq!(begun.take(b"writeuntil a", false), Received::Part);
        assert_eq!(begun.n_scanned, 12);
        assert_eq!(begun.take(b"writeuntil a b\nx\ny", false), Received::Part);
        let Some(Call { data: Data::Until { line, n_scanned, .. }, begin, .. }) = &begun.call else {
            panic!()
        };
        assert_eq!((*begin, *line, *n_scanned), (15, 2, 1));
        let command = Command::Write { handler: "a".into(), value: "x\nyz\n".into() };
        let all = b"writeuntil a b\nx\nyz\nb\nread c\n";
        assert_eq!(begun.take(all, false), Received::All(command, 22));
        assert_eq!(begun.n_scanned, 0);
    }

    #[test]
    fn a_line_feed_that_comes_later_belongs_to_its_line() {
        let all = b"writeuntil a\r\nx\r\ny\r\n\r\n";
        let mut begun = Begun::default();
        let ends = (0..all.len()).map(|n| begun.take(&all[..n], false));
        let command = Command::Write { handler: "a".into(), value: "x\r\ny\r\n".into() };
        let received: Vec<Received> = ends.filter(|received| *received != Received::Part).collect();
        assert_eq!(received, [Received::All(command, all.len() - 1)]);
        let mut begun = Begun::default();
        assert_eq!(begun.take(b"writedata a 2\r", false), Received::Part);
        let command = Command::Write { handler: "a".into(), value: "xy".into() };
        assert_eq!(begun.take(b"writedata a 2\r\nxy", false), Received::All(command, 17));
    }

    #[test]
    fn there_is_a_limit_for_lines_and_data() {
        let many = |n: usize| "x".repeat(n);
        check(&many(LINE_MAX), expect!["to be continued"]);
        check(&many(LINE_MAX + 1), expect!["500 Line too long"]);
        check(&format!("{}\n", many(LINE_MAX + 1)), expect!["500 Line too long"]);
        check(&format!("writedata a {DATA_MAX}\n"), expect!["to be continued"]);
        let more = DATA_MAX + 1;
        check(&format!("writedata a {more}\n"), expect!["521 Data too large for write handler 'a'"]);
        check(&format!("readdata a {more}\n"), expect!["521 Data too large for read handler 'a'"]);
        check(&format!("llrpc a#1 {more}\n"), expect!["521 Data too large for LLRPC 'a#1'"]);
        let lines = format!("writeuntil a\n{}\n", many(DATA_MAX - 1));
        check(&lines, expect!["to be continued"]);
        assert!(matches!(
            Begun::default().take(format!("{lines}\n").as_bytes(), false),
            Received::All(Command::Write { value, .. }, _) if value.len() == DATA_MAX
        ));
        for more in ["x\n\n".to_string(), many(LINE_MAX + 1)] {
            check(&(lines.clone() + &more), expect!["521 Data too large for write handler 'a'"]);
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(
            name in "(READ|WRITEUNTIL|READDATA|LLRPC)?",
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            is_end in any::<bool>(),
        ) {
            let text = [name.as_bytes(), b" a ", &bytes].concat();
            let whole = Begun::default().take(&text, is_end);
            match &whole {
                Received::All(_, n) => prop_assert!(*n > 0 && *n <= text.len()),
                Received::Part => prop_assert!(!is_end),
                Received::TooMuch(_) => {
                    let word = String::from_utf8_lossy(&text).split_ascii_whitespace().nth(2).map(str::len);
                    prop_assert!(word.is_some_and(|len| len >= 8), "only a number can be that large");
                }
            }
            // It is the same if it comes byte after byte, unless a line feed comes behind what ended before.
            let mut begun = Begun::default();
            let mut parts = (0..text.len()).map(|n| begun.take(&text[..n], false));
            let first = parts.find(|received| *received != Received::Part);
            let again = first.unwrap_or_else(|| begun.take(&text, is_end));
            if !text.contains(&b'\r') {
                prop_assert_eq!(whole, again);
            }
        }
    }
}
