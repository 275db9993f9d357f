//! Where alerts are written: a file or standard output, a batch's lines at once.

use std::fs::File;
use std::io::Write;

use detect::alert::{self, Style};
use detect::detector::{Detector, Outcome};
use element::{failure, Ctx};

use element::output::{check_file, reason, Blocking};

/// Where alerts are written.
#[derive(Default)]
pub struct Eve {
    /// Empty for nowhere, `-` for standard output.
    pub name: String,
    /// How.
    pub style: Style,
    file: Option<Box<dyn Write + Send>>,
    /// Lines that are still to be written.
    lines: Vec<u8>,
    /// Whether the file is one that another element has begun.
    goes_on: bool,
}

impl Eve {
    /// Nothing is written yet.
    pub fn new(name: String, style: Style) -> Eve {
        Eve { name, style, ..Eve::default() }
    }

    /// Opens the file.
    pub fn open(&mut self) -> Result<(), String> {
        if self.goes_on {
            return Ok(());
        }
        self.file = match self.name.as_str() {
            "" => None,
            "-" => Some(Box::new(Blocking(std::io::stdout()))),
            name => {
                check_file(name)?;
                let file = File::create(name).map_err(|error| format!("{name}: {}", reason(&error)))?;
                Some(Box::new(file))
            }
        };
        Ok(())
    }

    /// Whether the file is the one of another, which writes until that is replaced.
    pub fn foresee(&mut self, old: &Eve) {
        self.goes_on = old.file.is_some() && old.name == self.name;
    }

    /// Goes on with the file of another if it is the same.
    pub fn go_on_from(&mut self, ctx: &mut Ctx<'_>, old: &mut Eve) {
        old.flush(ctx);
        if self.goes_on {
            self.file = old.file.take();
        }
    }

    /// Adds a line for each rule that the packet matched.
    #[cold]
    pub fn add(&mut self, detector: &Detector, outcome: &Outcome<'_>, now_ns: i64) {
        if self.file.is_none() {
            return;
        }
        for fired in detector.fired() {
            let Some(rule) = detector.program().rule(fired.rule) else { continue };
            let is_blocked = outcome.is_dropped && rule.action == detect::rules::Action::Drop;
            let reversed =
                Outcome { view: outcome.view.reversed(), to_server: !outcome.to_server, ..*outcome };
            let outcome = if fired.is_reversed { &reversed } else { outcome };
            alert::write(&mut self.lines, &self.style, rule, outcome, is_blocked, now_ns);
        }
    }

    /// Writes what was added.
    #[inline]
    pub fn flush(&mut self, ctx: &mut Ctx<'_>) {
        if !self.lines.is_empty() {
            self.write(ctx);
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = file.write_all(&self.lines).and_then(|()| file.flush()) {
            let name = if self.name == "-" { "standard output" } else { &self.name };
            ctx.complain(&format!("{name}: {}; no more alerts are written", reason(&error)));
            failure::note();
            self.file = None;
        }
        self.lines.clear();
    }
}
