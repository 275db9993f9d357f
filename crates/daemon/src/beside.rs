//! Files that are written beside their places, so that each is there whole or not at all, whenever the machine stops. Only the
//! daemon's user may read them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::private;

/// A file that is being written beside its place. Unless it is put there, it goes.
pub struct Beside {
    place: PathBuf,
    path: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Beside {
    /// Begins to write what is to be at `place`. Two that are written for it at the same time need different endings.
    pub fn create(place: &Path, ending: &str) -> std::io::Result<Beside> {
        let path = place.with_extension(ending);
        let file = Some(BufWriter::new(private::create(&path)?));
        Ok(Beside { place: place.to_path_buf(), path, file })
    }

    /// Puts it into its place. It is on disk then.
    pub fn put(mut self) -> std::io::Result<()> {
        if let Some(file) = self.file.take() {
            let synced =
                file.into_inner().map_err(|error| error.into_error()).and_then(|file| file.sync_all());
            if let Err(error) = synced.and_then(|()| std::fs::rename(&self.path, &self.place)) {
                remove(&self.path);
                return Err(error);
            }
        }
        self.place.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

impl Write for Beside {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            // What is left in it is for nobody.
            drop(file.into_parts());
            remove(&self.path);
        }
    }
}

fn remove(path: &Path) {
    // It harms nobody: the next one is written over it.
    let _ = std::fs::remove_file(path);
}

/// Writes a whole file.
pub fn put_file(place: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = Beside::create(place, "new")?;
    file.write_all(bytes)?;
    file.put()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_takes_its_place_whole_or_leaves_what_is_there() {
        let folder = std::env::temp_dir().join(format!("weir-beside-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = folder.join("file");
        put_file(&place, b"first").unwrap();
        let mut half = Beside::create(&place, "new").unwrap();
        half.write_all(b"second").unwrap();
        half.flush().unwrap();
        assert_eq!(std::fs::read(&place).unwrap(), b"first");
        assert_eq!(std::fs::read(folder.join("file.new")).unwrap(), b"second");
        drop(half);
        let left: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["file"]);
        // What cannot be put there goes, too.
        std::fs::create_dir(folder.join("folder")).unwrap();
        put_file(&folder.join("folder"), b"").unwrap_err();
        assert!(!folder.join("folder.new").exists());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
