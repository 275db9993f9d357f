//! Gives access to the handlers of a graph in the Linux kernel module of Click.
//!
//! Its handler `e.h` is the handler `h` of the kernel's element `e`, and `.h` is the global handler `h`: the file `/click/e/h` or
//! `/click/h` (or the same in a folder `.h`, if `/click/.h` is there). Whether there is such a handler shows when it is used: a write
//! then fails, and a read gives nothing, which a line tells if VERBOSE is true. A `ControlSocket` with PROXY tells its client what
//! went wrong. Without the kernel module, which is no part of weir, that is always `No router installed`.
//!
//! ```click
//! proxy :: KernelHandlerProxy;
//! ControlSocket(UNIX, /tmp/kernel.sock, PROXY proxy);
//! ```

use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use element::output::reason;
use element::{Arg, Class, Configure, Ctx, Element, Failed, HandlerKind, Role};
use rustix::fs::{access, Access};

use super::socket::{printable, Code};

/// The class.
pub const CLASS: Class =
    Class::new::<KernelHandlerProxy>("KernelHandlerProxy", "0/0", "a/a", "x/x").args(ARGS).role(Role::Single);

const ARGS: &[Arg] = &[Arg::keyword(
    "VERBOSE",
    "bool",
    "Whether to tell on standard error of handlers that cannot be read. Default false.",
)];

/// Where the kernel module shows its handlers.
const ROOT: &str = "/click";
/// Bytes of a handler's value, at most.
const MAX_VALUE: u64 = 1 << 26;
/// Handlers that are remembered to be listed.
const MAX_KNOWN: usize = 1024;

/// See the page above.
pub struct KernelHandlerProxy {
    root: PathBuf,
    is_verbose: bool,
    /// Whether handlers are in folders of their own; looked up at the first use.
    has_folders: Option<bool>,
    /// Handlers that were asked for, the last first.
    known: RefCell<Vec<String>>,
}

/// Why a handler cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct Complaint {
    /// For the client of a `ControlSocket`.
    pub code: Code,
    /// A sentence.
    pub message: String,
}

impl Element for KernelHandlerProxy {
    fn configure(conf: &mut Configure<'_>) -> Result<KernelHandlerProxy, Failed> {
        let is_verbose = conf.args.get_or("VERBOSE", false);
        conf.finish()?;
        Ok(KernelHandlerProxy::new(ROOT.into(), is_verbose))
    }

    fn own_handler(&self, name: &str) -> Option<HandlerKind> {
        self.admit(name).ok().map(|()| HandlerKind::ReadWrite)
    }

    fn own_handlers(&self) -> Vec<(String, HandlerKind)> {
        let known = self.known.borrow();
        let known = known.iter().map(|name| (name.clone(), HandlerKind::ReadWrite));
        known.chain([("*".to_string(), HandlerKind::Write)]).collect()
    }

    fn no_handler(&self, name: &str) -> Option<String> {
        check_name(name).err().map(|complaint| complaint.message)
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(self.fetch(ctx, name).unwrap_or_default())
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.store(name, value).map_err(|complaint| complaint.message)
    }
}

impl KernelHandlerProxy {
    fn new(root: PathBuf, is_verbose: bool) -> KernelHandlerProxy {
        KernelHandlerProxy { root, is_verbose, has_folders: None, known: RefCell::new(Vec::new()) }
    }

    /// Checks a name and remembers it.
    pub fn admit(&self, name: &str) -> Result<(), Complaint> {
        check_name(name)?;
        let mut known = self.known.borrow_mut();
        if !known.iter().any(|known| known == name) {
            known.insert(0, name.to_string());
            known.truncate(MAX_KNOWN);
        }
        Ok(())
    }

    /// Reads a handler; an error is also told if that is wanted.
    pub fn fetch(&mut self, ctx: &mut Ctx<'_>, name: &str) -> Result<String, Complaint> {
        let value = self.read_file(name);
        if let (Err(complaint), true) = (&value, self.is_verbose) {
            ctx.chatter(&complaint.message);
        }
        value
    }

