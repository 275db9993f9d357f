//! Command lines in Click's manner: options by unambiguous beginnings of their names, `--no-` before some of them.

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Its name, without dashes.
    pub long: &'static str,
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
        Opt { long, short, value: Value::None, negatable: false, help: ("", help) }
    }

    /// An option with a value.
    pub const fn with(long: &'static str, short: char, value: &'static str, help: &'static str) -> Opt {
        Opt { long, short, value: Value::Required, negatable: false, help: (value, help) }
    }

    /// An option that may have a value.
    pub const fn maybe(long: &'static str, short: char) -> Opt {
        Opt { long, short, value: Value::Optional, negatable: false, help: ("", "") }
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
            Value::None if value.is_some() => return Err(format!("‘{told}’ can’t take an argument")),
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
        let told = format!("{sign}{letter}");
        let option = option.ok_or_else(|| format!("unrecognized option ‘{told}’"))?;
        let rest = rest.as_str().to_string();
        let value = match option.value {
            Value::None => {
                self.letters = (!rest.is_empty()).then_some((rest, plus));
                None
            }
            Value::Optional => Some(rest).filter(|rest| !rest.is_empty()),
            Value::Required if rest.is_empty() => {
                Some(self.args.next().cloned().ok_or_else(|| lacks_value(&told))?)
            }
            Value::Required => Some(rest),
        };
        Ok(Item::Option { name: option.long, told, value, negated: plus })
    }

    /// The option with this name or unambiguous beginning of a name, and whether it is negated.
    fn option(&self, name: &str, arg: &str) -> Result<(Opt, bool), String> {
        let candidates = |name: &str| -> Vec<Opt> {
            let mut options = self.options.iter().filter(|option| !option.long.is_empty());
            if let Some(exact) = options.clone().find(|option| option.long == name) {
                return vec![*exact];
            }
            let mut list: Vec<Opt> =
                options.by_ref().filter(|option| option.long.starts_with(name)).copied().collect();
            list.dedup_by(|a, b| a.short == b.short && a.help == b.help);
            list
        };
        if let [option] = candidates(name).as_slice() {
            return Ok((*option, false));
        }
        if let Some(positive) = name.strip_prefix("no-") {
            let negatable: Vec<Opt> =
                candidates(positive).into_iter().filter(|option| option.negatable).collect();
            if let [option] = negatable.as_slice() {
                return Ok((*option, true));
            }
        }
        let many = candidates(name);
        if many.len() > 1 {
            let names: Vec<String> = many.iter().map(|option| format!("‘--{}’", option.long)).collect();
            let names = match names.as_slice() {
                [before @ .., last] if before.len() > 1 => format!("{}, and {last}", before.join(", ")),
                names => names.join(" and "),
            };
            return Err(format!("option ‘--{name}’ is ambiguous\n(Possibilities are {names}.)"));
        }
        Err(format!("unrecognized option ‘{arg}’"))
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
            "-qsx --q --no-quit +q --ha=1 x -h 2",
            expect![[r#"
                quit -q None false
                simtime -s Some("x") false
                quit --quit None false
                quit --no-quit None true
                quit +q None true
                handler --handler Some("1") false
                x
                handler -h Some("2") false
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
        check(
            "--h",
            expect![[r#"
                click: option ‘--h’ is ambiguous
                click: (Possibilities are ‘--handler’, ‘--help’, and ‘--hotconfig’.)
            "#]],
        );
    }
}
