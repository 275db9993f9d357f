//! Cuts IPv4 packets that are too long into fragments.
//!
//! Packets of at most MTU bytes, from the IPv4 header on, pass. Longer ones leave as fragments, in order (RFC 791, section 3.2),
//! unless their don't-fragment bit is set: those leave by output 1, where an `ICMPError` usually is, or are dropped; the first
//! five of them are told on standard error. Options are copied to the later fragments as their copy bits say, annotations to
//! all; what is in front of the IPv4 header only to the first, unless LINK is true. A packet without a mark passes.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> f :: IPFragmenter(1024) -> Discard;
//! f[1] -> ICMPError(18.26.4.24, unreachable, needfrag) -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{
    offload, same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Made,
    Packet,
};
use packet::DEFAULT_HEADROOM;
use wire::{checksum, ip_flag, ip_option, Ipv4};

use super::pieces::Pieces;

/// The class.
pub const CLASS: Class = Class::new::<IPFragmenter>("IPFragmenter", "1/1-2", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::LINES.and(Causes::CHANGES).and(Causes::MORE))
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<IPFragmenter>();

const ARGS: &[Arg] = &[
    Arg::required("MTU", "unsigned", "Most bytes of a packet from its IPv4 header on, at least 8."),
    Arg::optional("HONOR_DF", "bool", "Whether to respect the don't-fragment bit. Default true."),
    Arg::optional("VERBOSE", "bool", "Whether to tell every packet that must not be cut. Default false."),
    Arg::keyword("HEADROOM", "unsigned", "Bytes of headroom of the fragments but the first. Default 128."),
    Arg::keyword(
        "LINK",
        "bool",
        "Whether all fragments get what is in front of the IPv4 header. Default false.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Packets that were too long and must not or cannot be cut."),
    Handler::read("fragments", "Fragments made."),
];

const MUST_NOT_CUT: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("dont-fragment", "Too long, must not or cannot be cut, and there is no output 1.")];

/// Told at most so often unless VERBOSE.
const TOLD: u64 = 5;
const HEADROOM_MAX: u32 = 1 << 20;

/// See the page above.
pub struct IPFragmenter {
    mtu: usize,
    honors_df: bool,
    is_verbose: bool,
    headroom: usize,
    copies_link: bool,
    n_drops: u64,
    n_fragments: u64,
}

impl Element for IPFragmenter {
    fn configure(conf: &mut Configure<'_>) -> Result<IPFragmenter, Failed> {
        let mtu: u32 = conf.args.need("MTU");
        let honors_df = conf.args.get_or("HONOR_DF", true);
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let headroom: u32 = conf.args.get_or("HEADROOM", DEFAULT_HEADROOM as u32);
        let copies_link = conf.args.get_or("LINK", false);
        if mtu < 8 {
            conf.args.fail("MTU must be at least 8");
        }
        conf.finish()?;
        let (mtu, headroom) = (mtu as usize, headroom.min(HEADROOM_MAX) as usize);
        Ok(IPFragmenter { mtu, honors_df, is_verbose, headroom, copies_link, n_drops: 0, n_fragments: 0 })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        if batch.iter().all(|packet| offload::wire_len(packet) <= self.mtu) {
            return ctx.emit(0, batch);
        }
        let mut out = Pieces::of(&batch);
        for packet in batch.drain() {
            if offload::wire_len(&packet) <= self.mtu {
                out.add(ctx, packet);
            } else {
                self.cut(ctx, &mut out, packet);
            }
        }
        out.send(ctx);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "drops" => Ok(self.n_drops.to_string()),
            "fragments" => Ok(self.n_fragments.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn made(&self) -> Made {
        let least = self.mtu.saturating_sub(Ipv4::MAX_LEN) & !7;
        Made::Pieces(least.max(8))
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IPFragmenter>(ctx, old) else { return };
        (self.n_drops, self.n_fragments) = (old.n_drops, old.n_fragments);
    }
}

impl HasFastPath for IPFragmenter {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::up_to(self.mtu)))
    }
}

