//! Makes Ethernet PAUSE frames.
//!
//! A PAUSE frame (IEEE 802.3, annex 31B) asks the other end of a link to be silent for PAUSETIME times 512 bits. A frame is
//! pushed every INTERVAL, the first after one INTERVAL, or handed out whenever it is pulled.
//!
//! ```click
//! EtherPauseSource(2:0:0:0:0:1, 390, INTERVAL 0.1, LIMIT 5) -> Queue -> ToDump(out.pcap);
//! ```

use args::{EtherAddr, Seconds};
use element::{same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, TimerId};
use wire::Ethernet;

/// The class.
pub const CLASS: Class =
    Class::new::<EtherPauseSource>("EtherPauseSource", "0/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "Ethernet address", "The source: the address of the sending device."),
    Arg::required("PAUSETIME", "0 to 65535", "How long to be silent, in times of 512 bits."),
    Arg::keyword("DST", "Ethernet address", "The destination. Default 01-80-C2-00-00-01, for PAUSE frames."),
    Arg::keyword("LIMIT", "int", "Most frames to make; negative is no limit. Default -1."),
    Arg::keyword("ACTIVE", "bool", "Whether to make frames. Default true."),
    Arg::keyword(
        "INTERVAL",
        "seconds",
        "Time between frames that are pushed, to the millisecond. Default 1.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Frames made."),
    Handler::read_write("limit", "Most frames to make; negative is no limit."),
    Handler::read_write("active", "Whether frames are made; written true, one is pushed at once.")
        .flags("checkbox"),
    Handler::read_write("src", "The source."),
    Handler::read_write("dst", "The destination."),
    Handler::read_write("pausetime", "How long to be silent, in times of 512 bits."),
    Handler::write("reset_counts", "Sets the count to 0, so that LIMIT frames more are made."),
];

/// The group address of PAUSE frames, and their type and operation: IEEE 802.3, annexes 31A and 31B.
const PAUSE_GROUP: EtherAddr = EtherAddr([0x01, 0x80, 0xC2, 0, 0, 1]);
const MAC_CONTROL: u16 = 0x8808;
const PAUSE: u16 = 1;
/// Bytes of a frame.
const FRAME: usize = 64;

/// See the page above.
pub struct EtherPauseSource {
    source: EtherAddr,
    destination: EtherAddr,
    pause_time: u16,
    packet: Packet,
    limit: i32,
    count: i32,
    is_active: bool,
    interval_ms: u32,
    timer: Option<TimerId>,
}

