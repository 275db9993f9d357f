//! Handler calls: a handler and a value, as arguments name them.

use crate::runtime::HandlerUse;
use crate::Ctx;

/// A handler to be called, such as `src.active false`: `element.handler`, or a global handler, and what follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandlerCall {
    /// The handler.
    pub name: String,
    /// The value to write, or the parameter to read with.
    pub value: String,
}

impl HandlerCall {
    /// Splits `text` into handler and value.
    pub fn parse(text: &str) -> Result<HandlerCall, String> {
        let (name, value) = args::next_word(text.trim());
        let name = args::handler_name(name)?.text;
        Ok(HandlerCall { name, value: value.trim_start().to_string() })
    }

    /// Checks that the element named in the call exists; a global handler, or one of the calling element, needs none.
    pub fn check_element(&self, exists: impl Fn(&str) -> bool) -> Result<(), String> {
        match self.name.split_once('.') {
            Some(("", _)) | None => Ok(()),
            Some((_, "")) => Err("syntax error".to_string()),
            Some((element, _)) if exists(element) => Ok(()),
            Some((element, _)) => Err(format!("no element named '{element}'")),
        }
    }

    /// Checks that the handler can be written; in [`crate::Element::initialize`].
    pub fn check_writable(&self, ctx: &Ctx<'_>) -> Result<(), String> {
        ctx.check_handler(&self.name, HandlerUse::Write).map(drop)
    }

    /// Writes the value.
    pub fn write(&self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        ctx.write_handler(&self.name, &self.value)
    }

    /// Writes the value; neither an answer nor what else is told has a reader.
    pub fn write_silently(&self, ctx: &mut Ctx<'_>) {
        let _ = ctx.hear(|ctx| self.write(ctx));
    }

    /// Reads, with the value as parameter.
    pub fn read(&self, ctx: &mut Ctx<'_>) -> Result<String, String> {
        ctx.read_handler(&self.name, &self.value)
    }
}