impl IPFragmenter {
    /// Adds the fragments of a packet that is too long to `out`, or sends it elsewhere.
    fn cut(&mut self, ctx: &mut Ctx<'_>, out: &mut Pieces, mut packet: Packet) {
        offload::settle(&mut packet);
        let bytes = packet.network_mut();
        let n_bytes = bytes.len();
        let Some(header) = bytes.first_chunk_mut::<20>() else { return out.add(ctx, packet) };
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let first_len = self.mtu.saturating_sub(header_len) & !7;
        let total_len = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let flags = u16::from_be_bytes([header[6], header[7]]);
        let has_df = flags & ip_flag::DF != 0;
        if has_df && self.honors_df || first_len < 8 || header_len + first_len > n_bytes {
            return self.refuse(ctx, out, packet);
        }
        if has_df {
            // Whoever forbids fragments need not choose identifications that tell packets apart (RFC 6864).
            header[4..6].copy_from_slice(&(ctx.random() as u16).to_ne_bytes());
        }
        let flags = flags & !ip_flag::DF;
        set_lengths(bytes, header_len, header_len + first_len, flags | ip_flag::MF);
        let mut first = packet.clone();
        first.truncate(
            (first.network_offset().unwrap_or(0) + (header_len + first_len) as isize).max(0) as usize
        );
        out.add(ctx, first);
        self.n_fragments += 1;
        let template = Template::new(packet.network(), header_len, flags);
        let link = packet.network_offset().and_then(|offset| usize::try_from(offset).ok());
        let link = link.filter(|_| self.copies_link).and_then(|len| packet.data().get(..len));
        let link = link.unwrap_or_default();
        let mut offset = first_len;
        let payload_len = total_len.saturating_sub(header_len);
        while offset < payload_len {
            let len = (self.mtu.saturating_sub(template.header_len) & !7).min(payload_len - offset);
            let mut fragment =
                template.fragment(&packet, offset, len, offset + len == payload_len, self.headroom);
            put_in_front(&mut fragment, link);
            fragment.set_place(packet.place());
            out.add(ctx, fragment);
            self.n_fragments += 1;
            offset += len;
        }
    }

    #[cold]
    fn refuse(&mut self, ctx: &mut Ctx<'_>, out: &mut Pieces, packet: Packet) {
        if self.is_verbose || self.n_drops < TOLD {
            let ip = packet.network();
            let address = |at: usize| {
                ip.get(at..)
                    .and_then(|rest| rest.first_chunk::<4>())
                    .map_or(Ipv4Addr::UNSPECIFIED, |a| (*a).into())
            };
            let (source, destination) = (address(12), address(16));
            let text = format!("IPFragmenter({}) DF {source} {destination} len={}", self.mtu, packet.len());
            ctx.chatter_of(packet.place(), &text);
        }
        self.n_drops += 1;
        // What came before goes first.
        out.send(ctx);
        ctx.emit_or_drop(1, MUST_NOT_CUT, Batch::of(packet));
    }
}

/// Gives a fragment the link-layer header of its packet.
fn put_in_front(fragment: &mut Packet, link: &[u8]) {
    if link.is_empty() {
        return;
    }
    if let Some(place) = fragment.prepend(link.len()).get_mut(..link.len()) {
        place.copy_from_slice(link);
    }
    fragment.set_mac_offset(0);
}

/// Writes total length and flags, and the checksum. As in Click that is one of as many bytes as the header says that it has, even if
/// those are too few for a header.
fn set_lengths(bytes: &mut [u8], header_len: usize, total_len: usize, flags: u16) {
    let Some(header) = bytes.first_chunk_mut::<20>() else { return };
    header[2..4].copy_from_slice(&(total_len as u16).to_be_bytes());
    header[6..8].copy_from_slice(&flags.to_be_bytes());
    header[10..12].fill(0);
    let sum = checksum::checksum(bytes.get(..header_len).unwrap_or_default());
    if let Some(field) = bytes.get_mut(10..12) {
        field.copy_from_slice(&sum.to_be_bytes());
    }
}

