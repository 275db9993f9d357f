//! What tcpdump tells of the TCP header.

use std::collections::HashMap;

use super::cursor::Cursor;
use super::{Draft, IP_HEADER, TCP_HEADER};

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;
/// Letters of the flags and their numbers: those of newer and older versions.
const FLAGS: &[(char, u32)] = &[
    ('F', 0),
    ('S', 1),
    ('R', 2),
    ('P', 3),
    ('A', 4),
    ('U', 5),
    ('E', 6),
    ('X', 6),
    ('C', 7),
    ('W', 7),
    ('Y', 7),
    ('N', 8),
];

/// Numbers of acknowledgements up to which they may be relative.
const LARGEST_RELATIVE: u32 = 8000;

/// Both ends of a flow: the larger first.
type Ends = [(u16, u32); 2];

/// Sequence numbers of a flow, by direction.
#[derive(Clone, Copy, Default)]
struct Flow {
    first: [u32; 2],
    /// What comes after what was seen last.
    next: [u32; 2],
}

/// All flows.
#[derive(Default)]
pub struct Flows {
    flows: HashMap<Ends, Flow>,
    /// Whether sequence numbers are absolute, as far as is known.
    is_absolute: Option<bool>,
}

/// Sequence numbers as they are printed.
#[derive(Clone, Copy, Default)]
struct Numbers {
    first: u32,
    end: u32,
    acknowledged: u32,
}

/// What sequence numbers in selective acknowledgements are relative to.
type Base = u32;

/// Reads what is told, up to the groups that tell of the IP header.
pub fn read(draft: &mut Draft, cursor: &mut Cursor<'_>, flows: &mut Flows) {
    let mut flags = read_flags(cursor);
    draft.put(IP_HEADER + 13, &[flags]);
    if !cursor.0.starts_with(' ') {
        return;
    }
    skip_checks(cursor);
    let mut numbers = Numbers::default();
    if !cursor.0.is_empty() && !cursor.0.starts_with('a') && read_sequence(cursor, &mut numbers).is_none() {
        return;
    }
    let data_len = numbers.end.wrapping_sub(numbers.first);
    draft.data_len = Some(data_len).filter(|len| *len as i32 >= 0);
    if cursor.eat_word_before_digit("ack ") {
        flags |= ACK;
        numbers.acknowledged = cursor.number().unwrap_or(0);
        cursor.eat(" ");
    }
    draft.put(IP_HEADER + 13, &[flags]);
    let base = if flags & ACK != 0 { flows.make_absolute(draft, flags, &mut numbers) } else { 0 };
    draft.put(IP_HEADER + 4, &numbers.first.to_be_bytes());
    draft.put(IP_HEADER + 8, &numbers.acknowledged.to_be_bytes());
    if cursor.eat_word_before_digit("win ") {
        let window = cursor.number().unwrap_or(0);
        draft.put(IP_HEADER + 14, &(window as u16).to_be_bytes());
        cursor.eat(" ");
    }
    if cursor.eat_word_before_digit("urg ") {
        let urgent = cursor.number().unwrap_or(0);
        draft.put(IP_HEADER + 18, &(urgent as u16).to_be_bytes());
        // As in Click, which goes on behind the space, and so does not see options.
        if !cursor.0.is_empty() && !cursor.0.starts_with(' ') {
            cursor.skip(1);
        }
    }
    let options = if cursor.eat("<") { read_options(cursor, base) } else { Vec::new() };
    draft.packet.append(options.len());
    draft.put(IP_HEADER + TCP_HEADER, &options);
    let words = ((TCP_HEADER + options.len()) >> 2) as u8;
    draft.put(IP_HEADER + 12, &[words << 4]);
}

fn read_flags(cursor: &mut Cursor<'_>) -> u8 {
    if cursor.eat(".") {
        return ACK;
    }
    let mut flags = 0u32;
    while let Some((_, number)) = FLAGS.iter().find(|(letter, _)| cursor.0.starts_with(*letter)) {
        flags |= 1 << number;
        cursor.skip(1);
    }
    flags as u8
}

/// Skips the space behind the flags, and what is told of checksums and lengths.
fn skip_checks(cursor: &mut Cursor<'_>) {
    let mut ahead = *cursor;
    if ahead.eat(" ") && ahead.eat_bracket("[bad hdr") {
        *cursor = ahead;
    }
    cursor.eat(" ");
    let mut ahead = *cursor;
    if ahead.eat("[tcp sum ok] ") || ahead.eat_bracket("[bad tcp") && ahead.eat(" ") {
        *cursor = ahead;
    }
}

/// Reads `FIRST:END(LENGTH) `; `None` if it is not there.
fn read_sequence(cursor: &mut Cursor<'_>, numbers: &mut Numbers) -> Option<()> {
    let mut ahead = *cursor;
    numbers.first = ahead.number()?;
    if !ahead.eat(":") {
        return None;
    }
    numbers.end = ahead.number()?;
    if !ahead.eat("(") {
        return None;
    }
    ahead.0 = ahead.0.trim_start_matches(|next: char| next.is_ascii_digit());
    *cursor = ahead;
    if !cursor.eat(")") {
        return None;
    }
    cursor.eat(" ").then_some(())
}

