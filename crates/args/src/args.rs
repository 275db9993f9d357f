//! The arguments of an element: matched with the class facts, then read one by one.

use graph::{Arg, ArgKind, Severity};

use crate::item::{Item, State};
use crate::names::Scope;
use crate::split::{split_args, split_words};
use crate::value::Value;

/// The arguments of an element, or of a handler that takes several.
///
/// Arguments are matched with the table of facts when this is made; mistakes and doubts are collected while they are read,
/// and told by [`Args::finish`] in the order of reading.
pub struct Args<'a> {
    items: Vec<Item>,
    facts: &'a [Arg],
    found: Vec<Found>,
    scope: &'a Scope<'a>,
    told: Vec<Told>,
    failures: Vec<String>,
}

/// Something to tell about arguments: how bad it is, and a sentence.
pub type Told = (Severity, String);

/// What was given for an argument of the table.
#[derive(Default)]
struct Found {
    /// The values, in the order written.
    values: Vec<String>,
    /// The value that counts: `None` if not given.
    value: Option<String>,
    /// Whether a mistake in it was told already.
    is_told: bool,
}

impl<'a> Args<'a> {
    /// Splits a configuration string and matches its arguments with the table.
    pub fn new(config: &str, facts: &'a [Arg], scope: &'a Scope<'a>) -> Args<'a> {
        Args::from_list(split_args(config), facts, scope)
    }

    /// Matches words separated by spaces, as handlers take them.
    pub fn from_words(words: &str, facts: &'a [Arg], scope: &'a Scope<'a>) -> Args<'a> {
        Args::from_list(split_words(words), facts, scope)
    }

    /// Matches arguments that are split already.
    pub fn from_list(list: Vec<String>, facts: &'a [Arg], scope: &'a Scope<'a>) -> Args<'a> {
        let items = list.into_iter().map(Item::new).collect();
        let (told, failures) = (Vec::new(), Vec::new());
        let mut args = Args { items, facts, found: Vec::new(), scope, told, failures };
        args.found = facts.iter().map(|fact| args.find(fact)).collect();
        args
    }

    /// The scope that names are looked up in.
    pub fn scope(&self) -> &'a Scope<'a> {
        self.scope
    }

    /// The value of an argument; `None` if it was not given or is wrong.
    pub fn get<T: Value>(&mut self, name: &str) -> Option<T> {
        self.get_with(name, T::parse)
    }

    /// The value of an argument, or `default` if it was not given or is wrong.
    pub fn get_or<T: Value>(&mut self, name: &str, default: T) -> T {
        self.get(name).unwrap_or(default)
    }

    /// The value of a required argument; [`Value::zero`] if it is missing or wrong.
    pub fn need<T: Value>(&mut self, name: &str) -> T {
        self.need_with(name, T::parse).unwrap_or_else(T::zero)
    }

    /// The value of an argument by its own parser, whose error is told after the argument's name.
    pub fn get_with<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str, &Scope<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let idx = self.index(name)?;
        if self.is_required(idx) {
            self.tell_if_missing(idx);
        }
        self.parse(idx, parse)
    }

    /// The value of a required argument by its own parser; `None` if it is missing or wrong.
    pub fn need_with<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str, &Scope<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let idx = self.index(name)?;
        self.tell_if_missing(idx);
        self.parse(idx, parse)
    }

    /// All values of an argument that may be given several times, in the order written.
    pub fn multiple<T: Value>(&mut self, name: &str) -> Vec<T> {
        self.multiple_with(name, T::parse)
    }

    /// [`Args::multiple`] by its own parser.
    pub fn multiple_with<T>(
        &mut self,
        name: &str,
        parse: impl Fn(&str, &Scope<'_>) -> Result<T, String>,
    ) -> Vec<T> {
        let Some(idx) = self.index(name) else { return Vec::new() };
        if self.is_required(idx) {
            self.tell_if_missing(idx);
        }
        let texts = self.found.get(idx).map_or(&[][..], |found| &found.values);
        let results: Vec<_> =
            texts.iter().filter(|t| !t.is_empty()).map(|text| parse(text, self.scope)).collect();
        let mut values = Vec::new();
        for result in results {
            match result {
                Ok(value) => values.push(value),
                Err(message) => self.error(name, message),
            }
        }
        values
    }

    /// All arguments that no other argument of the table took, as written.
    pub fn rest(&mut self) -> Vec<String> {
        self.items.iter().filter(|item| item.state.is_free()).map(|item| item.text.clone()).collect()
    }

    /// All arguments but those with the keyword `name`, as written.
    pub fn without(&self, name: &str) -> Vec<String> {
        let texts = self.items.iter().map(|item| &item.text);
        texts.filter(|text| Item::new(text.to_string()).value_of(name).is_none()).cloned().collect()
    }

    /// The table.
    pub fn facts(&self) -> &'a [Arg] {
        self.facts
    }

    /// The argument as written, or `None` if it was not given.
    pub fn text(&self, name: &str) -> Option<&str> {
        let idx = self.facts.iter().position(|fact| fact.name == name)?;
        self.found.get(idx)?.value.as_deref()
    }

    /// Whether an argument was given.
    pub fn is_given(&self, name: &str) -> bool {
        self.text(name).is_some()
    }

    /// Tells a mistake in an argument.
    pub fn error(&mut self, name: &str, message: impl AsRef<str>) {
        self.tell(Severity::Error, format!("{name}: {}", message.as_ref()));
    }

    /// Tells a mistake in the arguments as a whole; it is told only if each of them by itself is right.
    pub fn fail(&mut self, message: impl Into<String>) {
        self.failures.push(message.into());
    }

    /// Tells a doubt about an argument.
    pub fn warn(&mut self, name: &str, message: impl AsRef<str>) {
        self.tell(Severity::Message, format!("{name}: warning: {}", message.as_ref()));
    }

    /// Tells anything.
    pub fn tell(&mut self, severity: Severity, text: impl Into<String>) {
        self.told.push((severity, text.into()));
    }

    /// Whether no mistake was told so far.
    pub fn is_ok(&self) -> bool {
        self.failures.is_empty() && !self.told.iter().any(is_error)
    }

    /// All mistakes: first those told while reading, then arguments that are unknown or too many.
    pub fn finish(self) -> Result<(), Vec<String>> {
        let errors: Vec<_> = self.complete().into_iter().filter(is_error).map(|(_, text)| text).collect();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// Everything that is to be told: first what was told while reading, then arguments that are unknown or too many.
    pub fn complete(mut self) -> Vec<Told> {
        for idx in 0..self.facts.len() {
            if self.is_required(idx) {
                self.tell_if_missing(idx);
            }
        }
        if !self.facts.iter().any(|fact| fact.kind == ArgKind::Rest) {
            self.check_complete();
        }
        self.so_far()
    }

    /// What was told so far, whether or not there are arguments that were not read.
    pub fn so_far(mut self) -> Vec<Told> {
        if !self.told.iter().any(is_error) {
            self.told.extend(self.failures.drain(..).map(|text| (Severity::Error, text)));
        }
        self.told
    }

    fn check_complete(&mut self) {
        for item in &self.items {
            if let State::Keyword(len) = item.state {
                let keyword = item.text.get(..len).unwrap_or("");
                self.told.push((Severity::Error, format!("{keyword}: unknown argument")));
            }
        }
        if self.items.iter().any(|item| item.state == State::Plain) {
            self.told.push((Severity::Error, "too many arguments".to_string()));
        }
    }

    fn index(&mut self, name: &str) -> Option<usize> {
        let idx = self.facts.iter().position(|fact| fact.name == name);
        if idx.is_none() {
            self.error(name, "not an argument of this class");
        }
        idx
    }

    fn is_required(&self, idx: usize) -> bool {
        self.facts.get(idx).is_some_and(|fact| fact.kind == ArgKind::Required)
    }

    fn tell_if_missing(&mut self, idx: usize) {
        let (Some(fact), Some(found)) = (self.facts.get(idx), self.found.get_mut(idx)) else { return };
        if found.value.is_none() && !found.is_told {
            found.is_told = true;
            self.error(fact.name, "required argument missing");
        }
    }

    /// Parses what was given; an empty argument counts as given, but says nothing.
    fn parse<T>(
        &mut self,
        idx: usize,
        parse: impl FnOnce(&str, &Scope<'_>) -> Result<T, String>,
    ) -> Option<T> {
        let (fact, found) = (self.facts.get(idx)?, self.found.get_mut(idx)?);
        let text = found.value.as_deref().filter(|text| !text.is_empty())?;
        match parse(text, self.scope) {
            Ok(value) => Some(value),
            Err(message) => {
                if !std::mem::replace(&mut found.is_told, true) {
                    self.error(fact.name, message);
                }
                None
            }
        }
    }

    /// Takes what was given for an argument of the table, by its keyword and by its position.
    fn find(&mut self, fact: &Arg) -> Found {
        if fact.kind == ArgKind::Rest {
            return Found::default();
        }
        // Taken arguments hide those after them from positions, unless they were taken by position themselves.
        let position = self.items.iter().position(|item| item.state != State::TakenByPosition);
        let mut given = self.take_keyword(fact.name);
        if let Some(idx) = position.filter(|&idx| self.is_positional(idx, fact.kind, given.is_empty())) {
            if let Some(item) = self.items.get_mut(idx) {
                item.state = State::TakenByPosition;
                given.push((idx, item.text.clone()));
                given.sort_by_key(|(idx, _)| *idx);
            }
        }
        let values: Vec<_> = given.into_iter().map(|(_, text)| text).collect();
        Found { value: values.last().cloned(), values, is_told: false }
    }

    /// Takes the arguments with a keyword; gives their places and values.
    fn take_keyword(&mut self, name: &str) -> Vec<(usize, String)> {
        let mut given = Vec::new();
        for (idx, item) in self.items.iter_mut().enumerate() {
            if let Some(value) = item.value_of(name).map(str::to_string) {
                item.state = State::TakenByKeyword;
                given.push((idx, value));
            }
        }
        given
    }

    /// Whether the argument at a place may be taken by position.
    ///
    /// A required argument for which no keyword was given takes one even if it seems to have a keyword.
    fn is_positional(&self, idx: usize, kind: ArgKind, is_lacking: bool) -> bool {
        match (self.items.get(idx).map(|item| item.state), kind) {
            (Some(State::Plain), ArgKind::Required | ArgKind::Optional) => true,
            (Some(State::Keyword(_)), ArgKind::Required) => is_lacking,
            _ => false,
        }
    }
}

/// Whether a line is told of arguments that cannot be read, rather than of values that an element cannot take.
pub fn is_of_reading(line: &str) -> bool {
    let is_name = |name: &str| {
        let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        !name.is_empty() && name.bytes().all(is_letter)
    };
    let is_surplus = line == "too many arguments" || line.ends_with(": unknown argument");
    is_surplus || line.split_once(": ").is_some_and(|(name, _)| is_name(name))
}

fn is_error(told: &Told) -> bool {
    told.0 == Severity::Error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ether::EtherAddr;
    use crate::value::Raw;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    const fn arg(name: &'static str, kind: ArgKind) -> Arg {
        Arg::new(name, kind, "any", "")
    }

    const QUEUE: &[Arg] = &[arg("CAPACITY", ArgKind::Optional)];
    const ENCAP: &[Arg] =
        &[arg("ETHERTYPE", ArgKind::Required), arg("SRC", ArgKind::Required), arg("DST", ArgKind::Required)];
    const SOURCE: &[Arg] = &[
        arg("INTERVAL", ArgKind::Optional),
        arg("DATA", ArgKind::Optional),
        arg("LIMIT", ArgKind::Keyword),
        arg("ACTIVE", ArgKind::Keyword),
        arg("STOP", ArgKind::Keyword),
    ];

    fn show<T: std::fmt::Debug>(value: T, args: Args<'_>) -> String {
        match args.finish() {
            Ok(()) => format!("{value:?}"),
            Err(errors) => errors.join("\n"),
        }
    }

    fn check_queue(config: &str, expect: Expect) {
        let scope = Scope::builtin();
        let mut args = Args::new(config, QUEUE, &scope);
        let capacity: Option<u32> = args.get("CAPACITY");
        expect.assert_eq(&show(capacity, args));
    }

    fn check_encap(config: &str, expect: Expect) {
        let scope = Scope::builtin();
        let mut args = Args::new(config, ENCAP, &scope);
        let value: (u16, EtherAddr, EtherAddr) = (args.need("ETHERTYPE"), args.need("SRC"), args.need("DST"));
        expect.assert_eq(&show(value, args));
    }

    #[test]
    fn an_argument_is_given_by_position_or_by_keyword() {
        check_queue("", expect!["None"]);
        check_queue("5", expect!["Some(5)"]);
        check_queue("CAPACITY 5", expect!["Some(5)"]);
        check_queue("CAPACITY /* small */ 5", expect!["Some(5)"]);
        check_queue("CAPACITY 1, CAPACITY 2", expect!["Some(2)"]);
        check_queue("1, CAPACITY 2", expect!["Some(2)"]);
        check_queue("CAPACITY 2, 1", expect!["too many arguments"]);
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_queue("foo", expect!["CAPACITY: invalid number"]);
        check_queue("CAPACITY", expect!["CAPACITY: invalid number"]);
        check_queue("CAPACITY-2", expect!["CAPACITY: invalid number"]);
        check_queue("\"\"", expect!["CAPACITY: invalid number"]);
        check_queue("-1", expect!["CAPACITY: invalid number"]);
        check_queue("5000000000", expect!["CAPACITY: out of range, bound 4294967295"]);
        check_queue("1, 2", expect!["too many arguments"]);
        check_queue(",1", expect!["too many arguments"]);
        check_queue("CAPACITY 1, FOO 2", expect!["FOO: unknown argument"]);
        check_queue(
            "1, 2, FOO 2, 3, BAR 3",
            expect![[r#"
            FOO: unknown argument
            BAR: unknown argument
            too many arguments"#]],
        );
        check_queue(
            "CAPACITY, 2",
            expect![[r#"
            CAPACITY: invalid number
            too many arguments"#]],
        );
    }

    #[test]
    fn required_arguments_must_be_given() {
        check_encap(
            "",
            expect![[r#"
            ETHERTYPE: required argument missing
            SRC: required argument missing
            DST: required argument missing"#]],
        );
        check_encap(
            "0x0800, 1, 2",
            expect![[r#"
            SRC: parse error
            DST: parse error"#]],
        );
        check_encap(
            "0x0800, 1:2:3:4:5:6, DST 2:2:2:2:2:2",
            expect!["(2048, EtherAddr(01-02-03-04-05-06), EtherAddr(02-02-02-02-02-02))"],
        );
    }

    #[test]
    fn positions_end_at_an_argument_taken_by_keyword() {
        check_encap(
            "ETHERTYPE 0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2",
            expect![[r#"
            SRC: required argument missing
            DST: required argument missing
            too many arguments"#]],
        );
        check_encap(
            "FOO 1, 2:2:2:2:2:2",
            expect![[r#"
            ETHERTYPE: invalid number
            DST: required argument missing"#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_the_order_of_reading() {
        let scope = Scope::builtin();
        let mut args = Args::new("INTERVAL 3, LIMIT x, \"ab\", foo b, ACTIVE 2, STOP maybe", SOURCE, &scope);
        let _: Option<crate::Timestamp> = args.get("INTERVAL");
        let _: Option<String> = args.get("DATA");
        let _: i32 = args.get_or("LIMIT", -1);
        let _: bool = args.get_or("ACTIVE", true);
        let _: bool = args.get_or("STOP", false);
        args.fail("told only if all else is right");
        expect![[r#"
            LIMIT: invalid number
            ACTIVE: parse error
            STOP: parse error
            foo: unknown argument
            too many arguments"#]]
        .assert_eq(&show((), args));
    }

    #[test]
    fn later_checks_are_told_if_all_else_is_right() {
        let scope = Scope::builtin();
        let mut args = Args::new("5", QUEUE, &scope);
        args.fail("bad CAPACITY");
        expect!["bad CAPACITY"].assert_eq(&show((), args));
        let mut args = Args::new("5", QUEUE, &scope);
        args.error("CAPACITY", "must be even");
        expect!["CAPACITY: must be even"].assert_eq(&show((), args));
    }

    #[test]
    fn an_argument_may_be_given_several_times() {
        const FACTS: &[Arg] = &[arg("A", ArgKind::Keyword), arg("B", ArgKind::Keyword)];
        let scope = Scope::builtin();
        let mut args = Args::new("A 1, B 2, A 3, A 4   , A 5", FACTS, &scope);
        let value = (args.multiple::<u32>("A"), args.get::<u32>("B"));
        expect!["([1, 3, 4, 5], Some(2))"].assert_eq(&show(value, args));
        let mut args = Args::new("A x, A 1, A y", FACTS, &scope);
        let value = args.multiple::<u32>("A");
        expect![[r#"
            A: invalid number
            A: invalid number"#]]
        .assert_eq(&show(value, args));
    }

    #[test]
    fn the_rest_is_whatever_no_argument_took() {
        const FACTS: &[Arg] = &[arg("LIMIT", ArgKind::Keyword), arg("PATTERN", ArgKind::Rest)];
        let scope = Scope::builtin();
        let mut args = Args::new("12/0800, LIMIT 3, src host 1.2.3.4, , -", FACTS, &scope);
        let value = (args.get::<u8>("LIMIT"), args.rest());
        expect![[r#"(Some(3), ["12/0800", "src host 1.2.3.4", "", "-"])"#]].assert_eq(&show(value, args));
    }

    #[test]
    fn words_are_matched_like_arguments() {
        let scope = Scope::builtin();
        let mut args = Args::from_words("0x0800 1:1:1:1:1:1 'x y'", ENCAP, &scope);
        let value = (args.need::<u16>("ETHERTYPE"), args.need::<EtherAddr>("SRC"), args.need::<Raw>("DST"));
        expect![[r#"(2048, EtherAddr(01-01-01-01-01-01), Raw("'x y'"))"#]].assert_eq(&show(value, args));
    }

    proptest! {
        #[test]
        fn any_configuration_is_matched(config in "[A-C1-3, \"é]{0,30}") {
            const FACTS: &[Arg] = &[
                arg("A", ArgKind::Required), arg("B", ArgKind::Optional), arg("C", ArgKind::Keyword),
            ];
            let scope = Scope::builtin();
            let n_items = split_args(&config).len();
            let mut args = Args::new(&config, FACTS, &scope);
            let n_taken = args.items.iter().filter(|item| !item.state.is_free()).count();
            prop_assert_eq!(n_taken + args.rest().len(), n_items);
            let _ = (args.need::<u32>("A"), args.get::<String>("B"), args.multiple::<u8>("C"));
            let _ = args.finish();
        }
    }
}
