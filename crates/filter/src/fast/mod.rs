//! The fast form of a filter: the same outcome as its program, in the structure that suits the rules.
//!
//! Which tests a packet is too short for depends only on its length. Between the lengths that tests require the outcome
//! of those tests is fixed, so there is a structure for each *class* of lengths, and none checks lengths itself.

mod conjunctions;
mod dimension;
mod draft;
mod list;
mod plan;
mod rewrite;
mod steps;
mod tuples;
mod vectors;
mod words;

pub use words::{aligned_word, Headers, Layout, Words};

use crate::ip::TRANSPORT;
use crate::program::{required_length, Insn, Node, NodeId, Nodes, Program, NEVER};
use conjunctions::Conjunctions;
use list::List;
use rewrite::Rewriter;
pub use steps::{Steps, Test};
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
/// More memory than this is not spent on the tables of a filter.
const MAX_BYTES: usize = 64 << 20;

/// A condition and where packets go that fulfil it. `None` holds for all packets.
pub struct Condition {
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
    /// Compiles conditions of `nodes`, and `program`, which says the same. `None` if they look at too many words.
    pub fn new(
        nodes: &Nodes,
        conditions: &[Condition],
        program: &Program,
        layout: Option<Layout>,
    ) -> Option<Compiled> {
        let layout = layout?;
        let mut compiler = Compiler { nodes, conditions, program, layout: &layout, bytes_left: MAX_BYTES };
        let classes = compiler.classes();
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

    /// What finds where the longest IP packets go, if that is in hash tables, and the length from which on it does.
    #[inline]
    pub fn tuples(&self) -> Option<(u32, impl Fn(&Headers) -> i32 + '_)> {
        let Class { from_length, matcher: Matcher::Search(Search::Tuples(tuples)) } = self.classes.first()?
        else {
            return None;
        };
        let find = tuples.finder();
        Some((*from_length, move |headers: &Headers| find(tuples, &self.layout, headers)))
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
        match self {
            Search::Tuples(tuples) => tuples.finder()(tuples, layout, headers),
            _ => self.classify(&layout.load_ip(headers)),
        }
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

struct Compiler<'a> {
    nodes: &'a Nodes,
    conditions: &'a [Condition],
    program: &'a Program,
    layout: &'a Layout,
    /// Memory that further tables may take.
    bytes_left: usize,
}

impl Compiler<'_> {
    fn classes(&mut self) -> Vec<Class> {
        let mut classes: Vec<Class> = Vec::new();
        let mut longer: Option<Conjunctions> = None;
        for from_length in self.lengths() {
            let matcher = match self.decision_graph(from_length) {
                Some(graph) => graph,
                None => {
                    let found = self.conjunctions(from_length, !classes.is_empty());
                    if let (Some(class), true) = (classes.last_mut(), found.is_some() && found == longer) {
                        // Somewhat shorter packets go the same ways.
                        class.from_length = from_length;
                        continue;
                    }
                    longer.clone_from(&found);
                    self.matcher(found, from_length)
                }
            };
            classes.push(Class { from_length, matcher });
        }
        classes
    }

    /// The lengths at which classes start, descending: down to packets that lack a transport header, which all have the
    /// network header words that are tested.
    fn lengths(&self) -> Vec<u32> {
        let nodes = self.nodes.iter().filter_map(|node| match *node {
            Node::Greater { offset, mask, .. } => Some(required_length(offset, mask)),
            _ => None,
        });
        let insns = self.program.insns().iter().map(Insn::required_length);
        let mut is_required = vec![false; usize::from(u16::MAX) + 5];
        insns.chain(nodes).chain([0]).for_each(|length| is_required[length as usize] = true);
        let mut lengths: Vec<u32> =
            (0..).zip(is_required).filter(|&(_, is)| is).map(|(length, _)| length).collect();
        lengths.reverse();
        let n_transport = lengths.iter().filter(|&&length| length > TRANSPORT.into()).count();
        let n_classes = if n_transport > 0 { n_transport + 1 } else { lengths.len() };
        lengths.truncate(n_classes.min(MAX_CLASSES));
        lengths
    }

    /// The form of short lists.
    fn decision_graph(&self, length: u32) -> Option<Matcher> {
        if self.program.insns().len() > MAX_TRIED {
            return None;
        }
        let optimal = optimized(&for_length(self.program, length));
        (optimal.longest_way() <= MAX_STEPS).then(|| from_program(&optimal, self.layout))
    }

    fn matcher(&mut self, found: Option<Conjunctions>, length: u32) -> Matcher {
        let Some(found) = found else {
            let program = for_length(self.program, length);
            return match program.insns().len() <= MAX_OPTIMIZED {
                true => from_program(&optimized(&program), self.layout),
                false => from_program(&program, self.layout),
            };
        };
        Matcher::Search(self.search(found))
    }

    fn search(&mut self, found: Conjunctions) -> Search {
        if tuples::suit(&found, MAX_TUPLES) {
            return Search::Tuples(Tuples::new(found, self.layout));
        }
        if found.len() <= MAX_LIST {
            return Search::List(List::new(found));
        }
        match Vectors::new(&found, self.bytes_left) {
            Some(vectors) => {
                self.bytes_left = self.bytes_left.saturating_sub(vectors.n_bytes());
                Search::Vectors(vectors)
            }
            None => Search::Tuples(Tuples::new(found, self.layout)),
        }
    }

    /// `None` if there are too many.
    fn conjunctions(&self, length: u32, is_short: bool) -> Option<Conjunctions> {
        let mut rewriter = Rewriter::new(self.nodes, self.layout, length, is_short);
        let mut all = Conjunctions::new();
        for condition in self.conditions {
            let is_last = rewriter.rule(condition.root, condition.jump, &mut all)?;
            if all.len() > MAX_CONJUNCTIONS {
                return None;
            }
            if is_last {
                break;
            }
        }
        // What drops packets at the end says nothing.
        all.pop_while(NEVER);
        Some(all)
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
