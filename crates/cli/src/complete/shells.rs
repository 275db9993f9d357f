//! How shells ask, and are answered.

use std::ffi::OsString;
use std::io::{Error, Write};
use std::path::Path;

use clap::Command;
use clap_complete::env::EnvCompleter;
use clap_complete::CompletionCandidate;

use super::line::{escaped, words as words_of, Word};

/// The line up to the cursor, from bash.
const LINE: &str = "_WEIR_LINE";
/// What bash takes for the word that it will replace: what follows the last `=` or `:`.
const PART: &str = "_WEIR_PART";
/// Which word is to be completed, from other shells.
const INDEX: &str = "_CLAP_COMPLETE_INDEX";

/// The words of the command line, the one that is to be completed last.
pub fn words(args: &[OsString]) -> Vec<String> {
    if let Ok(line) = std::env::var(LINE) {
        return command(&line).into_iter().map(|word| word.text).collect();
    }
    let start = args.iter().position(|arg| arg == "--").map_or(args.len(), |at| at + 1);
    let words = args[start..].iter().map(|arg| arg.to_string_lossy().into_owned());
    let mut words: Vec<String> = words.collect();
    if let Some(index) = std::env::var(INDEX).ok().and_then(|text| text.parse::<usize>().ok()) {
        words.resize(words.len().max(index.min(words.len()) + 1), String::new());
        words.truncate(index.saturating_add(1));
    }
    words
}

/// The words from weir's name on: something may stand in front of it.
fn command(line: &str) -> Vec<Word> {
    let mut words = words_of(line);
    let is_own = |word: &Word| word.text.rsplit('/').next() == Some("weir");
    if let Some(own) = words.iter().position(is_own) {
        words.drain(..own);
    }
    words
}

/// A shell: the script by which it asks, and how it is answered.
pub struct Asker {
    name: &'static str,
    script: &'static str,
    answer: Answer,
}

type Answer = fn(&mut Command, Vec<OsString>, Option<&Path>, &mut dyn Write) -> Result<(), Error>;

impl EnvCompleter for Asker {
    fn name(&self) -> &'static str {
        self.name
    }

    fn is(&self, name: &str) -> bool {
        name == self.name
    }

    fn write_registration(
        &self,
        var: &str,
        _name: &str,
        bin: &str,
        completer: &str,
        buf: &mut dyn Write,
    ) -> Result<(), Error> {
        let script = self.script.replace("VAR", var).replace("LINE=\"", &format!("{LINE}=\""));
        let script = script.replace("PART", PART).replace("INDEX", INDEX);
        writeln!(buf, "{}", script.replace("COMPLETER", completer).replace("BIN", bin))
    }

    fn write_complete(
        &self,
        cmd: &mut Command,
        args: Vec<OsString>,
        current_dir: Option<&Path>,
        buf: &mut dyn Write,
    ) -> Result<(), Error> {
        (self.answer)(cmd, args, current_dir, buf)
    }
}

