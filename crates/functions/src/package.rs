//! A function as a folder.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// Most bytes of a package's files together.
const MAX_BYTES: u64 = 4 << 20;
/// Most files of a package.
const MAX_FILES: usize = 256;

/// The files of a function: `NAME.yang`, `NAME.click`, and others that the template includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The function's name, which is that of its folder.
    pub name: String,
    /// Its schema.
    pub schema: String,
    /// The template of its graph.
    pub template: String,
    /// Further texts that the template may include, by file name.
    pub parts: BTreeMap<String, String>,
}

impl Package {
    /// A package without further texts.
    pub fn of_texts(name: &str, schema: &str, template: &str) -> Package {
        let [name, schema, template] = [name, schema, template].map(str::to_string);
        Package { name, schema, template, parts: BTreeMap::new() }
    }

    /// Reads a folder, or a tar archive of one.
    pub fn read(path: &Path) -> Result<Package, String> {
        let failed = |error: std::io::Error| format!("{}: {}", path.display(), sys::reason(&error));
        if path.is_dir() {
            return Package::of_files(files_of_folder(path).map_err(failed)?, &path.display().to_string());
        }
        let file = std::fs::File::open(path).map_err(failed)?;
        Package::of_tar(file, &path.display().to_string())
    }

    /// Reads a tar archive; `origin` is what errors call it.
    pub fn of_tar(archive: impl Read, origin: &str) -> Result<Package, String> {
        let files = files_of_tar(archive).map_err(|error| format!("{origin}: {}", sys::reason(&error)))?;
        Package::of_files(files, origin)
    }

    /// The package as a tar archive.
    pub fn to_tar(&self) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let own =
            [(format!("{}.yang", self.name), &self.schema), (format!("{}.click", self.name), &self.template)];
        let parts = self.parts.iter().map(|(name, text)| (name.clone(), text));
        for (name, text) in own.into_iter().chain(parts) {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            let path = format!("{}/{name}", self.name);
            builder
                .append_data(&mut header, path, text.as_bytes())
                .expect("a vector takes all bytes, and names are short");
        }
        builder.into_inner().expect("a vector takes all bytes")
    }

    fn of_files(mut files: BTreeMap<String, String>, origin: &str) -> Result<Package, String> {
        let schemas: Vec<&str> = files.keys().filter_map(|name| name.strip_suffix(".yang")).collect();
        let [name] = schemas.as_slice() else {
            return Err(format!(
                "{origin}: a function has one schema, NAME.yang; there are {} files that end so",
                schemas.len()
            ));
        };
        let name = name.to_string();
        let schema = files.remove(&format!("{name}.yang")).unwrap_or_default();
        let template = files.remove(&format!("{name}.click"));
        let template =
            template.ok_or_else(|| format!("{origin}: there is {name}.yang, but no {name}.click"))?;
        files.retain(|name, _| name.ends_with(".click"));
        Ok(Package { name, schema, template, parts: files })
    }
}

fn too_large() -> std::io::Error {
    std::io::Error::other(format!("a function has at most {MAX_FILES} files and {} MiB", MAX_BYTES >> 20))
}

/// The texts at the top of a folder.
fn files_of_folder(path: &Path) -> std::io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    let mut left = MAX_BYTES;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && is_wanted(&name) {
            let text = std::fs::read_to_string(entry.path())?;
            left = left.checked_sub(text.len() as u64).ok_or_else(too_large)?;
            files.insert(name, text);
        }
        if files.len() > MAX_FILES {
            return Err(too_large());
        }
    }
    Ok(files)
}

/// What is told of an archive that cannot be read: what is wrong with its headers may be told with bytes of any kind.
fn no_archive(error: std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(_) => error,
        None => std::io::Error::other("no tar archive; give a function's folder, or a tar archive of it"),
    }
}

/// The texts in an archive, whatever folder they are in.
fn files_of_tar(archive: impl Read) -> std::io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    // Headers and padding take their part.
    let mut archive = tar::Archive::new(archive.take(2 * MAX_BYTES));
    for entry in archive.entries().map_err(no_archive)? {
        let mut entry = entry.map_err(no_archive)?;
        let path = entry.path()?.into_owned();
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
        if entry.header().entry_type().is_file() && is_wanted(&name) {
            let mut text = String::new();
            entry.read_to_string(&mut text)?;
            files.insert(name, text);
        }
        if files.len() > MAX_FILES || files.values().map(String::len).sum::<usize>() as u64 > MAX_BYTES {
            return Err(too_large());
        }
    }
    Ok(files)
}

fn is_wanted(name: &str) -> bool {
    name.ends_with(".yang") || name.ends_with(".click")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn an_archive_holds_the_same_as_the_folder() {
        let mut package = Package::of_texts("a", "module a {}", "text");
        package.parts.insert("part.click".into(), "part".into());
        assert_eq!(Package::of_tar(package.to_tar().as_slice(), "a.tar"), Ok(package));
    }

    #[test]
    fn what_is_no_package_is_told() {
        let told = |files: &[(&str, &str)]| {
            let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
            Package::of_files(files, "dir").unwrap_err()
        };
        expect!["dir: a function has one schema, NAME.yang; there are 0 files that end so"]
            .assert_eq(&told(&[("a.click", "")]));
        expect!["dir: a function has one schema, NAME.yang; there are 2 files that end so"]
            .assert_eq(&told(&[("a.yang", ""), ("b.yang", "")]));
        expect!["dir: there is a.yang, but no a.click"].assert_eq(&told(&[("a.yang", ""), ("b.click", "")]));
        expect!["x: no tar archive; give a function's folder, or a tar archive of it"]
            .assert_eq(&Package::of_tar(&[0xff; 600][..], "x").unwrap_err());
    }
}
