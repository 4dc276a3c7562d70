//! The disk cache: shared, verified, private, bounded, and never in the way.
#![cfg(all(unix, feature = "cpu"))]

mod toy;

use slyz_run::Device;
use slyz_run::cpu::CpuConfig;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use toy::{compilations, config, counting, device, floats, run, twice};

/// A folder with a counting compiler and room for a cache.
struct Place {
    folder: tempfile::TempDir,
    cc: Vec<String>,
    log: PathBuf,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let (cc, log) = counting(folder.path());
        Place { folder, cc, log }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join("deep/cache")
    }

    /// A new device, as a new process would have it, compiles and runs the program; gives the compilations so far.
    fn compile(&self, cache: &Path, bytes: u64, name: &str) -> usize {
        let config = CpuConfig { cc: self.cc.clone(), cache_dir: Some(cache.into()), cache_bytes: bytes, ..config() };
        let executable = device(config).compile(&twice(name)).unwrap();
        assert_eq!(floats(&run(&*executable, &[21.0], Some(0))[0]), [42.0]);
        compilations(&self.log)
    }
}

const ROOM: u64 = 512 << 20;

fn entries(cache: &Path) -> Vec<PathBuf> {
    fs::read_dir(cache).map_or(vec![], |list| list.map(|entry| entry.unwrap().path()).collect())
}

