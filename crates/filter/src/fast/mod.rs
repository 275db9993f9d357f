//! The fast form of a filter: the same outcome as its program, in the structure that suits the rules.
//!
//! Which tests a packet is too short for depends only on its length. Between the lengths that tests require the outcome
//! of those tests is fixed, so there is a structure for each *class* of lengths, and none checks lengths itself.

mod conjunctions;
mod dimensions;
mod list;
mod steps;
mod tuples;
mod vectors;
mod words;

pub use words::{aligned_word, Headers, Layout, Words};

use crate::ip::TRANSPORT;
use crate::program::{required_length, Insn, Node, NodeId, Program, NEVER};
use conjunctions::Conjunction;
use list::List;
pub use steps::Steps;
use tuples::Tuples;
use vectors::Vectors;

/// Up to this many tests on the longest way through it, a decision graph wins over everything else.
const MAX_STEPS: usize = 7;
/// Longer programs than this are not tried as decision graphs.
const MAX_TRIED: usize = 80;
/// Programs of more tests than this are not optimised, which would take too long.
const MAX_OPTIMIZED: usize = 2000;
/// Up to this many hash tables are searched one after the other.
const MAX_TUPLES: usize = 3;
/// Up to this many conjunctions are tried one after the other.
const MAX_LIST: usize = 16;
const MAX_CONJUNCTIONS: usize = 1 << 16;
const MAX_CLASSES: usize = 6;

/// A condition and where packets go that fulfil it. `None` holds for all packets.
pub struct Condition<'a> {
    pub nodes: &'a [Node],
    pub root: Option<NodeId>,
    pub jump: i32,
}

/// A list of conditions in fast form.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub layout: Layout,
    /// By descending length. Packets shorter than the last are for the program.
    classes: Vec<Class>,
}

#[derive(Clone, Debug)]
struct Class {
    from_length: u32,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Always(i32),
    /// Reads the packet itself.
    Steps(Steps),
    /// Is given the words that the layout names.
    Search(Search),
}

#[derive(Clone, Debug)]
enum Search {
    List(List),
    Tuples(Tuples),
    Vectors(Vectors),
}

impl Compiled {
    /// Compiles conditions, and `program`, which says the same. `None` if they look at too many words.
    pub fn new(conditions: &[Condition], program: &Program, layout: Option<Layout>) -> Option<Compiled> {
        let layout = layout?;
        let classes = class_lengths(conditions, program)
            .into_iter()
            .map(|from_length| Class {
                from_length,
                matcher: matcher(conditions, program, from_length, &layout),
            })
            .collect();
        Some(Compiled { layout, classes })
    }

    /// Where all packets go, if they all go the same way.
    pub fn always(&self) -> Option<i32> {
        match self.classes.as_slice() {
            [Class { from_length: 0, matcher: Matcher::Always(jump) }] => Some(*jump),
            _ => None,
        }
    }

    /// The form for the longest packets, if it is a decision graph, and the length from which on it holds.
    #[inline]
    pub fn steps(&self) -> Option<(u32, &Steps)> {
        match self.classes.first()? {
            Class { from_length, matcher: Matcher::Steps(steps) } => Some((*from_length, steps)),
            _ => None,
        }
    }

    /// Where an IP packet goes; `None` if it is too short for the fast form.
    #[inline(always)]
    pub fn classify_ip(&self, headers: &Headers) -> Option<i32> {
        Some(match self.matcher(headers.virtual_len())? {
            Matcher::Always(jump) => *jump,
            Matcher::Steps(steps) => steps.classify_ip(headers),
            Matcher::Search(search) => search.classify_ip(&self.layout, headers),
        })
    }

    /// Where a packet goes whose offsets are `align_offset` above those in its data, as is its length; `None` if it is too
    /// short for the fast form.
    #[inline(always)]
    pub fn classify_data(&self, data: &[u8], length: u32, align_offset: u32) -> Option<i32> {
        Some(match self.matcher(length)? {
            Matcher::Always(jump) => *jump,
            Matcher::Steps(steps) => steps.classify_data(data, align_offset),
            Matcher::Search(search) => search.classify_data(&self.layout, data, align_offset),
        })
    }

    #[inline(always)]
    fn matcher(&self, length: u32) -> Option<&Matcher> {
        self.classes.iter().find(|class| length >= class.from_length).map(|class| &class.matcher)
    }

