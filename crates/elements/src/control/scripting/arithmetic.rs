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

/// Combines a list of numbers: with integers until one is none, from then on with floating-point numbers.
fn fold(name: &str, param: &str) -> Result<String, String> {
    let divides = matches!(name, "div" | "idiv");
    let empty = if matches!(name, "add" | "sub") { 0 } else { 1 };
    let mut total = if divides { Number::Double(f64::from(empty)) } else { Number::Integer(empty.into()) };
    let (mut rest, mut is_first) = (param, true);
    while !rest.trim_ascii().is_empty() {
        let (word, after) = next_word(rest);
        rest = after;
        let number = Number::parse(word).ok_or("expected list of numbers")?;
        total = match (total, number) {
            (Number::Integer(_), Number::Integer(n)) if is_first => Number::Integer(n),
            (_, number) if is_first => Number::Double(number.as_double()),
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
    let numbers = (Number::parse(a), Number::parse(b));
    match numbers {
        (Some(Number::Integer(a)), Some(Number::Integer(b))) => {
            let rest = if b == 0 { None } else { Some(a.wrapping_rem(b)) };
            Ok(rest.ok_or("division by zero")?.to_string())
        }
        (Some(a), Some(b)) if name == "rem" => Ok(double(a.as_double() % b.as_double())),
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
    let order = match (Number::parse(a), Number::parse(b)) {
        (Some(Number::Integer(a)), Some(Number::Integer(b))) => a.cmp(&b),
        // What cannot be ordered counts as greater.
        (Some(a), Some(b)) => a.as_double().partial_cmp(&b.as_double()).unwrap_or(Greater),
        _ => unquote(a).cmp(&unquote(b)),
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
    let number = integer::<i32>(param).map_err(|_| "syntax error")?;
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
            &["eq 10 0xA", "le 9 8", "lt 9 10", "lt 9x 10x", "eq 10x \"10x\"", "ne 1 1.0", "ge 2 2", "gt a"],
            expect![[r#"
                true
                false
                true
                false
                true
                false
                true
                error: expected two numbers"#]],
        );
    }

    #[test]
    fn byte_order_is_swapped_back() {
        check(
            &["ntohs 256", "htonl 1", "htons x"],
            expect![[r#"
            1
            16777216
            error: syntax error"#]],
        );
    }
}
