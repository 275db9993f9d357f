//! Port-count codes: how many inputs and outputs a class allows, in Click's notation (`1/1-2`, `-/=`, `=+`).

/// How many ports are allowed on one side: `lo` to `hi`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The fewest.
    pub lo: usize,
    /// The most; `usize::MAX` if there is no limit.
    pub hi: usize,
}

/// How many outputs are allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputRule {
    /// Any number in a range.
    Range(PortRange),
    /// As many as there are inputs, plus a number (`=` is 0, `=+` is 1).
    InputsPlus(usize),
}

/// A parsed port-count code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortCode {
    /// How many inputs are allowed.
    pub inputs: PortRange,
    /// How many outputs are allowed.
    pub outputs: OutputRule,
}

impl PortCode {
    /// Parses a code; `None` if it is malformed.
    pub fn parse(code: &str) -> Option<PortCode> {
        let (inputs, rest) = range(code)?;
        let outputs = match rest {
            "" => code,
            _ => rest.strip_prefix('/')?,
        };
        if let Some(plus) = outputs.strip_prefix('=') {
            if plus.bytes().all(|byte| byte == b'+') {
                return Some(PortCode { inputs, outputs: OutputRule::InputsPlus(plus.len()) });
            }
        }
        match range(outputs)? {
            (outputs, "") => Some(PortCode { inputs, outputs: OutputRule::Range(outputs) }),
            _ => None,
        }
    }

    /// The counts of inputs and outputs that an element gets when `n_inputs` and `n_outputs` of them are connected.
    pub fn counts(&self, n_inputs: usize, n_outputs: usize) -> (usize, usize) {
        let n_inputs = self.inputs.clamp(n_inputs);
        match self.outputs {
            OutputRule::Range(range) => (n_inputs, range.clamp(n_outputs)),
            OutputRule::InputsPlus(extra) => (n_inputs, n_inputs.saturating_add(extra)),
        }
    }
}

impl PortRange {
    fn clamp(&self, n: usize) -> usize {
        if n < self.lo {
            self.lo
        } else {
            n.min(self.hi)
        }
    }
}

/// Takes `N`, `N-`, `N-M`, `-` or `-M` from the front of `text`; an empty text is 0.
fn range(text: &str) -> Option<(PortRange, &str)> {
    let (lo, rest) = match text.bytes().next() {
        None | Some(b'-') => (0, text),
        Some(b'0'..=b'9') => number(text)?,
        Some(_) => return None,
    };
    let Some(after_dash) = rest.strip_prefix('-') else {
        return Some((PortRange { lo, hi: lo }, rest));
    };
    match after_dash.bytes().next() {
        Some(b'0'..=b'9') => {
            let (hi, rest) = number(after_dash)?;
            Some((PortRange { lo, hi }, rest))
        }
        _ => Some((PortRange { lo, hi: usize::MAX }, after_dash)),
    }
}

fn number(text: &str) -> Option<(usize, &str)> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(code: &str, expected: Expect) {
        let text = match PortCode::parse(code) {
            None => "malformed".to_string(),
            Some(code) => [(0, 0), (1, 1), (3, 1), (1, 3)]
                .map(|(n_in, n_out)| format!("{:?}", code.counts(n_in, n_out)))
                .join(" "),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn counts_are_clamped_to_the_code() {
        check("1/1-2", expect![["(1, 1) (1, 1) (1, 1) (1, 2)"]]);
        check("-/=", expect![["(0, 0) (1, 1) (3, 3) (1, 1)"]]);
        check("1-/=+", expect![["(1, 2) (1, 2) (3, 4) (1, 2)"]]);
        check("1", expect![["(1, 1) (1, 1) (1, 1) (1, 1)"]]);
        check("0/-2", expect![["(0, 0) (0, 1) (0, 1) (0, 2)"]]);
        check("-/-", expect![["(0, 0) (1, 1) (3, 1) (1, 3)"]]);
        check("2-1/0", expect![["(2, 0) (2, 0) (1, 0) (2, 0)"]]);
    }

    #[test]
    fn malformed_codes_are_refused() {
        for code in ["x/1", "1/x", "1/1/1", "1/=-", "1 /1", "99999999999999999999999/1"] {
            check(code, expect![["malformed"]]);
        }
    }
}
