//! The line that `ProgressBar` draws.

use element::Ctx;

/// The sum of some handlers' values.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// The sum of those that are numbers.
    pub value: f64,
    /// Whether there are values and all of them are numbers.
    pub is_known: bool,
}

impl Measured {
    /// The sum of what handlers read.
    pub fn read(ctx: &mut Ctx<'_>, handlers: &[String]) -> Measured {
        let mut sum = Measured { value: 0.0, is_known: !handlers.is_empty() };
        for handler in handlers {
            let text = ctx.read_handler(handler, "").unwrap_or_default();
            match args::double(&args::uncomment(&text)) {
                Ok(value) => sum.value += value,
                Err(_) => sum.is_known = false,
            }
        }
        sum
    }
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What the line begins with.
    pub banner: &'a str,
    /// How far it is.
    pub pos: Measured,
    /// Where the end is, if it is known.
    pub size: Option<f64>,
    /// Whether the position is shown as a number of bytes.
    pub shows_pos: bool,
    /// Whether this is the last line.
    pub is_done: bool,
    /// Whether nothing has moved for a while.
    pub is_stalled: bool,
    /// Seconds since the start, without those in which nothing moved.
    pub elapsed_s: f64,
}

/// Columns that are left for what follows the bar.
const RESERVED: usize = 25;
/// Columns of the position, for the bar where it is not shown.
const OF_POSITION: usize = 8;
const LONGEST_BAR: usize = 240;

impl Progress<'_> {
    /// The line, from a carriage return on, for a terminal of this width.
    pub fn line(&self, width: usize) -> String {
        let mut line = String::from("\r");
        if !self.banner.is_empty() {
            line += &format!("{} ", self.banner);
        }
        match (self.pos.is_known, self.size) {
            (true, Some(_)) => line += &format!("{:3}% ", self.level()),
            (false, Some(_)) => line += "  -% ",
            (_, None) => {}
        }
        let columns = if self.shows_pos { width } else { width + OF_POSITION };
        line += &self.bar(columns.saturating_sub(line.len() + RESERVED).min(LONGEST_BAR));
        line += &self.position();
        line += &self.time();
        if self.is_done {
            line.push('\n');
        }
        line
    }

    /// The percentage, or without a size one that goes up and down.
    fn level(&self) -> usize {
        let pos = self.pos.value;
        match self.size {
            None => {
                let level = ((pos / 100_000.0) as i32 % 200).max(0) as usize;
                level.min(200 - level)
            }
            Some(size) if size > 0.0 => (100.0 * pos / size).clamp(0.0, 100.0) as usize,
            Some(_) => 100,
        }
    }

    fn bar(&self, len: usize) -> String {
        if len == 0 {
            return String::new();
        }
        let is_open = self.size.is_none();
        if !self.pos.is_known || is_open && self.is_done {
            return format!("|{}|", "-".repeat(len));
        }
        if !is_open {
            let n_stars = len * self.level() / 100;
            return format!("|{}{}|", "*".repeat(n_stars), " ".repeat(len - n_stars));
        }
        let n_stars = if len > 3 { 3 } else { 1 };
        let n_before = (len - n_stars) * self.level() / 100;
        format!("|{}{}{}|", " ".repeat(n_before), "*".repeat(n_stars), " ".repeat(len - n_stars - n_before))
    }

    fn position(&self) -> String {
        if !self.shows_pos {
            return " ".to_string();
        }
        if !self.pos.is_known {
            return " -----   ".to_string();
        }
        let mut pos = self.pos.value;
        let mut unit = "  ";
        for larger in ["KB", "MB", "GB", "TB", "PB"] {
            if pos < 100_000.0 {
                break;
            }
            pos /= 1024.0;
            unit = larger;
        }
        format!(" {:5}{unit} ", pos as u64)
    }

    fn time(&self) -> String {
        let pos = self.pos.value;
        let is_open = !self.pos.is_known || self.elapsed_s <= 0.0 || self.size.is_none_or(|size| pos > size);
        if !self.is_done && is_open {
            return "   --:-- ETA".to_string();
        }
        if self.is_stalled {
            return " - stalled -".to_string();
        }
        let remaining = match self.size {
            Some(size) if !self.is_done && pos >= 1e-6 => {
                Some(size / (pos / self.elapsed_s) - self.elapsed_s)
            }
            _ => None,
        };
        let s = remaining.unwrap_or(self.elapsed_s) as i32;
        let hours = if s / 3600 == 0 { "   ".to_string() } else { format!("{:2}:", s / 3600) };
        let unit = if remaining.is_some() { " ETA" } else { "    " };
        format!("{hours}{:02}:{:02}{unit}", s % 3600 / 60, s % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    const HALF: Progress<'static> = Progress {
        banner: "",
        pos: Measured { value: 50_000.0, is_known: true },
        size: Some(100_000.0),
        shows_pos: true,
        is_done: false,
        is_stalled: false,
        elapsed_s: 4000.0,
    };

    fn check(progresses: &[Progress<'_>], expect: Expect) {
        let lines: Vec<String> =
            progresses.iter().map(|progress| format!("{:?}\n", progress.line(60))).collect();
        expect.assert_eq(&lines.concat());
    }

    #[test]
    fn progress_has_a_percentage_and_a_time() {
        let pos = |value: f64| Measured { value, is_known: true };
        check(
            &[
                HALF,
                Progress { banner: "file", pos: pos(0.0), ..HALF },
                Progress { pos: pos(1e9), ..HALF },
                Progress { pos: pos(75_000.0), elapsed_s: 10.0, shows_pos: false, ..HALF },
                Progress { is_stalled: true, ..HALF },
                Progress { is_done: true, pos: pos(3e12), size: Some(3e12), ..HALF },
                Progress { size: Some(0.0), ..HALF },
                Progress { pos: Measured::default(), ..HALF },
            ],
            expect![[r#"
                "\r 50% |**************               | 50000    1:06:40 ETA"
                "\rfile   0% |                        |     0    1:06:40    "
                "\r100% |*****************************|   953MB    --:-- ETA"
                "\r 75% |***************************          |    00:03 ETA"
                "\r 50% |**************               | 50000    - stalled -"
                "\r100% |*****************************|  2793GB  1:06:40    \n"
                "\r100% |*****************************| 50000      --:-- ETA"
                "\r  -% |-----------------------------| -----      --:-- ETA"
            "#]],
        );
    }

    #[test]
    fn without_a_size_something_moves() {
        let moving = |value: f64| Progress { pos: Measured { value, is_known: true }, size: None, ..HALF };
        check(
            &[
                moving(0.0),
                moving(5e6),
                moving(15e6),
                moving(-1.0),
                Progress { is_done: true, ..moving(5e6) },
            ],
            expect![[r#"
                "\r|***                               |     0      --:-- ETA"
                "\r|               ***                |  4882KB    --:-- ETA"
                "\r|               ***                | 14648KB    --:-- ETA"
                "\r|***                               |     0      --:-- ETA"
                "\r|----------------------------------|  4882KB  1:06:40    \n"
            "#]],
        );
    }

    #[test]
    fn there_may_be_no_room_for_a_bar() {
        for width in 0..40 {
            HALF.line(width);
            Progress { size: None, ..HALF }.line(width);
        }
        expect![[r#""\r 50%  50000    1:06:40 ETA""#]].assert_eq(&format!("{:?}", HALF.line(30)));
    }
}
