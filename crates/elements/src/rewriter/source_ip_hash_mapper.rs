//! Spreads the new flows of a rewriter over patterns by their source address.
//!
//! Stands as the specification of an input of `IPRewriter` or a relative. Behind each pattern stands a number, its identifier. All flows
//! of an address take the same pattern, and if a pattern is added or taken away, few addresses change theirs: each pattern stands at
//! NNODES points of a ring, drawn from SEED, and an address belongs to the next one.
//!
//! Patterns count in the order of their identifiers, so write them in that order.
//!
//! As in Click, SEED is that of all random numbers of the graph from then on, whatever `RandomSeed` says.
//!
//! ```click
//! servers :: SourceIPHashMapper(20 0xbeef, - - 10.0.0.1 - 0 1 1, - - 10.0.0.2 - 0 1 2);
//! rw :: IPRewriter(servers, drop);
//! clients :: Idle -> [0]rw;    back :: Idle -> [1]rw;
//! rw[0] -> to_servers :: Discard;    rw[1] -> to_clients :: Discard;
//! ```

use element::{same, Arg, Class, Configure, Ctx, Element, Failed, Phase};

use super::choices::{Choices, Chosen};
use super::consistent_hash::Ring;
use super::flow_id::FlowId;

/// The class.
pub const CLASS: Class =
    Class::new::<SourceIPHashMapper>("SourceIPHashMapper", "0/0", "a/a", "x/x").args(ARGS).phase(Phase(99));

const ARGS: &[Arg] = &[
    // Not `required`: Click has words of its own for its absence.
    Arg::optional(
        "NNODES SEED",
        "two integers",
        "Points of each pattern, and where their choice begins; needed.",
    ),
    Arg::rest(
        "PATTERN",
        "pattern",
        "A pattern, or the name of one, with FOUTPUT, ROUTPUT and an identifier behind it.",
    ),
];

/// See the page above.
pub struct SourceIPHashMapper {
    /// The patterns.
    pub choices: Choices,
    ring: Ring,
    seed: u32,
}

impl Element for SourceIPHashMapper {
    fn configure(conf: &mut Configure<'_>) -> Result<SourceIPHashMapper, Failed> {
        let arguments = args::split_args(conf.config);
        let Some((numbers, patterns)) = arguments.split_first() else {
            return Err("no hash seed given".into());
        };
        match patterns.len() {
            0 => return Err("no patterns given".into()),
            1 => conf.warning("only one pattern given"),
            _ => {}
        }
        let (n_points, seed) = ring_numbers(numbers)?;
        let (mut choices, mut ids, mut is_wrong) = (Choices::default(), Vec::new(), false);
        for text in patterns {
            match add(&mut choices, text, conf) {
                Ok(id) => ids.push(id),
                Err(message) => {
                    is_wrong = true;
                    conf.error(message);
                }
            }
        }
        if is_wrong {
            return Err(Failed::default());
        }
        let ring = Ring::new(&ids, n_points, seed).ok_or("too many nodes, or too large server IDs")?;
        Ok(SourceIPHashMapper { choices, ring, seed })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        // Click draws the ring from the graph's generator. Here each thread has one of those and all need the same ring, which
        // therefore has its own: this one only comes to where Click's is then.
        ctx.runtime().seed_random(Some(self.seed));
        for _ in 0..self.ring.n_draws() {
            ctx.random();
        }
        self.choices.share(ctx);
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<SourceIPHashMapper>(ctx, old) else { return };
        self.choices.go_on_from(&old.choices);
    }
}

/// Number of points, and seed.
fn ring_numbers(text: &str) -> Result<(u32, u32), &'static str> {
    let words = args::split_words(text);
    let [n_points, seed] = words.as_slice() else {
        return Err("requires 2 config params: numnodes seed");
    };
    let n_points = args::integer::<i32>(n_points).ok().filter(|n| *n > 0);
    let n_points = n_points.ok_or("number of nodes must be an integer")?;
    let seed = args::integer::<i32>(seed).map_err(|_| "hash seed must be an integer")?;
    Ok((n_points as u32, seed as u32))
}

