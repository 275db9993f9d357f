//! What the elements that make packets look like those of a transport protocol share.

use element::{Batch, Ctx, DropReason, Packet};
use wire::checksum;

/// Why packets are dropped.
pub const DROPS: &[DropReason] =
    &[DropReason::new("bad-lengths", "The marked IPv4 header leaves no room for the transport header.")];
const BAD_LENGTHS: usize = 0;

/// Header length and total length of a packet, as its IPv4 header has them.
#[derive(Clone, Copy)]
pub struct Lengths {
    /// Bytes of the IPv4 header; the packet has them.
    pub header: usize,
    /// Bytes of the IPv4 packet; this packet may have fewer.
    pub total: usize,
}

impl Lengths {
    /// The lengths in the marked header, if there is one and they leave room for `min_len` bytes behind it.
    pub fn of(packet: &Packet, min_len: usize) -> Option<Lengths> {
        let bytes = packet.network();
        let fields = bytes.first_chunk::<20>()?;
        let header = usize::from(fields[0] & 0x0f) * 4;
        let total = usize::from(u16::from_be_bytes([fields[2], fields[3]]));
        let fits = header >= 20 && header <= bytes.len() && total >= header + min_len;
        fits.then_some(Lengths { header, total })
    }

    /// Sets the checksum field `at` bytes behind the IPv4 header. As Click's, the checksum covers the options of that header;
    /// of bytes that are missing it takes no account.
    pub fn set_checksum(self, bytes: &mut [u8], at: usize) {
        let at = self.header + at;
        let Some(field) = bytes.get_mut(at..at + 2) else { return };
        field.fill(0);
        let Some((header, rest)) = bytes.split_first_chunk::<20>() else { return };
        let address = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]].into();
        let segment_len = (self.total - self.header) as u16;
        let pseudo = checksum::pseudo_ipv4(address(12), address(16), header[9], segment_len);
        let sum = checksum::transport(pseudo, rest.get(..self.total - 20).unwrap_or(rest));
        if let Some(field) = bytes.get_mut(at..at + 2) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Keeps the packets of `batch` that `force` copes with; the others are dropped, and told in the name of `class`.
pub fn keep(
    ctx: &mut Ctx<'_>,
    batch: &mut Batch,
    class: &str,
    mut force: impl FnMut(&mut Ctx<'_>, &mut Packet) -> Option<()>,
) {
    let mut bad = Batch::new();
    batch.split(|packet| u32::from(force(ctx, packet).is_none()), |_, packet| bad.push(packet));
    for _ in 0..bad.len() {
        ctx.chatter(&format!("{class}: bad lengths"));
    }
    ctx.drop_batch(BAD_LENGTHS, bad);
}

/// The methods `push` and `pull` of an element with a method `fn force(&mut self, ctx: &mut Ctx, packet: &mut Packet) ->
/// Option<()>`.
macro_rules! forced {
    ($class:ident) => {
        fn push(&mut self, ctx: &mut element::Ctx<'_>, _port: usize, mut batch: element::Batch) {
            $crate::ip::forced::keep(ctx, &mut batch, stringify!($class), |ctx, packet| {
                self.force(ctx, packet)
            });
            ctx.emit(0, batch);
        }

        fn pull(&mut self, ctx: &mut element::Ctx<'_>, _port: usize, max: usize) -> element::Batch {
            let mut batch = ctx.pull(0, max);
            $crate::ip::forced::keep(ctx, &mut batch, stringify!($class), |ctx, packet| {
                self.force(ctx, packet)
            });
            batch
        }
    };
}
pub(crate) use forced;
