//! An old name of `Socket` whose input, if there is one, is pushed to.
//!
//! ```click
//! FromSocket(UDP, 127.0.0.1, 7000) -> Print -> Discard;
//! ```

use element::{Class, Configure, Element, Failed, Role};

use crate::transport::{methods, Transport, ARGS, DROPS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<FromSocket>("FromSocket", "0-1/0-1", "h/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Input)
    .notice("warning: FromSocket is deprecated, use Socket instead");

/// See the page above.
pub struct FromSocket(Transport);

impl Element for FromSocket {
    fn configure(conf: &mut Configure<'_>) -> Result<FromSocket, Failed> {
        Transport::configure(conf).map(FromSocket)
    }

    methods!();
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_reading, Scratch};
    use expect_test::expect;

    #[test]
    fn it_has_the_handlers_of_a_task_that_never_runs() {
        let scratch = Scratch::new();
        let path = scratch.path("socket");
        check_reading(
            &format!(
                "s :: FromSocket(UNIX_DGRAM, {path}) -> Discard; t :: Socket(UNIX_DGRAM, {path}2) -> Queue -> t;
                 DriverManager(read s.scheduled, read s.tickets, write s.tickets 70000, read s.tickets, write s.tickets x,
                     write s.scheduled true)"
            ),
            &["s.handlers", "s.tickets", "t.handlers", "t.tickets"],
            expect![[r#"
                warning: FromSocket is deprecated, use Socket instead
                s.scheduled:
                false
                s.tickets:
                -1
                While calling 's.tickets 70000':
                  warning: tickets pinned at 32768
                s.tickets:
                32768
                While calling 's.tickets x':
                  syntax error
                no 's.scheduled' write handler
                s.handlers: tickets	rw
                scheduled	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

                s.tickets: 32768
                t.handlers: tickets	rw
                scheduled	r
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

                t.tickets: 1024
            "#]],
        );
    }
}
