//! Restores the headers that `RFC2507Comp` has compressed.
//!
//! What comes in must be as that element made it, in its order; a packet that got lost makes the headers of the following ones
//! wrong, up to the next that is sent whole. Packets that make no sense are dropped. For each packet standard error tells sequence
//! number and length, and whether its checksums are wrong; a packet that leaves has no annotations.
//!
//! ```click
//! FromDump(in.pcap, FORCE_IP true) -> StripToNetworkHeader -> RFC2507Comp -> RFC2507Decomp -> IPPrint -> Discard;
//! ```

use element::{offload, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};
use wire::checksum;

use super::compressed_header::{self as form, Headers, ID_FIELD, LEN, N_CONTEXTS, TCP_FIELDS};
use super::rfc2507_comp::joined;

/// The class.
pub const CLASS: Class = Class::new::<RFC2507Decomp>("RFC2507Decomp", "1/1", "a/a", "x/x").drops(DROPS);

const DROPS: &[DropReason] =
    &[DropReason::new("no-sense", "It is of no form, too short for it, or of a context that has not begun.")];
const NO_SENSE: usize = 0;

const PUSH: u8 = 0x08;
const URGENT: u8 = 0x20;
const IP_HEADER: usize = 20;

/// See the page above.
pub struct RFC2507Decomp {
    /// The last headers of each context.
    contexts: [Option<Headers>; N_CONTEXTS],
}

impl Element for RFC2507Decomp {
    fn configure(conf: &mut Configure<'_>) -> Result<RFC2507Decomp, Failed> {
        conf.finish()?;
        Ok(RFC2507Decomp { contexts: [None; N_CONTEXTS] })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let whole = self.restore_all(ctx, &mut batch);
        ctx.emit(0, whole);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        self.restore_all(ctx, &mut batch)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = element::same::<RFC2507Decomp>(ctx, old) else { return };
        self.contexts = old.contexts;
    }
}

impl RFC2507Decomp {
    fn restore_all(&mut self, ctx: &mut Ctx<'_>, batch: &mut Batch) -> Batch {
        let mut whole = Batch::new();
        for mut packet in batch.drain() {
            offload::settle(&mut packet);
            if packet.len() >= 2 && packet.data().first() == Some(&form::FULL) {
                ctx.chatter("2507d: got full header");
            }
            match self.restore(packet.data()) {
                Some(restored) => {
                    tell(ctx, restored.data());
                    whole.push(restored);
                }
                None => {
                    ctx.chatter("RFC2507d: no q");
                    ctx.drop_packet(NO_SENSE, packet);
                }
            }
        }
        whole
    }

    fn restore(&mut self, bytes: &[u8]) -> Option<Packet> {
        match bytes {
            [form::OTHER, _, ..] => Some(joined(&[bytes.get(1..)?])),
            [form::FULL, number, packet @ ..] => {
                *self.context(*number)? = Some(Headers::of(packet)?);
                Some(joined(&[packet]))
            }
            [form::COMPRESSED, number, flags, high, low, rest @ ..] => {
                let context = self.context(*number)?;
                let mut headers = (*context)?;
                headers.set_tcp_checksum([*high, *low]);
                let payload = apply(&mut headers, *flags, rest)?;
                headers.set_len((LEN + payload.len()) as u16);
                *context = Some(headers);
                Some(joined(&[&headers.0, payload]))
            }
            _ => None,
        }
    }

    fn context(&mut self, number: u8) -> Option<&mut Option<Headers>> {
        self.contexts.get_mut(usize::from(number)).filter(|_| number > 0)
    }
}

/// Applies differences to headers; gives what follows them.
fn apply<'a>(headers: &mut Headers, flags: u8, mut rest: &'a [u8]) -> Option<&'a [u8]> {
    headers.set_flag(PUSH, flags & form::PUSH != 0);
    headers.set_flag(URGENT, flags & form::URGENT != 0);
    for (field, bit, _) in TCP_FIELDS {
        if flags & bit != 0 {
            headers.set(field, headers.get(field).wrapping_add(form::decode(&mut rest)?));
        }
    }
    let step = if flags & form::ID != 0 { form::decode(&mut rest)? } else { 1 };
    headers.set(ID_FIELD, headers.get(ID_FIELD).wrapping_add(step));
    Some(rest)
}

