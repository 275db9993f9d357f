//! How an element reaches others, and handlers.

use graph::ElementIdx;

use super::Ctx;
use crate::runtime::{HandlerUse, Runtime};
use crate::{Element, HandlerCall};

impl<'a> Ctx<'a> {
    // ---- other elements

    /// Runs `f` on another element if it is a `T`; `None` if it is not, or is busy further up the call path.
    pub fn with<T: Element, R>(
        &mut self,
        idx: ElementIdx,
        mut f: impl FnMut(&mut T, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let mut result = None;
        self.runtime.with_element(idx, &mut |element, ctx| {
            let element: &mut dyn std::any::Any = element;
            if let Some(element) = element.downcast_mut::<T>() {
                result = Some(f(element, ctx));
            }
        });
        result
    }

    /// Runs `f` on another element of any class; `None` if it is busy further up the call path.
    pub fn with_any<R>(
        &mut self,
        idx: ElementIdx,
        mut f: impl FnMut(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let mut result = None;
        self.runtime.with_element(idx, &mut |element, ctx| result = Some(f(element, ctx)));
        result
    }

    /// This element's full name.
    pub fn own_name(&self) -> &str {
        self.runtime.name(self.element)
    }

    /// This element as messages name it: `name :: Class`.
    pub fn own_declaration(&self) -> String {
        self.declaration(self.element)
    }

    /// As [`Ctx::own_declaration`], of another element.
    pub fn declaration(&self, idx: ElementIdx) -> String {
        format!("{} :: {}", self.runtime.name(idx), self.runtime.class(idx))
    }

    /// The names that this element's arguments may use, for handlers that read arguments.
    pub fn scope(&self) -> args::Scope<'_> {
        args::Scope::new(self.runtime.names(), self.runtime.name(self.element))
    }

    /// Another element's full name.
    pub fn name(&self, idx: ElementIdx) -> &str {
        self.runtime.name(idx)
    }

    /// Another element's class.
    pub fn class(&self, idx: ElementIdx) -> &'static str {
        self.runtime.class(idx)
    }

    /// The element with this name, looked up from this element's compound outwards.
    pub fn find(&self, name: &str) -> Option<ElementIdx> {
        self.runtime.find(name, self.element)
    }

    /// The engine itself, for what the methods here do not offer.
    pub fn runtime(&mut self) -> &mut dyn Runtime {
        self.runtime
    }

    // ---- handlers

    /// Reads `element.handler` (or a global handler) with a parameter.
    pub fn read_handler(&mut self, handler: &str, param: &str) -> Result<String, String> {
        self.runtime.read_handler(self.element, handler, param)
    }

    /// Writes `element.handler` (or a global handler).
    pub fn write_handler(&mut self, handler: &str, value: &str) -> Result<(), String> {
        self.runtime.write_handler(self.element, handler, value)
    }

    /// What a script is told by number of a write that failed with this message.
    pub fn refusal(&self, handler: &str, message: &str) -> i32 {
        self.runtime.refusal(self.element, handler, message)
    }

    /// Writes a handler as soon as this method has returned, so that what the handler does may call this element again.
    /// What was emitted before is delivered at once, what is emitted later is delivered after the call. Nobody hears of an
    /// error.
    pub fn call_later(&mut self, call: HandlerCall) {
        self.deliver();
        self.runtime.call_later(self.element, call, false);
    }

    /// As [`Ctx::call_later`]; an error of the handler is printed.
    pub fn call_later_and_tell(&mut self, call: HandlerCall) {
        self.deliver();
        self.runtime.call_later(self.element, call, true);
    }

    /// Whether a handler can be read and written.
    pub fn handler_exists(&self, handler: &str) -> (bool, bool) {
        self.runtime.handler_exists(self.element, handler)
    }

    /// Checks that a handler can be called: its full name, or Click's message.
    pub fn check_handler(&self, handler: &str, call: HandlerUse<'_>) -> Result<String, String> {
        self.runtime.check_handler(self.element, handler, call)
    }

    /// Tells whoever called the handler that is running of an error that did not end it: a sentence, or a line each.
    pub fn tell(&mut self, message: &str) {
        self.runtime.tell(message);
    }

    /// Warns whoever called the handler that is running, or initialises the element: a sentence.
    pub fn warn(&mut self, message: &str) {
        self.runtime.tell(&format!("warning: {message}"));
    }

    /// Calls handlers, and gathers the errors they tell of besides those they return.
    pub fn hear<R>(&mut self, call: impl FnOnce(&mut Ctx<'a>) -> R) -> (R, Vec<String>) {
        let outer = self.runtime.collect_told(Some(Vec::new()));
        let result = call(self);
        let told = self.runtime.collect_told(outer);
        (result, told.unwrap_or_default())
    }
}
