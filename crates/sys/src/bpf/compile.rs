//! tcpdump's filter expressions, compiled by libpcap.
//!
//! The library is loaded when the first expression is compiled, never linked: it brings a dozen others along, which
//! would cost every start of the program more than the rest of it.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{BpfError, Instruction, Program};

/// Compiles `expression` for packets of link type `linktype` (`DLT_*`); an empty one takes every packet.
///
/// Packets that match keep `snaplen` bytes (0: all). What only the kernel knows of a packet is not there to be asked for.
pub fn compile(expression: &str, linktype: i32, snaplen: u32) -> Result<Program, BpfError> {
    let program = with_library(|pcap| pcap.compile(expression, linktype, snaplen))?;
    match program.instructions().iter().any(|i| i.asks_kernel()) {
        true => {
            Err(refuse(expression, "only the kernel knows of a packet's direction, and only at a device"))
        }
        false => Ok(program),
    }
}

/// Compiles `expression` for a packet socket on `device`, of the calling thread's network namespace and up.
///
/// The program is for the kernel: it asks for VLAN tags, which are not in the packets, and for directions. It is not simplified,
/// so that an expression which no packet matches is none that is refused. Only `ip broadcast` asks for
/// the `netmask`.
pub fn compile_for(
    device: &str,
    expression: &str,
    snaplen: u32,
    netmask: [u8; 4],
) -> Result<Program, BpfError> {
    let program = with_library(|pcap| pcap.compile_for(device, expression, snaplen, netmask))?;
    match program.loops() {
        true => Err(refuse(expression, "the kernel runs no filter with loops, as `protochain` needs")),
        false => Ok(program),
    }
}

/// libpcap's name of a link type, if it has one.
pub fn link_name(linktype: i32) -> Result<Option<String>, BpfError> {
    with_library(|pcap| {
        // SAFETY: a number in, a C string of static storage or null out.
        let name = unsafe { (pcap.link_name)(linktype) };
        // SAFETY: as above.
        Ok((!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()))
    })
}

fn with_library<R>(call: impl FnOnce(&Pcap) -> Result<R, BpfError>) -> Result<R, BpfError> {
    static LIBRARY: OnceLock<Result<Mutex<Pcap>, BpfError>> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| Pcap::load(&NAMES).map(Mutex::new)).as_ref().map_err(Clone::clone)?;
    // Before 1.8 the compiler keeps its state in globals. A panic cannot leave it half-way: it is C.
    let pcap = library.lock().unwrap_or_else(PoisonError::into_inner);
    call(&pcap)
}

/// Debian and Ubuntu have the first, others the second.
const NAMES: [&str; 2] = ["libpcap.so.0.8", "libpcap.so.1"];
/// What tcpdump takes for "all of the packet".
const MAX_SNAPLEN: u32 = 262_144;
/// `PCAP_NETMASK_UNKNOWN`: only `ip broadcast` would need one.
const NO_NETMASK: c_uint = 0xffff_ffff;
/// `PCAP_ERRBUF_SIZE`.
const ERROR_LEN: usize = 256;

/// `struct bpf_program`.
#[repr(C)]
struct RawProgram {
    len: c_uint,
    instructions: *mut Instruction,
}

/// The functions of libpcap that are used here.
struct Pcap {
    open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut c_void,
    create: unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut c_void,
    set_snaplen: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    activate: unsafe extern "C" fn(*mut c_void) -> c_int,
    close: unsafe extern "C" fn(*mut c_void),
    compile: unsafe extern "C" fn(*mut c_void, *mut RawProgram, *const c_char, c_int, c_uint) -> c_int,
    geterr: unsafe extern "C" fn(*mut c_void) -> *mut c_char,
    freecode: unsafe extern "C" fn(*mut RawProgram),
    link_name: unsafe extern "C" fn(c_int) -> *const c_char,
    /// Keeps the functions above loaded.
    _library: libloading::Library,
}