impl Element for EtherPauseSource {
    fn configure(conf: &mut Configure<'_>) -> Result<EtherPauseSource, Failed> {
        let source = conf.args.need("SRC");
        let pause_time = conf.args.need("PAUSETIME");
        let destination = conf.args.get_or("DST", PAUSE_GROUP);
        let limit = conf.args.get_or("LIMIT", -1);
        let is_active = conf.args.get_or("ACTIVE", true);
        let Seconds::<3>(interval_ms) = conf.args.get_or("INTERVAL", Seconds(1000));
        conf.finish()?;
        let packet = frame(source, destination, pause_time);
        Ok(EtherPauseSource {
            source,
            destination,
            pause_time,
            packet,
            limit,
            count: 0,
            is_active,
            interval_ms,
            timer: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if ctx.output_is_push(0) {
            let timer = ctx.new_timer();
            if self.limit != 0 && self.is_active {
                ctx.schedule_after(timer, self.interval_ns());
            }
            self.timer = Some(timer);
        }
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.count = self.count.wrapping_add(1);
        ctx.emit_now(0, Batch::of(self.packet.clone()));
        if self.has_more() {
            ctx.reschedule_after(timer, self.interval_ns());
        }
    }

    fn pull(&mut self, _ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while self.is_active && self.has_more() && batch.len() < max && batch.room() > 0 {
            self.count = self.count.wrapping_add(1);
            batch.push(self.packet.clone());
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "count" => self.count.to_string(),
            "limit" => self.limit.to_string(),
            "active" => self.is_active.to_string(),
            "src" => self.source.to_string(),
            "dst" => self.destination.to_string(),
            "pausetime" => self.pause_time.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        const MISMATCH: &str = "type mismatch";
        match name {
            "src" => self.source = args::ether(value, &ctx.scope()).map_err(|_| MISMATCH)?,
            "dst" => self.destination = args::ether(value, &ctx.scope()).map_err(|_| MISMATCH)?,
            "pausetime" => self.pause_time = args::integer(value).map_err(|_| MISMATCH)?,
            "limit" => self.limit = args::integer(value).map_err(|_| MISMATCH)?,
            "active" => self.is_active = args::boolean(value).map_err(|_| MISMATCH)?,
            "reset_counts" => self.count = 0,
            _ => return Err(format!("no {name} write handler")),
        }
        match name {
            "src" | "dst" | "pausetime" => {
                self.packet = frame(self.source, self.destination, self.pause_time);
            }
            _ => self.start(ctx),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<EtherPauseSource>(ctx, old) else { return };
        self.count = old.count;
        if let Some(timer) = self.timer.filter(|_| !self.has_more()) {
            ctx.unschedule_timer(timer);
        }
    }
}

impl EtherPauseSource {
    fn interval_ns(&self) -> i64 {
        i64::from(self.interval_ms) * 1_000_000
    }

    fn has_more(&self) -> bool {
        self.limit < 0 || self.count < self.limit
    }

    /// Pushes a frame at once if none is due later.
    fn start(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(timer) = self.timer.filter(|timer| self.is_active && !ctx.timer_is_scheduled(*timer)) {
            ctx.schedule_now(timer);
        }
    }
}

fn frame(source: EtherAddr, destination: EtherAddr, pause_time: u16) -> Packet {
    let mut packet = Packet::zeroed(FRAME);
    let bytes = packet.data_mut();
    if let Some(mut header) = Ethernet::new(&mut *bytes) {
        header.set_destination(destination.0);
        header.set_source(source.0);
        header.set_ethertype(MAC_CONTROL);
    }
    let ([o0, o1], [t0, t1]) = (PAUSE.to_be_bytes(), pause_time.to_be_bytes());
    if let Some(place) = bytes.get_mut(Ethernet::LEN..).and_then(|rest| rest.first_chunk_mut()) {
        *place = [o0, o1, t0, t1];
    }
    packet.set_mac_header(0, Ethernet::LEN);
    packet
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn frames_are_pushed_every_interval() {
        check_reading(
            "e :: EtherPauseSource(0:1e:13:22:48:91, 390, LIMIT 3, INTERVAL 0.1) -> c :: Counter -> Print(x, 24) -> Discard;
             DriverManager(wait 0.15, print e.count, wait 1, print e.count, write e.active true, wait 1, print e.count,
                 write e.reset_counts, write e.src 1:1:1:1:1:1, write e.dst 2:2:2:2:2:2, write e.pausetime 65536,
                 write e.pausetime 7, write e.limit x, wait 0.05)",
            &["e.count", "e.limit", "e.active", "e.src", "e.dst", "e.pausetime"],
            expect![[r#"
                x:   64 | 0180c200 0001001e 13224891 88080001 01860000 00000000
                x:   64 | 0180c200 0001001e 13224891 88080001 01860000 00000000
                x:   64 | 0180c200 0001001e 13224891 88080001 01860000 00000000
                x:   64 | 0180c200 0001001e 13224891 88080001 01860000 00000000
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 'e.pausetime 65536':
                    type mismatch
                  While calling 'e.limit x':
                    type mismatch
                x:   64 | 02020202 02020101 01010101 88080001 00070000 00000000
                e.count: 1
                e.limit: 3
                e.active: true
                e.src: 01-01-01-01-01-01
                e.dst: 02-02-02-02-02-02
                e.pausetime: 7
            "#]],
        );
    }

    #[test]
    fn a_frame_is_handed_out_at_each_pull() {
        check_reading(
            "e :: EtherPauseSource(0:1e:13:22:48:91, 390, DST 1:1:1:1:1:1, LIMIT 3) -> Unqueue -> c :: Counter -> Discard;
             DriverManager(wait 1s, write e.reset_counts, wait 1s)",
            &["e.count", "c.count", "c.byte_count"],
            expect![[r#"
                e.count: 3
                c.count: 3
                c.byte_count: 192
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "EtherPauseSource(x, 65536, INTERVAL -1) -> Discard",
            expect![[r#"
            config:1: While configuring 'EtherPauseSource@1 :: EtherPauseSource':
              SRC: parse error
              PAUSETIME: out of range, bound 65535
              INTERVAL: parse error
            Router could not be initialized!
        "#]],
        );
    }
}
