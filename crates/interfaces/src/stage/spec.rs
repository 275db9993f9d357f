//! What an interface is to be: `stdin`, `fifo:PATH`, `tap:NAME,address=10.0.0.1/24` ...

use std::fmt;
use std::net::IpAddr;

use sys::unix::MAX_PATH;

/// What packets are read from or written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// Standard input.
    Stdin,
    /// Standard output.
    Stdout,
    /// A named pipe.
    Fifo(String),
    /// A tap that is made.
    Tap {
        /// Its name.
        name: String,
        /// Its addresses and their prefix lengths.
        addresses: Vec<(IpAddr, u8)>,
        /// Its largest packet.
        mtu: Option<u32>,
    },
    /// A network device that is there.
    Device(String),
    /// A capture file.
    File(String),
    /// A Unix socket: connected to if somebody listens there, else listened on.
    Unix(String),
    /// An open descriptor.
    Descriptor(i32),
    /// Nothing: packets go nowhere.
    Nothing,
}

/// An interface's endpoints: one for both directions as far as it goes, or one each way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Where packets come from.
    pub input: Option<Endpoint>,
    /// Where they go; `None`: back where they come from, if that is possible.
    pub output: Option<Endpoint>,
}

/// The kinds as help shows them.
pub const KINDS: &str = "stdin, stdout, fifo:PATH, tap:NAME, dev:NAME, file:PATH, unix:PATH, fd:N";

impl Spec {
    /// Reads `ENDPOINT` or `INPUT OUTPUT`, one of which can be `-` for nothing.
    pub fn parse(text: &str) -> Result<Spec, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_path = |word: &str| ["fifo:", "file:", "unix:"].iter().any(|kind| word.starts_with(kind));
        let is_rest =
            |word: &str| !word.contains(':') && word != Endpoint::NOTHING && Endpoint::parse(word).is_err();
        let parts_path = |two: &[&str]| is_path(two[0]) && is_rest(two[1]);
        if words.windows(2).any(parts_path) {
            return Err(format!(
                "`{text}`: white space stands between what is read and what is written; give a link without it for a path that has some"
            ));
        }
        match *words.as_slice() {
            [Endpoint::STDOUT] => Ok(Spec { input: None, output: Some(Endpoint::Stdout) }),
            [Endpoint::NOTHING, output] => match Endpoint::parse(output)? {
                Endpoint::Stdin => Err(format!("`{text}`: the first is read, the second written")),
                output => Ok(Spec { input: None, output: Some(output) }),
            },
            [one] => Ok(Spec { input: Some(Endpoint::parse(one)?), output: None }),
            [input, Endpoint::NOTHING] if input != Endpoint::NOTHING => match Endpoint::parse(input)? {
                Endpoint::Stdout => Err(format!("`{text}`: the first is read, the second written")),
                input => Ok(Spec { input: Some(input), output: Some(Endpoint::Nothing) }),
            },
            [input, output] => {
                let (input, output) = (Endpoint::parse(input)?, Endpoint::parse(output)?);
                if input == Endpoint::Stdout || output == Endpoint::Stdin {
                    return Err(format!("`{text}`: the first is read, the second written"));
                }
                Ok(Spec { input: Some(input), output: Some(output) })
            }
            _ => Err(format!(
                "`{text}`: give one endpoint, or one to read and one to write; kinds are {KINDS}"
            )),
        }
    }

    /// An interface that is read from standard input, and written by the same way if that is possible.
    pub fn stdin() -> Spec {
        Spec { input: Some(Endpoint::Stdin), output: None }
    }

    /// An interface that is written to standard output, and read by the same way if that is possible.
    pub fn stdout() -> Spec {
        Spec { input: None, output: Some(Endpoint::Stdout) }
    }

    /// Whether it uses an endpoint.
    pub fn uses(&self, endpoint: &Endpoint) -> bool {
        self.input.as_ref() == Some(endpoint) || self.output.as_ref() == Some(endpoint)
    }
}

impl Endpoint {
    const STDOUT: &'static str = "stdout";
    /// In the place of what is read, or of what is written: nothing.
    const NOTHING: &'static str = "-";

