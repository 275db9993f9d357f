//! Where the errors of a running script go.

use element::{split_notes, Ctx};

/// Tells errors as they happen, or keeps them for whoever called the script.
#[derive(Debug, Default)]
pub struct Report {
    /// Whether the first line says which script was executed.
    names_script: bool,
    /// Whether that has been told.
    has_named_script: bool,
    /// Lines that say what was going on, the outermost first, and whether they have been told.
    contexts: Vec<(String, bool)>,
    kept: Option<Vec<String>>,
    n_errors: usize,
}

impl Report {
    /// Errors are told at once, below a line that says which script was executed.
    pub fn executing() -> Report {
        Report { names_script: true, ..Report::default() }
    }

    /// Errors are told at once, as they are.
    pub fn plain() -> Report {
        Report::default()
    }

    /// Errors are kept for the caller of a handler.
    pub fn kept() -> Report {
        Report { kept: Some(Vec::new()), ..Report::default() }
    }

    /// Opens a context within the present one.
    pub fn enter(&mut self, context: String) {
        self.contexts.push((context, false));
    }

    /// Closes the innermost context.
    pub fn leave(&mut self) {
        self.contexts.pop();
    }

    /// Number of errors so far.
    pub fn n_errors(&self) -> usize {
        self.n_errors
    }

    /// An error: a sentence, or several, a line each. Places that they begin with stand in front of the whole line. A script that
    /// ended with an error and did not say which gives no sentence: there is nothing to tell then.
    pub fn error(&mut self, ctx: &mut Ctx<'_>, message: &str) {
        if message.is_empty() {
            return;
        }
        self.n_errors += 1;
        let mut lines = Vec::new();
        let (notes, _) = split_notes(message);
        if self.names_script && !std::mem::replace(&mut self.has_named_script, true) {
            lines.push(format!("{notes}While executing '{}':", ctx.own_declaration()));
        }
        let outer = usize::from(self.names_script);
        for (depth, (context, is_told)) in self.contexts.iter_mut().enumerate() {
            if !std::mem::replace(is_told, true) {
                // A value that is part of it may have several lines.
                let indent = 2 * (outer + depth);
                lines.extend(context.split('\n').map(|line| format!("{notes}{:indent$}{line}", "")));
            }
        }
        let indent = 2 * (outer + self.contexts.len());
        lines.extend(message.lines().map(|line| {
            let (notes, line) = split_notes(line);
            format!("{notes}{:indent$}{line}", "")
        }));
        match &mut self.kept {
            Some(kept) => kept.append(&mut lines),
            None => ctx.chatter(&lines.join("\n")),
        }
    }

    /// Errors that were told of elsewhere.
    pub fn errors(&mut self, ctx: &mut Ctx<'_>, messages: &[String]) {
        for message in messages {
            self.error(ctx, message);
        }
    }

    /// The errors that were kept.
    pub fn into_kept(self) -> Vec<String> {
        self.kept.unwrap_or_default()
    }
}