impl Flows {
    /// Makes the numbers of a segment absolute; gives what they are relative to in the other direction.
    fn make_absolute(&mut self, draft: &Draft, flags: u8, numbers: &mut Numbers) -> Base {
        let source = (draft.u16_at(IP_HEADER), draft.u32_at(12));
        let destination = (draft.u16_at(IP_HEADER + 2), draft.u32_at(16));
        let is_reversed = source < destination;
        let ends = if is_reversed { [destination, source] } else { [source, destination] };
        let flow = self.flows.entry(ends).or_default();
        let [own_first, other_first] = in_direction(&mut flow.first, is_reversed);
        let [own_next, other_next] = in_direction(&mut flow.next, is_reversed);
        if (*own_first == 0 && *other_first == 0) || flags & SYN != 0 {
            // tcpdump begins a flow anew by the same rule.
            *own_first = numbers.first;
            *other_first = numbers.acknowledged.wrapping_sub(1);
        } else {
            let is_behind = numbers.acknowledged.wrapping_sub(*other_first) as i32 >= 0;
            let is_large = numbers.acknowledged > LARGEST_RELATIVE;
            let is_absolute = *self.is_absolute.get_or_insert(is_behind && is_large);
            if numbers.first == 0 && numbers.end == 0 {
                (numbers.first, numbers.end) = (*own_next, *own_next);
            } else if !is_absolute {
                numbers.first = numbers.first.wrapping_add(*own_first);
                numbers.end = numbers.end.wrapping_add(*own_first);
            }
            if !is_absolute {
                numbers.acknowledged = numbers.acknowledged.wrapping_add(*other_first);
            }
        }
        let n_flags = (flags & (SYN | FIN)).count_ones();
        *own_next = numbers.end.wrapping_add(n_flags);
        if *other_next == 0 {
            *other_next = numbers.acknowledged;
        }
        if self.is_absolute.unwrap_or(true) {
            0
        } else {
            *other_first
        }
    }
}

/// What is of the segment's direction, and what is of the other one.
fn in_direction(pair: &mut [u32; 2], is_reversed: bool) -> [&mut u32; 2] {
    let [first, second] = pair;
    if is_reversed {
        [second, first]
    } else {
        [first, second]
    }
}

/// Reads options up to `>`, filled up to words. What is not known is left out.
fn read_options(cursor: &mut Cursor<'_>, base: Base) -> Vec<u8> {
    let mut options = Vec::new();
    while !cursor.0.is_empty() && !cursor.0.starts_with('>') {
        let len = options.len();
        read_option(cursor, base, &mut options);
        if !cursor.eat(",") && !cursor.0.is_empty() && !cursor.0.starts_with('>') {
            options.truncate(len);
            cursor.0 = cursor.0.trim_start_matches(|next| next != ',' && next != '>');
        }
    }
    cursor.eat(">");
    options.resize(options.len().next_multiple_of(4), 0);
    options
}

fn read_option(cursor: &mut Cursor<'_>, base: Base, options: &mut Vec<u8>) {
    if cursor.eat("nop") {
        options.push(1);
    } else if cursor.eat("eol") {
        options.push(0);
    } else if cursor.eat_word_before_digit("mss ") {
        options.extend([2, 4]);
        options.extend((cursor.number().unwrap_or(0) as u16).to_be_bytes());
    } else if cursor.eat_word_before_digit("wscale ") {
        options.extend([3, 3, cursor.number().unwrap_or(0) as u8]);
    } else if cursor.eat("sackOK") {
        options.extend([4, 2]);
    } else if cursor.eat_word_before_digit("timestamp ") {
        let value = cursor.number().unwrap_or(0);
        if cursor.eat_word_before_digit(" ") {
            options.extend([8, 10]);
            options.extend([value, cursor.number().unwrap_or(0)].map(u32::to_be_bytes).as_flattened());
        }
    } else if cursor.eat_word_before_digit("sack sack ") {
        read_sack(cursor, base, options);
    }
}

/// Reads the number of blocks and `{FIRST:END}` for each.
fn read_sack(cursor: &mut Cursor<'_>, base: Base, options: &mut Vec<u8>) {
    let n_blocks = cursor.number().unwrap_or(0);
    options.extend([5, n_blocks.wrapping_mul(8).wrapping_add(2) as u8]);
    cursor.skip_all(&[' ']);
    while cursor.eat_word_before_digit("{") {
        let first = cursor.number().unwrap_or(0);
        if cursor.eat_word_before_digit(":") {
            let end = cursor.number().unwrap_or(0);
            if cursor.eat("}") {
                options.extend(
                    [first, end].map(|number| number.wrapping_add(base).to_be_bytes()).as_flattened(),
                );
            }
        }
    }
    cursor.skip_all(&[' ']);
}
