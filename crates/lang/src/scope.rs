//! Variables: scopes, and `$x`, `${x}`, `${x[1]}`, `${x-default}` in configuration strings.

use std::cell::Cell;
use std::rc::Rc;

use args::{is_comment, is_space, next_word, quote, skip_comment_space};

/// How deep variables may stand in the values of variables.
const MAX_DEPTH: u32 = 10;

/// Variables with their values, in an outer scope.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    values: Vec<(String, String)>,
    depth: usize,
    outer: Option<Rc<Scope>>,
}

/// Bounds the work of expansion, so that variables that double each other end in an error and not in a hang.
#[derive(Debug)]
pub struct Budget {
    left: Cell<u64>,
}

impl Budget {
    /// Enough for looking at `n_bytes` bytes.
    pub fn new(n_bytes: u64) -> Budget {
        Budget { left: Cell::new(n_bytes) }
    }

    /// Whether there was not enough.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }

    fn spend(&self, n_bytes: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(n_bytes as u64 + 1));
        !self.is_spent()
    }
}

impl Scope {
    /// A scope in `outer`.
    pub fn inside(outer: Option<Rc<Scope>>) -> Scope {
        Scope { values: Vec::new(), depth: outer.as_ref().map_or(0, |outer| outer.depth + 1), outer }
    }

    /// Defines a variable; an older value of the same scope is replaced.
    pub fn set(&mut self, name: &str, value: String) {
        match self.values.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.values.push((name.to_string(), value)),
        }
    }

    /// The innermost scope around `scope` that is less than `depth` deep.
    pub fn around(scope: &Rc<Scope>, depth: usize) -> Option<Rc<Scope>> {
        let mut scope = Some(scope.clone());
        while let Some(inner) = scope.as_ref().filter(|scope| scope.depth >= depth) {
            scope = inner.outer.clone();
        }
        scope
    }

    fn value(&self, name: &str) -> Option<&str> {
        let mut scope = Some(self);
        while let Some(here) = scope {
            if let Some((_, value)) = here.values.iter().find(|(known, _)| known == name) {
                return Some(value);
            }
            scope = here.outer.as_deref();
        }
        None
    }

    /// Puts the values of variables into `config`. What is not defined here stays as it is.
    pub fn expand(&self, config: &str, budget: &Budget) -> String {
        self.expand_at(config, budget, 0)
    }

    fn expand_at(&self, config: &str, budget: &Budget, depth: u32) -> String {
        let text = config.as_bytes();
        if !text.contains(&b'$') || !budget.spend(text.len()) {
            return config.to_string();
        }
        let mut output = String::new();
        let mut copied = 0;
        let mut quoted = None;
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                b'\\' if quoted == Some(b'"') => at += 1,
                byte @ (b'\'' | b'"') if quoted.is_none() => quoted = Some(byte),
                byte if quoted == Some(byte) => quoted = None,
                b'/' if quoted.is_none() && is_comment(text, at) => {
                    at = skip_comment_space(text, at);
                    continue;
                }
                b'$' if quoted != Some(b'\'') && depth <= MAX_DEPTH => match reference(text, at) {
                    Reference::None => {}
                    Reference::Open => break,
                    Reference::To { form, name: (start, name_end), end } => {
                        output.push_str(&config[copied..at]);
                        let name = &config[start..name_end];
                        let in_quotes = quoted == Some(b'"');
                        let taken = self.substitute(name, form, in_quotes, budget, depth, &mut output);
                        copied = if taken.is_some() { end } else { at };
                        at = end;
                        continue;
                    }
                },
                _ => {}
            }
            at += 1;
        }
        if output.is_empty() {
            // Click returns the text as it was when nothing precedes and nothing was put in.
            return config.to_string();
        }
        output.push_str(&config[copied..]);
        output
    }

    /// Appends the value of a variable; `None` if it should stand as it is in the text.
    fn substitute(
        &self,
        name: &str,
        form: u8,
        in_quotes: bool,
        budget: &Budget,
        depth: u32,
        output: &mut String,
    ) -> Option<()> {
        let expanded = (form != b'a' && name.contains('$')).then(|| self.expand_at(name, budget, depth + 1));
        match self.lookup(expanded.as_deref().unwrap_or(name), form, budget, depth) {
            Some(value) if in_quotes => {
                let quoted = quote(&value);
                output.push_str(&quoted[1..quoted.len() - 1]);
            }
            Some(value) => output.push_str(&value),
            None => {
                let name = expanded?;
                let close = if form == b'{' { '}' } else { ')' };
                output.push('$');
                output.push(char::from(form));
                output.push_str(&name);
                output.push(close);
            }
        }
        Some(())
    }

    fn lookup(&self, reference: &str, form: u8, budget: &Budget, depth: u32) -> Option<String> {
        let mut name = reference;
        let mut index = None;
        let mut default = None;
        if form == b'{' {
            let text = reference.as_bytes();
            let blanks =
                |from: usize| (from..text.len()).find(|at| !is_space(text[*at])).unwrap_or(text.len());
            let start = blanks(0);
            let end = (start..text.len()).find(|at| !is_name(text[*at])).unwrap_or(text.len());
            name = &reference[start..end];
            let mut at = blanks(end);
            if text.get(at) == Some(&b'[') {
                (index, at) = subscript(text, blanks(at + 1), &blanks);
            }
            if text.get(at) == Some(&b'-') {
                default = Some(&reference[at + 1..]);
            }
        }
        let Some(value) = self.value(name) else {
            return Some(self.expand_at(default?, budget, depth + 1));
        };
        let value = self.expand_at(value, budget, depth + 1);
        budget.spend(value.len());
        let Some(index) = index else { return Some(value) };
        let mut rest = value.as_str();
        let mut word = "";
        for _ in 0..=index {
            if rest.is_empty() && word.is_empty() {
                break;
            }
            (word, rest) = next_word(rest);
        }
        Some(word.to_string())
    }
}

