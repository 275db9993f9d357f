//! Merging: from the answers of all replicas of an element to one.

/// The most digits before or behind the point of a number that is added up.
const MAX_DIGITS: usize = 18;

/// One text of the replicas' texts. Numbers are added if `is_sum`; otherwise the text that is common to all, or, if they
/// differ, lists one after the other, and of anything else the first one's.
pub(super) fn merge(mut texts: Vec<String>, is_sum: bool) -> String {
    if let Some(sum) = is_sum.then(|| sum(&texts)).flatten() {
        return sum;
    }
    let Some(first) = texts.first() else { return String::new() };
    let is_common = texts.iter().all(|text| text == first);
    let are_lists = texts.iter().all(|text| text.is_empty() || text.ends_with('\n'));
    match !is_common && are_lists {
        true => texts.concat(),
        false => texts.swap_remove(0),
    }
}

/// The sum of texts that are all decimal numbers, with as many decimals as the one with the most.
fn sum(texts: &[String]) -> Option<String> {
    let numbers: Vec<Number> =
        texts.iter().map(|text| Number::parse(text.trim_end())).collect::<Option<_>>()?;
    let decimals = numbers.iter().map(|number| number.decimals).max()?;
    let total: i128 = numbers.iter().map(|number| number.scaled(decimals)).sum();
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
    use super::merge;

    fn check(texts: &[&str], is_sum: bool, expected: &str) {
        let texts: Vec<String> = texts.iter().map(|text| text.to_string()).collect();
        assert_eq!(merge(texts.clone(), is_sum), expected, "{texts:?}");
    }

    #[test]
    fn numbers_add_up() {
        check(&["3", "4"], true, "7");
        check(&["3\n", "4\n"], true, "7\n");
        check(&["1.25", "-2", "0.5"], true, "-0.25");
        check(&["999999999999999999", "999999999999999999"], true, "1999999999999999998");
        check(&["0.1", "0.2"], true, "0.3");
    }

    #[test]
    fn settings_and_texts_do_not() {
        check(&["3", "3"], false, "3");
        check(&["true", "true"], true, "true");
        check(&["10.0.0.1", "10.0.0.2"], true, "10.0.0.1");
        check(&["3", "4x"], true, "3");
        check(&["1.", "1."], true, "1.");
        check(&["", ""], true, "");
    }

    #[test]
    fn lists_follow_each_other_unless_they_are_the_same() {
        check(&["a\nb\n", "c\n", ""], true, "a\nb\nc\n");
        check(&["a\n", "a\n"], true, "a\n");
    }
}
