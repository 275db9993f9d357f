//! tcpdump's filter expressions, compiled by libpcap.
//!
//! The library is loaded when the first expression is compiled, never linked: it brings a dozen others along, which
//! would cost every start of the program more than the rest of it.

use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{BpfError, Instruction, Program};

/// Compiles `expression` for packets of link type `linktype` (`DLT_*`); an empty one takes every packet.
///
/// Packets that match keep `snaplen` bytes (0: all).
pub fn compile(expression: &str, linktype: i32, snaplen: u32) -> Result<Program, BpfError> {
    static LIBRARY: OnceLock<Result<Mutex<Pcap>, BpfError>> = OnceLock::new();
    let library =
        LIBRARY.get_or_init(|| Pcap::load(&NAMES).map(Mutex::new)).as_ref().map_err(Clone::clone)?;
    // Before 1.8 the compiler keeps its state in globals. A panic cannot leave it half-way: it is C.
    let pcap = library.lock().unwrap_or_else(PoisonError::into_inner);
    pcap.compile(expression, linktype, snaplen)
}

/// Debian and Ubuntu have the first, others the second.
const NAMES: [&str; 2] = ["libpcap.so.0.8", "libpcap.so.1"];
/// What tcpdump takes for "all of the packet".
const MAX_SNAPLEN: u32 = 262_144;
/// `PCAP_NETMASK_UNKNOWN`: only `ip broadcast` would need one.
const NO_NETMASK: c_uint = 0xffff_ffff;

/// `struct bpf_program`.
#[repr(C)]
struct RawProgram {
    len: c_uint,
    instructions: *mut Instruction,
}

/// The functions of libpcap that are used here.
struct Pcap {
    open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut c_void,
    close: unsafe extern "C" fn(*mut c_void),
    compile: unsafe extern "C" fn(*mut c_void, *mut RawProgram, *const c_char, c_int, c_uint) -> c_int,
    geterr: unsafe extern "C" fn(*mut c_void) -> *mut c_char,
    freecode: unsafe extern "C" fn(*mut RawProgram),
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
                close: *library.get(b"pcap_close\0")?,
                compile: *library.get(b"pcap_compile\0")?,
                geterr: *library.get(b"pcap_geterr\0")?,
                freecode: *library.get(b"pcap_freecode\0")?,
                _library: library,
            })
        }
    }

    fn compile(&self, expression: &str, linktype: i32, snaplen: u32) -> Result<Program, BpfError> {
        let refuse = |reason: String| BpfError::Expression { expression: expression.into(), reason };
        let text = CString::new(expression).map_err(|_| refuse("contains a NUL".into()))?;
        let snaplen = if snaplen == 0 { MAX_SNAPLEN } else { snaplen.min(c_int::MAX as u32) };
        // SAFETY: numbers in, a handle or null out.
        let handle = unsafe { (self.open_dead)(linktype, snaplen as c_int) };
        if handle.is_null() {
            return Err(refuse(format!("libpcap cannot handle link type {linktype}")));
        }
        let mut raw = RawProgram { len: 0, instructions: std::ptr::null_mut() };
        // SAFETY: the handle is open, the text a C string, and `raw` a place for the result.
        let result = if unsafe { (self.compile)(handle, &mut raw, text.as_ptr(), 1, NO_NETMASK) } == 0 {
            // SAFETY: on success the program has `len` instructions until freecode.
            let copy = unsafe { copy_of(&raw) };
            // SAFETY: `raw` was filled by compile and is freed once.
            unsafe { (self.freecode)(&mut raw) };
            Program::new(copy)
        } else {
            // SAFETY: the message is a C string inside the handle, which is still open.
            let message = unsafe { CStr::from_ptr((self.geterr)(handle)) };
            Err(refuse(message.to_string_lossy().into_owned()))
        };
        // SAFETY: the handle is closed once and not used again.
        unsafe { (self.close)(handle) };
        result
    }
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