/// What all fragments but the first have in common.
struct Template {
    /// The header with the options that are copied.
    header: [u8; Ipv4::MAX_LEN],
    header_len: usize,
    /// Length of the packet's own header.
    whole_header_len: usize,
    /// Flags and offset of the packet that is cut, which may be a fragment itself.
    flags: u16,
}

impl Template {
    fn new(ip: &[u8], header_len: usize, flags: u16) -> Template {
        let mut header = [0; Ipv4::MAX_LEN];
        let (fixed, options) = header.split_at_mut(20);
        fixed.copy_from_slice(ip.get(..20).unwrap_or(&[0; 20]));
        let n_bytes = 20 + copy_options(ip.get(20..header_len).unwrap_or_default(), options);
        header[0] = header[0] & 0xf0 | (n_bytes / 4) as u8;
        Template { header, header_len: n_bytes, whole_header_len: header_len, flags }
    }

    /// The fragment with `len` bytes of payload from `offset` on; bytes that the packet lacks are 0.
    fn fragment(&self, whole: &Packet, offset: usize, len: usize, is_last: bool, headroom: usize) -> Packet {
        let header_len = self.header_len;
        let mut fragment = Packet::uninit(headroom, header_len + len, 0);
        let ends = is_last && self.flags & ip_flag::MF == 0;
        // As Click, also where the offset is so large that it reaches into the flags.
        let flags = (self.flags | ip_flag::MF).wrapping_add((offset / 8) as u16);
        let flags = if ends { flags & !ip_flag::MF } else { flags };
        let bytes = fragment.data_mut();
        if let Some((header, payload)) = bytes.split_at_mut_checked(header_len) {
            header.copy_from_slice(&self.header[..header_len]);
            let from = whole.network().get(self.whole_header_len + offset..).unwrap_or_default();
            let n = from.len().min(payload.len());
            let (there, lacking) = payload.split_at_mut(n);
            there.copy_from_slice(from.get(..n).unwrap_or_default());
            lacking.fill(0);
        }
        set_lengths(bytes, header_len, header_len + len, flags);
        fragment.set_network_header(0, header_len);
        fragment.copy_annotations(whole);
        fragment
    }
}