    fn read_file(&mut self, name: &str) -> Result<String, Complaint> {
        let mut value = Vec::new();
        let file = File::open(self.file_of(name));
        let read = file.and_then(|file| file.take(MAX_VALUE).read_to_end(&mut value));
        match read {
            Ok(_) => Ok(String::from_utf8_lossy(&value).into_owned()),
            Err(error) => Err(self.complain_of_open(name, &error)),
        }
    }

    /// Writes a handler.
    pub fn store(&mut self, name: &str, value: &str) -> Result<(), Complaint> {
        let path = self.file_of(name);
        let mut file = match OpenOptions::new().write(true).truncate(true).open(&path) {
            Ok(file) => file,
            Err(error) => return Err(self.complain_of_open(name, &error)),
        };
        file.write_all(value.as_bytes()).map_err(|error| {
            let message = format!("{}: {}", path.display(), reason(&error));
            Complaint { code: Code::Unspecified, message }
        })
    }

    /// Checks that a handler can be read, or written.
    pub fn check(&mut self, name: &str, writes: bool) -> Result<(), Complaint> {
        check_name(name)?;
        let path = self.file_of(name);
        if let Err(error) = access(&path, if writes { Access::WRITE_OK } else { Access::READ_OK }) {
            return Err(self.complain_of_open(name, &error.into()));
        }
        match path.is_dir() {
            true => Err(no_such_handler(name)),
            false => Ok(()),
        }
    }

    /// The file of a handler whose name is right.
    fn file_of(&mut self, name: &str) -> PathBuf {
        let root = self.root.clone();
        let has_folders = *self.has_folders.get_or_insert_with(|| root.join(".h").exists());
        let (element, handler) = name.split_once('.').unwrap_or(("", name));
        let folder = if element.is_empty() { root } else { join_all(&root, element) };
        if has_folders {
            folder.join(".h").join(handler)
        } else {
            folder.join(handler)
        }
    }

    fn complain_of_open(&self, name: &str, error: &Error) -> Complaint {
        let element = name.split_once('.').map_or(name, |(element, _)| element);
        let quoted = printable(name);
        let (code, message) = match error.kind() {
            ErrorKind::NotFound if !self.root.exists() => (Code::NoRouter, "No router installed".to_string()),
            ErrorKind::NotFound if !element.is_empty() && !join_all(&self.root, element).exists() => {
                (Code::NoSuchElement, format!("No element named '{}'", printable(element)))
            }
            ErrorKind::NotFound => return no_such_handler(name),
            ErrorKind::PermissionDenied => (Code::Permission, format!("Permission denied for '{quoted}'")),
            _ => (Code::Unspecified, format!("Handler '{quoted}' error: {}", reason(error))),
        };
        Complaint { code, message }
    }
}

/// A path below another one, also if it begins with a slash.
fn join_all(root: &Path, below: &str) -> PathBuf {
    root.join(below.trim_start_matches('/'))
}

fn no_such_handler(name: &str) -> Complaint {
    Complaint { code: Code::NoSuchHandler, message: format!("No handler named '{}'", printable(name)) }
}