#[test]
fn the_second_process_compiles_nothing() {
    let place = Place::new();
    let cache = place.cache();
    assert_eq!(place.compile(&cache, ROOM, "a"), 1);
    assert_eq!(place.compile(&cache, ROOM, "a"), 1);
    assert_eq!(place.compile(&cache, ROOM, "b"), 2);
    assert_eq!(entries(&cache).len(), 2);
    assert_eq!(fs::metadata(&cache).unwrap().permissions().mode() & 0o777, 0o700);
    assert_eq!(fs::metadata(&entries(&cache)[0]).unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn another_compiler_is_another_entry() {
    let place = Place::new();
    let cache = place.cache();
    assert_eq!(place.compile(&cache, ROOM, "a"), 1);
    let mut other = Place::new();
    other.cc.push("-DOTHER".into());
    assert_eq!(other.compile(&cache, ROOM, "a"), 1);
    assert_eq!(entries(&cache).len(), 2);
}

#[test]
fn damaged_entries_are_built_anew() {
    let place = Place::new();
    let cache = place.cache();
    place.compile(&cache, ROOM, "a");
    let entry = entries(&cache).remove(0);
    let whole = fs::read(&entry).unwrap();
    let flip = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let damages = [flip(0), flip(20), flip(60), flip(whole.len() - 1), whole[..whole.len() / 2].into(), vec![]];
    for (k, damage) in damages.iter().enumerate() {
        fs::write(&entry, damage).unwrap();
        assert_eq!(place.compile(&cache, ROOM, "a"), k + 2, "damage {k}");
        assert_eq!(place.compile(&cache, ROOM, "a"), k + 2, "whole again after damage {k}");
    }
    assert_eq!(entries(&cache).len(), 1);
}

/// An entry under the name of another is a damaged one: its sum covers the key.
#[test]
fn entries_do_not_stand_for_each_other() {
    let place = Place::new();
    let cache = place.cache();
    place.compile(&cache, ROOM, "a");
    let a = entries(&cache).remove(0);
    place.compile(&cache, ROOM, "b");
    let b = entries(&cache).into_iter().find(|path| *path != a).unwrap();
    fs::copy(&a, &b).unwrap();
    assert_eq!(place.compile(&cache, ROOM, "b"), 3);
}

#[test]
fn folders_that_others_can_write_are_not_used() {
    let place = Place::new();
    let cache = place.cache();
    place.compile(&cache, ROOM, "a");
    for mode in [0o777, 0o1777, 0o770, 0o702] {
        fs::set_permissions(&cache, Permissions::from_mode(mode)).unwrap();
        let before = compilations(&place.log);
        assert_eq!(place.compile(&cache, ROOM, "a"), before + 1, "nothing is loaded from mode {mode:o}");
        assert_eq!(place.compile(&cache, ROOM, "b"), before + 2);
        assert_eq!(entries(&cache).len(), 1, "nothing is kept in mode {mode:o}");
    }
    fs::set_permissions(&cache, Permissions::from_mode(0o755)).unwrap();
    let before = compilations(&place.log);
    assert_eq!(place.compile(&cache, ROOM, "a"), before);
}

/// Only root can give a folder away; for others there is nothing to test here.
#[test]
fn folders_of_other_users_are_not_used() {
    let place = Place::new();
    let cache = place.cache();
    place.compile(&cache, ROOM, "a");
    if std::os::unix::fs::chown(&cache, Some(54321), None).is_ok() {
        assert_eq!(place.compile(&cache, ROOM, "a"), 2);
        assert_eq!(entries(&cache).len(), 1);
    }
}

#[test]
fn entries_that_others_can_write_or_that_are_links_are_not_used() {
    let place = Place::new();
    let cache = place.cache();
    place.compile(&cache, ROOM, "a");
    let entry = entries(&cache).remove(0);
    fs::set_permissions(&entry, Permissions::from_mode(0o666)).unwrap();
    assert_eq!(place.compile(&cache, ROOM, "a"), 2);
    let elsewhere = place.folder.path().join("elsewhere");
    fs::rename(&entry, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &entry).unwrap();
    assert_eq!(place.compile(&cache, ROOM, "a"), 3);
    assert_eq!(place.compile(&cache, ROOM, "a"), 3, "the link was replaced");
}

#[test]
fn a_folder_that_cannot_be_had_is_no_hindrance() {
    let place = Place::new();
    let file = place.folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(place.compile(&file, ROOM, "a"), 1);
    assert_eq!(place.compile(&file.join("below"), ROOM, "a"), 2);
    let cache = place.folder.path().join("closed");
    fs::create_dir(&cache).unwrap();
    fs::set_permissions(&cache, Permissions::from_mode(0o500)).unwrap();
    assert_eq!(place.compile(&cache, ROOM, "a"), 3);
    assert_eq!(place.compile(Path::new("/proc/slyz-cache"), ROOM, "a"), 4);
}

#[test]
fn the_entry_not_used_for_longest_goes() {
    let place = Place::new();
    let cache = place.cache();
    let age = |path: &Path, hours: u64| {
        let time = SystemTime::now() - Duration::from_secs(3600 * hours);
        File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
    };
    place.compile(&cache, ROOM, "a");
    let a = entries(&cache).remove(0);
    place.compile(&cache, ROOM, "b");
    let b = entries(&cache).into_iter().find(|path| *path != a).unwrap();
    let left = cache.join(".unfinished-by-a-process-that-died");
    fs::write(&left, "").unwrap();
    age(&a, 30);
    age(&b, 20);
    age(&left, 10);
    assert_eq!(place.compile(&cache, ROOM, "a"), 2, "a hit, which makes a the younger one");
    let room = fs::metadata(&a).unwrap().len() * 5 / 2;
    assert_eq!(place.compile(&cache, room, "c"), 3);
    assert!(a.exists() && !b.exists() && !left.exists());
    assert_eq!(entries(&cache).len(), 2);
    // An entry beyond the bound is not kept, and costs no other its place.
    assert_eq!(place.compile(&cache, 100, "d"), 4);
    assert_eq!(entries(&cache).len(), 2);
}

/// Runs in processes of its own, started by the next test.
#[test]
fn child_that_shares() {
    let Some(cache) = std::env::var_os("SLYZ_TEST_CACHE") else { return };
    for name in ["a", "b", "c", "a"] {
        let config = CpuConfig { cache_dir: Some(cache.clone().into()), cache_bytes: ROOM, ..config() };
        let executable = device(config).compile(&twice(name)).unwrap();
        assert_eq!(floats(&run(&*executable, &[3.0], Some(0))[0]), [6.0]);
    }
}

#[test]
fn processes_share_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache");
    let start = || {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "child_that_shares"]).env("SLYZ_TEST_CACHE", &cache);
        child.stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let children: Vec<_> = (0..4).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(entries(&cache).len(), 3, "{:?}", entries(&cache));
}
