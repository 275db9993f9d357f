//! Says on which threads elements' tasks run.
//!
//! Each argument is the name of an element, or of a compound element for all that is inside, and the number of a thread; -1 is
//! none at all. Of several such elements the last one that names an element counts.
//!
//! Packets cross threads in queues. Elements with no queue between them, or whose configurations name each other, run on one
//! thread, the lowest that any of them was given.
//!
//! ```click
//! a :: InfiniteSource -> Discard;
//! b :: InfiniteSource -> Discard;
//! StaticThreadSched(a 0, b 1);
//! ```

use args::Args;
use element::{Arg, Class, Configure, Ctx, Element, ElementIdx, Failed, Role};

/// The class.
pub const CLASS: Class =
    Class::new::<StaticThreadSched>("StaticThreadSched", "0/0", "a/a", "x/x").args(ARGS).role(Role::Single);

const ARGS: &[Arg] = &[Arg::rest("ELEMENT THREAD", "name and int", "An element and its thread.")];

const PAIR: &[Arg] = &[
    Arg::required("ELEMENT", "name", "The element."),
    Arg::required("THREAD", "int", "The number of the thread."),
];

/// See the page above.
pub struct StaticThreadSched {
    threads: Vec<(ElementIdx, i32)>,
}

impl Element for StaticThreadSched {
    fn configure(conf: &mut Configure<'_>) -> Result<StaticThreadSched, Failed> {
        let n_threads = conf.environment.n_threads();
        let mut threads = Vec::new();
        for argument in conf.args.rest() {
            let mut pair = Args::from_words(&argument, PAIR, conf.scope);
            let (name, mut thread): (String, i32) = (pair.need("ELEMENT"), pair.need("THREAD"));
            pair.finish().map_err(|errors| Failed { errors })?;
            if thread < -1 || usize::try_from(thread).is_ok_and(|thread| thread >= n_threads) {
                conf.warning(format!("thread preference {thread} out of range"));
                thread = if thread < 0 { -1 } else { 0 };
            }
            let (elements, name) = named(conf, &name);
            if elements.is_empty() {
                conf.note(format!("'{name}' does not name an element"));
            }
            threads.extend(elements.into_iter().map(|idx| (idx, thread)));
        }
        conf.finish()?;
        Ok(StaticThreadSched { threads })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for &(idx, thread) in &self.threads {
            ctx.runtime().set_element_thread(idx, thread);
        }
        Ok(())
    }
}

/// The element of a name, or those inside of the compound element of that name; and the full name that was looked for.
fn named(conf: &Configure<'_>, name: &str) -> (Vec<ElementIdx>, String) {
    let environment = conf.environment;
    if let Some(idx) = environment.find(name, conf.element) {
        return (vec![idx], name.to_string());
    }
    if name.is_empty() {
        return (Vec::new(), String::new());
    }
    let context = graph::context_of(environment.name(conf.element));
    let prefix = format!("{context}{name}/");
    let inside = (0..environment.n_elements()).filter(|idx| environment.name(*idx).starts_with(&prefix));
    (inside.collect(), prefix)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn elements_and_compounds_are_given_threads() {
        check_reading(
            "StaticThreadSched(a 0, c -1, nobody 0, b 7);
            Idle -> a :: Unqueue -> Discard; Idle -> b :: Unqueue -> Discard;
            c :: { Idle -> u :: Unqueue -> Discard; StaticThreadSched(u 0) };
            d :: { Idle -> u :: Unqueue -> Discard; };",
            &["a.home_thread", "b.home_thread", "c/u.home_thread", "d/u.home_thread"],
            expect![[r#"
                config:1: While configuring 'StaticThreadSched@1 :: StaticThreadSched':
                  'nobody/' does not name an element
                  warning: thread preference 7 out of range
                a.home_thread: 0
                b.home_thread: 0
                c/u.home_thread: 0
                d/u.home_thread: 0
            "#]],
        );
    }

    #[test]
    fn a_thread_must_be_given() {
        check_reading(
            "StaticThreadSched(x)",
            &[],
            expect![[r#"
            config:1: While configuring 'StaticThreadSched@1 :: StaticThreadSched':
              THREAD: required argument missing
            Router could not be initialized!
        "#]],
        );
    }
}
