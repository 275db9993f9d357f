//! Prints a message while the graph is configured.
//!
//! TYPE is `MESSAGE`, `WARNING` or `ERROR`; the graph starts only with the first.
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