    /// The structure for long packets, for people.
    pub fn structure(&self) -> &'static str {
        match self.classes.first().map(|class| &class.matcher) {
            Some(Matcher::Always(_)) => "constant",
            Some(Matcher::Steps(_)) => "steps",
            Some(Matcher::Search(Search::List(_))) => "list",
            Some(Matcher::Search(Search::Tuples(_))) => "tuples",
            Some(Matcher::Search(Search::Vectors(_))) => "vectors",
            None => "program",
        }
    }
}

impl Search {
    #[inline(never)]
    fn classify_ip(&self, layout: &Layout, headers: &Headers) -> i32 {
        self.classify(&layout.load_ip(headers))
    }

    #[inline(never)]
    fn classify_data(&self, layout: &Layout, data: &[u8], align_offset: u32) -> i32 {
        self.classify(&layout.load_plain(data, align_offset))
    }

    #[inline]
    fn classify(&self, words: &Words) -> i32 {
        match self {
            Search::List(list) => list.classify(words),
            Search::Tuples(tuples) => tuples.classify(words),
            Search::Vectors(vectors) => vectors.classify(words),
        }
    }
}

/// The lengths at which classes start, descending: down to packets that lack a transport header, which all have the
/// network header words that are tested.
fn class_lengths(conditions: &[Condition], program: &Program) -> Vec<u32> {
    let nodes = conditions.iter().flat_map(|condition| condition.nodes).filter_map(|node| match *node {
        Node::Greater { offset, mask, .. } => Some(required_length(offset, mask)),
        _ => None,
    });
    let mut lengths: Vec<u32> = program.insns().iter().map(Insn::required_length).chain(nodes).collect();
    lengths.push(0);
    lengths.sort_unstable_by_key(|&length| std::cmp::Reverse(length));
    lengths.dedup();
    let n_transport = lengths.iter().filter(|&&length| length > TRANSPORT.into()).count();
    let n_classes = if n_transport > 0 { n_transport + 1 } else { lengths.len() };
    lengths.truncate(n_classes.min(MAX_CLASSES));
    lengths
}

fn matcher(conditions: &[Condition], program: &Program, length: u32, layout: &Layout) -> Matcher {
    let program = for_length(program, length);
    if program.insns().len() <= MAX_TRIED {
        let optimal = optimized(&program);
        if optimal.longest_way() <= MAX_STEPS {
            return from_program(&optimal, layout);
        }
    }
    match conjunctions(conditions, length, layout) {
        Some(found) => Matcher::Search(search(found)),
        None if program.insns().len() <= MAX_OPTIMIZED => from_program(&optimized(&program), layout),
        None => from_program(&program, layout),
    }
}

fn search(found: Vec<Conjunction>) -> Search {
    if tuples::count(&found) <= MAX_TUPLES {
        return Search::Tuples(Tuples::new(found));
    }
    if found.len() <= MAX_LIST {
        return Search::List(List::new(found));
    }
    match Vectors::new(found) {
        Ok(vectors) => Search::Vectors(vectors),
        Err(found) => Search::Tuples(Tuples::new(found)),
    }
}

fn from_program(program: &Program, layout: &Layout) -> Matcher {
    match program.output_everything() {
        Some(output) => Matcher::Always(-output),
        None if layout.is_ip() => Matcher::Steps(Steps::of_ip(program, layout)),
        None => Matcher::Steps(Steps::of_data(program, program.align_offset())),
    }
}

fn optimized(program: &Program) -> Program {
    let mut program = program.clone();
    program.optimize_soundly(true);
    program.sort_conjunctions(true);
    program
}

/// The program for packets of a length, without tests that are too long for it.
fn for_length(program: &Program, length: u32) -> Program {
    program.map(|insn| match insn.required_length() > length {
        true => Insn { mask: 0, value: 0, jump: [insn.jump[usize::from(insn.short_output)]; 2], ..*insn },
        false => *insn,
    })
}

fn conjunctions(conditions: &[Condition], length: u32, layout: &Layout) -> Option<Vec<Conjunction>> {
    let mut all: Vec<Conjunction> = Vec::new();
    for condition in conditions {
        let found = match condition.root {
            Some(root) => conjunctions::rewrite(condition.nodes, root, length, layout)?,
            None => vec![Conjunction::default()],
        };
        let is_last = found.iter().any(|part| part.equals.is_empty() && part.ranges.is_empty());
        all.extend(found.into_iter().map(|part| Conjunction { jump: condition.jump, ..part }));
        if all.len() > MAX_CONJUNCTIONS {
            return None;
        }
        if is_last {
            break;
        }
    }
    // What drops packets at the end says nothing.
    while all.last().is_some_and(|last| last.jump == NEVER) {
        all.pop();
    }
    Some(all)
}
