//! Sets the destination annotation to a random address of a network.
//!
//! With LIMIT, that many addresses are drawn at the beginning, and each packet is given one of them. The last byte's upper bit
//! is never drawn: it is 0, or PREFIX's.
//!
//! ```click
//! InfiniteSource -> SetRandIPAddress(10.0.0.0/8, 1000) -> r :: RadixIPLookup(0/0 0) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{Prefix, PrefixOrAddress};
use element::{same, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Packet};

/// The class.
pub const CLASS: Class = Class::new::<SetRandIPAddress>("SetRandIPAddress", "1/1", "a/a", "x/x")
    .causes(Causes::CHANGES)
    .args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("PREFIX", "IP prefix", "The network, or the one address."),
    Arg::optional(
        "LIMIT",
        "int",
        "How many different addresses there are at most; 0 or negative is no limit. Default -1.",
    ),
];

/// Most addresses that are drawn beforehand.
const MOST: i32 = 1 << 24;

/// See the page above.
pub struct SetRandIPAddress {
    prefix: Prefix,
    n_addresses: usize,
    addresses: Vec<Ipv4Addr>,
}

impl Element for SetRandIPAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<SetRandIPAddress, Failed> {
        let PrefixOrAddress(prefix) = conf.args.need("PREFIX");
        let limit: i32 = conf.args.get_or("LIMIT", -1);
        if limit > MOST {
            conf.args.fail(format!("LIMIT must be <= {MOST}"));
        }
        conf.finish()?;
        let n_addresses = usize::try_from(limit).unwrap_or(0);
        Ok(SetRandIPAddress { prefix, n_addresses, addresses: Vec::new() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.addresses = (0..self.n_addresses).map(|_| self.pick(ctx)).collect();
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        batch.iter_mut().for_each(|packet| self.process(ctx, packet));
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        batch.iter_mut().for_each(|packet| self.process(ctx, packet));
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<SetRandIPAddress>(ctx, old) else { return };
        if (old.prefix, old.n_addresses) == (self.prefix, self.n_addresses) {
            self.addresses = old.addresses;
        }
    }
}

impl SetRandIPAddress {
    #[inline]
    fn process(&self, ctx: &mut Ctx<'_>, packet: &mut Packet) {
        let address = match (self.addresses.len() as u32).checked_sub(1) {
            None => self.pick(ctx),
            Some(last) => {
                let at = ctx.random_between(0, last) as usize;
                self.addresses.get(at).copied().unwrap_or(Ipv4Addr::UNSPECIFIED)
            }
        };
        packet.set_dst_ip(address);
    }

    /// An address of the network, by one random number whose lowest byte comes first.
    fn pick(&self, ctx: &mut Ctx<'_>) -> Ipv4Addr {
        let random = u32::from_be_bytes(ctx.random().to_le_bytes());
        let mask = u32::from(self.prefix.mask);
        Ipv4Addr::from(random & !mask | u32::from(self.prefix.addr) & mask)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_seed_gives_the_addresses() {
        check_reading(
            "RandomSeed(1); InfiniteSource(LIMIT 4) -> SetRandIPAddress(18.26.0.0/16) -> StoreIPAddress(0)
                 -> SetRandIPAddress(1.2.3.4) -> StoreIPAddress(4) -> Print -> d :: Discard;
             DriverManager(wait 0.1s, stop)",
            &["d.count"],
            expect![[r#"
                  69 | 121a8b6b 01020304 756c6c73 68697420 696e2061 20706163
                  69 | 121a3c64 01020304 756c6c73 68697420 696e2061 20706163
                  69 | 121ab074 01020304 756c6c73 68697420 696e2061 20706163
                  69 | 121ae82a 01020304 756c6c73 68697420 696e2061 20706163
                d.count: 4
            "#]],
        );
    }

    #[test]
    fn no_more_addresses_are_used_than_allowed() {
        check_reading(
            "RandomSeed(1); InfiniteSource(LIMIT 8) -> SetRandIPAddress(18.26.0.0/16, 2) -> StoreIPAddress(0) -> Print -> d :: Discard;
             DriverManager(wait 0.1s, stop)",
            &["d.count"],
            expect![[r#"
                  69 | 121a8b6b 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a7b32 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a7b32 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a7b32 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a8b6b 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a7b32 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a8b6b 6f6d2062 756c6c73 68697420 696e2061 20706163
                  69 | 121a7b32 6f6d2062 756c6c73 68697420 696e2061 20706163
                d.count: 8
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> SetRandIPAddress -> SetRandIPAddress(x, y) -> SetRandIPAddress(1/8, 20000000) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'SetRandIPAddress@2 :: SetRandIPAddress':
                  PREFIX: required argument missing
                config:1: While configuring 'SetRandIPAddress@3 :: SetRandIPAddress':
                  PREFIX: parse error
                  LIMIT: invalid number
                config:1: While configuring 'SetRandIPAddress@4 :: SetRandIPAddress':
                  LIMIT must be <= 16777216
                Router could not be initialized!
            "#]],
        );
    }
}
