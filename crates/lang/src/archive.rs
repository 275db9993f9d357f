//! Configurations in `ar` archives, where tools put packages beside them.

const MAGIC: &[u8] = b"!<arch>\n";
const HEADER: usize = 60;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: Vec<u8>,
    /// What it holds.
    pub data: Vec<u8>,
    /// When it was written, in seconds since the epoch.
    pub date_s: u64,
    /// Numbers of its user and group.
    pub owner: (u32, u32),
    /// Its permissions.
    pub mode: u32,
}

/// The files of an archive; else what is wrong.
pub fn members(bytes: &[u8]) -> Result<Vec<Member>, String> {
    let mut members = Vec::new();
    read(bytes, &mut members).map(|()| members)
}

/// An archive of these files.
pub fn archive(members: &[Member]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for member in members {
        let name = String::from_utf8_lossy(&member.name);
        let is_long =
            name.len() > 14 || name.starts_with("#1/") || name.contains(|c: char| c.is_ascii_whitespace());
        let (short, before) = match is_long {
            true => (format!("#1/{:<13}", member.name.len()), member.name.as_slice()),
            false => (format!("{name:<16}"), &[][..]),
        };
        let ((user, group), size) = (member.owner, before.len() + member.data.len());
        let header =
            format!("{short}{:<12}{user:<6}{group:<6}{:<8o}{size:<10}`\n", member.date_s, member.mode);
        bytes.extend(header.bytes());
        bytes.extend_from_slice(before);
        bytes.extend_from_slice(&member.data);
        bytes.extend((size % 2 == 1).then_some(b'\n'));
    }
    bytes
}

/// The configuration that a file holds: its whole text, or the member `config` if it is an archive; else what is wrong, a
/// line each.
pub fn configuration(bytes: &[u8], file: &str) -> Result<Vec<u8>, String> {
    if bytes.first() != Some(&b'!') {
        return Ok(bytes.to_vec());
    }
    let mut members = Vec::new();
    let result = read(bytes, &mut members);
    let config = members.into_iter().find(|member| member.name == b"config");
    match (result, config) {
        (Ok(()), Some(config)) => Ok(config.data),
        (Err(message), Some(_)) => Err(message),
        (result, None) => {
            let missing = format!("{file}: archive has no 'config' section");
            Err(result.err().map_or(missing.clone(), |message| format!("{message}\n{missing}")))
        }
    }
}

fn read(bytes: &[u8], members: &mut Vec<Member>) -> Result<(), String> {
    let mut rest = bytes.strip_prefix(MAGIC).filter(|rest| !rest.is_empty()).ok_or("not an archive")?;
    let mut long_names = Vec::new();
    while let Some((header, after)) = rest.split_at_checked(HEADER) {
        if !header.ends_with(b"`\n") {
            return Err("bad archive: missing header magic number".to_string());
        }
        let size = number(field(header, 48, 10)).ok_or("bad size in archive")?;
        let Some((data, after)) = after.split_at_checked(size) else {
            let n_short = size - after.len();
            return Err(format!("truncated archive, {n_short} bytes short"));
        };
        match field(header, 0, 16) {
            [b'/', b'/', space, ..] if space.is_ascii_whitespace() => long_names = data.to_vec(),
            name => {
                let (name, data) = named(name, data, &long_names)?;
                let date_s = number(field(header, 16, 12)).unwrap_or(0) as u64;
                let id = |at| number(field(header, at, 6)).and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
                let mode = std::str::from_utf8(field(header, 40, 8)).unwrap_or("");
                let mode = u32::from_str_radix(mode.trim_end(), 8).unwrap_or(0);
                members.push(Member { name, data, date_s, owner: (id(28), id(34)), mode });
            }
        }
        // Members lie at even places.
        rest = after.get(size % 2..).unwrap_or(&[]);
    }
    if rest.is_empty() {
        Ok(())
    } else {
        Err("truncated archive".to_string())
    }
}

/// Name and data by the name in a header, which may say where the real name is: in the list of long names (GNU), or in front
/// of the data (BSD).
fn named(name: &[u8], data: &[u8], long_names: &[u8]) -> Result<(Vec<u8>, Vec<u8>), String> {
    let is_end = |byte: &u8| *byte == b'/' || byte.is_ascii_whitespace();
    let until_end = |text: &[u8]| text.split(is_end).next().unwrap_or(&[]).to_vec();
    let bad = || "bad long name in archive".to_string();
    match name {
        [b'/', number_text @ ..] if starts_with_digit(number_text) => {
            let at = number(number_text).filter(|at| *at < long_names.len()).ok_or_else(bad)?;
            Ok((until_end(long_names.get(at..).unwrap_or(&[])), data.to_vec()))
        }
        [b'#', b'1', b'/', number_text @ ..] if starts_with_digit(number_text) => {
            let parts = number(number_text).and_then(|len| data.split_at_checked(len));
            let (name, data) = parts.ok_or_else(bad)?;
            Ok((name.to_vec(), data.to_vec()))
        }
        name => Ok((until_end(name), data.to_vec())),
    }
}

fn field(header: &[u8], at: usize, len: usize) -> &[u8] {
    header.get(at..at + len).unwrap_or(&[])
}

fn starts_with_digit(text: &[u8]) -> bool {
    text.first().is_some_and(u8::is_ascii_digit)
}

/// A decimal number and spaces behind it.
fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn archive(members: &[(&str, &str)]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (name, data) in members {
            bytes.extend(
                format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).bytes(),
            );
            bytes.extend(data.bytes());
            bytes.extend((data.len() % 2 == 1).then_some(b'\n'));
        }
        bytes
    }

    fn check(bytes: &[u8], expected: &str) {
        let told = match configuration(bytes, "f") {
            Ok(text) => String::from_utf8_lossy(&text).into_owned(),
            Err(message) => format!("error: {message}"),
        };
        assert_eq!(told, expected);
    }

    #[test]
    fn the_configuration_is_found() {
        check(b"Idle;", "Idle;");
        check(&archive(&[("a.cc", "x"), ("config", "Idle"), ("b", "")]), "Idle");
        check(&archive(&[("//", "first/\nconfig/\n"), ("/0", "a"), ("/7", "Null")]), "Null");
        check(&archive(&[("#1/6", "configDiscard")]), "Discard");
    }

    #[test]
    fn what_is_wrong_is_told() {
        check(b"!", "error: not an archive\nf: archive has no 'config' section");
        check(&archive(&[("a", "config")]), "error: f: archive has no 'config' section");
        check(
            &archive(&[("/5", "config")]),
            "error: bad long name in archive\nf: archive has no 'config' section",
        );
        let mut short = archive(&[("config", "Idle")]);
        short.truncate(short.len() - 1);
        check(&short, "error: truncated archive, 1 bytes short\nf: archive has no 'config' section");
        let mut long = archive(&[("config", "Idle")]);
        long.push(b'x');
        check(&long, "error: truncated archive");
    }

    proptest! {
        #[test]
        fn any_file_is_read(name in "[#1/0-9a ]{0,16}", data in "[a-z/\n]{0,9}", cut in 0usize..90) {
            let mut bytes = archive(&[("//", &data), (&name, &data), ("config", "Idle")]);
            bytes.truncate(bytes.len().saturating_sub(cut));
            let _ = configuration(&bytes, "f");
        }
    }
}
