//! Command lines in Click's manner: options by unambiguous beginnings of their names, `--no-` before some of them.

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Its name, without dashes; empty if it has a letter only.
    pub long: &'static str,
    /// The name of the option that it is another name of.
    same_as: &'static str,
    /// Its letter, or 0.
    pub short: char,
    /// Whether it takes a value.
    pub value: Value,
    /// Whether `--no-` may precede its name.
    pub negatable: bool,
    /// What its value is called, and what it does.
    pub help: (&'static str, &'static str),
}

/// Whether an option takes a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    None,
    Required,
    Optional,
}

/// What stands on a command line.
pub enum Item {
    /// An option, what it is called where its value is wrong, its value, and whether it is negated.
    Option { name: &'static str, told: String, value: Option<String>, negated: bool },
    /// Anything else.
    Word(String),
}

impl Opt {
    /// An option without a value.
    pub const fn flag(long: &'static str, short: char, help: &'static str) -> Opt {
        Opt { long, same_as: long, short, value: Value::None, negatable: false, help: ("", help) }
    }

    /// An option with a value.
    pub const fn with(long: &'static str, short: char, value: &'static str, help: &'static str) -> Opt {
        Opt { long, same_as: long, short, value: Value::Required, negatable: false, help: (value, help) }
    }

    /// An option that may have a value.
    pub const fn maybe(long: &'static str, short: char) -> Opt {
        Opt { long, same_as: long, short, value: Value::Optional, negatable: false, help: ("", "") }
    }

    /// It is another name of an option.
    pub const fn same_as(mut self, long: &'static str) -> Opt {
        self.same_as = long;
        self
    }

    /// Whether both are names of one option; of the tools' they have one letter and one text.
    fn is(&self, other: &Opt) -> bool {
        let is_alias = !self.help.1.is_empty() && (self.short, self.help) == (other.short, other.help);
        self.same_as == other.same_as || is_alias
    }

    /// It may be negated.
    pub const fn negatable(mut self) -> Opt {
        self.negatable = true;
        self
    }
}

/// A command line that is being read.
pub struct Line<'a> {
    options: &'a [Opt],
    args: std::slice::Iter<'a, String>,
    /// Letters after the first of `-abc`, and whether they follow a plus sign.
    letters: Option<(String, bool)>,
    only_words: bool,
    /// Whether `+a` negates `-a`.
    plus_negates: bool,
}