    /// Reads `KIND:ARGS`; a bare word is a named pipe if there is one, as the environment's `IF0=fifo1` has it, else a tap
    /// if it begins with `tap`.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        let endpoint = match (kind, rest) {
            ("stdin", None) => Endpoint::Stdin,
            (Endpoint::STDOUT, None) => Endpoint::Stdout,
            ("fifo", Some(path)) if !path.is_empty() => Endpoint::Fifo(path.to_string()),
            ("file", Some(path)) if !path.is_empty() => Endpoint::File(path.to_string()),
            ("unix", Some(path)) if path.len() > MAX_PATH => {
                return Err(format!(
                    "`{path}` has {} bytes; the path of a socket may have {MAX_PATH}",
                    path.len()
                ))
            }
            ("unix", Some(path)) if !path.is_empty() => Endpoint::Unix(path.to_string()),
            ("dev", Some(name)) if !name.is_empty() => Endpoint::Device(device_name(name)?),
            ("tap", Some(rest)) if !rest.is_empty() => return Endpoint::tap(rest),
            ("fd", Some(number)) => match number.parse() {
                Ok(number) if number >= 0 => Endpoint::Descriptor(number),
                _ => return Err(format!("`{text}`: `{number}` is no number of an open descriptor")),
            },
            (word, None) if word.starts_with("tap") => return Endpoint::tap(word),
            (word, None) if is_fifo(word) => Endpoint::Fifo(word.to_string()),
            _ => return Err(no_endpoint(text, kind, rest)),
        };
        Ok(endpoint)
    }

    fn tap(text: &str) -> Result<Endpoint, String> {
        let mut words = text.split(',');
        let name = match words.next().unwrap_or_default() {
            // It is called like the interface.
            "" => String::new(),
            name => device_name(name)?,
        };
        let (mut addresses, mut mtu) = (Vec::new(), None);
        for word in words {
            match word.split_once('=') {
                Some(("address", value)) => addresses.push(address(value)?),
                Some(("mtu", value)) => mtu = Some(parse_mtu(value)?),
                _ => return Err(format!("`{word}`: a tap takes address=ADDR/LEN and mtu=BYTES")),
            }
        }
        Ok(Endpoint::Tap { name, addresses, mtu })
    }
}

/// Why a word is no endpoint, and what was meant, where that can be seen.
fn no_endpoint(text: &str, kind: &str, rest: Option<&str>) -> String {
    const PATHS: [&str; 3] = ["fifo", "file", "unix"];
    const DEVICES: [&str; 2] = ["dev", "tap"];
    match rest {
        Some("") if PATHS.contains(&kind) => format!("`{text}`: the path is missing, as in {kind}:PATH"),
        Some("") if DEVICES.contains(&kind) => format!("`{text}`: the device's name is missing, as in {kind}:NAME"),
        None if [&PATHS[..], &DEVICES, &["fd"]].concat().contains(&kind) => {
            format!("`{text}` is a kind of interface, of which it must say which one; kinds are {KINDS}")
        }
        None if std::path::Path::new(text).exists() => {
            format!("`{text}` is no kind of interface; if the file is meant, say file:{text}")
        }
        None if std::path::Path::new("/sys/class/net").join(text).exists() => {
            format!("`{text}` is no kind of interface; if the device is meant, say dev:{text}")
        }
        None if !text.is_empty() => format!(
            "`{text}` is no kind of interface; kinds are {KINDS}, and the name of a named pipe that is there (`mkfifo {text}`)"
        ),
        _ => format!("`{text}` is no kind of interface; kinds are {KINDS}"),
    }
}

/// Checks what a network device is called.
pub fn device_name(name: &str) -> Result<String, String> {
    match sys::link::is_name(name) {
        true => Ok(name.to_string()),
        false => Err(format!(
            "`{name}` is no name of a network device; give at most 15 bytes without `/`, `:` and white space"
        )),
    }
}

/// Reads the size of a device's largest packet.
pub fn parse_mtu(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(mtu) if (68..=65_521).contains(&mtu) => Ok(mtu),
        _ => Err(format!("`{text}` is no MTU; give a number of bytes from 68 to 65521")),
    }
}

