//! Flow codes: which outputs a packet may leave by, given its input, in Click's notation (`x/x`, `xy/x`, `#/[^#]`).

/// A parsed flow code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowCode {
    inputs: Vec<Symbols>,
    outputs: Vec<Symbols>,
}

/// What stands for one port: a set of letters and `#`, or all symbols but those.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Symbols {
    negated: bool,
    letters: u64,
    number: bool,
}

impl FlowCode {
    /// Parses a code; `None` if it is malformed.
    pub fn parse(code: &str) -> Option<FlowCode> {
        let (inputs, outputs) = code.split_once('/').unwrap_or((code, code));
        Some(FlowCode { inputs: side(inputs)?, outputs: side(outputs)? })
    }

    /// Whether packets may pass from `input` to `output`.
    pub fn reaches(&self, input: usize, output: usize) -> bool {
        pick(&self.inputs, input).meets(&pick(&self.outputs, output), input == output)
    }
}

/// For each of `n_outputs` outputs, whether a packet from `input` may leave by it; a malformed code reaches none.
pub fn port_flow(code: &str, input: usize, n_outputs: usize) -> Vec<bool> {
    match FlowCode::parse(code) {
        Some(code) => (0..n_outputs).map(|output| code.reaches(input, output)).collect(),
        None => vec![false; n_outputs],
    }
}

fn side(codes: &str) -> Option<Vec<Symbols>> {
    let mut list = Vec::new();
    let mut rest = codes.bytes();
    while let Some(code) = rest.next() {
        let mut symbols = Symbols::default();
        if code != b'[' {
            symbols.add(code)?;
            list.push(symbols);
            continue;
        }
        let mut first = true;
        loop {
            match rest.next()? {
                b']' => break,
                b'^' if first => symbols.negated = true,
                code => symbols.add(code)?,
            }
            first = false;
        }
        list.push(symbols);
    }
    (!list.is_empty()).then_some(list)
}

/// The last code of a side stands for all further ports.
fn pick(codes: &[Symbols], port: usize) -> Symbols {
    codes.get(port).or(codes.last()).copied().unwrap_or_default()
}

impl Symbols {
    fn add(&mut self, code: u8) -> Option<()> {
        match code {
            b'a'..=b'z' => self.letters |= 1 << (code - b'a'),
            b'A'..=b'Z' => self.letters |= 1 << (26 + code - b'A'),
            b'#' => self.number = true,
            _ => return None,
        }
        Some(())
    }

    /// Whether two ports share a symbol; `#` is shared only by ports of the same number.
    fn meets(&self, other: &Symbols, same_number: bool) -> bool {
        match (self.negated, other.negated) {
            (false, false) => {
                self.letters & other.letters != 0 || (self.number && other.number && same_number)
            }
            (false, true) => self.escapes(other, same_number),
            (true, false) => other.escapes(self, same_number),
            (true, true) => true,
        }
    }

    /// Whether a symbol of this set is not among those that `excluded` names.
    fn escapes(&self, excluded: &Symbols, same_number: bool) -> bool {
        self.letters & !excluded.letters != 0 || (self.number && !(excluded.number && same_number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(code: &str, expected: Expect) {
        let rows = (0..3).map(|input| {
            let row = port_flow(code, input, 4);
            row.iter().map(|reached| if *reached { '1' } else { '.' }).collect::<String>()
        });
        expected.assert_eq(&rows.collect::<Vec<_>>().join(" "));
    }

    #[test]
    fn codes_of_clicks_manual() {
        check("x/x", expect![["1111 1111 1111"]]);
        check("x", expect![["1111 1111 1111"]]);
        check("xy/x", expect![["1111 .... ...."]]);
        check("x/y", expect![[".... .... ...."]]);
        check("#/#", expect![["1... .1.. ..1."]]);
        check("#/[^#]", expect![[".111 1.11 11.1"]]);
        check("xy/[xy]x", expect![["1111 1... 1..."]]);
        check("xy/xxyx", expect![["11.1 ..1. ..1."]]);
        check("[x#][x#][x#]/x######", expect![["1... 11.. 1.1."]]);
    }

    #[test]
    fn malformed_codes_reach_nothing() {
        for code in ["", "/", "x/", "x/[x", "x/1", "[x/x"] {
            check(code, expect![[".... .... ...."]]);
        }
    }
}
