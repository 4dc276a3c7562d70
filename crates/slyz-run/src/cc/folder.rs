//! Folders for files that live as long as a compilation.
//!
//! A folder is gone when its owner is dropped. A process that is killed drops nothing, so the first folder of a process takes
//! those away that others left: an owner holds a lock on its folder, which the system lets go of with the process, however it
//! ended and whatever the name space its number was in. The work is bounded, and trouble with it is nobody's business.

use crate::Error;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::Duration;

/// How the names of folders begin that may be taken away.
const PREFIX: &str = "slyz-cc-";
/// How the names of folders begin that are kept for people.
const KEPT: &str = "slyz-failed-";
/// A folder of this age is locked if it has an owner: the owner had the time.
const YOUNG: Duration = Duration::from_secs(60);
/// Names that are looked at, and folders that are taken away, by one process.
const LOOKED_AT: usize = 10_000;
const TAKEN_AWAY: usize = 100;

/// A private folder.
pub(super) struct Folder {
    folder: tempfile::TempDir,
    /// Holds the lock.
    _lock: Option<File>,
}

impl Folder {
    pub(super) fn new() -> Result<Folder, Error> {
        static FIRST: Once = Once::new();
        let parent = std::env::temp_dir();
        FIRST.call_once(|| take_away(&parent));
        Folder::in_parent(&parent).map_err(|error| Folder::trouble(&parent, &error))
    }

    /// The error of something that could not be written.
    pub(super) fn trouble(path: &Path, error: &io::Error) -> Error {
        Error::Temporary { path: path.into(), why: error.to_string() }
    }

    fn in_parent(parent: &Path) -> io::Result<Folder> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = lock(folder.path());
        Ok(Folder { folder, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A file in the folder.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// Keeps one file of the folder for people to read, and gives its place.
    pub(super) fn keep(self, name: &str) -> PathBuf {
        let parent = self.path().parent().map(Path::to_path_buf).unwrap_or_default();
        let kept = tempfile::Builder::new().prefix(KEPT).tempdir_in(parent).map(|folder| folder.keep().join(name));
        match kept {
            Ok(place) if std::fs::rename(self.file(name), &place).is_ok() => place,
            // It stays where it is, until some later process takes the folder away.
            Ok(_) | Err(_) => self.folder.keep().join(name),
        }
    }
}

/// Takes away what processes left that were killed.
fn take_away(parent: &Path) {
    let Ok(listing) = std::fs::read_dir(parent) else { return };
    let named =
        listing.take(LOOKED_AT).flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    for entry in named.filter(|entry| is_old(entry).unwrap_or(false)).take(TAKEN_AWAY) {
        let path = entry.path();
        // Held until the folder is gone, so that two who clean do not meet.
        if let Some(_lock) = lock(&path) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

/// Is it a folder, no link to one, of some age?
fn is_old(entry: &std::fs::DirEntry) -> io::Result<bool> {
    let meta = entry.metadata()?;
    Ok(meta.is_dir() && is_own(&meta) && meta.modified()?.elapsed().is_ok_and(|age| age > YOUNG))
}

#[cfg(unix)]
fn is_own(meta: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    // SAFETY: `geteuid` has no arguments, no failures and no effects.
    meta.uid() == unsafe { libc::geteuid() }
}

#[cfg(not(unix))]
fn is_own(_: &std::fs::Metadata) -> bool {
    true
}

/// The lock of a folder, if nobody has it.
#[cfg(unix)]
fn lock(folder: &Path) -> Option<File> {
    use std::os::fd::AsRawFd;
    let file = File::open(folder).ok()?;
    // SAFETY: the descriptor is open.
    let taken = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    taken.then_some(file)
}

/// Elsewhere folders cannot be locked, and what is left is left.
#[cfg(not(unix))]
fn lock(_: &Path) -> Option<File> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::SystemTime;

    fn age(path: &Path) {
        let time = SystemTime::now() - 2 * YOUNG;
        File::open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn what_nobody_holds_is_taken_away() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let held = Folder::in_parent(parent.path()).unwrap();
        let left = Folder::in_parent(parent.path()).unwrap().folder.keep();
        let kept = {
            let folder = Folder::in_parent(parent.path()).unwrap();
            std::fs::write(folder.file("kernels.c"), "int x;").unwrap();
            folder.keep("kernels.c")
        };
        let young = at("slyz-cc-young");
        let foreign = at("other");
        for folder in [&young, &foreign] {
            std::fs::create_dir(folder).unwrap();
        }
        let link = at("slyz-cc-link");
        std::os::unix::fs::symlink(&foreign, &link).unwrap();
        std::fs::write(left.join("kernels.c"), "").unwrap();
        for folder in [held.path(), &left, kept.parent().unwrap(), &foreign] {
            age(folder);
        }
        take_away(parent.path());
        assert!(!left.exists());
        assert!(held.path().exists() && young.exists() && foreign.exists() && link.exists());
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "int x;");
    }
}
