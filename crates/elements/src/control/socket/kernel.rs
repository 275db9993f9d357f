//! Commands to the handlers of the kernel, through a `KernelHandlerProxy`.

use element::Ctx;

use super::answer::{canonical, permission_denied};
use super::reply::{Code, Reply};
use crate::control::control_socket::ControlSocket;
use crate::control::kernel_handler_proxy::{check_name, Complaint, KernelHandlerProxy};

impl ControlSocket {
    /// Reads a handler of the kernel; `None` if the commands are not about these.
    pub(super) fn read_kernel(&self, ctx: &mut Ctx<'_>, handler: &str, param: &str) -> Option<Reply> {
        let name = proxied_name(handler);
        let value = self.with_kernel(ctx, |proxy, ctx| {
            check_name(&name).map_err(|complaint| missing(ctx, handler, &complaint))?;
            let error = format!("Read handler '{handler}' error");
            if !param.is_empty() {
                let full_name = format!("{}.{name}", ctx.own_name());
                let told = format!("read handler '{full_name}' does not take parameters");
                return Err(Reply::with_messages(Code::Unspecified, &error, &[told]));
            }
            let value = proxy.fetch(ctx, &name);
            value.map_err(|complaint| Reply::with_messages(complaint.code, &error, &[complaint.message]))
        })?;
        Some(match value {
            Ok(text) => Reply::data(&format!("Read handler '{handler}' OK"), text.as_bytes()),
            Err(reply) => reply,
        })
    }

    /// Writes a handler of the kernel; `None` if the commands are not about these.
    pub(super) fn write_kernel(&self, ctx: &mut Ctx<'_>, handler: &str, value: &str) -> Option<Reply> {
        let name = proxied_name(handler);
        let is_read_only = self.is_read_only;
        self.with_kernel(ctx, |proxy, ctx| match check_name(&name) {
            Err(complaint) => missing(ctx, handler, &complaint),
            Ok(()) if is_read_only => permission_denied(handler),
            Ok(()) => match proxy.store(&name, value) {
                Ok(()) => Reply::line(Code::Ok, &format!("Write handler '{handler}' OK")),
                Err(complaint) => Reply::line(complaint.code, &complaint.message),
            },
        })
    }

    /// Checks a handler of the kernel; `None` if the commands are not about these.
    pub(super) fn check_kernel(&self, ctx: &mut Ctx<'_>, handler: &str, write: bool) -> Option<Reply> {
        let name = proxied_name(handler);
        let is_read_only = self.is_read_only;
        self.with_kernel(ctx, |proxy, _| match proxy.check(&name, write) {
            Err(complaint) => Reply::line(complaint.code, &complaint.message),
            Ok(()) if write && is_read_only => permission_denied(handler),
            Ok(()) => {
                let way = if write { "Write" } else { "Read" };
                Reply::line(Code::Ok, &format!("{way} handler '{name}' OK"))
            }
        })
    }

    fn with_kernel<R>(
        &self,
        ctx: &mut Ctx<'_>,
        work: impl FnMut(&mut KernelHandlerProxy, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        ctx.with::<KernelHandlerProxy, R>(self.proxy?, work)
    }
}

/// A handler's name with the dot that a global handler may lack.
fn proxied_name(handler: &str) -> String {
    let name = canonical(handler);
    if name.contains('.') {
        name.to_string()
    } else {
        format!(".{name}")
    }
}

/// The reply where there can be no such handler; why is told on standard error.
fn missing(ctx: &mut Ctx<'_>, handler: &str, complaint: &Complaint) -> Reply {
    ctx.chatter(&complaint.message);
    Reply::line(Code::NoSuchHandler, &format!("No proxied handler named '{handler}'"))
}
