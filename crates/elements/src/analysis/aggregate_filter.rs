//! Sorts packets by their aggregate annotation.
//!
//! Each argument is an output, `allow` for output 0, or `drop` or `deny`, and then aggregates: numbers, ranges such as `0-98`,
//! or `all` or `-` for all others. The first argument that names an aggregate decides; packets that none names are dropped.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> AggregateIPFlows -> AggregateFilter(allow 1093 3500-3509) -> Discard;
//! ```

use element::{
    annotation, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict,
};

use super::aggregate_ranges::Ranges;

/// The class.
pub const CLASS: Class = Class::new::<AggregateFilter>("AggregateFilter", "1/1-254", "h/h", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::rest("PATTERN", "action and aggregates", "Where packets of some aggregates go.")];

const FILTERED: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("filtered", "No output is for the packet's aggregate.")];

/// See the page above.
pub struct AggregateFilter {
    ranges: Ranges,
    /// Where all others go; `None`: nowhere.
    others: Option<usize>,
}

impl Element for AggregateFilter {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateFilter, Failed> {
        let mut element = AggregateFilter { ranges: Ranges::default(), others: None };
        for (number, pattern) in conf.args.rest().iter().enumerate() {
            element.add(conf, number, pattern);
        }
        conf.finish()?;
        Ok(element)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.spread(batch, |_, packet| self.process(packet));
    }
}

impl AggregateFilter {
    fn add(&mut self, conf: &mut Configure<'_>, number: usize, pattern: &str) {
        let words = args::split_words(pattern);
        let Some((action, aggregates)) = words.split_first() else {
            return conf.error(format!("empty pattern {number}"));
        };
        if self.others.is_some_and(|port| port <= conf.n_outputs) {
            return conf.warning(format!("pattern {number} matches no packets"));
        }
        let Some(port) = parse_action(action, conf.n_outputs) else {
            return conf.error(format!("pattern {number}: expected a port number"));
        };
        match aggregates {
            [] => conf.error(format!("pattern {number} has no aggregates")),
            [all] if all == "all" || all == "-" => self.others = Some(port),
            _ => aggregates.iter().for_each(|word| self.add_range(conf, number, port, word)),
        }
    }

    fn add_range(&mut self, conf: &mut Configure<'_>, number: usize, port: usize, word: &str) {
        let Some((first, last)) = parse_range(word) else {
            return conf.error(format!("pattern {number}: bad aggregate number '{word}'"));
        };
        // Click keeps the output's number and 1 more in a byte.
        let kept = port.wrapping_add(1) as u8;
        for (aggregate, other) in self.ranges.add(first, last, kept, port.wrapping_add(1)) {
            conf.warning(format!(
                "pattern {number}: aggregate {aggregate} already filtered to output {}",
                other - 1
            ));
        }
    }

    #[inline(always)]
    fn process(&self, packet: &Packet) -> Verdict {
        let port = match self.ranges.find(packet.anno_u32(annotation::AGGREGATE)) {
            Some(kept) => Some(usize::from(kept) - 1),
            None => self.others,
        };
        match port {
            Some(0) => Verdict::PASS,
            Some(port) => Verdict::port_or_drop(port, FILTERED),
            None => Verdict::drop(FILTERED),
        }
    }
}

/// The output that an action means; to drop is an output that does not exist.
fn parse_action(word: &str, n_outputs: usize) -> Option<usize> {
    match word {
        "allow" => Some(0),
        "drop" | "deny" => Some(n_outputs),
        _ => args::integer::<i32>(word).ok().and_then(|port| usize::try_from(port).ok()),
    }
}

fn parse_range(word: &str) -> Option<(u32, u32)> {
    if let Ok(aggregate) = args::integer(word) {
        return Some((aggregate, aggregate));
    }
    let (first, last) = word.split_once('-')?;
    Some((args::integer(first).ok()?, args::integer(last).ok()?))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_first_pattern_that_names_an_aggregate_decides() {
        let lines: String = (0..12).map(|aggregate| format!("{aggregate}\n")).collect();
        let config = format!(
            "FromIPSummaryDump(DATA \"!data aggregate\n{lines}\", STOP true)
             -> f :: AggregateFilter(1 2-4 9, allow 1 5, drop 7, 2 6-8, 5 10) -> Print(0, PRINTANNO true, MAXLENGTH 0) -> c0 :: Counter -> Discard;
             f[1] -> c1 :: Counter -> Discard; f[2] -> c2 :: Counter -> Discard"
        );
        check_reading(
            &config,
            &["c0.count", "c1.count", "c2.count"],
            expect![[r#"
            config:15: While configuring 'f :: AggregateFilter':
              warning: pattern 3: aggregate 7 already filtered to output 3
            0:    0 | 000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000
            0:    0 | 000000000000000000000000000000000000000005000000000000000000000000000000000000000000000000000000
            c0.count: 2
            c1.count: 4
            c2.count: 2
        "#]],
        );
    }

    #[test]
    fn all_others_may_have_an_output() {
        check_reading(
            "FromIPSummaryDump(DATA \"!data aggregate\n0\n1\n4294967295\n\", STOP true)
             -> f :: AggregateFilter(drop 0, allow 4294967295, 1 -, 0 5) -> c0 :: Counter -> Discard; f[1] -> c1 :: Counter -> Discard",
            &["c0.count", "c1.count"],
            expect![[r#"
                config:6: While configuring 'f :: AggregateFilter':
                  warning: pattern 3 matches no packets
                c0.count: 1
                c1.count: 1
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> AggregateFilter(0, x 1, 0 1 y 2-x -3, -1 4, , allow all) -> Discard",
            expect![[r#"
            config:1: While configuring 'AggregateFilter@2 :: AggregateFilter':
              pattern 0 has no aggregates
              pattern 1: expected a port number
              pattern 2: bad aggregate number 'y'
              pattern 2: bad aggregate number '2-x'
              pattern 2: bad aggregate number '-3'
              pattern 3: expected a port number
              empty pattern 4
            Router could not be initialized!
        "#]],
        );
    }
}
