//! Prints a message while the graph is configured.
//!
//! TYPE is `MESSAGE`, `WARNING` or `ERROR`; the graph starts only with the first, or if there is nothing to print.
//!
//! ```click
//! Message("This graph needs a device eth0.");
//! ```

use element::{Arg, Class, Configure, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<Message>("Message", "0/0", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("MESSAGE", "string", "What to print."),
    Arg::optional("TYPE", "MESSAGE, WARNING or ERROR", "How bad it is. Default MESSAGE."),
];

/// See the page above.
pub struct Message;

impl Element for Message {
    fn configure(conf: &mut Configure<'_>) -> Result<Message, Failed> {
        let message: String = conf.args.need("MESSAGE");
        let ty = conf.args.get::<args::Keyword>("TYPE").map(|args::Keyword(word)| word);
        conf.finish()?;
        match ty.as_deref() {
            None | Some("MESSAGE") => conf.note(message),
            // An empty message has no line that would count as a warning or an error.
            Some("WARNING" | "ERROR") if message.is_empty() => conf.note(message),
            Some("WARNING") => {
                conf.warning(message);
                return Err(Failed::default());
            }
            Some("ERROR") => return Err(message.into()),
            Some(_) => return Err("unrecognized message type".into()),
        }
        Ok(Message)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn messages_are_told() {
        check(
            "Message(\"a b\")",
            expect![[r#"
                config:1: While configuring 'Message@1 :: Message':
                  a b
            "#]],
        );
    }

    #[test]
    fn nothing_is_told_under_the_elements_name() {
        check(
            r#"Message(""); Message("", WARNING); Message("", ERROR)"#,
            expect![[r#"
                config:1: While configuring 'Message@1 :: Message':
                config:1: While configuring 'Message@2 :: Message':
                config:1: While configuring 'Message@3 :: Message':
            "#]],
        );
    }

    #[test]
    fn notes_in_front_of_a_message_are_not_printed() {
        check(
            r#"Message("{a} b {c}"); Message("<5>x"); Message("{l:foo:3}y"); Message("12:30: z")"#,
            expect![[r#"
                config:1: While configuring 'Message@1 :: Message':
                   b {c}
                config:1: While configuring 'Message@2 :: Message':
                  x
                config:1: While configuring 'Message@3 :: Message':
                foo:3:   y
                config:1: While configuring 'Message@4 :: Message':
                  12:30: z
            "#]],
        );
    }

    #[test]
    fn warnings_and_errors_end_the_start() {
        check(
            "Message(doubtful, WARNING); Message(wrong, ERROR); Message(x, FATAL)",
            expect![[r#"
                config:1: While configuring 'Message@1 :: Message':
                  warning: doubtful
                  unspecified error
                config:1: While configuring 'Message@2 :: Message':
                  wrong
                config:1: While configuring 'Message@3 :: Message':
                  unrecognized message type
                Router could not be initialized!
            "#]],
        );
    }
}
