//! Where `require(library FILE)` finds files: beside the configuration, then along CLICKPATH.

use lang::Libraries;

/// The file system.
#[derive(Default)]
pub struct Files {
    /// Folders separated by colons, before those of the environment's CLICKPATH.
    pub clickpath: Option<String>,
}

impl Libraries for Files {
    fn find(&self, name: &str, directory: &str) -> Option<String> {
        let path = self.clickpath.clone().or_else(|| std::env::var("CLICKPATH").ok()).unwrap_or_default();
        let beside = if directory.is_empty() { "." } else { directory };
        let folders = std::iter::once(beside.to_string()).chain(path.split(':').map(str::to_string));
        let candidates = folders.filter(|folder| !folder.is_empty()).flat_map(|folder| {
            ["", ".click"].map(|ending| std::path::Path::new(&folder).join(format!("{name}{ending}")))
        });
        let mut candidates = candidates.filter(|path| path.is_file());
        candidates.next().map(|path| path.to_string_lossy().into_owned())
    }

    fn read(&self, path: &str) -> Result<String, String> {
        let bytes = std::fs::read(path).map_err(|error| element::output::reason(&error))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