/// Adds a pattern; yields the identifier behind it.
fn add(choices: &mut Choices, text: &str, conf: &mut Configure<'_>) -> Result<u16, String> {
    let words = args::split_words(text);
    let id = words.split_last().filter(|(_, pattern)| !pattern.is_empty());
    let id = id.and_then(|(id, pattern)| {
        let id = args::integer::<i32>(id).ok().filter(|id| *id >= 0)?;
        Some((id as u16, pattern))
    });
    let (id, pattern) = id.ok_or("bad server ID in pattern spec")?;
    choices.add(&args::join_words(pattern), conf)?;
    Ok(id)
}

impl SourceIPHashMapper {
    /// What a flow becomes; `None` if its pattern has nothing to give.
    pub fn choose(
        &mut self,
        id: &FlowId,
        ctx: &mut Ctx<'_>,
        is_taken: &dyn Fn(&FlowId) -> bool,
    ) -> Option<Chosen> {
        // As Click on machines whose low byte comes first.
        let address = id.src.swap_bytes();
        let mixed = address.wrapping_mul((address & 0xff) << 24 | 1);
        let idx = self.ring.rank(mixed % i32::MAX as u32);
        self.choices.apply(idx, id, ctx, is_taken)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn an_address_keeps_its_server() {
        let rows: String =
            (0..12).map(|n| format!("1.0.{}.{} {n} 2.0.0.2 80 T\n", n % 3 * 50, n % 4)).collect();
        check_reading(
            &format!(
                "m :: SourceIPHashMapper(20 0xbeef, - - 10.0.0.1 - 0 0 1, - - 10.0.0.2 - 0 0 2, - - 10.0.0.3 - 0 0 5);
                 FromIPSummaryDump(DATA \"!data ip_src sport ip_dst dport ip_proto\n{rows}\", STOP true)
                 -> IPRewriter(m) -> Print(x, 20) -> Discard"
            ),
            &[],
            expect![[r#"
                x:   40 | 45000028 00000000 6406f7fe 01000000 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01003201 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01006402 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01000003 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01003200 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01006401 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01000002 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01003203 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01006400 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01000001 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01003202 0a000003
                x:   40 | 45000028 00000000 6406f7fe 01006403 0a000003
            "#]],
        );
    }

    #[test]
    fn what_others_draw_goes_on_from_the_ring() {
        check(
            "any :: Script(TYPE PASSIVE, return $(random)); Script(read any.run, read any.run, stop); RandomSeed(5);
             m :: SourceIPHashMapper(3 1, - - 10.0.0.1 - 0 0 1, - - 10.0.0.2 - 0 0 2);
             Idle -> IPRewriter(m) -> Discard",
            expect![[r#"
                any.run:
                1189641421
                any.run:
                1025202362
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        let wrong = [
            "",
            "20 1",
            "20, x",
            "0 1, x",
            "5 x, y",
            "20 1, - - - - 0 1",
            "20 1, - - - - 0 1 -1, - - - 0 1 7, 3",
            "2000000 1, - - - - 0 1 60000",
        ];
        check(
            &wrong.map(|arguments| format!("SourceIPHashMapper({arguments});\n")).concat(),
            expect![[r#"
            config:1: While configuring 'SourceIPHashMapper@1 :: SourceIPHashMapper':
              no hash seed given
            config:2: While configuring 'SourceIPHashMapper@2 :: SourceIPHashMapper':
              no patterns given
            config:3: While configuring 'SourceIPHashMapper@3 :: SourceIPHashMapper':
              warning: only one pattern given
              requires 2 config params: numnodes seed
            config:4: While configuring 'SourceIPHashMapper@4 :: SourceIPHashMapper':
              warning: only one pattern given
              number of nodes must be an integer
            config:5: While configuring 'SourceIPHashMapper@5 :: SourceIPHashMapper':
              warning: only one pattern given
              hash seed must be an integer
            config:6: While configuring 'SourceIPHashMapper@6 :: SourceIPHashMapper':
              warning: only one pattern given
              bad forward port
            config:7: While configuring 'SourceIPHashMapper@7 :: SourceIPHashMapper':
              bad server ID in pattern spec
              bad server ID in pattern spec
            config:8: While configuring 'SourceIPHashMapper@8 :: SourceIPHashMapper':
              warning: only one pattern given
              too many nodes, or too large server IDs
            Router could not be initialized!
        "#]],
        );
    }
}