/// Copies the options whose copy bit is set (RFC 791, section 3.1); ends at a malformed one. Yields how long they are, filled up
/// to a multiple of 4 bytes.
fn copy_options(options: &[u8], copied: &mut [u8]) -> usize {
    let (mut rest, mut n_copied) = (options, 0);
    loop {
        match *rest {
            [ip_option::NOP, ref after @ ..] => rest = after,
            [] | [ip_option::END, ..] | [_] => break,
            [kind, len, ..] => {
                let Some((option, after)) = rest.split_at_checked(usize::from(len)).filter(|_| len >= 2)
                else {
                    break;
                };
                if let Some(place) =
                    copied.get_mut(n_copied..n_copied + option.len()).filter(|_| kind & 0x80 != 0)
                {
                    place.copy_from_slice(option);
                    n_copied += option.len();
                }
                rest = after;
            }
        }
    }
    let n_filled = n_copied.next_multiple_of(4);
    copied[n_copied..n_filled].fill(ip_option::END);
    n_filled
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    fn fragment(arguments: &str, packet: &str, expect: expect_test::Expect) {
        let source = format!("InfiniteSource(DATA \\<{packet}>, LIMIT 1, STOP true) -> MarkIPHeader");
        let rest = "Print(p, MAXLENGTH -1) -> Discard; f[1] -> Print(elsewhere) -> Discard";
        check_reading(
            &format!("{source} -> f :: IPFragmenter({arguments}) -> {rest}"),
            &["f.fragments", "f.drops"],
            expect,
        );
    }

    #[test]
    fn options_are_copied_as_their_copy_bits_say() {
        let packet =
            "49000040 00070000 4011 0000 01000001 02000002 01 07 03 04 94 04 00 00 01 01 88 04 0a 0b 00 00 \
                      00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617 18191a1b";
        fragment(
            "52",
            packet,
            expect![[r#"
            p:   52 | 49000034 00072000 40112890 01000001 02000002 01070304 94040000 01018804 0a0b0000 00010203 04050607 08090a0b 0c0d0e0f
            p:   40 | 47000028 00070002 40114fa6 01000001 02000002 94040000 88040a0b 10111213 14151617 18191a1b
            f.fragments: 2
            f.drops: 0
        "#]],
        );
    }

    #[test]
    fn a_header_that_claims_too_few_words_is_cut_as_by_click() {
        let packet =
            "60000028 00070000 4011 1234 01000001 02000002 00010203 04050607 08090a0b 0c0d0e0f 10111213";
        fragment(
            "28",
            packet,
            expect![[r#"
            p:   24 | 60000018 00072000 4011ffff 01000001 02000002 00010203
            p:   28 | 6500001c 00072003 401137c5 01000001 02000002 04050607 08090a0b
            p:   28 | 6500001c 00070004 401157c4 01000001 02000002 0c0d0e0f 10111213
            f.fragments: 3
            f.drops: 0
        "#]],
        );
    }

    #[test]
    fn a_fragment_is_cut_into_fragments_that_are_not_the_last() {
        fragment("32", "4500002c 00072005 4011 0000 01000001 02000002 00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617", expect![[r#"
            p:   28 | 4500001c 00072005 401157c3 01000001 02000002 00010203 04050607
            p:   28 | 4500001c 00072006 401157c2 01000001 02000002 08090a0b 0c0d0e0f
            p:   28 | 4500001c 00072007 401157c1 01000001 02000002 10111213 14151617
            f.fragments: 3
            f.drops: 0
        "#]]);
    }

    #[test]
    fn the_link_header_goes_to_all_fragments_if_so_told() {
        let packet = "020000000001020000000002 0800 45000024 00070000 40110000 01000001 02000002 00010203 04050607 08090a0b 0c0d0e0f";
        let source = format!("InfiniteSource(DATA \\<{packet}>, LIMIT 1, STOP true) -> MarkIPHeader(14)");
        let rest = "Print(p, MAXLENGTH -1) -> Discard";
        check_reading(
            &format!("{source} -> IPFragmenter(28, LINK true) -> {rest}"),
            &[],
            expect![[r#"
            p:   42 | 02000000 00010200 00000002 08004500 001c0007 20004011 57c80100 00010200 00020001 02030405 0607
            p:   42 | 02000000 00010200 00000002 08004500 001c0007 00014011 77c70100 00010200 00020809 0a0b0c0d 0e0f
        "#]],
        );
        check_reading(
            &format!("{source} -> IPFragmenter(28, HEADROOM 0, LINK true) -> {rest}"),
            &[],
            expect![[r#"
            p:   42 | 02000000 00010200 00000002 08004500 001c0007 20004011 57c80100 00010200 00020001 02030405 0607
            p:   42 | 02000000 00010200 00000002 08004500 001c0007 00014011 77c70100 00010200 00020809 0a0b0c0d 0e0f
        "#]],
        );
    }

    #[test]
    fn packets_that_must_not_be_cut_lead_elsewhere() {
        let packet = "4500001e 00074000 4011 0000 01000001 02000002 00010203 04050607 0809";
        fragment(
            "28",
            packet,
            expect![[r#"
            IPFragmenter(28) DF 1.0.0.1 2.0.0.2 len=30
            elsewhere:   30 | 4500001e 00074000 40110000 01000001 02000002 00010203
            f.fragments: 0
            f.drops: 1
        "#]],
        );
        fragment(
            "30",
            packet,
            expect![[r#"
            p:   30 | 4500001e 00074000 40110000 01000001 02000002 00010203 04050607 0809
            f.fragments: 0
            f.drops: 0
        "#]],
        );
    }
}
