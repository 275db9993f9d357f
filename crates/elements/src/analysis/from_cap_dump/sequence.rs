//! Sequence numbers of a transfer's packets, from their numbers and lengths.

/// Numbers of packets are below this.
const MAX_PACKETS: u32 = 1 << 24;
/// Bytes of a packet that nothing is known of.
const USUAL_LEN: u32 = 1460;

/// The sequence number at which each packet begins, as far as it is known or was needed.
pub(super) struct Numbers(Vec<Option<u32>>);

impl Numbers {
    /// Nothing is known but that the first packet begins at 0.
    pub fn new() -> Numbers {
        Numbers(vec![Some(0)])
    }

    /// Where packet `number` begins; if that is not known, as if all since the last known one were as long as that.
    pub fn at(&mut self, number: u32) -> Result<u32, String> {
        if number >= MAX_PACKETS {
            return Err(format!("packet number {number} too large"));
        }
        let number = number as usize;
        if number >= self.0.len() {
            self.0.resize(number + 1, None);
        }
        let before = self.0.get(..=number).unwrap_or_default();
        let known = before.iter().rposition(Option::is_some).unwrap_or(0);
        let begin = |at: usize| before.get(at).copied().flatten().unwrap_or(0);
        let len = match known.checked_sub(1) {
            Some(last) => begin(known).wrapping_sub(begin(last)),
            None => USUAL_LEN,
        };
        let mut next = begin(known);
        for place in self.0.iter_mut().take(number + 1).skip(known + 1) {
            next = next.wrapping_add(len);
            *place = Some(next);
        }
        Ok(next)
    }

    /// Where packet `number` begins; it is known from now on where it ends.
    pub fn pass(&mut self, number: u32, len: u32) -> Result<u32, String> {
        let begin = self.at(number)?;
        let end = begin.wrapping_add(len);
        let next = number as usize + 1;
        if next >= self.0.len() {
            self.0.resize(next + 1, None);
        }
        match self.0.get_mut(next) {
            Some(Some(known)) if *known != end => Err(format!("  >> {next} {known} {end}")),
            Some(place) => {
                *place = Some(end);
                Ok(begin)
            }
            None => Ok(begin),
        }
    }
}
