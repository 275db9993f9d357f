//! What `AlignmentInfo` elements say of the alignment of an element's packets.

use element::Configure;

/// How many bytes from the start of packets the next aligned word starts, as far as the last `AlignmentInfo` that names this
/// element says so; 0 otherwise.
pub fn offset(conf: &Configure<'_>) -> u32 {
    let environment = conf.environment;
    let mut offset = 0;
    for info in (0..environment.n_elements()).filter(|idx| environment.class(*idx) == "AlignmentInfo") {
        for argument in args::split_args(environment.config(info)) {
            let words = args::split_words(&argument);
            let is_ours =
                words.first().is_some_and(|name| environment.find(name, info) == Some(conf.element));
            if is_ours {
                offset = of_words(&words).unwrap_or(0);
            }
        }
    }
    offset
}

/// The offset in `NAME CHUNK OFFSET ...`: that of input 0.
fn of_words(words: &[String]) -> Option<u32> {
    let [_, chunk, offset, ..] = words else { return None };
    let (chunk, offset): (i32, i32) = (args::integer(chunk).ok()?, args::integer(offset).ok()?);
    // The offset is what the address of the data leaves over; what counts is how far it is to the next word.
    (chunk >= 4).then(|| (4 - offset % 4).rem_euclid(4) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argument: &str, expect: Option<u32>) {
        assert_eq!(of_words(&args::split_words(argument)), expect, "{argument}");
    }

    #[test]
    fn offsets_count_from_the_word_before() {
        check("c 4 0", Some(0));
        check("c 4 2", Some(2));
        check("c 4 1", Some(3));
        check("c 8 7 4 0", Some(1));
        check("c 4 -2147483648", Some(0));
    }

    #[test]
    fn anything_else_says_nothing() {
        check("c", None);
        check("c 4", None);
        check("c 2 1", None);
        check("c x 1", None);
    }
}
