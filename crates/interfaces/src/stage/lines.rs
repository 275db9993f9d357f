//! Lines of text as they come in, and the packets that they are.

use element::{Batch, Packet};

use super::ascii;
use super::framing::Pause;

/// Bad lines that are told of one by one; of the others only their number is told in the end.
pub(super) const MAX_NOTES: u64 = 10;

/// Lines of text as they come in.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) bytes: Vec<u8>,
    /// What was read of the bytes.
    at: usize,
    n_lines: u64,
    is_ended: bool,
    /// The line is too long and is passed over.
    skips: bool,
    packet: Vec<u8>,
    /// Whether lines were packets, and whether some were none.
    has_packets: bool,
    has_bad: bool,
}

impl Lines {
    /// Takes in bytes; none are the end.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.is_ended |= bytes.is_empty();
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether there were lines, but no packet; said once.
    pub(super) fn are_useless(&mut self) -> bool {
        std::mem::take(&mut self.has_bad) && !self.has_packets
    }

    /// Adds the packets of the next lines to a batch until it has `max`; what is wrong with others goes to `notes`.
    pub(super) fn take(
        &mut self,
        batch: &mut Batch,
        max: usize,
        notes: &mut Vec<String>,
        n_bad: &mut u64,
    ) -> Pause {
        while batch.len() < max {
            let rest = self.bytes.get(self.at..).unwrap_or_default();
            let end = rest.iter().position(|byte| *byte == b'\n');
            let (line, n) = match end {
                Some(end) => (rest.get(..end).unwrap_or_default(), end + 1),
                None if rest.len() > ascii::MAX_LINE => {
                    self.skips = true;
                    (rest, rest.len())
                }
                None if !self.is_ended => return Pause::NeedInput,
                None if rest.is_empty() && !self.skips => return Pause::End,
                None => (rest, rest.len()),
            };
            let is_long = self.skips || line.len() > ascii::MAX_LINE;
            self.skips &= end.is_none() && !(self.is_ended && n <= ascii::MAX_LINE);
            self.n_lines += u64::from(!self.skips);
            let read = match is_long {
                _ if self.skips => Ok(false),
                true => Err(format!("it is longer than {} characters", ascii::MAX_LINE)),
                false => ascii::read_line(line, &mut self.packet),
            };
            self.at += n;
            match read {
                Ok(true) => {
                    let mut packet = Packet::from_bytes(&self.packet);
                    packet.set_mac_offset(0);
                    batch.push(packet);
                    self.has_packets = true;
                }
                Ok(false) => {}
                Err(message) => {
                    *n_bad += 1;
                    self.has_bad = true;
                    if *n_bad <= MAX_NOTES {
                        notes.push(format!("line {}: {message}; it is skipped", self.n_lines));
                    }
                }
            }
        }
        Pause::Enough
    }
}
