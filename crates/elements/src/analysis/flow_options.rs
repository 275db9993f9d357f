//! The TCP options that a flow's dump tells.

use super::summary::describe::u8_at;
use super::summary::option_text::{self, each_option};
use super::summary::tcp_options::{self, Shown, MSS, SACK, SACK_PERMITTED, TIMESTAMP, WINDOW_SCALE};

/// Which options are told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Options {
    /// None.
    Nothing,
    /// Segment size, window scale and selective acknowledgements.
    Some,
    /// Those and timestamps.
    All,
}

/// RFC 7323, appendix A: two fillers and a timestamp option, the usual options of a segment.
const TIMESTAMP_ALONE: [u8; 4] = [1, 1, TIMESTAMP, 10];
const TIMESTAMP_ALONE_LEN: usize = 12;

/// Appends the options that are to be told, or nothing if any is wrong; as in Click, unknown ones of one byte are not. Selective
/// acknowledgements are counted from the first sequence number in the other direction, which they may tell.
pub fn choose(options: &[u8], wanted: Options, other: &mut Option<u32>, chosen: &mut Vec<u8>) {
    let is_usual = options.len() == TIMESTAMP_ALONE_LEN && options.starts_with(&TIMESTAMP_ALONE);
    if wanted == Options::Nothing || is_usual && wanted != Options::All {
        return;
    }
    let are_right = each_option(options, tcp_options::fits_kind, |option| match u8_at(option, 0) {
        MSS | WINDOW_SCALE | SACK_PERMITTED => chosen.extend_from_slice(option),
        TIMESTAMP if wanted == Options::All => chosen.extend_from_slice(option),
        SACK => {
            chosen.extend_from_slice(option.get(..2).unwrap_or_default());
            let (edges, _) = option.get(2..).unwrap_or_default().as_chunks::<4>();
            let edges = edges.iter().map(|edge| u32::from_be_bytes(*edge));
            chosen.extend(edges.flat_map(|edge| edge.wrapping_sub(*other.get_or_insert(edge)).to_be_bytes()));
        }
        _ => {}
    });
    if !are_right {
        chosen.clear();
    }
}

/// Prints chosen options.
pub fn print(chosen: &[u8], out: &mut Vec<u8>) {
    tcp_options::print(chosen, Shown::All, out);
}

/// Writes chosen options after a byte that says how long they are.
pub fn write(chosen: &[u8], out: &mut Vec<u8>) {
    option_text::write_known(chosen, |kind| kind > option_text::NOP, out);
}