impl<'a> Line<'a> {
    /// A line of `args`, the program's name not among them.
    pub fn new(options: &'a [Opt], args: &'a [String]) -> Line<'a> {
        Line { options, args: args.iter(), letters: None, only_words: false, plus_negates: false }
    }

    /// `+a` negates `-a`.
    pub fn plus_negates(mut self) -> Line<'a> {
        self.plus_negates = true;
        self
    }

    fn read(&mut self) -> Result<Option<Item>, String> {
        if let Some((letters, plus)) = self.letters.take() {
            return self.short(&letters, plus).map(Some);
        }
        let Some(arg) = self.args.next() else { return Ok(None) };
        if self.only_words || arg == "-" || !(arg.starts_with('-') || self.is_plus(arg)) {
            return Ok(Some(Item::Word(arg.clone())));
        }
        if arg == "--" {
            self.only_words = true;
            return self.read();
        }
        match arg.strip_prefix("--") {
            Some(long) => self.long(arg, long).map(Some),
            None => self.short(&arg[1..], arg.starts_with('+')).map(Some),
        }
    }

    fn is_plus(&self, arg: &str) -> bool {
        let letter = arg.strip_prefix('+').and_then(|rest| rest.chars().next());
        let is_negatable =
            |letter: char| self.options.iter().any(|option| option.short == letter && option.negatable);
        self.plus_negates && letter.is_some_and(is_negatable)
    }

    fn long(&mut self, arg: &str, long: &str) -> Result<Item, String> {
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_string())),
            None => (long, None),
        };
        let (option, negated) = self.option(name, arg)?;
        let told = format!("--{}{}", if negated { "no-" } else { "" }, option.long);
        let value = match option.value {
            Value::Required if value.is_none() && !negated => {
                Some(self.args.next().cloned().ok_or_else(|| lacks_value(&told))?)
            }
            _ if value.is_some() && (negated || option.value == Value::None) => {
                return Err(format!("‘{told}’ can’t take an argument"))
            }
            _ => value,
        };
        Ok(Item::Option { name: option.long, told, value, negated })
    }

    fn short(&mut self, letters: &str, plus: bool) -> Result<Item, String> {
        let mut rest = letters.chars();
        let letter = rest.next().unwrap_or('\0');
        let found = self.options.iter().find(|option| option.short == letter && letter != '\0');
        let sign = if plus { '+' } else { '-' };
        let option = found.filter(|option| !plus || option.negatable);
        let told = match letter {
            '\u{1}'..='\u{1f}' => format!("{sign}^{}", char::from(letter as u8 + 64)),
            letter => format!("{sign}{letter}"),
        };
        let option = option.ok_or_else(|| format!("unrecognized option ‘{told}’"))?;
        let rest = rest.as_str();
        // `-f=FILE` is `-f FILE`.
        let attached = || Some(rest.strip_prefix('=').unwrap_or(rest).to_string());
        let value = match option.value {
            Value::None => {
                self.letters = (!rest.is_empty()).then(|| (rest.to_string(), plus));
                None
            }
            Value::Optional if rest.is_empty() => None,
            Value::Required if rest.is_empty() => {
                Some(self.args.next().cloned().ok_or_else(|| lacks_value(&told))?)
            }
            Value::Optional | Value::Required => attached(),
        };
        Ok(Item::Option { name: option.long, told, value, negated: plus })
    }

    /// The option with this name or unambiguous beginning of a name, and whether it is negated.
    fn option(&self, name: &str, arg: &str) -> Result<(Opt, bool), String> {
        let (mut rest, mut is_negated, mut possible) = (name, false, Vec::new());
        loop {
            if let Some(option) = self.find(rest, is_negated, rest != name, &mut possible) {
                return Ok((option, is_negated));
            }
            // A name may be negated twice.
            let Some(positive) = rest.strip_prefix("no-") else { break };
            (rest, is_negated) = (positive, !is_negated);
        }
        if possible.is_empty() {
            return Err(format!("unrecognized option ‘{arg}’"));
        }
        Err(format!("option ‘{arg}’ is ambiguous\n(Possibilities are {}.)", listed(&possible)))
    }

    /// The option that `name` is enough to know by; else those that begin with it become possible.
    fn find(&self, name: &str, is_negated: bool, has_no: bool, possible: &mut Vec<String>) -> Option<Opt> {
        let options =
            || self.options.iter().filter(|one| !one.long.is_empty() && (!is_negated || one.negatable));
        let n_before = possible.len();
        for fewer_dashes in [false, true] {
            for option in options() {
                let Some(n_given) = n_given(option.long, name, fewer_dashes) else { continue };
                let others = options().filter(|other| !other.is(option));
                let needed = others.map(|other| n_needed(option.long, other.long)).max().unwrap_or(1);
                if n_given >= needed.max(1) {
                    return Some(*option);
                }
                possible.push(format!("‘--{}{}’", if has_no { "no-" } else { "" }, option.long));
            }
            if possible.len() > n_before {
                break;
            }
        }
        None
    }
}

/// How much of an option's name is given, if it begins so; dashes may be left out.
fn n_given(long: &str, given: &str, fewer_dashes: bool) -> Option<usize> {
    let (long, given) = (long.as_bytes(), given.as_bytes());
    let (mut at, mut n) = (0, 0);
    while let Some(byte) = given.get(n) {
        match long.get(at) {
            Some(expected) if expected == byte => n += 1,
            Some(b'-') if fewer_dashes && long.get(at + 1) == Some(byte) => {}
            _ => return None,
        }
        at += 1;
    }
    Some(at)
}

/// How much of an option's name tells it from another.
fn n_needed(long: &str, other: &str) -> usize {
    let n_common = long.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    long.len().min(n_common + 1)
}