impl Pcap {
    fn load(names: &[&str]) -> Result<Self, BpfError> {
        let mut reasons = Vec::new();
        for name in names {
            // SAFETY: libpcap runs no code when loaded, and the types are those of its header.
            match unsafe { libloading::Library::new(name).and_then(|library| Self::bind(library)) } {
                Ok(pcap) => return Ok(pcap),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(BpfError::NoLibrary { reason: reasons.join("; ") })
    }

    /// # Safety
    /// `library` must be libpcap.
    unsafe fn bind(library: libloading::Library) -> Result<Self, libloading::Error> {
        // SAFETY: the fields' types are the functions' declarations in pcap.h; the library is kept beside them.
        unsafe {
            Ok(Self {
                open_dead: *library.get(b"pcap_open_dead\0")?,
                create: *library.get(b"pcap_create\0")?,
                set_snaplen: *library.get(b"pcap_set_snaplen\0")?,
                activate: *library.get(b"pcap_activate\0")?,
                close: *library.get(b"pcap_close\0")?,
                compile: *library.get(b"pcap_compile\0")?,
                geterr: *library.get(b"pcap_geterr\0")?,
                freecode: *library.get(b"pcap_freecode\0")?,
                link_name: *library.get(b"pcap_datalink_val_to_name\0")?,
                _library: library,
            })
        }
    }

    fn compile(&self, expression: &str, linktype: i32, snaplen: u32) -> Result<Program, BpfError> {
        // SAFETY: numbers in, a handle or null out.
        let handle = unsafe { (self.open_dead)(linktype, snaplen_of(snaplen)) };
        if handle.is_null() {
            return Err(refuse(expression, format!("libpcap cannot handle link type {linktype}")));
        }
        // SAFETY: the handle is open, and closed once and not used again.
        unsafe {
            let result = self.compile_on(handle, expression, true, NO_NETMASK);
            (self.close)(handle);
            result
        }
    }

    fn compile_for(
        &self,
        device: &str,
        expression: &str,
        snaplen: u32,
        netmask: [u8; 4],
    ) -> Result<Program, BpfError> {
        let name = CString::new(device).map_err(|_| refuse(expression, "the device contains a NUL"))?;
        let mut error: [c_char; ERROR_LEN] = [0; ERROR_LEN];
        // SAFETY: the name is a C string, and the library writes at most that many bytes of an error.
        let handle = unsafe { (self.create)(name.as_ptr(), error.as_mut_ptr()) };
        if handle.is_null() {
            // SAFETY: the library ended its message with a NUL; before the call there were only such.
            let reason = unsafe { CStr::from_ptr(error.as_ptr()) };
            return Err(refuse(expression, reason.to_string_lossy()));
        }
        // SAFETY: the handle is open, and closed once and not used again.
        unsafe {
            (self.set_snaplen)(handle, snaplen_of(snaplen));
            let result = match (self.activate)(handle) {
                0.. => self.compile_on(handle, expression, false, c_uint::from_ne_bytes(netmask)),
                _ => Err(refuse(expression, self.error_of(handle))),
            };
            (self.close)(handle);
            result
        }
    }

    /// # Safety
    /// `handle` must be open.
    unsafe fn compile_on(
        &self,
        handle: *mut c_void,
        expression: &str,
        simplifies: bool,
        netmask: c_uint,
    ) -> Result<Program, BpfError> {
        let text = CString::new(expression).map_err(|_| refuse(expression, "contains a NUL"))?;
        let mut raw = RawProgram { len: 0, instructions: std::ptr::null_mut() };
        let simplifies = c_int::from(simplifies);
        // SAFETY: the handle is open, the text a C string, and `raw` a place for the result.
        if unsafe { (self.compile)(handle, &mut raw, text.as_ptr(), simplifies, netmask) } != 0 {
            // SAFETY: as promised by the caller.
            return Err(refuse(expression, unsafe { self.error_of(handle) }));
        }
        // SAFETY: on success the program has `len` instructions until freecode.
        let copy = unsafe { copy_of(&raw) };
        // SAFETY: `raw` was filled by compile and is freed once.
        unsafe { (self.freecode)(&mut raw) };
        Program::new(copy)
    }

    /// # Safety
    /// `handle` must be open.
    unsafe fn error_of(&self, handle: *mut c_void) -> String {
        // SAFETY: the message is a C string inside the handle.
        unsafe { CStr::from_ptr((self.geterr)(handle)) }.to_string_lossy().into_owned()
    }
}

fn refuse(expression: &str, reason: impl Into<String>) -> BpfError {
    BpfError::Expression { expression: expression.into(), reason: reason.into() }
}

fn snaplen_of(snaplen: u32) -> c_int {
    let snaplen = if snaplen == 0 { MAX_SNAPLEN } else { snaplen };
    snaplen.min(c_int::MAX as u32) as c_int
}

/// # Safety
/// `raw.instructions` must be null or point at `raw.len` instructions.
unsafe fn copy_of(raw: &RawProgram) -> Vec<Instruction> {
    if raw.instructions.is_null() {
        return Vec::new();
    }
    // SAFETY: as promised by the caller.
    unsafe { std::slice::from_raw_parts(raw.instructions, raw.len as usize) }.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    const ETHERNET: i32 = 1;

    /// TCP from 10.0.0.1:80 to 10.0.0.2:1234, SYN.
    fn packet() -> Vec<u8> {
        let mut packet = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        packet.extend([0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        packet.extend([0, 80, 4, 210, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0]);
        packet
    }

    /// `None` if libpcap is not here and that is allowed.
    fn try_compile(expression: &str, linktype: i32) -> Option<Result<Program, BpfError>> {
        match compile(expression, linktype, 0) {
            Err(error @ BpfError::NoLibrary { .. }) => {
                crate::testing::cannot_run(error);
                None
            }
            other => Some(other),
        }
    }

    fn check_error(expression: &str, linktype: i32, expected: Expect) {
        if let Some(result) = try_compile(expression, linktype) {
            expected.assert_eq(&result.unwrap_err().to_string());
        }
    }

    #[test]
    fn expressions_match_as_in_tcpdump() {
        for (expression, expected) in [
            ("", true),
            ("tcp", true),
            ("udp", false),
            ("src host 10.0.0.1 and dst port 1234", true),
            ("tcp[tcpflags] & tcp-syn != 0", true),
            ("tcp[tcpflags] & tcp-ack != 0", false),
            ("net 10.0.0.0/30", true),
            ("not ip", false),
            ("greater 1000", false),
            ("less 54", true),
            ("ether src 02:00:00:00:00:01", true),
            ("vlan", false),
            ("ip[2:2] - 40 = 0", true),
        ] {
            let Some(program) = try_compile(expression, ETHERNET) else { return };
            assert_eq!(program.unwrap().matches(&packet(), 54), expected, "{expression}");
        }
    }

    #[test]
    fn other_link_types_are_understood() {
        let Some(raw_ip) = try_compile("src host 10.0.0.1", 12) else { return };
        assert!(raw_ip.unwrap().matches(&packet()[14..], 40));
    }

    #[test]
    fn a_chain_of_headers_is_followed() {
        let Some(program) = try_compile("ip protochain 6", ETHERNET) else { return };
        assert!(program.unwrap().matches(&packet(), 54));
        assert!(!compile("ip protochain 17", ETHERNET, 0).unwrap().matches(&packet(), 54));
        crate::testing::in_namespace(|| {
            crate::link::set_up("lo", true).unwrap();
            let error = compile_for("lo", "ip protochain 6", 0, [0; 4]).unwrap_err().to_string();
            expect!["filter `ip protochain 6`: the kernel runs no filter with loops, as `protochain` needs"]
                .assert_eq(&error);
        });
    }

    #[test]
    fn directions_are_the_kernels() {
        check_error(
            "inbound and tcp",
            ETHERNET,
            expect!["filter `inbound and tcp`: only the kernel knows of a packet's direction, and only at a device"],
        );
    }

    #[test]
    fn a_cut_packet_does_not_match_what_it_lacks() {
        let Some(program) = try_compile("tcp port 80", ETHERNET) else { return };
        let program = program.unwrap();
        for len in 0..36 {
            assert!(!program.matches(&packet()[..len], 54));
        }
        assert!(program.matches(&packet()[..36], 54));
    }

    #[test]
    fn mistakes_are_told_in_the_words_of_libpcap() {
        // The words around it differ between versions of libpcap.
        let Some(result) = try_compile("tcp and", ETHERNET) else { return };
        let message = result.unwrap_err().to_string();
        assert!(message.starts_with("filter `tcp and`: ") && message.contains("syntax error"), "{message}");
        check_error(
            "port 99999",
            ETHERNET,
            expect!["filter `port 99999`: illegal port number 99999 > 65535"],
        );
        check_error("a\0b", ETHERNET, expect!["filter `a\0b`: contains a NUL"]);
    }

    #[test]
    fn without_the_library_the_error_says_what_to_install() {
        let error = Pcap::load(&["libpcap-of-nobody.so.9"]).err().unwrap();
        assert!(error.to_string().contains("libpcap-of-nobody.so.9"), "{error}");
        assert!(error.to_string().contains("install libpcap0.8"), "{error}");
    }

    #[test]
    fn a_library_that_is_not_libpcap_is_refused() {
        assert!(matches!(Pcap::load(&["libc.so.6"]), Err(BpfError::NoLibrary { .. })));
    }

    #[test]
    fn the_snaplen_is_what_matching_packets_keep() {
        match compile("tcp", ETHERNET, 96) {
            Ok(program) => assert_eq!(program.run(&packet(), 54), 96),
            Err(error) => crate::testing::cannot_run(error),
        }
    }

    #[test]
    fn an_open_device_gives_tags_directions_and_a_netmask() {
        crate::testing::in_namespace(|| {
            crate::link::set_up("lo", true).unwrap();
            for (expression, asks_kernel) in
                [("vlan 5", true), ("inbound", true), ("ip broadcast", false), ("1 = 2", false)]
            {
                let program = match compile_for("lo", expression, 0, [255, 0, 0, 0]) {
                    Err(error @ BpfError::NoLibrary { .. }) => return crate::testing::cannot_run(error),
                    other => other.unwrap(),
                };
                let asks = program.instructions().iter().any(|i| i.asks_kernel());
                assert_eq!(asks, asks_kernel, "{expression}");
            }
        });
    }

    proptest! {
        #[test]
        fn no_expression_or_packet_panics(
            words in proptest::collection::vec(proptest::sample::select(vec![
                "tcp", "udp", "ip", "ip6", "(", ")", "and", "or", "not", "port", "80", "[", "]", "2:2", "=", "&",
                "vlan", "mpls", "net", "10.0.0.0/8", "host", "1.2.3.4", "len", ">", "0x10", "portrange", "1-9",
            ]), 0..9),
            data in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            if let Ok(program) = compile(&words.join(" "), ETHERNET, 0) {
                program.matches(&data, data.len() as u32);
            }
        }
    }
}
