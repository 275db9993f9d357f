//! Merging: from the answers of all replicas of an element to one.

/// The most digits before or behind the point of a number that is added up.
const MAX_DIGITS: usize = 18;

/// What becomes of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// They add up.
    Sum,
    /// The least counts; 0 says that there is none.
    Least,
    /// The greatest counts.
    Most,
    /// They cannot become one: the first one's counts.
    First,
    /// They are settings, the same everywhere.
    Setting,
}

/// Makes the replicas' texts one: of numbers what the rule says; else the text that all have in common; else, if all
/// are lists, one after the other; else the first one.
pub(super) fn merge(mut texts: Vec<String>, rule: Rule) -> String {
    if let Some(text) = of_numbers(&texts, rule) {
        return text;
    }
    let Some(first) = texts.first() else { return String::new() };
    let is_common = texts.iter().all(|text| text == first);
    let are_lists = texts.iter().all(|text| text.is_empty() || text.ends_with('\n'));
    match !is_common && are_lists && rule != Rule::First {
        true => texts.concat(),
        false => texts.swap_remove(0),
    }
}

/// What the rule makes of texts that are all decimal numbers, with as many decimals as the one with the most.
fn of_numbers(texts: &[String], rule: Rule) -> Option<String> {
    let numbers: Vec<Number> =
        texts.iter().map(|text| Number::parse(text.trim_end())).collect::<Option<_>>()?;
    let decimals = numbers.iter().map(|number| number.decimals).max()?;
    let scaled = numbers.iter().map(|number| number.scaled(decimals));
    let total: i128 = match rule {
        Rule::Sum => scaled.sum(),
        Rule::Least => scaled.filter(|number| *number != 0).min().unwrap_or(0),
        Rule::Most => scaled.max()?,
        Rule::First | Rule::Setting => return None,
    };
    let newline = if texts.first()?.ends_with('\n') { "\n" } else { "" };
    let sign = if total < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", total.unsigned_abs(), width = decimals + 1);
    let (whole, fraction) = digits.split_at(digits.len() - decimals);
    let point = if decimals > 0 { "." } else { "" };
    Some(format!("{sign}{whole}{point}{fraction}{newline}"))
}

/// A decimal number: digits without their point, and how many of them are behind it.
struct Number {
    digits: i128,
    decimals: usize,
}

impl Number {
    fn parse(text: &str) -> Option<Number> {
        let (is_negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let is_plain =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() <= MAX_DIGITS;
        if whole.is_empty()
            || !is_plain(whole)
            || !is_plain(fraction)
            || (fraction.is_empty() && digits.contains('.'))
        {
            return None;
        }
        let magnitude: i128 = format!("{whole}{fraction}").parse().ok()?;
        Some(Number { digits: if is_negative { -magnitude } else { magnitude }, decimals: fraction.len() })
    }

    fn scaled(&self, decimals: usize) -> i128 {
        self.digits * 10i128.pow((decimals - self.decimals) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::{merge, Rule};

    fn check(texts: &[&str], rule: Rule, expected: &str) {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        assert_eq!(merge(texts.clone(), rule), expected, "{texts:?}");
    }

    #[test]
    fn numbers_add_up() {
        check(&["3", "4"], Rule::Sum, "7");
        check(&["3\n", "4\n"], Rule::Sum, "7\n");
        check(&["1.25", "-2", "0.5"], Rule::Sum, "-0.25");
        check(&["999999999999999999", "999999999999999999"], Rule::Sum, "1999999999999999998");
        check(&["0.1", "0.2"], Rule::Sum, "0.3");
    }

    #[test]
    fn the_least_or_the_greatest_counts() {
        check(&["3.5", "0", "2.25"], Rule::Least, "2.25");
        check(&["0", "0\n"], Rule::Least, "0");
        check(&["3.5", "0", "4"], Rule::Most, "4.0");
        check(&["7\n", "5\n"], Rule::Most, "7\n");
    }

    #[test]
    fn settings_and_texts_do_not() {
        check(&["3", "3"], Rule::Setting, "3");
        check(&["true", "true"], Rule::Sum, "true");
        check(&["10.0.0.1", "10.0.0.2"], Rule::Sum, "10.0.0.1");
        check(&["3", "4x"], Rule::Sum, "3");
        check(&["1.", "1."], Rule::Sum, "1.");
        check(&["100 1\n", "200 2\n"], Rule::First, "100 1\n");
        check(&["", ""], Rule::Sum, "");
    }

    #[test]
    fn lists_follow_each_other_unless_they_are_the_same() {
        check(&["a\nb\n", "c\n", ""], Rule::Sum, "a\nb\nc\n");
        check(&["a\n", "a\n"], Rule::Sum, "a\n");
    }
}