/// Names in a sentence, four at most.
fn listed(names: &[String]) -> String {
    const MOST: usize = 4;
    match names {
        [first, second] => format!("{first} and {second}"),
        [.., _] if names.len() > MOST => format!("{}, and others", names[..MOST].join(", ")),
        [before @ .., last] if !before.is_empty() => format!("{}, and {last}", before.join(", ")),
        names => names.concat(),
    }
}

impl Iterator for Line<'_> {
    type Item = Result<Item, String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// What is wrong with a command line, each line with the program's name in front.
pub fn refusal(program: &str, message: &str) -> String {
    message.lines().map(|line| format!("{program}: {line}\n")).collect()
}

fn lacks_value(option: &str) -> String {
    format!("‘{option}’ requires an argument")
}

/// `VAR=value`, if the word has that form.
pub fn definition(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_name && !name.is_empty()).then(|| (name.to_string(), value.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    const OPTIONS: &[Opt] = &[
        Opt::flag("quit", 'q', "").negatable(),
        Opt::with("handler", 'h', "", ""),
        Opt::flag("help", '\0', ""),
        Opt::flag("hotconfig", 'R', ""),
        Opt::maybe("simtime", 's'),
        Opt::maybe("simulation-time", '\0').same_as("simtime"),
        Opt::flag("so-on", '\0', ""),
        Opt::flag("allow", '\0', "").negatable(),
    ];

    fn check(line: &str, expect: Expect) {
        let args: Vec<String> = line.split(' ').map(str::to_string).collect();
        let item = |item: Result<Item, String>| match item {
            Ok(Item::Option { name, told, value, negated }) => {
                format!("{name} {told} {value:?} {negated}\n")
            }
            Ok(Item::Word(word)) => format!("{word}\n"),
            Err(message) => refusal("click", &message),
        };
        expect.assert_eq(&Line::new(OPTIONS, &args).plus_negates().map(item).collect::<String>());
    }

    #[test]
    fn options_are_known_by_letters_and_beginnings() {
        check(
            "-qsx -h=1 -s=2 -s= --q --no-quit +q --ha=1 x -h 2 --sim --simulationtime --no-no-allow --soon",
            expect![[r#"
                quit -q None false
                simtime -s Some("x") false
                handler -h Some("1") false
                simtime -s Some("2") false
                simtime -s Some("") false
                quit --quit None false
                quit --no-quit None true
                quit +q None true
                handler --handler Some("1") false
                x
                handler -h Some("2") false
                simtime --simtime None false
                simulation-time --simulation-time None false
                allow --allow None false
                so-on --so-on None false
            "#]],
        );
    }

    #[test]
    fn what_is_no_option_is_told_in_clicks_words() {
        check("--nonsense=1", expect!["click: unrecognized option ‘--nonsense=1’\n"]);
        check("-qZ", expect!["quit -q None false\nclick: unrecognized option ‘-Z’\n"]);
        check("--qui=1", expect!["click: ‘--quit’ can’t take an argument\n"]);
        check("--ha", expect!["click: ‘--handler’ requires an argument\n"]);
        check("-h", expect!["click: ‘-h’ requires an argument\n"]);
        check("-\u{1}", expect!["click: unrecognized option ‘-^A’\n"]);
        check("--no-quit=1", expect!["click: ‘--no-quit’ can’t take an argument\n"]);
        check(
            "--no-",
            expect![[r#"
                click: option ‘--no-’ is ambiguous
                click: (Possibilities are ‘--no-quit’ and ‘--no-allow’.)
            "#]],
        );
        check(
            "--=1",
            expect![[r#"
                click: option ‘--=1’ is ambiguous
                click: (Possibilities are ‘--quit’, ‘--handler’, ‘--help’, ‘--hotconfig’, and others.)
            "#]],
        );
        check(
            "--s",
            expect![[r#"
                click: option ‘--s’ is ambiguous
                click: (Possibilities are ‘--simtime’, ‘--simulation-time’, and ‘--so-on’.)
            "#]],
        );
        check(
            "--h",
            expect![[r#"
                click: option ‘--h’ is ambiguous
                click: (Possibilities are ‘--handler’, ‘--help’, and ‘--hotconfig’.)
            "#]],
        );
    }
}
