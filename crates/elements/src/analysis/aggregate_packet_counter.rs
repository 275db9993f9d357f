//! Counts packets by aggregate and packet number.
//!
//! Packets pass from each input to the output of the same number, and are counted for each input by their aggregate annotation
//! and by the number in another annotation. Read handlers list the numbers of an aggregate's packets, and those that came to
//! input 0 but not, or less often, to input 1: what was sent and what has arrived. Packets of aggregate 0 are not counted.
//!
//! As in Click, there is no limit to the counts, one for each aggregate, input and packet number: where others choose those, write
//! `clear` now and then.
//!
//! ```click
//! FromDump(sent.pcap, STOP true, FORCE_IP true) -> AggregateIPFlows -> [0]c :: AggregatePacketCounter(ANNO NONE)[0] -> Discard;
//! FromDump(received.pcap, STOP true, FORCE_IP true) -> AggregateIPFlows -> [1]c[1] -> Discard;
//! DriverManager(wait_stop 2, read c.count, read c.undelivered 1);
//! ```

use args::{Anno, Word};
use element::{annotation, same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler};
use table::flow::FlowTable;

use super::aggregates_seen::AggregatesSeen;

/// The class.
pub const CLASS: Class =
    Class::new::<AggregatePacketCounter>("AggregatePacketCounter", "1-/1-", "a/a", "#/#")
        .args(ARGS)
        .pulls_first()
        .handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::keyword("NOTIFIER", "element", "Not used."),
    Arg::keyword(
        "ANNO",
        "annotation or NONE",
        "Where the packet number is, in 4 bytes; NONE: all are 0. Default PACKET_NUMBER.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::write("clear", "Sets all counts to 0."),
    Handler::read("count", "Packets counted."),
    Handler::read_param("received", "Numbers of the packets of an aggregate, a line each."),
    Handler::read_param(
        "undelivered",
        "Numbers of the packets of an aggregate that came more often to input 0 than to input 1, a line each.",
    ),
];

/// What a count is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    aggregate: u32,
    port: u32,
    number: u32,
}

/// See the page above.
pub struct AggregatePacketCounter {
    counts: FlowTable<Key, u32>,
    anno: Option<usize>,
    seen: AggregatesSeen,
}

impl Element for AggregatePacketCounter {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregatePacketCounter, Failed> {
        conf.element("NOTIFIER", &[]);
        let Word(name) = conf.args.get("ANNO").unwrap_or(Word("PACKET_NUMBER".to_string()));
        let anno: Option<Anno> = match name.as_str() {
            "NONE" => None,
            // Its name is known to Click alone.
            "PACKET_NUMBER" => Some(Anno { offset: annotation::PACKET_NUMBER as u8, size: 4 }),
            _ => args::anno(&name, conf.scope, 4).inspect_err(|_| conf.args.fail("bad ANNO")).ok(),
        };
        conf.finish()?;
        let anno = anno.map(|anno| usize::from(anno.offset));
        let counts = FlowTable::new(u32::MAX);
        Ok(AggregatePacketCounter { counts, anno, seen: AggregatesSeen::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        self.count(port, &batch);
        ctx.emit(port, batch);
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        Some((port, max))
    }

    fn pulled(&mut self, _ctx: &mut Ctx<'_>, port: usize, batch: Batch) -> Batch {
        self.count(port, &batch);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        let numbers = match name {
            "count" => {
                let counts = self.counts.iter().map(|(_, _, count)| u64::from(*count));
                return Ok(counts.sum::<u64>().to_string());
            }
            "received" => {
                let aggregate = self.aggregate(param)?;
                self.received(aggregate)
            }
            "undelivered" => {
                let aggregate = self.aggregate(param)?;
                self.undelivered(aggregate)
            }
            _ => return Err(format!("no {name} read handler")),
        };
        Ok(numbers.into_iter().map(|number| format!("{number}\n")).collect())
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "clear" {
            return Err(format!("no {name} write handler"));
        }
        self.counts.clear();
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.seen.warn(ctx);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<AggregatePacketCounter>(ctx, old) else { return };
        self.seen.take_over(&mut old.seen);
        if old.anno == self.anno {
            self.counts = old.counts;
        }
    }
}

impl AggregatePacketCounter {
    #[inline]
    fn count(&mut self, port: usize, batch: &Batch) {
        for packet in batch.iter() {
            let aggregate = packet.anno_u32(annotation::AGGREGATE);
            self.seen.note(aggregate);
            if aggregate == 0 {
                continue;
            }
            let number = self.anno.map_or(0, |anno| packet.anno_u32(anno));
            let key = Key { aggregate, port: port as u32, number };
            let hash = self.counts.hash_of(&key);
            match self.counts.find_hashed(hash, &key).and_then(|idx| self.counts.get_mut(idx)) {
                Some((_, count)) => *count = count.wrapping_add(1),
                None => {
                    // A full table counts no further packets.
                    let _ = self.counts.insert_hashed(hash, key, 1);
                }
            }
        }
    }

