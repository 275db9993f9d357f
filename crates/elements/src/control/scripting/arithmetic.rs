//! The handlers that count and compare: `add`, `div`, `eq` and the like.

use args::{integer, next_word, unquote};

use args::unparse_double as double;

/// A number: an integer as long as it can be.
#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i64),
    Double(f64),
}

/// What an arithmetic handler called `name` says, or `None` if there is none of that name.
pub fn arithmetic(name: &str, param: &str) -> Option<Result<String, String>> {
    Some(match name {
        "add" | "sub" | "mul" | "div" | "idiv" | "min" | "max" => fold(name, param),
        "mod" | "rem" => remainder(name, param),
        "neg" | "abs" => sign(name, param),
        "eq" | "ne" | "lt" | "gt" | "le" | "ge" => compare(name, param),
        "htons" | "ntohs" => swap(param, |x| i64::from((x as u16).to_be())),
        "htonl" | "ntohl" => swap(param, |x| i64::from((x as u32).to_be())),
        _ => return None,
    })
}

/// Two numbers of one kind.
enum Pair {
    Integers(i64, i64),
    Doubles(f64, f64),
}

impl Pair {
    /// Two integers, or else two floating-point numbers, to which `010` is ten.
    fn parse(a: &str, b: &str) -> Option<Pair> {
        if let (Ok(a), Ok(b)) = (integer(a), integer(b)) {
            return Some(Pair::Integers(a, b));
        }
        Some(Pair::Doubles(args::double(a).ok()?, args::double(b).ok()?))
    }
}

impl Number {
    fn parse(word: &str) -> Option<Number> {
        match integer::<i64>(word) {
            Ok(n) => Some(Number::Integer(n)),
            Err(_) => args::double(word).ok().map(Number::Double),
        }
    }

    fn as_double(self) -> f64 {
        match self {
            Number::Integer(n) => n as f64,
            Number::Double(x) => x,
        }
    }

    fn unparse(self) -> String {
        match self {
            Number::Integer(n) => n.to_string(),
            Number::Double(x) => double(x),
        }
    }
}

/// Combines a list of numbers: with integers until one is none, and from it on all as floating-point numbers; `div` from the start.
fn fold(name: &str, param: &str) -> Result<String, String> {
    let divides = matches!(name, "div" | "idiv");
    let empty = if matches!(name, "add" | "sub") { 0 } else { 1 };
    let mut total = if divides { Number::Double(f64::from(empty)) } else { Number::Integer(empty.into()) };
    let (mut rest, mut is_first) = (param, true);
    while !rest.trim_ascii().is_empty() {
        let (word, after) = next_word(rest);
        rest = after;
        let number = match total {
            Number::Integer(_) => Number::parse(word),
            Number::Double(_) => args::double(word).ok().map(Number::Double),
        };
        let number = number.ok_or("expected list of numbers")?;
        total = match (total, number) {
            (_, number) if is_first => number,
            (Number::Integer(a), Number::Integer(b)) => Number::Integer(integers(name, a, b)),
            (a, b) => Number::Double(doubles(name, a.as_double(), b.as_double())),
        };
        is_first = false;
    }
    if name == "idiv" {
        total = Number::Integer(truncated(total.as_double()));
    }
    Ok(total.unparse())
}

fn integers(name: &str, a: i64, b: i64) -> i64 {
    match name {
        "add" => a.wrapping_add(b),
        "sub" => a.wrapping_sub(b),
        "min" => a.min(b),
        "max" => a.max(b),
        _ => a.wrapping_mul(b),
    }
}

fn doubles(name: &str, a: f64, b: f64) -> f64 {
    match name {
        "add" => a + b,
        "sub" => a - b,
        "min" if a < b => a,
        "max" if a > b => a,
        "min" | "max" => b,
        "mul" => a * b,
        _ => a / b,
    }
}

/// An integer without the fraction; what is out of range becomes the least integer, as processors have it.
fn truncated(x: f64) -> i64 {
    let limit = 2f64.powi(63);
    if x >= -limit && x < limit {
        x as i64
    } else {
        i64::MIN
    }
}

fn two_words(param: &str) -> Result<(&str, &str), String> {
    let (a, rest) = next_word(param);
    let (b, rest) = next_word(rest);
    if a.is_empty() || b.is_empty() || !rest.is_empty() {
        return Err("expected two numbers".to_string());
    }
    Ok((a, b))
}