/// Reads an address with its prefix length.
pub fn address(text: &str) -> Result<(IpAddr, u8), String> {
    let wrong = || format!("`{text}` is no address; give one such as 10.0.0.1/24 or fd00::1/64");
    let (address, len) = match text.split_once('/') {
        Some((address, len)) => (address.parse().map_err(|_| wrong())?, len),
        None => {
            let address: IpAddr = text.parse().map_err(|_| wrong())?;
            let len = if address.is_ipv4() { 24 } else { 64 };
            return Err(format!("`{text}` has no prefix length; give one, such as {address}/{len}"));
        }
    };
    let longest = if matches!(address, IpAddr::V4(_)) { 32 } else { 128 };
    let len = len.parse().ok().filter(|len| *len <= longest).ok_or_else(wrong)?;
    Ok((address, len))
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.input, &self.output) {
            (Some(input), Some(output)) => write!(f, "{input} {output}"),
            (Some(one), None) | (None, Some(one @ Endpoint::Stdout)) => write!(f, "{one}"),
            (None, Some(one)) => write!(f, "{} {one}", Endpoint::NOTHING),
            (None, None) => f.write_str("nothing"),
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Stdin => f.write_str("stdin"),
            Endpoint::Stdout => f.write_str(Endpoint::STDOUT),
            Endpoint::Fifo(path) => write!(f, "fifo:{path}"),
            Endpoint::Tap { name, addresses, mtu } => {
                write!(f, "tap:{name}")?;
                for (address, len) in addresses {
                    write!(f, ",address={address}/{len}")?;
                }
                mtu.map_or(Ok(()), |mtu| write!(f, ",mtu={mtu}"))
            }
            Endpoint::Device(name) => write!(f, "dev:{name}"),
            Endpoint::File(path) => write!(f, "file:{path}"),
            Endpoint::Unix(path) => write!(f, "unix:{path}"),
            Endpoint::Descriptor(number) => write!(f, "fd:{number}"),
            Endpoint::Nothing => f.write_str(Endpoint::NOTHING),
        }
    }
}

fn is_fifo(path: &str) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read() {
        let spec = |text| Spec::parse(text).unwrap();
        assert_eq!(spec("stdout"), Spec::stdout());
        assert_eq!(spec("stdin"), Spec::stdin());
        assert_eq!(
            spec("stdin fifo:/tmp/back"),
            Spec { input: Some(Endpoint::Stdin), output: Some(Endpoint::Fifo("/tmp/back".into())) }
        );
        assert_eq!(
            spec("tap:t0,address=10.0.0.1/24,address=fd00::1/64,mtu=9000").input,
            Some(Endpoint::Tap {
                name: "t0".into(),
                addresses: vec![("10.0.0.1".parse().unwrap(), 24), ("fd00::1".parse().unwrap(), 64)],
                mtu: Some(9000)
            })
        );
        assert_eq!(spec("fd:5").input, Some(Endpoint::Descriptor(5)));
        assert_eq!(
            spec("tap0").input,
            Some(Endpoint::Tap { name: "tap0".into(), addresses: vec![], mtu: None })
        );
    }

    #[test]
    fn endpoints_are_written_as_they_are_read() {
        for text in [
            "stdin",
            "stdout",
            "stdin fifo:/tmp/back",
            "tap:t0,address=10.0.0.1/24,address=fd00::1/64,mtu=9000",
            "dev:eth0 file:f.pcap",
            "- file:f.pcap",
            "file:f.pcap -",
            "unix:/tmp/s",
            "fd:5",
        ] {
            assert_eq!(Spec::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_may_be_meant_by_what_is_no_endpoint_is_told() {
        let error = |text| Spec::parse(text).unwrap_err();
        assert_eq!(error("fifo:"), "`fifo:`: the path is missing, as in fifo:PATH");
        assert_eq!(error("tap:"), "`tap:`: the device's name is missing, as in tap:NAME");
        assert_eq!(
            error("dev"),
            format!("`dev` is a kind of interface, of which it must say which one; kinds are {KINDS}")
        );
        assert_eq!(
            error("/etc/passwd stdout"),
            "`/etc/passwd` is no kind of interface; if the file is meant, say file:/etc/passwd"
        );
        assert_eq!(error("lo"), "`lo` is no kind of interface; if the device is meant, say dev:lo");
        assert!(error("fifo1 stdout").ends_with("a named pipe that is there (`mkfifo fifo1`)"));
        let path = format!("unix:{}", "s".repeat(108));
        let long = error(&path);
        assert!(long.ends_with("s` has 108 bytes; the path of a socket may have 107"), "{long}");
        assert!(error("file:my file").starts_with("`file:my file`: white space stands between"));
        assert!(error("- file:my other file").contains("give a link without it"));
        assert_eq!(error("fil:x"), format!("`fil:x` is no kind of interface; kinds are {KINDS}"));
    }

    #[test]
    fn what_is_no_endpoint_is_told() {
        for text in [
            "",
            "eth0",
            "fd:x",
            "fifo:",
            "a b c",
            "stdout stdin",
            "- stdin",
            "-",
            "- -",
            "stdout -",
            "tap:t,mtu=1",
            "tap:t,address=300.0.0.1",
            "tap:t,address=10.0.0.1",
            "tap:t,x=1",
            "tap:a-name-that-is-too-long",
            "dev:a/b",
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(!error.is_empty() && error.contains('`'), "{error}");
        }
    }
}
