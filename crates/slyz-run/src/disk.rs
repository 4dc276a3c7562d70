//! What devices keep on disk between processes: shared objects of the CPU by content hash, a pipeline cache and
//! measurements for each adapter.
//!
//! An entry is a magic number, the hash of key and payload, and the payload. It is read into memory, checked there,
//! and loaded from there, so nothing can be swapped between check and load. Entries appear by renaming finished
//! files, so processes share the folder without locks. Whoever can write the folder can run code in our process:
//! a folder that belongs to somebody else, or that others can write, is not used.
//!
//! Nothing here fails a call. Trouble is told once, and the call goes on without the cache.

use crate::pool::mebibytes;
use crate::{Error, hash, warn};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const MAGIC: &[u8; 8] = b"SLYZso\0\x01";
const SUM: usize = 32;
const ENTRY: &str = "slyz";
const UNFINISHED: &str = ".unfinished-";
/// Unfinished files of this age were left by a process that died.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The default bound of the folder.
const CACHE_BYTES: u64 = 512 << 20;

/// Where devices keep things on disk, and how much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheConfig {
    /// The folder; `None` for nowhere.
    pub folder: Option<PathBuf>,
    /// How many bytes.
    pub bytes: u64,
}

impl CacheConfig {
    /// The settings of the environment.
    ///
    /// | variable | meaning | without it |
    /// |---|---|---|
    /// | `SLYZ_CACHE_DIR` | folder of the disk cache; `off` for none | `slyz` in `XDG_CACHE_HOME` or in `~/.cache` |
    /// | `SLYZ_CACHE_MB` | bound of the disk cache in MiB | 512 |
    pub fn from_env() -> CacheConfig {
        CacheConfig::from_vars(&|name| std::env::var_os(name))
    }

    /// The same, with another environment. Empty variables count as unset.
    pub fn from_vars(vars: &dyn Fn(&str) -> Option<OsString>) -> CacheConfig {
        let var = |name: &str| vars(name).filter(|value| !value.is_empty());
        // The XDG rules: a relative path there is not valid.
        let folder = |name: &str| var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = match var("SLYZ_CACHE_DIR") {
            Some(value) if value == "off" => None,
            Some(value) => Some(PathBuf::from(value)),
            None => folder("XDG_CACHE_HOME")
                .or_else(|| folder("HOME").map(|home| home.join(".cache")))
                .map(|caches| caches.join("slyz")),
        };
        let megabytes = var("SLYZ_CACHE_MB").and_then(|value| value.into_string().ok());
        CacheConfig { folder, bytes: mebibytes("SLYZ_CACHE_MB", megabytes, CACHE_BYTES) }
    }

    /// The cache, where there is one.
    pub(crate) fn open(self) -> Option<DiskCache> {
        let limit = self.bytes;
        self.folder.filter(|_| limit > 0).map(|folder| DiskCache { folder, limit })
    }
}

/// A folder of entries.
pub(crate) struct DiskCache {
    folder: PathBuf,
    limit: u64,
}

/// What was made for a key before, or is made now and kept.
#[cfg(any(feature = "cuda", feature = "hip"))]
pub(crate) fn kept_or_made(
    disk: Option<&DiskCache>,
    key: &[u8; 32],
    make: impl FnOnce() -> Result<Vec<u8>, Error>,
) -> Result<Vec<u8>, Error> {
    if let Some(kept) = disk.and_then(|disk| disk.load(key)) {
        return Ok(kept);
    }
    let made = make()?;
    if let Some(disk) = disk {
        disk.store(key, &made);
    }
    Ok(made)
}

impl DiskCache {
    /// The payload kept for the key, if it is whole. A damaged entry is deleted.
    pub(crate) fn load(&self, key: &[u8; 32]) -> Option<Vec<u8>> {
        if !self.folder.exists() || !self.trusted() {
            return None;
        }
        let path = self.path(key);
        let mut file = open_own(&path)?;
        let mut bytes = vec![];
        file.read_to_end(&mut bytes).ok()?;
        let Some(payload) = unpack(key, bytes) else {
            let _ = fs::remove_file(&path);
            return None;
        };
        // The time of last use decides who goes first; an entry that cannot be touched just goes earlier.
        let _ = file.set_modified(SystemTime::now());
        Some(payload)
    }

    /// Keeps the payload, then deletes old entries while the folder is over its bound.
    pub(crate) fn store(&self, key: &[u8; 32], payload: &[u8]) {
        let size = (MAGIC.len() + SUM + payload.len()) as u64;
        if size > self.limit {
            return;
        }
        if let Err(error) = create_private(&self.folder) {
            return self.tell(&error);
        }
        if !self.trusted() {
            return;
        }
        match self.write(key, payload) {
            Ok(()) => self.evict(&self.path(key)),
            Err(error) => self.tell(&error),
        }
    }

