//! Stores packets in a first-in, first-out queue that several pushers share.
//!
//! Another name for `ThreadSafeQueue`, which is to be used instead.
//!
//! ```click
//! q :: MSQueue(200) -> Unqueue -> Discard;
//! InfiniteSource -> q;
//! InfiniteSource -> q;
//! ```

use element::{Class, Configure, Element, Failed};

use crate::standard::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("MSQueue", "1/1-2", configure);

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    let queue = Queue::of_kind(conf, Kind::Full)?;
    conf.warning("MSQueue is deprecated, use ThreadSafeQueue instead");
    Ok(queue)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn another_name_is_recommended() {
        check_reading(
            "InfiniteSource(LIMIT 20, BURST 20) -> q :: MSQueue(8) -> Unqueue(LIMIT 5) -> c :: Counter -> Discard;
             DriverManager(wait 0.1, stop)",
            &["q.length", "q.drops", "q.class", "c.count"],
            expect![[r#"
                config:1: While configuring 'q :: MSQueue':
                  warning: MSQueue is deprecated, use ThreadSafeQueue instead
                q :: MSQueue: overflow
                q.length: 3
                q.drops: 12
                q.class: MSQueue
                c.count: 5
            "#]],
        );
    }
}
