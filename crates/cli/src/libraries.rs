//! Where `require(library FILE)` finds files: along CLICKPATH, in which an empty word stands for the folder of the configuration.
//!
//! What is not found there is looked for beside the configuration, and under its name with `.click`.

use std::path::{Path, PathBuf};

use lang::Libraries;

/// What a folder of CLICKPATH may have them in, in this order.
const PARTS: [&str; 3] = ["conf/click", "conf", ""];

/// The file system.
#[derive(Default)]
pub struct Files {
    /// Folders separated by colons, instead of those of the environment's CLICKPATH.
    pub clickpath: Option<String>,
}

impl Libraries for Files {
    fn find(&self, name: &str, directory: &str) -> Option<String> {
        if name.starts_with('/') {
            return Some(name.to_string());
        }
        let path = self.clickpath.clone().or_else(|| std::env::var("CLICKPATH").ok()).unwrap_or_default();
        let beside = if directory.is_empty() { "." } else { directory };
        let mut folders = folders(&path, beside);
        let is_there = |path: &PathBuf| path.is_file();
        let found = folders.iter().map(|folder| folder.join(name)).find(is_there);
        let found = found.or_else(|| {
            let names = [name, &format!("{name}.click")];
            folders.insert(0, PathBuf::from(beside));
            folders.iter().flat_map(|folder| names.map(|name| folder.join(name))).find(is_there)
        });
        found.map(|path| path.to_string_lossy().into_owned())
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let bytes = std::fs::read(path).map_err(|error| element::output::reason(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The folders of a CLICKPATH; its first empty word stands for the folder `beside`.
fn folders(path: &str, beside: &str) -> Vec<PathBuf> {
    let mut beside = Some(PathBuf::from(beside));
    let mut folders = Vec::new();
    for folder in path.split(':') {
        if folder.is_empty() {
            folders.extend(beside.take());
        } else {
            folders.extend(PARTS.map(|part| Path::new(folder).join(part)));
        }
    }
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these files, each holding its name.
    fn scratch(name: &str, files: &[&str]) -> String {
        let folder = std::env::temp_dir().join(format!("weir-libraries-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        for file in files {
            let file = folder.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, "").unwrap();
        }
        folder.to_string_lossy().into_owned()
    }

    fn find(clickpath: &str, name: &str, root: &str) -> Option<String> {
        let clickpath = clickpath.replace('%', root);
        let files = Files { clickpath: Some(clickpath) };
        let found = files.find(name, &format!("{root}/here"))?;
        Some(found.replace(root, "%"))
    }

    #[test]
    fn clickpath_comes_before_the_folder_of_the_configuration() {
        let root = scratch("order", &["here/x", "a/x", "b/conf/x", "c/conf/click/x", "c/conf/x"]);
        assert_eq!(find("", "x", &root).unwrap(), "%/here/x");
        assert_eq!(find("%/a:%/b", "x", &root).unwrap(), "%/a/x");
        assert_eq!(find("%/b:%/a", "x", &root).unwrap(), "%/b/conf/x");
        assert_eq!(find(":%/b:%/a", "x", &root).unwrap(), "%/here/x");
        assert_eq!(find("%/none:", "x", &root).unwrap(), "%/here/x");
        assert_eq!(find("%/c", "x", &root).unwrap(), "%/c/conf/click/x");
    }

    #[test]
    fn what_clickpath_lacks_is_looked_for_more_widely() {
        let root = scratch("wide", &["here/x", "here/y.click", "a/conf/z.click", "a/z"]);
        assert_eq!(find("%/a", "x", &root).unwrap(), "%/here/x");
        assert_eq!(find("%/a", "y", &root).unwrap(), "%/here/y.click");
        assert_eq!(find("%/a", "z", &root).unwrap(), "%/a/z");
        assert_eq!(find("%/a", "w", &root), None);
    }

    #[test]
    fn a_name_from_the_root_is_taken_as_it_is() {
        assert_eq!(find("", "/no/such/file", "/tmp"), Some("/no/such/file".into()));
    }
}
