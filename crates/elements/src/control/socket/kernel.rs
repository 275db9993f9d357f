//! Commands to the handlers of the kernel, through a `KernelHandlerProxy`.

use element::Ctx;

use super::answer::{canonical, permission_denied};
use super::reply::{Code, Reply};
use crate::control::control_socket::ControlSocket;
use crate::control::kernel_handler_proxy::{Complaint, KernelHandlerProxy};

impl ControlSocket {
    /// Reads a handler of the kernel; `None` if the commands are not about these.
    pub(super) fn read_kernel(&self, ctx: &mut Ctx<'_>, handler: &str, param: &str) -> Option<Reply> {
        let name = proxied_name(handler);
        let value = self.with_kernel(ctx, |proxy, ctx| {
            proxy.admit(&name).map_err(|complaint| missing(ctx, handler, &complaint))?;
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
        self.with_kernel(ctx, |proxy, ctx| match proxy.admit(&name) {
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

#[cfg(test)]
mod tests {
    use crate::testing::run_until;
    use expect_test::expect;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    const COMMANDS: &str = "READ list\r\nREAD x.y\r\nWRITE x.y 3\r\nCHECKREAD list\r\nCHECKWRITE x.y\r\nCHECKREAD x..\r\n\
        READ a-b.c\r\nREAD x.y 5\r\nREAD x.\r\nREAD x.a/b\r\nLLRPC x#80044301\r\nWRITE list\r\nREAD 0.x\r\nQUIT\r\n";

    #[test]
    fn clients_hear_that_there_is_no_kernel_module() {
        let path = std::env::temp_dir().join(format!("weir-kernel-socket-{}", std::process::id()));
        let name = path.to_str().unwrap().to_string();
        let mut client: Option<UnixStream> = None;
        let mut answer = String::new();
        let told = run_until(
            &format!(
                "p :: KernelHandlerProxy; ControlSocket(UNIX, {name}, PROXY p); InfiniteSource -> Discard"
            ),
            &["p.handlers"],
            || {
                let client = client.get_or_insert_with(|| {
                    let mut client = UnixStream::connect(&name).unwrap();
                    client.write_all(COMMANDS.as_bytes()).unwrap();
                    client.set_nonblocking(true).unwrap();
                    client
                });
                let mut buf = [0; 4096];
                if let Ok(n) = client.read(&mut buf) {
                    answer += std::str::from_utf8(&buf[..n]).unwrap();
                }
                answer.contains("Goodbye!")
            },
        );
        let _ = std::fs::remove_file(&path);
        expect![[r#"
            Click::ControlSocket/1.3
            540-Read handler 'list' error:
            540 No router installed
            540-Read handler 'x.y' error:
            540 No router installed
            540 No router installed
            540 No router installed
            540 No router installed
            500 Bad handler name 'x..'
            511 No proxied handler named 'a-b.c'
            590-Read handler 'x.y' error:
            590 read handler 'p.x.y' does not take parameters
            511 No proxied handler named 'x.'
            511 No proxied handler named 'x.a/b'
            522 LLRPC 'x#80044301' requires 4 bytes input data
            540 No router installed
            540-Read handler '0.x' error:
            540 No router installed
            200 Goodbye!
        "#]]
        .assert_eq(&answer.replace("\r\n", "\n"));
        expect![[r#"
            Bad character in element name 'a-b'
            Bad handler name 'x.'
            Bad character in handler name 'x.a/b'
            p.handlers: .x	rw
            x.name	rw
            x.y	rw
            .list	rw
            *	w
            handlers	r.
            ports	r.
            config	r.
            class	r.
            name	r.

        "#]]
        .assert_eq(&told);
    }
}
