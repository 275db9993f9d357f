//! What tcpdump tells of the IP header, in parentheses or brackets at the end of a line.

use wire::protocol;

use super::cursor::Cursor;
use super::{Draft, IP_HEADER};

/// Bits of the type of service that are for congestion notification (RFC 3168).
const ECN: u8 = 3;
const DONT_FRAGMENT: u16 = 0x4000;
const MORE_FRAGMENTS: u16 = 0x2000;

/// Most bytes of a packet for which there is room without and with many TCP options.
const ROOM: u32 = 64;
const ROOM_WITH_OPTIONS: u32 = 80;

/// Reads the groups from the last to the first, up to something else.
pub fn read_groups(draft: &mut Draft, mut text: &str) {
    loop {
        text = text.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        let opener = match text.as_bytes().last() {
            Some(b')') => '(',
            Some(b']') => '[',
            _ => return,
        };
        let Some((before, group)) = text.get(..text.len() - 1).and_then(|text| text.rsplit_once(opener))
        else {
            return;
        };
        let mut cursor = Cursor(group);
        while !cursor.0.is_empty() && read_item(draft, &mut cursor) {
            cursor.skip_all(&[',', ' ', '\t']);
        }
        text = before;
    }
}

/// Reads what is told of one field; whether it is known.
fn read_item(draft: &mut Draft, cursor: &mut Cursor<'_>) -> bool {
    let tos = draft.u8_at(1);
    if cursor.eat("tos 0x") {
        let tos = cursor.hexadecimal();
        draft.put(1, &[tos as u8]);
    } else if cursor.eat("ECT(0)") {
        draft.put(1, &[tos & !ECN | 1]);
    } else if cursor.eat("ECT(1)") {
        draft.put(1, &[tos & !ECN | 2]);
    } else if cursor.eat("CE") {
        draft.put(1, &[tos | ECN]);
    } else if cursor.eat("DF") {
        let flags = draft.u16_at(6) | DONT_FRAGMENT;
        draft.put(6, &flags.to_be_bytes());
    } else if cursor.eat_word_before_digit("frag ") {
        return read_fragment(draft, cursor);
    } else if cursor.eat_word_before_digit("ttl ") {
        let ttl = cursor.number().unwrap_or(0);
        draft.put(8, &[ttl as u8]);
    } else if cursor.eat_word_before_digit("id ") {
        let id = cursor.number().unwrap_or(0);
        draft.put(4, &(id as u16).to_be_bytes());
    } else if cursor.eat_word_before_digit("len ") {
        let len = cursor.number().unwrap_or(0);
        set_len(draft, len);
    } else {
        return false;
    }
    true
}

/// Reads `ID:LENGTH@OFFSET`, and `+` if more fragments follow.
fn read_fragment(draft: &mut Draft, cursor: &mut Cursor<'_>) -> bool {
    let id = cursor.number().unwrap_or(0);
    draft.put(4, &(id as u16).to_be_bytes());
    if !cursor.eat_word_before_digit(":") {
        return false;
    }
    draft.data_len = cursor.number();
    if !cursor.eat_word_before_digit("@") {
        return false;
    }
    let mut word = draft.u16_at(6) & !0x1FFF | cursor.number().unwrap_or(0) as u16;
    if cursor.eat("+") {
        word |= MORE_FRAGMENTS;
    }
    draft.put(6, &word.to_be_bytes());
    true
}

/// The IP length tells how much data there was; or, where that is known, that there were TCP options that are not.
fn set_len(draft: &mut Draft, len: u32) {
    let own_len = draft.len();
    match draft.data_len {
        Some(data_len) if len != own_len.wrapping_add(data_len) => {
            if draft.protocol == protocol::TCP {
                resize(draft, len.wrapping_sub(data_len));
            }
        }
        _ => draft.data_len = Some(len.wrapping_sub(own_len)).filter(|len| *len as i32 >= 0),
    }
}

fn resize(draft: &mut Draft, len: u32) {
    let own_len = draft.len();
    if len <= own_len {
        draft.packet.truncate(len as usize);
    } else if len <= if own_len > ROOM { ROOM_WITH_OPTIONS } else { ROOM } {
        draft
            .packet
            .append((len - own_len) as usize)
            .iter_mut()
            .skip(own_len as usize)
            .for_each(|byte| *byte = 0);
    }
    let words = draft.packet.len().saturating_sub(IP_HEADER) as u8 >> 2;
    draft.put(IP_HEADER + 12, &[words << 4]);
}
