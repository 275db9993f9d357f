//! Processing codes: which ports push, pull, or take either, in Click's notation (`h/h`, `a/ah`).

/// How packets pass a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Processing {
    /// The upstream end starts the transfer (`h`).
    Push,
    /// The downstream end starts the transfer (`l`).
    Pull,
    /// Either, as the neighbours decide (`a`).
    Agnostic,
}

/// A parsed processing code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessingCode {
    inputs: Vec<Processing>,
    outputs: Vec<Processing>,
}

impl ProcessingCode {
    /// Parses a code; `None` if it is malformed.
    pub fn parse(code: &str) -> Option<ProcessingCode> {
        let (inputs, outputs) = code.split_once('/').unwrap_or((code, code));
        Some(ProcessingCode { inputs: side(inputs)?, outputs: side(outputs)? })
    }

    /// What the code says of input `port`.
    pub fn input(&self, port: usize) -> Processing {
        pick(&self.inputs, port)
    }

    /// What the code says of output `port`.
    pub fn output(&self, port: usize) -> Processing {
        pick(&self.outputs, port)
    }
}

impl Processing {
    /// The word that messages use: `push`, `pull` or `agnostic`.
    pub fn name(self) -> &'static str {
        match self {
            Processing::Push => "push",
            Processing::Pull => "pull",
            Processing::Agnostic => "agnostic",
        }
    }
}

fn side(codes: &str) -> Option<Vec<Processing>> {
    codes
        .bytes()
        .map(|code| match code {
            b'h' | b'H' => Some(Processing::Push),
            b'l' | b'L' => Some(Processing::Pull),
            b'a' | b'A' => Some(Processing::Agnostic),
            _ => None,
        })
        .collect()
}

/// The last code of a side stands for all further ports; a side without codes is agnostic.
fn pick(codes: &[Processing], port: usize) -> Processing {
    codes.get(port).or(codes.last()).copied().unwrap_or(Processing::Agnostic)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(code: &str, expected: Expect) {
        let text = match ProcessingCode::parse(code) {
            None => "malformed".to_string(),
            Some(code) => {
                let inputs = (0..3).map(|port| code.input(port).name()).collect::<Vec<_>>().join(" ");
                let outputs = (0..3).map(|port| code.output(port).name()).collect::<Vec<_>>().join(" ");
                format!("{inputs} / {outputs}")
            }
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn the_last_code_stands_for_further_ports() {
        check("a/ah", expect![["agnostic agnostic agnostic / agnostic push push"]]);
        check("hl/hlh", expect![["push pull pull / push pull push"]]);
        check("l", expect![["pull pull pull / pull pull pull"]]);
        check("h/", expect![["push push push / agnostic agnostic agnostic"]]);
        check("h/x", expect![["malformed"]]);
    }
}
