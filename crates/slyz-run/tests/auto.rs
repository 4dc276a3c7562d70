//! The choice between CPU and GPU, with an adapter that is taken for hardware. Results of a GPU stay there, so where a call ran
//! is seen by them.
#![cfg(all(feature = "cpu", feature = "wgpu"))]

mod devices;

use slyz_run::auto::{Auto, Measured};
use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, ArrayData, Device, Error, Executable, Output};
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;
use std::sync::Arc;

const TWICE: &str = "program twice<N>(%x: f32[N]) -> f32[N] {
  %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
  return %y }";

/// A GPU on whose side the memory of the host is: large maps are for it.
const NEAR: Measured = Measured {
    gpu_call: 50e-6,
    upload: 1e12,
    download: 1e12,
    gpu_operators: 1e12,
    cpu_call: 1e-6,
    cpu_bytes: 10e9,
    cpu_operators: 10e9,
};

fn auto(gpu: Wgpu, measured: Measured) -> Auto {
    Auto::between(Arc::new(devices::narrow()), Arc::new(gpu), Some(measured)).expect("a device")
}

fn compile(device: &dyn Device, text: &str) -> Arc<dyn Executable> {
    device.compile(&parse_program(text).expect("text of a program")).expect("it compiles")
}

fn twice(code: &dyn Executable, n: usize) -> Output {
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let out = code.run(&[Some(n as u64)], &[Argument::host(Ty::F32, &[n as u64], &x)]).expect("a result").remove(0);
    let expected: Vec<f32> = x.iter().map(|x| x + x).collect();
    assert_eq!(out.data.as_slice::<f32>(), Some(&expected[..]));
    out
}

#[test]
fn size_decides_for_the_hosts_data() {
    if !devices::has_gpu() {
        return;
    }
    let device = auto(Wgpu::new(None), NEAR);
    let code = compile(&device, TWICE);
    for (n, host) in [(0, true), (16, true), (10_000, true), (1 << 20, false), (16, true)] {
        assert_eq!(twice(&*code, n).data.is_host(), host, "{n}");
    }
    assert_eq!(code.device(), "auto");
    assert!(code.source().contains("slyz_kernel_0") && code.plan().is_some());
}

#[test]
fn calls_follow_their_arguments() {
    if !devices::has_gpu() {
        return;
    }
    let device = auto(Wgpu::new(None), NEAR);
    let code = compile(&device, TWICE);
    let there = device.upload(ArrayData::Host(&[0; 16])).expect("memory");
    assert!(!there.is_host());
    let argument = Argument::Array { ty: Ty::F32, shape: vec![4].into(), data: ArrayData::Buffer(&there) };
    let out = code.run(&[Some(4)], &[argument]).expect("a result").remove(0);
    assert!(!out.data.is_host());
    assert_eq!(out.data.as_slice::<f32>(), Some(&[0.0; 4][..]));
    device.synchronize().expect("it waits");
}

/// The GPU has no f64: the CPU computes, even what is on the GPU.
#[test]
fn what_the_gpu_lacks_runs_on_the_cpu() {
    if !devices::has_gpu() {
        return;
    }
    let device = auto(Wgpu::plain(None), NEAR);
    let code = compile(&device, &TWICE.replace("f32", "f64"));
    let n = 1 << 20;
    let x = vec![0.5f64; n];
    for _ in 0..2 {
        let out = code.run(&[Some(n as u64)], &[Argument::host(Ty::F64, &[n as u64], &x)]).expect("a result").remove(0);
        assert!(out.data.is_host());
        assert_eq!(out.data.as_slice::<f64>().map(|y| y[n - 1]), Some(1.0));
    }
    let there = device.upload(ArrayData::Host(&[0; 16])).expect("memory");
    let argument = Argument::Array { ty: Ty::F64, shape: vec![2].into(), data: ArrayData::Buffer(&there) };
    let out = code.run(&[Some(2)], &[argument]).expect("a result").remove(0);
    assert_eq!(out.data.as_slice::<f64>(), Some(&[0.0; 2][..]));
    assert!(code.choice(&[Some(2)]).is_some_and(|text| text.contains("cannot run this function")));
}

/// What the caller did wrong is not tried again elsewhere.
#[test]
fn mistakes_are_still_mistakes() {
    if !devices::has_gpu() {
        return;
    }
    let device = auto(Wgpu::new(None), NEAR);
    let code = compile(&device, TWICE);
    let x = vec![0f32; 1 << 20];
    let wrong = code.run(&[Some(7)], &[Argument::host(Ty::F32, &[1 << 20], &x)]);
    assert!(matches!(wrong, Err(Error::Argument { .. })), "{wrong:?}");
    assert!(code.run(&[Some(7)], &[]).is_err());
}

#[test]
fn the_choice_is_explained() {
    if !devices::has_gpu() {
        return;
    }
    let device = auto(Wgpu::new(None), NEAR);
    let code = compile(&device, TWICE);
    let told = |n: Option<u64>| code.choice(&[n]).expect("words");
    for (n, parts) in [
        (None, ["give sizes", "cpu"]),
        (Some(16), ["runs on cpu", "too small"]),
        (Some(1 << 20), ["runs on wgpu", "8.4 MB"]),
        (Some(1 << 15), ["runs on cpu", "from about 496 kB"]),
    ] {
        let text = told(n);
        assert!(parts.iter().all(|part| text.contains(part)), "{n:?}: {text}");
    }
    let far = Measured { upload: 1e9, download: 1e9, ..NEAR };
    let text = compile(&auto(Wgpu::new(None), far), TWICE).choice(&[Some(1 << 24)]).expect("words");
    assert!(text.contains("runs on cpu") && text.contains("only for arguments that are there"), "{text}");
    assert!(device.describe().contains("or wgpu"), "{}", device.describe());
}

#[test]
fn both_devices_can_be_measured() {
    if !devices::has_gpu() {
        return;
    }
    let device = Auto::between(Arc::new(devices::narrow()), Arc::new(Wgpu::new(None)), None).expect("a device");
    let m = device.measured().expect("numbers");
    let all = [m.gpu_call, m.upload, m.download, m.gpu_operators, m.cpu_call, m.cpu_bytes, m.cpu_operators];
    assert!(all.iter().all(|x| x.is_finite() && *x > 0.0), "{m:?}");
}

#[test]
fn many_threads() {
    if !devices::has_gpu() {
        return;
    }
    let device = auto(Wgpu::new(None), NEAR);
    let code = compile(&device, TWICE);
    std::thread::scope(|scope| {
        for n in [3, 1 << 20, 17, (1 << 20) + 5] {
            let code = &code;
            scope.spawn(move || (0..3).for_each(|_| drop(twice(&**code, n))));
        }
    });
}