/// Tells what a packet is, and which checksums are wrong. Bytes that it lacks count as zeros.
fn tell(ctx: &mut Ctx<'_>, packet: &[u8]) {
    let byte = |at: usize| packet.get(at).copied().unwrap_or(0);
    let sequence = i32::from_be_bytes([byte(24), byte(25), byte(26), byte(27)]);
    ctx.chatter(&format!("seq {sequence} len {}", packet.len() as i64 - LEN as i64));
    let beginning = |len: usize| packet.get(..len.min(packet.len())).unwrap_or_default();
    if checksum::checksum(beginning(usize::from(byte(0) & 0xf) * 4)) != 0 {
        ctx.chatter(" ip cksum failed");
    }
    // The IPv4 header becomes the pseudo-header: only protocol and addresses stay, and the checksum is the segment's length.
    let len = usize::from(u16::from_be_bytes([byte(2), byte(3)]));
    let segment_len = (len as u16).wrapping_sub(IP_HEADER as u16);
    let header: [u8; IP_HEADER] = std::array::from_fn(|at| match at {
        0..=8 => 0,
        10 => segment_len.to_be_bytes()[0],
        11 => segment_len.to_be_bytes()[1],
        at => byte(at),
    });
    let segment = beginning(len).get(IP_HEADER..).unwrap_or_default();
    let header = header.get(..len.min(IP_HEADER)).unwrap_or_default();
    if checksum::transport(checksum::sum(header), segment) != 0 {
        ctx.chatter(" tcp cksum failed");
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn what_makes_no_sense_is_dropped() {
        let data = ["00", "0041", "0105", "010f45", "0201 00 0000", "0300", "0100", "02ff 00 0000 00"];
        let sources: String =
            data.iter().map(|data| format!("InfiniteSource(DATA \\<{data}>, LIMIT 1) -> d;\n")).collect();
        check_reading(
            &format!("d :: RFC2507Decomp -> Print -> Discard; {sources} DriverManager(wait 1s)"),
            &[],
            expect![[r#"
                RFC2507d: no q
                seq 0 len -39
                 ip cksum failed
                 tcp cksum failed
                   1 | 41
                2507d: got full header
                RFC2507d: no q
                2507d: got full header
                RFC2507d: no q
                RFC2507d: no q
                RFC2507d: no q
                2507d: got full header
                RFC2507d: no q
                RFC2507d: no q
            "#]],
        );
    }

    #[test]
    fn differences_that_are_cut_off_change_nothing() {
        let full =
            "01 03 45000028 00010000 40060000 01000001 02000002 00010002 00000003 00000004 50100005 00000006";
        let data =
            [full, "02 03 2f abcd 01 02 03", "02 03 08 abcd 00 01", "02 03 3f abcd 01 02 000304 05 06 7879"];
        let sources: String = (0..data.len())
            .map(|at| format!("InfiniteSource(DATA \\<{}>, LIMIT 1) -> d;\n", data[at]))
            .collect();
        check_reading(
            &format!("d :: RFC2507Decomp -> Print(x, 99) -> Discard; {sources} DriverManager(wait 1s)"),
            &[],
            expect![[r#"
                2507d: got full header
                seq 3 len 0
                 ip cksum failed
                 tcp cksum failed
                x:   40 | 45000028 00010000 40060000 01000001 02000002 00010002 00000003 00000004 50100005 00000006
                RFC2507d: no q
                RFC2507d: no q
                seq 8 len 2
                 tcp cksum failed
                x:   42 | 4500002a 00070000 400677c5 01000001 02000002 00010002 00000008 00000308 50380007 abcd0007 7879
            "#]],
        );
    }
}
