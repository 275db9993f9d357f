//! The folder where weir's processes keep the sockets by which they find each other.

use std::fs::{DirBuilder, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Result, SysError};
use crate::unix::MAX_PATH;

/// The folder of the current user, made if it is not there, and checked to be nobody else's.
///
/// `$XDG_RUNTIME_DIR/weir` if that variable names a folder of this user in which a socket can be; else `/run/weir` for root; else
/// `/tmp/weir-UID`.
pub fn open() -> Result<PathBuf> {
    let uid = effective_uid();
    let path = choose(std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from), uid);
    prepare(&path, uid)?;
    Ok(path)
}

/// The effective user of this process.
pub fn effective_uid() -> u32 {
    // SAFETY: geteuid takes nothing, returns a number and cannot fail.
    unsafe { libc::geteuid() }
}

/// What the longest path of a stage's socket has behind that of the folder.
const LONGEST: &str = "/weir/stage-4194304.sock";

fn choose(xdg: Option<PathBuf>, uid: u32) -> PathBuf {
    // Under sudo the variable may still name the folder of the user who called: leave that one alone.
    let ours =
        |path: &Path| path.is_absolute() && path.metadata().is_ok_and(|m| m.is_dir() && m.uid() == uid);
    let has_room = |path: &Path| path.as_os_str().len() + LONGEST.len() <= MAX_PATH;
    match xdg.filter(|path| ours(path) && has_room(path)) {
        Some(path) => path.join("weir"),
        None if uid == 0 => PathBuf::from("/run/weir"),
        None => PathBuf::from(format!("/tmp/weir-{uid}")),
    }
}

fn prepare(path: &Path, uid: u32) -> Result<()> {
    let target = path.display().to_string();
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        Err(e) => return Err(SysError::call("mkdir", target, e).with_remedy(remedy)),
    }
    // A link in a world-writable folder could point anywhere: ask about the thing itself.
    let flags = libc::O_NOFOLLOW | libc::O_DIRECTORY;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let folder = folder.map_err(|e| SysError::call("open", &target, e).with_remedy(remedy))?;
    let facts = folder.metadata().map_err(|e| SysError::call("fstat", &target, e))?;
    if facts.uid() != uid {
        let reason = format!("it belongs to user {}, not to user {uid}", facts.uid());
        return Err(SysError::Untrusted { target, reason, remedy: Some(REMOVE) });
    }
    if facts.mode() & 0o077 != 0 {
        let reason = format!("its mode is {:04o}: others may use it", facts.mode() & 0o7777);
        return Err(SysError::Untrusted { target, reason, remedy: Some("`chmod 700` it") });
    }
    Ok(())
}

const REMOVE: &str = "remove it, or set XDG_RUNTIME_DIR to a folder of your own";

fn remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ELOOP | libc::ENOTDIR => Some(REMOVE),
        libc::EACCES | libc::EPERM | libc::EROFS | libc::ENOENT => {
            Some("set XDG_RUNTIME_DIR to a folder of your own that exists")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::fs;
    use std::os::unix::fs::{symlink, PermissionsExt};

    #[test]
    fn the_variable_wins_if_it_names_a_folder_of_the_user() {
        let (scratch, uid) = (Scratch::new(), effective_uid());
        let own = scratch.path().to_path_buf();
        assert_eq!(choose(Some(own.clone()), uid), own.join("weir"));
        assert_eq!(choose(Some(own), uid + 1), PathBuf::from(format!("/tmp/weir-{}", uid + 1)));
        for bad in ["relative", "/nonexistent/folder", ""] {
            assert_eq!(choose(Some(bad.into()), 0), PathBuf::from("/run/weir"));
        }
        assert_eq!(choose(None, 1000), PathBuf::from("/tmp/weir-1000"));
        let long = scratch.path().join("l".repeat(MAX_PATH - LONGEST.len()));
        fs::create_dir(&long).unwrap();
        assert_eq!(choose(Some(long), 0), choose(None, 0));
    }

    #[test]
    fn a_new_folder_is_private_and_found_again() {
        let scratch = Scratch::new();
        let path = scratch.path().join("weir");
        prepare(&path, effective_uid()).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
        prepare(&path, effective_uid()).unwrap();
    }

    #[test]
    fn folders_that_others_can_reach_are_refused() {
        let scratch = Scratch::new();
        let path = scratch.path().join("weir");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        let error = prepare(&path, effective_uid()).unwrap_err();
        assert!(error.to_string().contains("its mode is 0755"), "{error}");
        assert!(error.remedy().is_some());
    }

    #[test]
    fn folders_of_others_links_and_files_are_refused() {
        let scratch = Scratch::new();
        let real = scratch.path().join("real");
        prepare(&real, effective_uid()).unwrap();
        let error = prepare(&real, effective_uid() + 1).unwrap_err();
        assert!(error.to_string().contains("it belongs to user"), "{error}");
        let (link, file) = (scratch.path().join("link"), scratch.path().join("file"));
        symlink(&real, &link).unwrap();
        fs::write(&file, "").unwrap();
        for path in [link, file] {
            assert_eq!(prepare(&path, effective_uid()).unwrap_err().remedy(), Some(REMOVE));
        }
    }

    #[test]
    fn a_missing_parent_is_an_error_with_a_remedy() {
        let error = prepare(Path::new("/nonexistent/folder/weir"), effective_uid()).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENOENT));
        assert!(error.remedy().is_some());
    }
}
