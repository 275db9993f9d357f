//! Says how the packets that come to elements are aligned.
//!
//! Each argument is the name of an element and, for each of its inputs, a modulus and an offset: the address of a packet's first
//! byte is OFFSET beyond a multiple of CHUNK. Click's tool `click-align` writes this element; `Classifier` numbers the steps of
//! its `program` accordingly.
//!
//! ```click
//! AlignmentInfo(c 4 2);
//! FromDump(in.pcap) -> c :: Classifier(12/0800) -> Discard;
//! ```

use element::{Arg, Class, Configure, Element, ElementIdx, Environment, Failed, Phase};

/// The class.
pub const CLASS: Class =
    Class::new::<AlignmentInfo>("AlignmentInfo", "0/0", "a/a", "x/x").args(ARGS).phase(Phase::INFO);

const ARGS: &[Arg] =
    &[Arg::rest("ELEMENT CHUNK OFFSET", "name and integers", "An element and the alignment at its inputs.")];

/// See the page above.
pub struct AlignmentInfo;

/// What is said of an element: a chunk and an offset for each input, -1 where they are no integers.
#[derive(Debug, PartialEq, Eq)]
struct Alignment {
    element: ElementIdx,
    inputs: Vec<(i32, i32)>,
}

impl Element for AlignmentInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<AlignmentInfo, Failed> {
        let environment = conf.environment;
        // The first of these elements keeps what all of them say, and looks up the names.
        let infos = infos(environment);
        let first = infos.first().copied().unwrap_or(conf.element);
        let n_before = infos.iter().take_while(|idx| **idx != conf.element).count();
        let mut before = said_by(environment, first, infos.get(..n_before).unwrap_or_default());
        for (number, argument) in conf.args.rest().into_iter().enumerate() {
            let words = args::split_words(&argument);
            let Some(name) = words.first() else {
                conf.warning(format!("empty configuration argument {number}"));
                continue;
            };
            let Some(alignment) = alignment(environment, first, &words) else { continue };
            note_mistakes(conf, &words);
            let earlier = before.iter().rev().find(|earlier| earlier.element == alignment.element);
            if earlier.is_some_and(|earlier| *earlier != alignment) {
                conf.note(format!("conflicting AlignmentInfo for '{name}'"));
            }
            before.push(alignment);
        }
        conf.finish()?;
        Ok(AlignmentInfo)
    }
}

/// Tells of what is wrong with an argument. None of it ends the start.
fn note_mistakes(conf: &mut Configure<'_>, words: &[String]) {
    if words.len() % 2 != 1 {
        conf.note("expected 'ELEMENTNAME CHUNK OFFSET [CHUNK OFFSET...]'");
    }
    for pair in words.get(1..).unwrap_or_default().chunks_exact(2) {
        for (word, name) in pair.iter().zip(["CHUNK", "OFFSET"]) {
            if args::integer::<i32>(word).is_err() {
                conf.note(format!("expected {name}"));
            }
        }
    }
}

/// What an argument says. Names are those that `first` sees.
fn alignment(environment: &dyn Environment, first: ElementIdx, words: &[String]) -> Option<Alignment> {
    let (name, inputs) = words.split_first()?;
    let element = environment.find(name, first)?;
    let number = |word: &String| args::integer(word).unwrap_or(-1);
    let inputs = inputs.chunks_exact(2).map(|pair| (number(&pair[0]), number(&pair[1]))).collect();
    Some(Alignment { element, inputs })
}

/// The elements of this class, in the order in which they are configured.
fn infos(environment: &dyn Environment) -> Vec<ElementIdx> {
    let is_info = |idx: &ElementIdx| environment.class(*idx) == CLASS.facts.name;
    // Mostly there are none.
    if (0..environment.n_elements()).any(|idx| is_info(&idx)) {
        environment.configure_order().into_iter().filter(is_info).collect()
    } else {
        Vec::new()
    }
}

/// What some of these elements say, of all elements; names are those that `first` sees.
fn said_by(environment: &dyn Environment, first: ElementIdx, infos: &[ElementIdx]) -> Vec<Alignment> {
    let arguments = infos.iter().flat_map(|idx| args::split_args(environment.config(*idx)));
    arguments.filter_map(|argument| alignment(environment, first, &args::split_words(&argument))).collect()
}

/// How many bytes from the start of packets the next aligned word starts, as far as the last of these elements that names this
/// one says so; 0 otherwise.
pub fn offset(conf: &Configure<'_>) -> u32 {
    let infos = infos(conf.environment);
    let Some(first) = infos.first() else { return 0 };
    let said = said_by(conf.environment, *first, &infos);
    let own = said.iter().rev().find(|alignment| alignment.element == conf.element);
    own.map_or(0, Alignment::offset_at_first_input)
}

impl Alignment {
    fn offset_at_first_input(&self) -> u32 {
        match self.inputs.first() {
            // The offset is what the address of the data leaves over; what counts is how far it is to the next word.
            Some((4.., offset)) => (4 - offset % 4).rem_euclid(4) as u32,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check_reading;
    use expect_test::expect;

    fn check_offset(chunk: i32, offset: i32, expected: u32) {
        let alignment = Alignment { element: 0, inputs: vec![(chunk, offset), (4, 1)] };
        assert_eq!(alignment.offset_at_first_input(), expected, "{chunk} {offset}");
    }

    #[test]
    fn offsets_count_from_the_word_before() {
        check_offset(4, 0, 0);
        check_offset(4, 2, 2);
        check_offset(4, 1, 3);
        check_offset(8, 7, 1);
        check_offset(4, i32::MIN, 0);
        check_offset(2, 1, 0);
    }

    #[test]
    fn mistakes_do_not_end_the_start() {
        check_reading(
            "AlignmentInfo(c 4 2, , c 4, d x y 4 z, nobody 1, c 4 2 8 3);
            c :: Classifier(14/01); Idle -> c -> Discard; d :: Discard; Idle -> d;
            AlignmentInfo(c 4 2, c 4 2, c);",
            &["c.program"],
            expect![[r#"
                config:1: While configuring 'AlignmentInfo@1 :: AlignmentInfo':
                  warning: empty configuration argument 1
                  expected 'ELEMENTNAME CHUNK OFFSET [CHUNK OFFSET...]'
                  conflicting AlignmentInfo for 'c'
                  expected CHUNK
                  expected OFFSET
                  expected OFFSET
                  conflicting AlignmentInfo for 'c'
                config:3: While configuring 'AlignmentInfo@7 :: AlignmentInfo':
                  conflicting AlignmentInfo for 'c'
                  conflicting AlignmentInfo for 'c'
                c.program:  0  12/00000100%0000ff00  yes->[0]  no->[X]
                safe length 15
                alignment offset 0

            "#]],
        );
    }
}
