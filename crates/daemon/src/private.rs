//! Files and folders that are for the daemon's user alone: the configuration tells of networks and holds secrets.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What the user may do with a file, and with a folder.
const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;
/// Whoever may write to a folder with this bit removes only what is their own: it is shared by all.
const STICKY: u32 = 0o1000;

/// Makes a folder, and those that it is in, unless they are there.
pub fn make_folder(path: &Path) -> std::io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Makes a file anew in the place of what is there.
pub fn create(path: &Path) -> std::io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    options().create_new(true).write(true).open(path)
}

/// Opens a file to append to it, which is made if it is not there.
pub fn append(path: &Path) -> std::io::Result<File> {
    options().read(true).append(true).create(true).open(path)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(FILE);
    options
}

/// Takes from others what they may do with a state folder and with what the daemon keeps there, as far as it belongs to this user. An
/// earlier daemon, or a copy, may have let them.
pub fn tighten(folder: &Path) {
    let functions = folder.join("functions");
    let kept = ["journal", "running.json", "startup.json", "unconfirmed.json", "learned"];
    let archives = std::fs::read_dir(&functions).into_iter().flatten().flatten().map(|entry| entry.path());
    let archives = archives.filter(|path| path.extension().is_some_and(|ending| ending == "tar"));
    let files = kept.iter().map(|name| folder.join(name)).chain(archives);
    for path in [folder.to_path_buf(), functions.clone()].into_iter().chain(files) {
        match take_from_others(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tracing::warn!(target: "weir", "{}: others may look into it: {}", path.display(), sys::reason(&error));
            }
            _ => {}
        }
    }
}

fn take_from_others(path: &Path) -> std::io::Result<()> {
    // What is opened is what is changed, whoever renames meanwhile; a link could lead anywhere.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let facts = file.metadata()?;
    let (mode, is_own) = (facts.mode() & 0o7777, facts.uid() == rustix::process::geteuid().as_raw());
    let may_change = is_own && (facts.is_file() || facts.is_dir()) && mode & STICKY == 0;
    match may_change && mode & 0o077 != 0 {
        true => file.set_permissions(Permissions::from_mode(mode & FOLDER)),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    fn set_mode(path: &Path, mode: u32) {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn state_is_for_one_user_alone_also_where_it_was_not() {
        let top = std::env::temp_dir().join(format!("weir-private-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&top);
        let folder = top.join("state");
        let open = || crate::Journal::open(&folder).map(drop);
        open().unwrap();
        let (journal, learned) = (folder.join("journal"), folder.join("learned"));
        crate::beside::put_file(&learned, b"it").unwrap();
        assert_eq!([&folder, &journal, &learned].map(|path| mode(path)), [0o700, 0o600, 0o600]);
        let (functions, archive) = (folder.join("functions"), folder.join("functions/f.tar"));
        make_folder(&functions).unwrap();
        create(&archive).unwrap();
        let (other, link) = (folder.join("other"), folder.join("startup.json"));
        create(&other).unwrap();
        std::os::unix::fs::symlink(&other, &link).unwrap();
        [&folder, &functions].iter().for_each(|path| set_mode(path, 0o755));
        [&journal, &learned, &archive, &other].iter().for_each(|path| set_mode(path, 0o644));
        // What is left of a file that was being written does not lend its mode to the next.
        std::fs::write(folder.join("learned.new"), "").unwrap();
        set_mode(&folder.join("learned.new"), 0o666);
        open().unwrap();
        crate::beside::put_file(&learned, b"it again").unwrap();
        assert_eq!([&folder, &functions].map(|path| mode(path)), [0o700, 0o700]);
        assert_eq!([&journal, &learned, &archive].map(|path| mode(path)), [0o600, 0o600, 0o600]);
        assert_eq!(mode(&other), 0o644, "it is nothing of the daemon's");
        // A folder that all share stays so.
        set_mode(&folder, 0o1777);
        open().unwrap();
        assert_eq!(mode(&folder), 0o1777);
        std::fs::remove_dir_all(&top).unwrap();
    }
}
