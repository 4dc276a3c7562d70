//! What a process meets that is not its fault: no threads, far too many, and what killed processes left.
#![cfg(all(unix, feature = "cpu"))]

mod toy;

use slyz_run::cpu::{Cpu, CpuConfig};
use slyz_run::{Argument, Device, Interpreter};
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

/// A loop of arrays that ends after five turns, or never.
#[test]
fn child_with_a_loop() {
    if !is_child("child_with_a_loop") {
        return;
    }
    let text = "program grow<N>(%x: f32[N], %most: f32) -> f32[N] {
        %two: f32 = const 2.0
        %first: i64 = const 0
        %y: f32[N] = while (%x) |%a: f32[N]| {
            %v: f32 = at %a[%first]
            %go: bool = lt %v, %most
            yield %go
        } do |%b: f32[N]| {
            %twice: f32[N] = tabulate [N] |%i: i64| { %u: f32 = at %b[%i]; %w: f32 = mul %u, %two; yield %w }
            yield %twice
        }
        return %y
    }";
    let program = slyz_sir::text::parse_program(text).unwrap();
    let device: &dyn Device =
        if std::env::var_os("INTERPRETED").is_some() { &Interpreter } else { &Cpu::new(config()) };
    let executable = device.compile(&program).unwrap();
    let grow = |most: f32| {
        let args = [Argument::host(Ty::F32, &[2], &[1.0f32, 3.0]), Argument::Scalar(Scalar::f32(most))];
        executable.run(&[Some(2)], &args)
    };
    assert_eq!(floats(&grow(32.0).unwrap()[0]), [32.0, 96.0]);
    println!("{}", grow(f32::INFINITY).map_or_else(|error| error.to_string(), |_| "infinity was reached".to_string()));
    println!("{}", grow(f32::NAN).map_or_else(|error| error.to_string(), |_| "no turn".to_string()));
}

#[test]
fn loops_end_at_a_bound() {
    let text = said(&child("child_with_a_loop").env("SLYZ_MAX_TURNS", "5").output().unwrap());
    assert!(text.contains("the loop grow_turns did not end within 5 turns"), "{text}");
    assert!(text.contains("no turn"), "{text}");
    let mut interpreted = child("child_with_a_loop");
    let text = said(&interpreted.env("SLYZ_MAX_TURNS", "5").env("INTERPRETED", "1").output().unwrap());
    assert!(text.contains("the loop grow_turns did not end within 5 turns"), "{text}");
    let text = said(&child("child_with_a_loop").env("SLYZ_MAX_TURNS", "many").output().unwrap());
    assert!(text.contains("SLYZ_MAX_TURNS=many is not a number") && text.contains("infinity was reached"), "{text}");
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
