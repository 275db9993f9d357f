//! What IP and TCP options have in common in a dump: the text of unknown ones, numbers, and the binary form.

/// End of options list, and no operation: the options of one byte.
pub const END: u8 = 0;
pub const NOP: u8 = 1;

/// Most bytes of options that a header has room for.
const MAX_LEN: usize = 40;

/// The next option of a list, and what follows it; `None` at the end.
pub enum Next<'o> {
    /// A byte that only fills.
    Padding(u8),
    /// An option that is all there: all of it, at least one byte.
    Option(&'o [u8]),
    /// One whose length is wrong.
    Bad,
}

/// Takes the next option from the front of a list.
pub fn next<'o>(options: &mut &'o [u8]) -> Option<Next<'o>> {
    let (&kind, rest) = options.split_first()?;
    if kind == END || kind == NOP {
        *options = if kind == END { &[] } else { rest };
        return Some(Next::Padding(kind));
    }
    let len = usize::from(*rest.first().unwrap_or(&0));
    match options.split_at_checked(len) {
        Some((option, rest)) if len > 0 => {
            *options = rest;
            Some(Next::Option(option))
        }
        _ => {
            *options = &[];
            Some(Next::Bad)
        }
    }
}

/// Calls `each` with the options of a list that are no fillers, up to the first that is wrong; whether all are right.
pub fn each_option(mut options: &[u8], is_right: fn(&[u8]) -> bool, mut each: impl FnMut(&[u8])) -> bool {
    while let Some(option) = next(&mut options) {
        match option {
            Next::Padding(_) => {}
            Next::Option(option) if is_right(option) => each(option),
            _ => return false,
        }
    }
    true
}

/// Prints options by `print`, which is told whether nothing was printed before; `?` if one is wrong, `.` if nothing is printed.
pub fn print_list(
    options: &[u8],
    is_right: fn(&[u8]) -> bool,
    out: &mut Vec<u8>,
    print: impl Fn(&[u8], bool, &mut Vec<u8>),
) {
    let start = out.len();
    let are_right = each_option(options, is_right, |option| print(option, out.len() == start, out));
    if !are_right {
        out.truncate(start);
        out.push(b'?');
    } else if out.len() == start {
        out.push(b'.');
    }
}

/// Appends the options whose kind is to be kept, up to the first that is wrong, after a byte that says how long they are.
pub fn write_known(mut options: &[u8], keeps: impl Fn(u8) -> bool, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(0);
    while let Some(option) = next(&mut options) {
        match option {
            Next::Padding(kind) if keeps(kind) => out.push(kind),
            Next::Padding(_) => {}
            Next::Bad | Next::Option([_]) => break,
            Next::Option(option) if keeps(option.first().copied().unwrap_or(0)) => {
                out.extend_from_slice(option)
            }
            Next::Option(_) => {}
        }
    }
    let len = out.len() - start - 1;
    if let Some(byte) = out.get_mut(start) {
        *byte = len as u8;
    }
}

/// Prints an option of no known kind: `98`, or `99=0:5:10`.
pub fn print_unknown(option: &[u8], out: &mut Vec<u8>) {
    super::append(out, format_args!("{}", option.first().copied().unwrap_or(0)));
    for (idx, byte) in option.iter().skip(2).enumerate() {
        super::append(out, format_args!("{}{byte}", if idx == 0 { '=' } else { ':' }));
    }
}

/// A text that is read from its start.
pub struct Text<'t>(pub &'t [u8]);

impl Text<'_> {
    /// Takes `prefix` if the text starts with it.
    pub fn eat(&mut self, prefix: &[u8]) -> bool {
        match self.0.strip_prefix(prefix) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Whether a digit comes next.
    pub fn has_digit(&self) -> bool {
        self.0.first().is_some_and(u8::is_ascii_digit)
    }

    /// Takes a number, in the base that its prefix says.
    pub fn number(&mut self) -> Option<u32> {
        let len = self.0.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let text = std::str::from_utf8(self.0.get(..len)?).ok()?;
        let (number, rest) = args::integer_prefix(text)?;
        self.0 = self.0.get(len - rest.len()..)?;
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Takes a decimal number.
    pub fn decimal(&mut self) -> Option<u32> {
        let len = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.0.split_at_checked(len).filter(|_| len > 0)?;
        self.0 = rest;
        let add = |number: u32, digit: &u8| number.saturating_mul(10).saturating_add(u32::from(digit - b'0'));
        Some(digits.iter().fold(0, add))
    }

    /// Takes an IPv4 address in dotted form and appends it.
    pub fn address(&mut self, out: &mut Vec<u8>) -> Option<()> {
        for idx in 0..4 {
            if idx > 0 && !self.eat(b".") {
                return None;
            }
            out.push(u8::try_from(self.decimal()?).ok()?);
        }
        Some(())
    }
}

/// Reads an option of no known kind, and appends it.
pub fn parse_unknown(text: &mut Text<'_>, out: &mut Vec<u8>) -> Option<()> {
    out.push(u8::try_from(text.number()?).ok()?);
    let has_data = matches!(text.0, [b'=', digit, ..] if digit.is_ascii_digit());
    if !has_data {
        return Some(());
    }
    let at = out.len();
    out.push(0);
    loop {
        text.0 = text.0.get(1..)?;
        out.push(u8::try_from(text.number()?).ok()?);
        if !matches!(text.0, [b':', digit, ..] if digit.is_ascii_digit()) {
            break;
        }
    }
    let len = u8::try_from(out.len() - at + 1).ok()?;
    *out.get_mut(at)? = len;
    Some(())
}

/// Options that were read: as many leading fillers as are too much for a header are left out.
pub fn fit(mut options: Vec<u8>) -> Option<Vec<u8>> {
    let excess = options.len().saturating_sub(MAX_LEN);
    let fillers = options.iter().take(excess).take_while(|byte| **byte == NOP).count();
    options.drain(..fillers);
    (options.len() <= MAX_LEN).then_some(options)
}

/// Reads options separated by commas or semicolons, each by `parse_one`.
pub fn parse_list(
    text: &[u8],
    mut parse_one: impl FnMut(&mut Text<'_>, &mut Vec<u8>) -> Option<()>,
) -> Option<Vec<u8>> {
    let mut options = Vec::new();
    if text.is_empty() || text == b"." {
        return Some(options);
    }
    let mut text = Text(text);
    loop {
        if text.eat(b"nop") {
            options.push(NOP);
        } else if text.0.starts_with(b"eol") && text.0.get(3) != Some(&b',') {
            text.eat(b"eol");
            options.push(END);
        } else {
            parse_one(&mut text, &mut options)?;
        }
        match text.0.split_first() {
            None => return fit(options),
            Some((b',' | b';', rest)) => text.0 = rest,
            Some(_) => return None,
        }
    }
}