    /// The aggregate that is asked for; as in Click, there is one from then on.
    fn aggregate(&mut self, param: &str) -> Result<u32, String> {
        let aggregate = match param {
            "" => 0,
            _ => args::integer(&args::uncomment(param)).map_err(|_| "argument should be aggregate number")?,
        };
        if aggregate != 0 {
            self.seen.note(aggregate);
        }
        Ok(aggregate)
    }

    fn received(&self, aggregate: u32) -> Vec<u32> {
        let keys = self.counts.iter().map(|(_, key, _)| key).filter(|key| key.aggregate == aggregate);
        let mut numbers: Vec<u32> = keys.map(|key| key.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn undelivered(&self, aggregate: u32) -> Vec<u32> {
        let sent = self.counts.iter().filter(|(_, key, _)| key.aggregate == aggregate && key.port == 0);
        let is_missing = |key: &Key, count: u32| {
            let arrived = self.counts.find(&Key { port: 1, ..*key }).and_then(|idx| self.counts.get(idx));
            arrived.is_none_or(|(_, arrived)| *arrived < count)
        };
        let missing = sent.filter(|(_, key, count)| is_missing(key, **count));
        let mut numbers: Vec<u32> = missing.map(|(_, key, _)| key.number).collect();
        numbers.sort_unstable();
        numbers
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn packets_are_counted_by_input_aggregate_and_number() {
        check(
            "FromIPSummaryDump(DATA \"!data aggregate seqno\n7 3\n7 1\n7 1\n8 4\n0 9\n\", STOP true)
             -> t :: Tee -> [0]c :: AggregatePacketCounter(ANNO SEQUENCE_NUMBER)[0] -> Discard;
             t[1] -> RandomSample(1) -> Print(x, 0, PRINTANNO true) -> d :: AggregateFirst -> [1]c[1] -> Discard;
             DriverManager(wait_stop, read c.count, read c.received 7, read c.undelivered 7, read c.undelivered 8, read c.received,
                 read c.received x, write c.clear, read c.count)",
            expect![[r#"
                <data>:1: warning: unknown content type 'seqno'
                x:    0 | 000000000000000000000000000000000000000007000000000000000000000000000000000000000000000000000000
                x:    0 | 000000000000000000000000000000000000000007000000000000000000000000000000000000000000000000000000
                x:    0 | 000000000000000000000000000000000000000007000000000000000000000000000000000000000000000000000000
                x:    0 | 000000000000000000000000000000000000000008000000000000000000000000000000000000000000000000000000
                x:    0 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
                c.count:
                6
                c.received:
                0

                c.undelivered:
                0

                c.undelivered:

                c.received:

                While calling 'c.received x':
                  argument should be aggregate number
                c.received:

                c.count:
                0
            "#]],
        );
    }

    #[test]
    fn without_aggregates_there_is_a_warning() {
        check_reading(
            "InfiniteSource(LIMIT 2, STOP true) -> c :: AggregatePacketCounter(ANNO NONE) -> Discard",
            &["c.count"],
            expect![[r#"
                c.count: 0
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> AggregatePacketCounter(ANNO PAINT) -> AggregatePacketCounter(ANNO 46) -> Discard",
            expect![[r#"
            config:1: While configuring 'AggregatePacketCounter@2 :: AggregatePacketCounter':
              bad ANNO
            config:1: While configuring 'AggregatePacketCounter@3 :: AggregatePacketCounter':
              bad ANNO
            Router could not be initialized!
        "#]],
        );
    }
}