/// Bash, which takes words apart at `=` and `:`.
pub static BASH: Asker = Asker {
    name: "bash",
    answer: answer_bash,
    script: r#"_weir() {
    local IFS=$'\n'
    COMPREPLY=($(VAR=bash LINE="${COMP_LINE:0:COMP_POINT}" PART="$2" "COMPLETER" -- BIN 2>/dev/null))
    # Behind a part of a word, it goes on.
    if [[ ${#COMPREPLY[@]} -gt 0 && ${COMPREPLY[0]} == *[=/:.] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -o default -F _weir BIN"#,
};

fn answer_bash(
    cmd: &mut Command,
    _args: Vec<OsString>,
    current_dir: Option<&Path>,
    buf: &mut dyn Write,
) -> Result<(), Error> {
    let words = command(&std::env::var(LINE).unwrap_or_default());
    let Some(last) = words.last() else { return Ok(()) };
    let part = std::env::var(PART).unwrap_or_default();
    let args: Vec<OsString> = words.iter().map(|word| OsString::from(&word.text)).collect();
    let index = args.len() - 1;
    for found in found(cmd, args, index, current_dir)? {
        writeln!(buf, "{}", replacing(&text_of(&found), last, &part))?;
    }
    Ok(())
}

/// What can stand in the place of a word.
fn found(
    cmd: &mut Command,
    args: Vec<OsString>,
    index: usize,
    current_dir: Option<&Path>,
) -> Result<Vec<CompletionCandidate>, Error> {
    let is_empty = args.get(index).is_none_or(|word| word.is_empty());
    let mut found = clap_complete::engine::complete(cmd, args, index, current_dir)?;
    // Where nothing is typed and there are other words, flags would only be in the way.
    let is_flag = |one: &CompletionCandidate| text_of(one).starts_with('-');
    if is_empty && !found.iter().all(is_flag) {
        found.retain(|one| !is_flag(one));
    }
    Ok(found)
}

fn text_of(found: &CompletionCandidate) -> String {
    found.get_value().to_string_lossy().into_owned()
}

/// What bash is to put in the place of `part`, the end of the word.
fn replacing(value: &str, word: &Word, part: &str) -> String {
    let value = match escaped(&word.text) == word.raw {
        true => escaped(value),
        // The word is in quotes.
        false => value.to_string(),
    };
    let before = word.raw.strip_suffix(part).unwrap_or_default();
    value.strip_prefix(before).unwrap_or(&value).to_string()
}

/// Zsh, which adds a space where nothing says otherwise.
pub static ZSH: Asker = Asker {
    name: "zsh",
    answer: answer_zsh,
    script: r#"#compdef BIN
_weir() {
    local -a found whole part
    found=("${(@f)$(VAR=zsh INDEX=$((CURRENT - 1)) COMPLETER -- "${(@Q)words}" 2>/dev/null)}")
    found=("${(@)found:#}")
    part=("${(@M)found:#*[=/:.]}")
    whole=("${(@)found:#*[=/:.]}")
    (( $#part )) && compadd -S '' -a part
    (( $#whole )) && compadd -a whole
    (( $#found )) || _files
}
if [ "$funcstack[1]" = "_weir" ]; then
    _weir "$@"
else
    compdef _weir BIN
fi"#,
};

fn answer_zsh(
    cmd: &mut Command,
    mut args: Vec<OsString>,
    current_dir: Option<&Path>,
    buf: &mut dyn Write,
) -> Result<(), Error> {
    let index: usize = std::env::var(INDEX).ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    if args.len() == index {
        args.push(OsString::new());
    }
    for found in found(cmd, args, index, current_dir)? {
        writeln!(buf, "{}", text_of(&found))?;
    }
    Ok(())
}

/// Fish, which escapes what it puts into the line itself, and shows what each word is.
pub static FISH: Asker = Asker {
    name: "fish",
    answer: answer_fish,
    script: r#"function __weir_complete
    set -l token (commandline --current-token --cut-at-cursor)
    # A quote may be open.
    set -l word (string unescape -- $token; or string unescape -- $token\'; or echo -- $token)
    set -l found (VAR=fish COMPLETER -- (commandline --current-process --tokenize --cut-at-cursor) "$word" 2>/dev/null)
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path $token
    end
end
complete --keep-order --no-files --command BIN --arguments '(__weir_complete)'"#,
};

fn answer_fish(
    cmd: &mut Command,
    args: Vec<OsString>,
    current_dir: Option<&Path>,
    buf: &mut dyn Write,
) -> Result<(), Error> {
    let index = args.len().saturating_sub(1);
    for found in found(cmd, args, index, current_dir)? {
        let help = found.get_help().map(|help| help.to_string()).unwrap_or_default();
        match help.lines().next() {
            Some(help) => writeln!(buf, "{}\t{help}", text_of(&found))?,
            None => writeln!(buf, "{}", text_of(&found))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bash_is_given_what_follows_the_part_that_it_keeps() {
        let last = |line: &str| words_of(line).pop().unwrap();
        assert_eq!(replacing("edge:left", &last("weir connect edge:l"), "l"), "left");
        assert_eq!(replacing("edge:left", &last("weir connect edge:"), ""), "left");
        assert_eq!(replacing("a/b=true", &last("weir set e a/b="), ""), "true");
        assert_eq!(replacing("edge", &last("weir show e"), "e"), "edge");
        let route = last(r#"weir set r route/\"10"#);
        assert_eq!(replacing("route/\"10.0.0.0/8\"/", &route, &route.raw), r#"route/\"10.0.0.0/8\"/"#);
    }

    #[test]
    fn words_begin_at_the_program() {
        let texts: Vec<String> =
            command("sudo /usr/bin/weir show ").into_iter().map(|word| word.text).collect();
        assert_eq!(texts, ["/usr/bin/weir", "show", ""]);
    }
}
