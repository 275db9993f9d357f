//! Packets of a capture's records.

use element::{annotation, Batch, Packet};
use packet::FRAME_MAX;

use super::ethernet;
use super::framing::{further, Pause};
use crate::capture::{link, CaptureError, Decoder, Progress, Record};

/// Makes packets of records, and remembers those that it cannot make any of.
#[derive(Clone, Default)]
pub(super) struct Records {
    /// What is to be told.
    pub notes: Vec<String>,
    /// Records that no packet was made of.
    pub n_bad: u64,
    /// Those of them that were told of.
    n_told: u64,
    /// Link types that were told of.
    told: Vec<u32>,
}

impl Records {
    /// Adds the next packets to a batch until it has `max`.
    pub fn take(&mut self, decoder: &mut Decoder, batch: &mut Batch, max: usize) -> Pause {
        loop {
            decoder.plain_frames(FRAME_MAX, |frames| {
                batch.fill(max.saturating_sub(batch.len()), |room| frames.copy_to(room));
            });
            if batch.len() >= max {
                return Pause::Enough;
            }
            match decoder.next_record() {
                Ok(Progress::Record(record)) => match packet_of(&record) {
                    Some(packet) => batch.push(packet),
                    None => self.skip(record.link_type),
                },
                Ok(Progress::NeedInput) => return Pause::NeedInput,
                Ok(Progress::End) | Err(CaptureError::Empty) => {
                    self.tell_rest();
                    return Pause::End;
                }
                Err(error) => {
                    self.tell_rest();
                    return Pause::Fault(error.to_string());
                }
            }
        }
    }

    /// A packet of this link type cannot be made an Ethernet frame.
    #[cold]
    fn skip(&mut self, link_type: u32) {
        self.n_bad += 1;
        if self.told.contains(&link_type) {
            return;
        }
        self.told.push(link_type);
        self.n_told += 1;
        let name = link::unparse(link_type);
        self.notes.push(match ethernet::can_be_made(link_type) {
            true => format!(
                "a packet of link type {name} carries nothing that can be made an Ethernet frame; such packets are skipped"
            ),
            false => {
                // Nothing of the capture can be used, or nothing of one of its interfaces.
                element::failure::note();
                format!("packets of link type {name} cannot be made Ethernet frames; they are skipped")
            }
        });
    }

    /// Tells how many packets were skipped that were not told of one by one.
    fn tell_rest(&mut self) {
        let n_told = std::mem::replace(&mut self.n_told, self.n_bad);
        self.notes.extend(further(self.n_bad - n_told, "packet"));
    }
}

/// A record as an Ethernet frame, if it can be one.
#[inline]
fn packet_of(record: &Record<'_>) -> Option<Packet> {
    let mut packet = match record.link_type {
        link::ETHERNET => Packet::from_bytes(record.data),
        _ => ethernet::make(record)?,
    };
    let extra = (record.wire_len as usize).saturating_sub(record.data.len());
    packet.set_anno_u32(annotation::EXTRA_LENGTH, u32::try_from(extra).unwrap_or(u32::MAX));
    let time = record.timestamp;
    let ns = time.seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(time.nanoseconds));
    packet.set_timestamp_ns(ns);
    packet.set_mac_offset(0);
    Some(packet)
}
