//! A random number generator whose numbers never change, and random texts from patterns.

/// SplitMix64.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Whether something happens that does so once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    /// The text that a pattern stands for: `{a|b}` is one of several, `{3..60}` a number, and `{ip}`, `{net}`, `{eth}` are
    /// addresses that packets of the captures have.
    pub fn text(&mut self, pattern: &str) -> String {
        let mut text = String::new();
        let mut rest = pattern;
        while let Some((before, inside, after)) = braced(rest) {
            text += before;
            let choice = match inside {
                "ip" => self.ip(),
                "net" => format!("{}/{}", self.ip(), self.pick(&[0, 8, 16, 24, 30, 32])),
                "eth" => format!("00:00:00:00:00:0{}", self.below(5)),
                _ => self.choice(inside),
            };
            text += &choice;
            rest = after;
        }
        text + rest
    }

    /// An address from a small world, so that packets meet.
    pub fn ip(&mut self) -> String {
        let [a, b, c, d] = self.ip_bytes();
        format!("{a}.{b}.{c}.{d}")
    }

    pub fn ip_bytes(&mut self) -> [u8; 4] {
        [*self.pick(&[10, 10, 18, 192]), self.below(2) as u8, self.below(2) as u8, 1 + self.below(4) as u8]
    }

    fn choice(&mut self, inside: &str) -> String {
        let choices: Vec<&str> = top_level(inside);
        if let ([only], Some((low, high))) = (&choices[..], inside.split_once("..")) {
            let bound =
                |text: &str| text.parse::<i64>().unwrap_or_else(|_| panic!("{{{only}}} is not a range"));
            let (low, high) = (bound(low), bound(high));
            return (low + self.below((high - low + 1) as usize) as i64).to_string();
        }
        let choice = *self.pick(&choices);
        self.text(choice)
    }
}

/// What is before, in, and after the first pair of braces.
fn braced(text: &str) -> Option<(&str, &str, &str)> {
    let begin = text.find('{')?;
    let mut depth = 0;
    for (at, c) in text.char_indices().skip(begin) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[..begin], &text[begin + 1..at], &text[at + 1..]));
        }
    }
    panic!("a brace stays open in {text}")
}

/// The parts between the bars that are in no inner braces.
fn top_level(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            '|' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[begin..]);
    parts
}