/// Checks that a name is `element.handler`, in which the element may be missing, and leads to no other folder.
fn check_name(name: &str) -> Result<(), Complaint> {
    let bad = |message: String| Err(Complaint { code: Code::Syntax, message });
    let bad_name = || bad(format!("Bad handler name '{}'", printable(name)));
    let Some((element, handler)) = name.split_once('.').filter(|(_, handler)| !handler.is_empty()) else {
        return bad_name();
    };
    if !element.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'/' | b'@')) {
        return bad(format!("Bad character in element name '{}'", printable(element)));
    }
    if !handler.bytes().all(|byte| matches!(byte, 32..127) && byte != b'/') {
        return bad(format!("Bad character in handler name '{}'", printable(name)));
    }
    if matches!(handler, "." | "..") {
        return bad_name();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn without_the_kernel_module_there_is_no_router() {
        check(
            "p :: KernelHandlerProxy; q :: KernelHandlerProxy(VERBOSE true);
             DriverManager(read p.list, read p.x.y, read q.x.y, write p.x.y 5, write p.list, read \"p.x..\", read \"p.a-b.c\",
                 read p.handlers)",
            expect![[r#"
                Bad handler name 'list'
                no 'p.list' read handler
                p.x.y:

                No router installed
                q.x.y:

                While calling 'p.x.y 5':
                  No router installed
                Bad handler name 'list'
                no 'p.list' write handler
                Bad handler name 'x..'
                no 'p.x..' read handler
                Bad character in element name 'a-b'
                no 'p.a-b.c' read handler
                p.handlers:
                x.y	rw
                *	w
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn names_lead_nowhere_else() {
        let told = |name: &str| check_name(name).err().map(|complaint| complaint.message).unwrap_or_default();
        let names = [
            "x.y",
            ".y",
            "a/b@1.y z",
            "x",
            "x.",
            "x..",
            "x...",
            "x....",
            "x.y/z",
            "x.y\u{1}",
            "x.é",
            "../x.y",
            "a b.c",
            "",
        ];
        let lines: Vec<String> = names.iter().map(|name| told(name)).collect();
        expect![[r#"



            Bad handler name 'x'
            Bad handler name 'x.'
            Bad handler name 'x..'
            Bad handler name 'x...'

            Bad character in handler name 'x.y/z'
            Bad character in handler name 'x.y^A'
            Bad character in handler name 'x.\303\251'
            Bad character in handler name '../x.y'
            Bad character in element name 'a b'
            Bad handler name ''"#]]
        .assert_eq(&lines.join("\n"));
    }

    #[test]
    fn handlers_are_files() {
        let root = std::env::temp_dir().join(format!("weir-kernel-test-{}", std::process::id()));
        std::fs::create_dir_all(root.join("e/d")).unwrap();
        std::fs::write(root.join("e/h"), "value\n").unwrap();
        std::fs::write(root.join("list"), "1\ne\n").unwrap();
        let mut proxy = KernelHandlerProxy::new(root.clone(), false);
        assert_eq!(proxy.read_file("e.h"), Ok("value\n".to_string()));
        assert_eq!(proxy.read_file(".list"), Ok("1\ne\n".to_string()));
        assert_eq!(proxy.store("e.h", "other"), Ok(()));
        assert_eq!(proxy.read_file("e.h"), Ok("other".to_string()));
        assert_eq!(proxy.check("e.h", true), Ok(()));
        let complaints = [
            proxy.read_file("f.h").err(),
            proxy.store("e.g", "").err(),
            proxy.read_file("e.d").err(),
            proxy.check("e.d", false).err(),
            proxy.check("nonsense", false).err(),
        ];
        let lines =
            complaints.map(|complaint| complaint.map(|it| format!("{} {}", it.code as i32, it.message)));
        expect![[r#"
            [
                Some(
                    "510 No element named 'f'",
                ),
                Some(
                    "511 No handler named 'e.g'",
                ),
                Some(
                    "590 Handler 'e.d' error: Is a directory",
                ),
                Some(
                    "511 No handler named 'e.d'",
                ),
                Some(
                    "500 Bad handler name 'nonsense'",
                ),
            ]
        "#]]
        .assert_debug_eq(&lines);
        std::fs::create_dir(root.join(".h")).unwrap();
        std::fs::write(root.join(".h/list"), "0\n").unwrap();
        let mut proxy = KernelHandlerProxy::new(root.clone(), false);
        assert_eq!(proxy.read_file(".list"), Ok("0\n".to_string()));
        std::fs::remove_dir_all(&root).unwrap();
    }
}