/// Whether `byte` may be in a variable's name.
pub(crate) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Reads `3]` at `start`: the number if it is well formed and not negative, and where to go on.
fn subscript(text: &[u8], start: usize, blanks: &dyn Fn(usize) -> usize) -> (Option<u64>, usize) {
    let sign = text.get(start).filter(|byte| matches!(byte, b'+' | b'-'));
    let start = start + usize::from(sign.is_some());
    let digits_end = (start..text.len()).find(|at| !is_name(text[*at])).unwrap_or(text.len());
    let digits = std::str::from_utf8(&text[start..digits_end]).unwrap_or("");
    match crate::number::integer(digits) {
        Some(number) if text.get(digits_end) == Some(&b']') => {
            ((sign != Some(&b'-')).then_some(number), blanks(digits_end + 1))
        }
        _ => (None, digits_end),
    }
}

enum Reference {
    /// A dollar sign that means nothing.
    None,
    /// A bracket that does not close.
    Open,
    /// `form` is the bracket, or `a` for a bare name.
    To { form: u8, name: (usize, usize), end: usize },
}

/// What the dollar sign at `at` refers to.
fn reference(text: &[u8], at: usize) -> Reference {
    match text.get(at + 1) {
        Some(b'{') => match text[at + 2..].iter().position(|byte| *byte == b'}') {
            Some(len) => Reference::To { form: b'{', name: (at + 2, at + 2 + len), end: at + 3 + len },
            None => Reference::Open,
        },
        Some(b'(') => call(text, at + 2),
        Some(byte) if is_name(*byte) => {
            let end = (at + 1..text.len()).find(|at| !is_name(text[*at])).unwrap_or(text.len());
            Reference::To { form: b'a', name: (at + 1, end), end }
        }
        Some(b'?' | b'#' | b'$') => Reference::To { form: b'a', name: (at + 1, at + 2), end: at + 2 },
        _ => Reference::None,
    }
}

/// `$(...)`: handler calls, which are left alone here unless a variable has just that name.
fn call(text: &[u8], start: usize) -> Reference {
    let mut level = 1u32;
    let mut quoted = None;
    let mut at = start;
    while at < text.len() && level > 0 {
        match text[at] {
            b'(' if quoted.is_none() => level += 1,
            b')' if quoted.is_none() => level -= 1,
            byte @ (b'\'' | b'"') if quoted.is_none() => quoted = Some(byte),
            byte if quoted == Some(byte) => quoted = None,
            b'\\' if quoted != Some(b'\'') && at + 1 < text.len() => at += 1,
            _ => {}
        }
        at += 1;
    }
    // Click looks at the last byte only.
    if at == start || text.get(at - 1) != Some(&b')') {
        return Reference::Open;
    }
    Reference::To { form: b'(', name: (start, at - 1), end: at }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn scope(values: &[(&str, &str)]) -> Scope {
        let mut scope = Scope::inside(None);
        for (name, value) in values {
            scope.set(name, value.to_string());
        }
        scope
    }

    fn check(text: &str, expected: Expect) {
        let outer = scope(&[("a", "1, \"2\""), ("b", "x$a"), ("w", "zero one  two"), ("e", ""), ("n", "1")]);
        let mut inner = Scope::inside(Some(Rc::new(outer)));
        inner.set("c", "in".into());
        expected.assert_eq(&inner.expand(text, &Budget::new(1 << 20)));
    }

    #[test]
    fn variables_in_their_forms() {
        check(
            "$c ${c}$a $$ $? $none ${none} $(c) $(h.count $c)",
            expect![[r#"in in1, "2" $$ $? $none ${none} in $(h.count in)"#]],
        );
        check(
            "\"$a\" '$a' \"\\$a\" // $a\n$b",
            expect![[r#"
            "1, \"2\"" '$a' "\$a" // $a
            x1, "2""#]],
        );
        check(
            "${w[0]} ${w[$n]} ${w[ 2]} ${w[3]}. ${z-def$c} ${z [1] - y}",
            expect!["zero one two . defin  y"],
        );
        check("$c ${open $c", expect!["in ${open $c"]);
        check("$c $(f $c", expect!["in $(f $c"]);
        check("$c $(f $c \\)", expect!["in $(f in \\)"]);
        check("$e, x", expect!["$e, x"]);
        check(" $e, x", expect![" , x"]);
        check("$e$none, x", expect!["$e$none, x"]);
        check("$none$e, x", expect!["$none, x"]);
    }

    #[test]
    fn doubling_ends_when_the_budget_is_spent() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];
        let mut doubling = Scope::inside(None);
        for pair in names.windows(2) {
            doubling.set(pair[0], format!("${}", pair[1]).repeat(50));
        }
        let budget = Budget::new(1 << 16);
        doubling.expand("$a", &budget);
        assert!(budget.is_spent());
    }

    proptest! {
        #[test]
        fn any_text_is_expanded_without_a_panic(text in "[ab$(){}\\[\\]1\"'\\\\/* \\-\u{e9}\n]{0,40}") {
            let scope = scope(&[("a", &text), ("b", "$a x")]);
            scope.expand(&text, &Budget::new(1 << 16));
        }
    }
}