fn remainder(name: &str, param: &str) -> Result<String, String> {
    let (a, b) = two_words(param)?;
    match Pair::parse(a, b) {
        Some(Pair::Integers(a, b)) => {
            let rest = if b == 0 { None } else { Some(a.wrapping_rem(b)) };
            Ok(rest.ok_or("division by zero")?.to_string())
        }
        Some(Pair::Doubles(a, b)) if name == "rem" => Ok(double(a % b)),
        _ => Err("expected two numbers".to_string()),
    }
}

fn sign(name: &str, param: &str) -> Result<String, String> {
    let number = match Number::parse(param).ok_or("expected one number")? {
        Number::Integer(n) if name == "neg" || n < 0 => Number::Integer(n.wrapping_neg()),
        Number::Double(x) if name == "neg" => Number::Double(-x),
        Number::Double(x) => Number::Double(x.abs()),
        number => number,
    };
    Ok(number.unparse())
}

fn compare(name: &str, param: &str) -> Result<String, String> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let (a, b) = two_words(param)?;
    let order = match Pair::parse(a, b) {
        Some(Pair::Integers(a, b)) => a.cmp(&b),
        // What cannot be ordered counts as greater.
        Some(Pair::Doubles(a, b)) => a.partial_cmp(&b).unwrap_or(Greater),
        None => unquote(a).cmp(&unquote(b)),
    };
    let holds = match name {
        "eq" => order == Equal,
        "ne" => order != Equal,
        "lt" => order == Less,
        "gt" => order == Greater,
        "le" => order != Greater,
        _ => order != Less,
    };
    Ok(holds.to_string())
}

fn swap(param: &str, swap: impl Fn(i32) -> i64) -> Result<String, String> {
    let number = args::saturating_integer::<i32>(param).map_err(|_| "syntax error")?;
    Ok(swap(number).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(calls: &[&str], expect: Expect) {
        let mut shown = Vec::new();
        for call in calls {
            let (name, param) = next_word(call);
            let result = arithmetic(name, param).unwrap();
            shown.push(result.unwrap_or_else(|error| format!("error: {error}")));
        }
        expect.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn lists_of_numbers_are_combined() {
        check(
            &[
                "add 1 2 3",
                "add",
                "mul",
                "sub 10 2 2",
                "min 10 6 20",
                "max -1 6 3",
                "mul 1 2 3",
                "add 1 0.5",
                "add 1 x",
            ],
            expect![[r#"
                6
                0
                1
                6
                6
                6
                6
                1.5
                error: expected list of numbers"#]],
        );
        check(
            &["max 5. 010", "div 010 2", "add 5 010 5. 010", "mul 0x1p3", "div 0.1 -0", "div 0b11 1"],
            expect![[r#"
                10
                5
                28
                8
                -inf
                error: expected list of numbers"#]],
        );
        check(
            &["div 75 2.5 5", "idiv 7 2", "idiv 1 0", "div 1 0", "add 9223372036854775807 1"],
            expect![[r#"
                6
                3
                -9223372036854775808
                inf
                -9223372036854775808"#]],
        );
    }

    #[test]
    fn remainders_and_signs() {
        check(
            &[
                "mod 7 3",
                "mod 7 0",
                "mod 7.5 2",
                "rem 7.5 2",
                "mod 1",
                "neg 3",
                "neg -2.5",
                "abs -4",
                "abs x",
            ],
            expect![[r#"
                1
                error: division by zero
                error: expected two numbers
                1.5
                error: expected two numbers
                -3
                2.5
                4
                error: expected one number"#]],
        );
    }

    #[test]
    fn numbers_are_compared_as_numbers_and_the_rest_as_text() {
        check(
            &[
                "eq 10 0xA",
                "le 9 8",
                "lt 9 10",
                "lt 9x 10x",
                "eq 10x \"10x\"",
                "ne 1 1.0",
                "ge 2 2",
                "gt a",
                "lt 5 0x1p3",
                "eq 1e3 1_000",
            ],
            expect![[r#"
                true
                false
                true
                false
                true
                false
                true
                error: expected two numbers
                true
                false"#]],
        );
    }

    #[test]
    fn byte_order_is_swapped_back() {
        check(
            &["ntohs 256", "htonl 1", "htons x", "htons 4294967296", "ntohl 4294967296"],
            expect![[r#"
                1
                16777216
                error: syntax error
                65535
                4294967167"#]],
        );
    }
}
