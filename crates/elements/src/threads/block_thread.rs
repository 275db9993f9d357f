//! Makes a thread do nothing for a time when it is told to.
//!
//! For trying out what a graph does when a thread stands still. It is the thread that writes the handler, which is the first
//! unless a script on another thread does it, and the one that this element is on. In simulated time nothing stands still:
//! the time is over at once.
//!
//! ```click
//! b :: BlockThread;
//! InfiniteSource -> Discard;
//! Script(wait 1s, write b.block 0.5s);
//! ```

use element::{Class, Configure, Ctx, Element, Failed, Handler};

/// The class.
pub const CLASS: Class = Class::new::<BlockThread>("BlockThread", "0/0", "a/a", "x/x").handlers(HANDLERS);

const HANDLERS: &[Handler] =
    &[Handler::write("block", "Blocks the thread for so many seconds.").flags("private")];

/// See the page above.
pub struct BlockThread;

impl Element for BlockThread {
    fn configure(conf: &mut Configure<'_>) -> Result<BlockThread, Failed> {
        conf.finish()?;
        Ok(BlockThread)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "block" => {
                let time = args::timestamp(value).map_err(|_| "bad TIME")?;
                ctx.runtime().block(time.as_nanos());
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn simulated_time_passes() {
        check(
            "b :: BlockThread; TimedSource(0.3s) -> SetTimestamp -> Print(TIMESTAMP true) -> Discard;
             DriverManager(wait 0.5s, write b.block 1s, write b.block -1, write b.block x, read b.handlers, wait 0.1s, stop)",
            expect![[r#"
                1000000000.300000002:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                While executing 'DriverManager@6 :: DriverManager':
                  While calling 'b.block -1':
                    bad TIME
                  While calling 'b.block x':
                    bad TIME
                b.handlers:
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

                1000000001.500000005:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                1000000001.500000007:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                1000000001.500000009:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
                1000000001.500000011:   69 | 52616e64 6f6d2062 756c6c73 68697420 696e2061 20706163
            "#]],
        );
    }
}
