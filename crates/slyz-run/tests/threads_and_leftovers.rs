//! What a process meets that is not its fault: no threads, far too many, and what killed processes left.
#![cfg(all(unix, feature = "cpu"))]

mod toy;

use slyz_run::cpu::CpuConfig;
use slyz_run::{Argument, Device};
use slyz_sir::types::{Scalar, Ty};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};
use toy::{config, device, floats, run, script, twice};

/// The test of that name in a process of its own, with a variable that tells it so.
fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", test, "--nocapture"]).env("SLYZ_TEST_CHILD", test);
    child
}

fn is_child(test: &str) -> bool {
    std::env::var_os("SLYZ_TEST_CHILD").is_some_and(|name| name == test)
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy).concat();
    assert!(output.status.success(), "{text}");
    text
}

/// A launch that all threads share, with scratch memory for each of them.
#[test]
fn child_with_a_large_launch() {
    if !is_child("child_with_a_large_launch") {
        return;
    }
    let device = device(config());
    println!("{}", device.describe());
    let executable = device.compile(&toy::scale()).unwrap();
    let x: Vec<f32> = (0..3_000_001).map(|k| k as f32).collect();
    let args = [Argument::host(Ty::F32, &[x.len() as u64], &x), Argument::Scalar(Scalar::f32(3.0))];
    let results = executable.run(&[Some(x.len() as u64), Some(0)], &args).unwrap();
    assert!(floats(&results[0]).iter().zip(&x).all(|(y, x)| *y == 3.0 * x));
}

/// A stack of 2^60 bytes is more than there are addresses, so that no thread can be had.
#[test]
fn without_threads_the_calling_thread_works() {
    let output = child("child_with_a_large_launch").env("RUST_MIN_STACK", (1u64 << 60).to_string()).output().unwrap();
    let text = said(&output);
    let alone = std::thread::available_parallelism().is_ok_and(|cores| cores.get() == 1);
    assert!(text.contains("cpu: 1 threads"), "{text}");
    assert!(alone || text.contains("cannot be had") && text.contains("ulimit -u"), "{text}");
}

#[test]
fn far_too_many_threads_are_not_made() {
    let output = child("child_with_a_large_launch").env("RAYON_NUM_THREADS", "100000").output().unwrap();
    let text = said(&output);
    assert!(text.contains("RAYON_NUM_THREADS=100000") && text.contains("4 threads for each"), "{text}");
}

/// Compiles, with the compiler that a variable names.
#[test]
fn child_that_compiles() {
    if !is_child("child_that_compiles") {
        return;
    }
    let config = CpuConfig { cache_dir: None, ..CpuConfig::from_env() };
    let executable = device(config).compile(&twice("twice")).unwrap();
    assert_eq!(floats(&run(&*executable, &[4.0], Some(0))[0]), [8.0]);
}

fn folders(parent: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn folders_of_killed_processes_are_taken_away() {
    let (place, temporary) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let fifo = place.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // It tells that it has begun, and ends when somebody has opened the pipe again.
    let wait = format!("case \"$1\" in --version) exit 0;; esac\necho begun > '{0}'; cat '{0}'\n", fifo.display());
    let cc = script(place.path(), &wait).join(" ");
    let mut killed = child("child_that_compiles").env("TMPDIR", temporary.path()).env("SLYZ_CC", cc).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(File::open(&fifo).unwrap()).read_line(&mut line).unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    drop(File::options().write(true).open(&fifo).unwrap());
    let left = folders(temporary.path());
    assert_eq!((&line[..], left.len()), ("begun\n", 1), "{left:?}");

    let next = || said(&child("child_that_compiles").env("TMPDIR", temporary.path()).output().unwrap());
    next();
    assert_eq!(folders(temporary.path()), left, "it is young, and could be somebody's who has not locked it yet");
    File::open(&left[0]).unwrap().set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    next();
    assert!(folders(temporary.path()).is_empty());
}
