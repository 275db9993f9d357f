//! Makes a packet every so often.
//!
//! Pushes a packet that holds DATA every INTERVAL, as long as it is active and LIMIT is not reached.
//!
//! On several cores each core has a source of its own, with its own LIMIT.
//!
//! ```click
//! TimedSource(INTERVAL 0.1s, LIMIT 5, STOP true) -> Counter -> Discard;
//! ```

use args::Timestamp;
use element::{same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, TimerId};

use super::source::{DEFAULT_DATA, MAX_LENGTH};

/// The class.
pub const CLASS: Class =
    Class::new::<TimedSource>("TimedSource", "0/1", "h/h", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::optional("INTERVAL", "time", "Time from packet to packet. Default 500 ms."),
    Arg::optional("DATA", "string", "The packets' bytes. Default: a sentence of 69 bytes."),
    Arg::keyword("LIMIT", "int", "Most packets to send; negative is no limit. Default -1."),
    Arg::keyword("ACTIVE", "bool", "Whether to send packets. Default true."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver when LIMIT packets are sent. Default false."),
    Arg::keyword("HEADROOM", "unsigned", "Bytes of room in front of the packets' data. Default 128."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("data", "The packets' bytes.").flags("raw calm"),
    Handler::read_write("limit", "Most packets to send; negative is no limit.").flags("calm"),
    Handler::read_write("interval", "Time from packet to packet.").flags("calm"),
    Handler::read_write("active", "Whether packets are sent.").flags("calm checkbox"),
    Handler::read("count", "Packets sent."),
    Handler::read_write("headroom", "Bytes of room in front of the packets' data.").flags("calm"),
    Handler::write("reset", "Sets the count to 0, so that LIMIT packets more are sent.").flags("button"),
];

/// See the page above.
pub struct TimedSource {
    data: Vec<u8>,
    headroom: u32,
    packet: Packet,
    interval: Timestamp,
    limit: i32,
    count: u32,
    is_active: bool,
    stops: bool,
    timer: Option<TimerId>,
}

impl Element for TimedSource {
    fn configure(conf: &mut Configure<'_>) -> Result<TimedSource, Failed> {
        let interval = conf.args.get_or("INTERVAL", Timestamp::from_millis(500));
        let data: Vec<u8> = conf.args.get("DATA").unwrap_or_else(|| DEFAULT_DATA.to_vec());
        let limit = conf.args.get_or("LIMIT", -1);
        let is_active = conf.args.get_or("ACTIVE", true);
        let stops = conf.args.get_or("STOP", false);
        let headroom = conf.args.get_or("HEADROOM", DEFAULT_HEADROOM);
        let packet = make(headroom, &data);
        if let Err(message) = &packet {
            conf.args.fail(message);
        }
        conf.finish()?;
        let (count, timer) = (0, None);
        Ok(TimedSource { data, headroom, packet: packet?, interval, limit, count, is_active, stops, timer })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        if self.is_active {
            ctx.schedule_after(timer, self.interval.as_nanos());
        }
        self.timer = Some(timer);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if !self.is_active {
            return;
        }
        if u32::try_from(self.limit).is_ok_and(|limit| self.count >= limit) {
            if self.stops {
                ctx.stop();
            }
            return;
        }
        let mut packet = self.packet.clone();
        packet.set_timestamp_ns(ctx.now_ns());
        ctx.emit_packet(0, packet);
        if !ctx.go_on_noticed(Causes::NOTHING) {
            self.go_on(ctx);
        }
    }

    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.count = self.count.wrapping_add(1);
        if let Some(timer) = self.timer {
            ctx.reschedule_after(timer, self.interval.as_nanos());
        }
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "data" => String::from_utf8_lossy(&self.data).into_owned(),
            "limit" => self.limit.to_string(),
            "interval" => self.interval.unparse_interval(),
            "active" => self.is_active.to_string(),
            "count" => self.count.to_string(),
            "headroom" => self.headroom.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "data" => {
                self.packet = make(self.headroom, value.as_bytes())?;
                self.data = value.as_bytes().to_vec();
            }
            "headroom" => {
                let headroom = args::integer(value).map_err(|_| "bad headroom")?;
                self.packet = make(headroom, &self.data)?;
                self.headroom = headroom;
            }
            "limit" => self.limit = args::integer(value).map_err(|_| "expected integer")?,
            "interval" => self.interval = parse_interval(value)?,
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "bad active")?;
                self.start(ctx);
            }
            "reset" => {
                self.count = 0;
                self.start(ctx);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TimedSource>(ctx, old) else { return };
        self.count = old.count;
    }
}

impl TimedSource {
    /// Sends a packet at once if none is due later.
    fn start(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(timer) = self.timer.filter(|timer| self.is_active && !ctx.timer_is_scheduled(*timer)) {
            ctx.schedule_now(timer);
        }
    }
}

const DEFAULT_HEADROOM: u32 = 28;

fn make(headroom: u32, data: &[u8]) -> Result<Packet, String> {
    if headroom as usize > MAX_LENGTH || data.len() > MAX_LENGTH {
        return Err("out of memory".to_string());
    }
    Ok(Packet::with_headroom(headroom as usize, data))
}

/// Parses an interval that is not zero.
pub(super) fn parse_interval(text: &str) -> Result<Timestamp, String> {
    args::timestamp(text)
        .ok()
        .filter(|interval| !interval.is_zero())
        .ok_or_else(|| "bad interval".to_string())
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_come_every_interval() {
        check_reading(
            "t :: TimedSource(0.1, LIMIT 5) -> c :: Counter -> Discard;
             DriverManager(wait 0.35, read c.count, wait 1, read c.count, write t.interval 20ms, write t.data ab,
                 write t.reset, wait 0.05, write t.interval 0, stop)",
            &["c.count", "c.byte_count", "t.interval", "t.data"],
            expect![[r#"
                c.count:
                3
                c.count:
                5
                While executing 'DriverManager@4 :: DriverManager':
                  While calling 't.interval 0':
                    bad interval
                c.count: 8
                c.byte_count: 351
                t.interval: 20ms
                t.data: ab
            "#]],
        );
        check_reading(
            "TimedSource(0.1, LIMIT 2, STOP true) -> c :: Counter -> Discard",
            &["c.count"],
            expect![[r#"
            c.count: 2
        "#]],
        );
    }

    #[test]
    fn packets_are_counted_behind_what_comes_of_them() {
        check_reading(
            "t :: TimedSource(0.1) -> Counter(COUNT_CALL 2 s.run) -> Discard;
             s :: Script(TYPE PASSIVE, read t.count, write t.reset); DriverManager(wait 0.45, stop)",
            &["t.count"],
            expect![[r#"
                t.count:
                1
                t.count: 3
            "#]],
        );
    }
}
