//! Diagnostics as text: in Click's form, and in ours.

use std::fmt::Write;

use graph::{Diagnostic, Place, Severity};

/// The diagnostic as Click prints it: every line as `FILE:LINE: message`, warnings marked; or, below a line that names the
/// element where there is one ("FILE:LINE: While configuring 'x :: X':"), indented by two spaces and without the place.
///
/// Click prints the line that names the element once for all messages about it; see [`click_texts`].
pub fn click_text(diagnostic: &Diagnostic) -> String {
    let mut text = String::new();
    write_click(diagnostic, true, &mut text);
    text
}

/// Diagnostics in a row as Click prints them: what is about the same element stands under one heading.
pub fn click_texts(diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    let mut heading = None;
    for diagnostic in diagnostics {
        let own = diagnostic.context.as_ref().map(|context| (context, &diagnostic.place));
        write_click(diagnostic, own != heading, &mut text);
        heading = own;
    }
    text
}

/// The diagnostic in our form: `FILE:LINE:COL: message`, then what to do about it.
pub fn weir_text(diagnostic: &Diagnostic) -> String {
    let place = diagnostic.place.to_string();
    let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
    let mark = if diagnostic.severity == Severity::Warning { "warning: " } else { "" };
    let element = diagnostic.context.as_deref().map(|context| format!("{context}: ")).unwrap_or_default();
    // Where an element's input is wrong, such as a line of a file.
    let input =
        diagnostic.landmark.as_ref().filter(|place| diagnostic.context.is_some() && place.file.is_some());
    let input = input.map(|place| format!("{place}: ")).unwrap_or_default();
    // Writing to a String cannot fail.
    let mut text = String::new();
    for (idx, line) in diagnostic.message.lines().enumerate() {
        let _ = match idx {
            0 => writeln!(text, "{place}{mark}{element}{input}{line}"),
            _ => writeln!(text, "  {line}"),
        };
    }
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  help: {help}");
    }
    text
}

fn write_click(diagnostic: &Diagnostic, heading: bool, text: &mut String) {
    let landmark = |place: &Place| {
        let place = place.landmark();
        let place = place.trim_ascii_end();
        match place.strip_suffix(':').unwrap_or(place) {
            "" => String::new(),
            place => format!("{place}: "),
        }
    };
    let mark = if diagnostic.severity == Severity::Warning { "warning: " } else { "" };
    if let Some(context) = diagnostic.context.as_ref().filter(|_| heading) {
        let place = landmark(&diagnostic.place);
        let _ = match context.starts_with("While ") {
            true => writeln!(text, "{place}{context}:"),
            false => writeln!(text, "{place}While configuring '{context}':"),
        };
    }
    let (place, indent) = match (&diagnostic.context, &diagnostic.landmark) {
        (Some(_), place) => (place.as_ref().map(landmark).unwrap_or_default(), "  "),
        (None, place) => (landmark(place.as_ref().unwrap_or(&diagnostic.place)), ""),
    };
    for line in diagnostic.message.lines() {
        let _ = writeln!(text, "{place}{indent}{mark}{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use graph::Diagnostics;

    #[test]
    fn files_may_bring_their_own_separator() {
        let told = |file: &str, line| {
            let place = Place { file: Some(file.into()), line, column: 0 };
            let mut diagnostics = Diagnostics::default();
            click_text(diagnostics.error(&place, "wrong"))
        };
        assert_eq!(told("gen: ", 3), "gen: 3: wrong\n");
        assert_eq!(told("my file:", 3), "my file:3: wrong\n");
        assert_eq!(told("input:: ", 0), "input:: wrong\n");
    }

    #[test]
    fn both_forms() {
        let place = Place { file: Some("a.click".into()), line: 3, column: 7 };
        let mut diagnostics = Diagnostics::default();
        diagnostics.error(&place, "first\nsecond").help("do this");
        diagnostics.warning(&place, "odd").landmark(Place::default());
        diagnostics.error(&place, "too many arguments").context("x :: Null");
        diagnostics.warning(&place, "and more").context("x :: Null");
        let input = Place { file: Some("input:0".into()), line: 0, column: 0 };
        diagnostics.warning(&place, "odd field").context("x :: Null").landmark(input);
        expect![[r#"
            a.click:3: first
            a.click:3: second
            warning: odd
            a.click:3: While configuring 'x :: Null':
              too many arguments
              warning: and more
            input:0:   warning: odd field
        "#]]
        .assert_eq(&click_texts(&diagnostics.list));
        let ours: String = diagnostics.list.iter().map(weir_text).collect();
        expect![[r#"
            a.click:3:7: first
              second
              help: do this
            a.click:3:7: warning: odd
            a.click:3:7: x :: Null: too many arguments
            a.click:3:7: warning: x :: Null: and more
            a.click:3:7: warning: x :: Null: input:0: odd field
        "#]]
        .assert_eq(&ours);
    }
}
