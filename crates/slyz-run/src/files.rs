//! Files of a program on disk: all of them, or none.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder that files could not be written to. It is as it was.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {why}. Nothing was written; name a folder that can be", .path.display())]
pub struct WriteError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub why: io::Error,
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> WriteError + use<> {
    let path = path.to_path_buf();
    move |why| WriteError { path, why }
}

/// Writes files into a folder, which is made where there is none. Files of these names are replaced, together: when one
/// cannot be written, the others stay as they were.
///
/// ```
/// let folder = std::env::temp_dir().join(format!("slyz-files-{}", std::process::id()));
/// slyz_run::write_files(&folder, &[("a.txt", "one"), ("b.txt", "two")])?;
/// assert_eq!(std::fs::read_to_string(folder.join("b.txt")).unwrap(), "two");
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), slyz_run::WriteError>(())
/// ```
pub fn write_files(folder: &Path, files: &[(&str, impl AsRef<[u8]>)]) -> Result<(), WriteError> {
    let existed = folder.is_dir();
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let done = replace(folder, files);
    if done.is_err() && !existed {
        // It is empty unless somebody else has written there; then it stays.
        let _ = fs::remove_dir(folder);
    }
    done
}

/// Writes everything beside its place, sets aside what is there, and moves the new files in; or takes all of it back.
fn replace(folder: &Path, files: &[(&str, impl AsRef<[u8]>)]) -> Result<(), WriteError> {
    let beside = |name: &str, what: &str| {
        let place = folder.join(name);
        let own = place.file_name().unwrap_or_default().to_string_lossy().to_string();
        place.with_file_name(format!(".{own}.{}.{what}", std::process::id()))
    };
    let mut moved: Vec<(PathBuf, PathBuf)> = vec![];
    let done = files
        .iter()
        .try_for_each(|(name, text)| {
            let place = folder.join(name);
            if place.is_dir() {
                return Err(failed(&place)(io::Error::other("it is a folder")));
            }
            // A package is a folder of files.
            place.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed(&place))?;
            let new = beside(name, "new");
            fs::write(&new, text).map_err(failed(&place))
        })
        .and_then(|()| {
            files.iter().try_for_each(|(name, _)| {
                let place = folder.join(name);
                let old = beside(name, "old");
                if place.exists() {
                    fs::rename(&place, &old).map_err(failed(&place))?;
                }
                moved.push((place.clone(), old));
                fs::rename(beside(name, "new"), &place).map_err(failed(&place))
            })
        });
    for (name, _) in files {
        let _ = fs::remove_file(beside(name, "new"));
    }
    for (place, old) in moved {
        if done.is_err() {
            let _ = fs::remove_file(&place);
            let _ = fs::rename(&old, &place);
        } else {
            let _ = fs::remove_file(&old);
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_or_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let names = || {
            let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        write_files(folder.path(), &[("a", "1"), ("b", "2")]).unwrap();
        write_files(folder.path(), &[("a", "3"), ("b", "4")]).unwrap();
        assert_eq!(fs::read_to_string(at("a")).unwrap() + &fs::read_to_string(at("b")).unwrap(), "34");
        assert_eq!(names(), ["a", "b"]);
        // The second file cannot be written: the first keeps what it had.
        fs::create_dir(at("c")).unwrap();
        let error = write_files(folder.path(), &[("a", "5"), ("c", "6")]).unwrap_err();
        assert_eq!((error.path, names()), (at("c"), vec!["a".into(), "b".into(), "c".into()]));
        assert_eq!(fs::read_to_string(at("a")).unwrap(), "3");
        // A folder that cannot be: its parent is a file.
        assert!(write_files(&at("a").join("deep"), &[("a", "7")]).is_err());
        assert_eq!(fs::read_to_string(at("a")).unwrap(), "3");
    }
}