    fn write(&self, key: &[u8; 32], payload: &[u8]) -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(&self.folder)?;
        file.write_all(MAGIC)?;
        file.write_all(&hash::of_pieces(&[key, payload]))?;
        file.write_all(payload)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Deletes the entries that were not used for longest until the rest fits. Others may delete at the same time:
    /// what is gone already is as good.
    fn evict(&self, newest: &Path) {
        let Ok(listing) = fs::read_dir(&self.folder) else { return };
        let mut entries = vec![];
        for file in listing.flatten() {
            let Ok(meta) = file.metadata() else { continue };
            let path = file.path();
            let time = meta.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            if file.file_name().to_string_lossy().starts_with(UNFINISHED) {
                if time.elapsed().is_ok_and(|age| age > ABANDONED) {
                    let _ = fs::remove_file(&path);
                }
            } else if path.extension().is_some_and(|e| e == ENTRY) {
                entries.push((time, meta.len(), path));
            }
        }
        let mut total: u64 = entries.iter().map(|(_, size, _)| size).sum();
        entries.sort();
        for (_, size, path) in entries.iter().filter(|(_, _, path)| path != newest) {
            if total <= self.limit {
                return;
            }
            let _ = fs::remove_file(path);
            total -= size;
        }
    }

    fn path(&self, key: &[u8; 32]) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name).with_extension(ENTRY)
    }

    /// May code be loaded from the folder? If not, the user hears why.
    fn trusted(&self) -> bool {
        let Some(why) = distrust(&self.folder) else { return true };
        let error = Error::Cache { path: self.folder.clone(), why };
        warn::warn_once(&format!("cache {}", self.folder.display()), &error.to_string());
        false
    }

    fn tell(&self, error: &io::Error) {
        let why = format!("{error}. Make it writable, or set SLYZ_CACHE_DIR to another folder or to \"off\"");
        let error = Error::Cache { path: self.folder.clone(), why };
        warn::warn_once(&format!("cache {}", self.folder.display()), &error.to_string());
    }
}

fn unpack(key: &[u8; 32], mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
    let (sum, payload) = rest.split_at_checked(SUM)?;
    if magic != MAGIC || *sum != hash::of_pieces(&[key, payload]) {
        return None;
    }
    Some(bytes.split_off(MAGIC.len() + SUM))
}

#[cfg(unix)]
fn create_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn create_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Why code from the folder must not be trusted.
#[cfg(unix)]
fn distrust(folder: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let meta = match fs::metadata(folder) {
        Ok(meta) => meta,
        Err(error) => return Some(format!("{error}. Set SLYZ_CACHE_DIR to another folder or to \"off\"")),
    };
    let cure = "or set SLYZ_CACHE_DIR to another folder or to \"off\"";
    if !meta.is_dir() {
        Some(format!("it is not a folder. Remove it, {cure}"))
    } else if meta.uid() != own_uid() {
        Some(format!("it belongs to user {}, who could plant code in it. Change its owner, {cure}", meta.uid()))
    } else if meta.mode() & 0o022 != 0 {
        let mode = meta.mode() & 0o7777;
        Some(format!("others can write it (mode {mode:o}) and plant code in it. Run chmod go-w on it, {cure}"))
    } else {
        None
    }
}

#[cfg(not(unix))]
fn distrust(_: &Path) -> Option<String> {
    None
}

/// Opens an entry that is a plain file which only we can write.
#[cfg(unix)]
fn open_own(path: &Path) -> Option<File> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path).ok()?;
    let meta = file.metadata().ok()?;
    (meta.is_file() && meta.uid() == own_uid() && meta.mode() & 0o022 == 0).then_some(file)
}

#[cfg(not(unix))]
fn open_own(path: &Path) -> Option<File> {
    File::open(path).ok()
}

#[cfg(unix)]
fn own_uid() -> u32 {
    // SAFETY: `geteuid` has no arguments, no failures and no effects.
    unsafe { libc::geteuid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(vars: &[(&str, &str)]) -> CacheConfig {
        CacheConfig::from_vars(&|name| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn folders() {
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(config(&[]).folder, None);
        assert_eq!(config(&[("HOME", "/h")]).folder, path("/h/.cache/slyz"));
        assert_eq!(config(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).folder, path("/x/slyz"));
        assert_eq!(config(&[("HOME", "/h"), ("XDG_CACHE_HOME", "x")]).folder, path("/h/.cache/slyz"));
        assert_eq!(config(&[("HOME", "/h"), ("SLYZ_CACHE_DIR", "/s")]).folder, path("/s"));
        assert_eq!(config(&[("HOME", "/h"), ("SLYZ_CACHE_DIR", "off")]).folder, None);
    }

    #[test]
    fn bounds() {
        assert_eq!(config(&[]).bytes, 512 << 20);
        assert_eq!(config(&[("SLYZ_CACHE_MB", "2")]).bytes, 2 << 20);
        assert!(config(&[("HOME", "/h"), ("SLYZ_CACHE_MB", "0")]).open().is_none());
    }
}
