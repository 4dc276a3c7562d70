//! Compilers that are missing, that fail, that know less, and how often they are called.
#![cfg(feature = "cpu")]

mod toy;

use slyz_run::cpu::CpuConfig;
use slyz_run::{Device, Error};
use std::sync::Barrier;
use std::time::Duration;
use toy::{compilations, config, counting, device, floats, run, script, twice};

#[test]
fn a_missing_compiler_means_the_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("not-a-program");
    std::fs::write(&plain, "").unwrap();
    for cc in ["/no/such/compiler", plain.to_str().unwrap()] {
        let device = device(CpuConfig { cc: vec![cc.into()], ..config() });
        let executable = device.compile(&twice("twice")).unwrap();
        assert_eq!(executable.device(), "interpreter");
        assert_eq!(floats(&run(&*executable, &[4.0], Some(0))[0]), [8.0]);
        assert!(device.describe().contains("no C compiler"), "{}", device.describe());
    }
}

/// Runs in a process of its own, started by the next test.
#[test]
fn child_without_compiler() {
    if std::env::var_os("SLYZ_TEST_CHILD").is_none() {
        return;
    }
    let device = device(CpuConfig { cc: vec!["/no/such/compiler".into()], ..config() });
    device.compile(&twice("a")).unwrap();
    device.compile(&twice("b")).unwrap();
}

#[test]
fn a_missing_compiler_is_told_once() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "child_without_compiler", "--nocapture"]).env("SLYZ_TEST_CHILD", "1");
    let said = String::from_utf8(child.output().unwrap().stderr).unwrap();
    assert_eq!(said.matches("no C compiler").count(), 1, "{said}");
    assert!(said.contains("/no/such/compiler") && said.contains("SLYZ_CC") && said.contains("Install"), "{said}");
}

#[test]
fn a_failing_compiler_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let cc = script(folder.path(), "case \"$1\" in --version) exit 0;; esac\necho 'kernels.c:3: boom' >&2\nexit 7\n");
    let device = device(CpuConfig { cc, ..config() });
    let fail = || match device.compile(&twice("twice")).err().unwrap() {
        Error::CompilerFailed { command, status, stderr, file } => {
            assert!(command.contains("compiler.sh") && command.contains("-O2"), "{command}");
            assert!(status.contains('7') && stderr == "kernels.c:3: boom", "{status} {stderr}");
            assert!(std::fs::read_to_string(&file).unwrap().contains("slyz_kernel_0"));
            file
        }
        other => panic!("{other}"),
    };
    let (first, second) = (fail(), fail());
    assert_eq!(first, second, "the same source is kept once");
    std::fs::remove_dir_all(first.parent().unwrap()).unwrap();
}

#[test]
fn a_compiler_that_leaves_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let device = device(CpuConfig { cc: script(folder.path(), "exit 0\n"), ..config() });
    match device.compile(&twice("twice")).err().unwrap() {
        Error::CompilerFailed { file, .. } => std::fs::remove_dir_all(file.parent().unwrap()).unwrap(),
        other => panic!("{other}"),
    }
}

/// One hangs over files, one already when it is asked for its version; both leave children that would go on.
#[cfg(unix)]
#[test]
fn a_compiler_that_hangs_is_not_waited_for() {
    for script_text in ["case \"$1\" in --version) exit 0;; esac\nsleep 10000 & wait\n", "sleep 10000 & wait\n"] {
        let folder = tempfile::tempdir().unwrap();
        let cc = script(folder.path(), script_text);
        let device = device(CpuConfig { cc, cc_limit: Duration::from_millis(300), ..config() });
        for name in ["twice", "again"] {
            let executable = device.compile(&twice(name)).unwrap();
            assert_eq!(executable.device(), "interpreter");
            assert_eq!(floats(&run(&*executable, &[4.0], Some(0))[0]), [8.0]);
        }
    }
}

/// The compiler says that all is well, but the disk was full.
#[cfg(target_os = "linux")]
#[test]
fn a_library_that_is_cut_short_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let cut = "for a in \"$@\"; do if [ \"$o\" = -o ]; then out=$a; fi; o=$a; done
        cc \"$@\" && if [ -n \"$out\" ]; then truncate -s 4200 \"$out\"; fi\n";
    let device = device(CpuConfig { cc: script(folder.path(), cut), ..config() });
    match device.compile(&twice("twice")).err().unwrap() {
        Error::Load { why } => assert!(why.contains("cut short") && why.contains("4200"), "{why}"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_compiler_that_does_not_know_this_processor() {
    let folder = tempfile::tempdir().unwrap();
    let (cc, log) = counting(folder.path());
    let refuse = format!(
        "case \" $* \" in *=native*) echo \"error: bad value 'native' for '-march=' or '-mcpu=' switch\" >&2; exit 1;; esac\nexec {} \"$@\"\n",
        cc.join(" ")
    );
    let inner = folder.path().join("refuse.sh");
    std::fs::write(&inner, refuse).unwrap();
    let device = device(CpuConfig { cc: vec!["sh".into(), inner.to_str().unwrap().into()], ..config() });
    for name in ["a", "b"] {
        let executable = device.compile(&twice(name)).unwrap();
        assert_eq!(floats(&run(&*executable, &[4.0], Some(0))[0]), [8.0]);
    }
    assert_eq!(compilations(&log), 2);
}

#[test]
fn a_program_is_compiled_once() {
    let folder = tempfile::tempdir().unwrap();
    let (cc, log) = counting(folder.path());
    let (device, start) = (device(CpuConfig { cc, ..config() }), Barrier::new(6));
    std::thread::scope(|scope| {
        for k in 0..6 {
            let (device, start) = (&device, &start);
            scope.spawn(move || {
                start.wait();
                let executable = device.compile(&twice(if k % 2 == 0 { "even" } else { "odd" })).unwrap();
                assert_eq!(floats(&run(&*executable, &[k as f32], Some(0))[0]), [2.0 * k as f32]);
            });
        }
    });
    assert_eq!(compilations(&log), 2);
}
