//! Cuts a stream into frames.
//!
//! The packets that arrive are parts of a stream, such as `Socket` receives. A packet leaves for each frame of the stream, as soon
//! as all of it has come. A frame's length is in a field of FLEN bytes, FOFF bytes into the frame; it is multiplied by MUL,
//! rounded up to a multiple of ALIGN, and ADD bytes are added. With FLEN 0 all frames have ADD bytes. Frames have no annotations.
//!
//! Where that gives a length below 1 or above 16 MiB, and when 32 MiB wait to be pulled, what there is of the stream is dropped,
//! and the next packet begins a frame.
//!
//! ```click
//! Socket(TCP, 0.0.0.0, 12345) -> Reframe -> CheckIPHeader -> Discard;
//! // IP in Ethernet frames:
//! Socket(TCP, 0.0.0.0, 12346) -> Reframe(FOFF 16, ADD 14) -> Discard;
//! ```

use std::collections::VecDeque;
use std::io::Read;

use element::{
    offload, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet, BATCH_MAX,
};

/// The class.
pub const CLASS: Class = Class::new::<Reframe>("Reframe", "1/1", "h/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("FOFF", "int", "Where in a frame the length is. Default 2, as in IPv4."),
    Arg::keyword("FLEN", "0, 1, 2 or 4", "Bytes of the length. Default 2."),
    Arg::keyword("NTOH", "bool", "Whether the length is in network byte order. Default true."),
    Arg::keyword("MUL", "int", "What the length is multiplied by. Default 1."),
    Arg::keyword("ALIGN", "int", "What frames' lengths, without ADD, are multiples of. Default 1."),
    Arg::keyword("ADD", "int", "Bytes of a frame that its length does not count. Default 0."),
    Arg::rest("ANYTHING", "strings", "Ignored, as in Click."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("bad-length", "The stream was dropped: it had a length that no frame can have."),
    DropReason::new("not-pulled", "The stream was dropped: too much of it waited to be pulled."),
];
const BAD_LENGTH: usize = 0;
const NOT_PULLED: usize = 1;

/// Bytes of the longest frame.
const MAX_FRAME: i64 = 1 << 24;
/// Bytes that wait, at most: those of a frame, and of what else has come before it is cut off.
const MAX_STREAM: usize = 1 << 25;
/// Farthest place of the length.
const MAX_OFFSET: i32 = 1 << 16;
/// Bytes of the longest field.
const MAX_FIELD: usize = 4;

/// Where a frame's length is, and what is made of it.
struct Field {
    offset: usize,
    len: usize,
    is_network_order: bool,
    factor: i32,
    align: i32,
    add: i32,
}

/// See the page above.
pub struct Reframe {
    field: Field,
    /// What has come of the stream and is in no frame yet.
    stream: VecDeque<u8>,
}

impl Element for Reframe {
    fn configure(conf: &mut Configure<'_>) -> Result<Reframe, Failed> {
        let offset: i32 = conf.args.get_or("FOFF", 2);
        let len: i32 = conf.args.get_or("FLEN", 2);
        let is_network_order = conf.args.get_or("NTOH", true);
        let factor = conf.args.get_or("MUL", 1);
        let align = conf.args.get_or("ALIGN", 1);
        let add = conf.args.get_or("ADD", 0);
        conf.proceed()?;
        if !matches!(len, 0 | 1 | 2 | 4) {
            let message =
                format!("invalid field length {len} (valid field lengths are 0, 1, 2, and 4 bytes)");
            return Err(message.into());
        }
        if len != 0 && !(0..=MAX_OFFSET).contains(&offset) {
            return Err(format!("invalid field offset {offset} (0 to {MAX_OFFSET})").into());
        }
        if len != 0 && align == 0 {
            return Err("invalid alignment 0".into());
        }
        let (offset, len) = (offset.max(0) as usize, len.unsigned_abs() as usize);
        let field = Field { offset, len, is_network_order, factor, align, add };
        Ok(Reframe { field, stream: VecDeque::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let is_push = ctx.output_is_push(0);
        // Frames of one packet go one by one, as in Click.
        let most = if batch.len() == 1 { 1 } else { BATCH_MAX };
        for mut packet in batch.drain() {
            offload::settle(&mut packet);
            if self.stream.len() + packet.len() > MAX_STREAM {
                self.drop_stream(ctx, NOT_PULLED);
                continue;
            }
            self.stream.extend(packet.data());
            if is_push {
                self.emit_frames(ctx, most);
            }
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut frames = Batch::new();
        while frames.len() < max {
            let Some(frame) = self.next_frame(ctx) else { break };
            frames.push(frame);
        }
        frames
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Reframe>(ctx, old) else { return };
        self.stream = old.stream;
    }
}

impl Reframe {
    /// Emits all frames that are complete, `most` at a time.
    fn emit_frames(&mut self, ctx: &mut Ctx<'_>, most: usize) {
        let mut frames = Batch::new();
        while let Some(frame) = self.next_frame(ctx) {
            frames.push(frame);
            if frames.len() == most {
                ctx.emit_now(0, std::mem::take(&mut frames));
            }
        }
        ctx.emit(0, frames);
    }

    /// Cuts the next frame off, if all of it is there.
    fn next_frame(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        let field = self.field.read(&self.stream)?;
        let len = self.field.frame_len(field);
        if !(1..=MAX_FRAME).contains(&len) {
            self.drop_stream(ctx, BAD_LENGTH);
            return None;
        }
        let len = usize::try_from(len).ok().filter(|len| *len <= self.stream.len())?;
        let mut frame = Packet::zeroed(len);
        self.stream.read_exact(frame.data_mut()).ok()?;
        Some(frame)
    }

    fn drop_stream(&mut self, ctx: &mut Ctx<'_>, reason: usize) {
        self.stream.clear();
        ctx.count_drops(reason, 1);
    }
}

impl Field {
    /// The bytes of the field in a stream, if they have come.
    fn read(&self, stream: &VecDeque<u8>) -> Option<[u8; MAX_FIELD]> {
        let end = self.offset + self.len;
        if end > stream.len() {
            return None;
        }
        let mut bytes = [0; MAX_FIELD];
        bytes.iter_mut().zip(stream.range(self.offset..end)).for_each(|(place, byte)| *place = *byte);
        Some(bytes)
    }

    /// Bytes of a frame whose field has these bytes.
    fn frame_len(&self, bytes: [u8; MAX_FIELD]) -> i64 {
        let [a, b, c, d] = bytes;
        let number = match (self.len, self.is_network_order) {
            (0, _) => return i64::from(self.add),
            (1, _) => i64::from(a),
            (2, true) => i64::from(u16::from_be_bytes([a, b])),
            (2, false) => i64::from(u16::from_ne_bytes([a, b])),
            (_, true) => i64::from(u32::from_be_bytes([a, b, c, d])),
            (_, false) => i64::from(u32::from_ne_bytes([a, b, c, d])),
        };
        // Products of 32-bit numbers are far from overflowing.
        let (len, align) = (number * i64::from(self.factor), i64::from(self.align));
        (len + align - 1) / align * align + i64::from(self.add)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn frames_are_cut_out_of_any_parts() {
        check(
            "InfiniteSource(DATA \\<45000005 aa450000 07bbbbbb 450000>, LIMIT 2) -> Reframe -> Print(ip) -> Discard;
             InfiniteSource(DATA \\<03000000 616263>, LIMIT 2) -> Reframe(FOFF 0, FLEN 4, NTOH false, ADD 4) -> Print(host) -> Discard;
             InfiniteSource(DATA \\<0201 61626364 65666768 696a>, LIMIT 2) -> Reframe(FOFF 1, FLEN 1, MUL 3, ALIGN 8, ADD 2)
                 -> Print(mul) -> Discard;
             InfiniteSource(DATA abcde, LIMIT 3) -> Reframe(FLEN 0, ADD 7) -> Print(fix) -> Discard;
             DriverManager(wait 1s)",
            expect![[r#"
                ip:    5 | 45000005 aa
                ip:    7 | 45000007 bbbbbb
                host:    7 | 03000000 616263
                mul:   10 | 02016162 63646566 6768
                host:    7 | 03000000 616263
                fix:    7 | 61626364 656162
                fix:    7 | 63646561 626364
            "#]],
        );
    }

    #[test]
    fn frames_can_be_pulled() {
        check(
            "InfiniteSource(DATA abcde, LIMIT 3) -> Reframe(FLEN 0, ADD 2) -> u :: Unqueue -> Print(fix) -> Discard;
             DriverManager(wait 1s)",
            expect![[r#"
                fix:    2 | 6162
                fix:    2 | 6364
                fix:    2 | 6561
                fix:    2 | 6263
                fix:    2 | 6465
                fix:    2 | 6162
                fix:    2 | 6364
            "#]],
        );
    }

    #[test]
    fn a_stream_that_nobody_pulls_is_dropped_in_the_end() {
        check_reading(
            "InfiniteSource(LENGTH 1000000, LIMIT 35) -> Reframe(FLEN 0, ADD 900000) -> u :: Unqueue(ACTIVE false) -> c :: Counter
                 -> Discard; DriverManager(wait 1s, write u.active true, wait 1s, stop)",
            &["c.count", "c.byte_count"],
            expect![[r#"
                c.count: 1
                c.byte_count: 900000
            "#]],
        );
    }

    #[test]
    fn a_length_that_cannot_be_is_skipped() {
        check_reading(
            "InfiniteSource(DATA \\<45000000>, LIMIT 2) -> z :: Reframe -> Print(no) -> Discard;
             InfiniteSource(DATA x, LIMIT 2) -> n :: Reframe(FLEN 0, ADD -3) -> Print(no) -> Discard;
             InfiniteSource(DATA \\<ffffffff>, LIMIT 2) -> l :: Reframe(FOFF 0, FLEN 4) -> Print(no) -> Discard;
             DriverManager(wait 1s)",
            &[],
            expect![""],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> Reframe(x, 3, FOO 2) -> Discard; Idle -> Reframe(FLEN 3) -> Discard; Idle -> Reframe(FOFF -1) -> Discard;
             Idle -> Reframe(ALIGN 0, MUL x) -> Discard; Idle -> Reframe(ALIGN 0) -> Discard",
            expect![[r#"
                config:1: While configuring 'Reframe@5 :: Reframe':
                  invalid field length 3 (valid field lengths are 0, 1, 2, and 4 bytes)
                config:1: While configuring 'Reframe@8 :: Reframe':
                  invalid field offset -1 (0 to 65536)
                config:2: While configuring 'Reframe@11 :: Reframe':
                  MUL: invalid number
                config:2: While configuring 'Reframe@14 :: Reframe':
                  invalid alignment 0
                Router could not be initialized!
            "#]],
        );
    }
}
