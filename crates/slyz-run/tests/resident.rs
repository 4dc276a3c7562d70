//! Arrays that stay on the GPU between calls. It needs an adapter; lavapipe will do.
#![cfg(all(feature = "cpu", feature = "wgpu"))]

mod devices;

use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, ArrayData, Buffer, Device, Executable, Interpreter, Output};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use std::sync::Arc;

const STEP: &str = "program step<N>(%a: f32, %x: f32[N]) -> (f32[N], f32[N]) {
  %y: f32[N] = tabulate [N] |%i: i64| { %p: f32 = at %x[%i]  %q: f32 = add %p, %a  yield %q }
  return %y, %x }";

fn compile(device: &dyn Device, text: &str) -> Arc<dyn Executable> {
    device.compile(&parse_program(text).expect("text of a program")).expect("it compiles")
}

fn array(data: &Buffer) -> Argument<'_> {
    Argument::Array { ty: Ty::F32, shape: vec![data.len() as u64 / 4].into(), data: ArrayData::Buffer(data) }
}

fn step(f: &dyn Executable, a: f32, x: &Buffer) -> Vec<Output> {
    let n = x.len() as u64 / 4;
    f.run(&[Some(n)], &[Argument::Scalar(Scalar::f32(a)), array(x)]).expect("a result")
}

fn floats(data: &[f32]) -> &[u8] {
    bytemuck::cast_slice(data)
}

#[test]
fn results_stay_and_are_read_when_asked_for() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, STEP);
    let start = device.upload(ArrayData::Host(floats(&[1.0, 2.0, 3.0]))).expect("an upload");
    assert_eq!(start.device(), Some("wgpu"));
    let mut x = start.clone();
    for _ in 0..100 {
        let out = step(&*f, 1.0, &x);
        assert!(out[1].data.shares(&x), "an argument that is a result keeps its memory");
        assert!(!out[0].data.shares(&x));
        x = out[0].data.clone();
    }
    device.synchronize().expect("the work is done");
    assert_eq!(x.as_slice::<f32>(), Some(&[101.0, 102.0, 103.0][..]));
    assert_eq!(start.as_slice::<f32>(), Some(&[1.0, 2.0, 3.0][..]), "arguments are not written");
    assert!(device.upload(ArrayData::Buffer(&x)).expect("no upload").shares(&x));
}

/// Two GPUs, the host, and the interpreter: data goes wherever it is needed.
#[test]
fn many_devices() {
    if !devices::has_gpu() {
        return;
    }
    let devices: [Box<dyn Device>; 3] = [Box::new(Wgpu::new(None)), Box::new(Wgpu::plain(None)), Box::new(Interpreter)];
    let mut x = Buffer::copy_of(floats(&[0.0; 5])).expect("memory");
    for turn in 0..6 {
        let device = &devices[turn % 3];
        x = step(&*compile(&**device, STEP), 1.0, &x)[0].data.clone();
    }
    assert_eq!(x.as_slice::<f32>(), Some(&[6.0; 5][..]));
    for from in &devices {
        let here = from.upload(ArrayData::Buffer(&x)).expect("an upload");
        for to in &devices {
            let there = to.upload(ArrayData::Buffer(&here)).expect("another");
            assert_eq!(there.bytes().expect("bytes"), x.bytes().expect("bytes"));
        }
    }
}

/// Memory that is dropped while the GPU still works on it goes to other arrays, which are behind that work.
#[test]
fn dropped_during_work() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, STEP);
    let n = 1 << 16;
    let mut kept = vec![];
    for turn in 0..50u8 {
        let x = device.upload(ArrayData::Host(floats(&vec![f32::from(turn); n]))).expect("an upload");
        let once = step(&*f, 100.0, &x)[0].data.clone();
        drop(x);
        let twice = step(&*f, 100.0, &once)[0].data.clone();
        drop(once);
        kept.push(twice);
    }
    drop(f);
    drop(device);
    for (turn, data) in kept.iter().enumerate() {
        let data = data.as_slice::<f32>().expect("floats");
        assert!(data.iter().all(|&x| x == turn as f32 + 200.0), "{turn}");
    }
}

#[test]
fn threads_share_arrays() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, STEP);
    let data: Vec<f32> = (0..1000).map(|k| k as f32).collect();
    let x = device.upload(ArrayData::Host(floats(&data))).expect("an upload");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (f, x) = (&f, &x);
            scope.spawn(move || {
                let mut y = x.clone();
                for _ in 0..20 {
                    y = step(&**f, thread as f32, &y)[0].data.clone();
                }
                let expected: Vec<f32> = (0..1000).map(|k| (k + 20 * thread) as f32).collect();
                assert_eq!(y.as_slice::<f32>(), Some(&expected[..]));
                assert_eq!(x.as_slice::<f32>().map(|x| x[999]), Some(999.0));
            });
        }
    });
}

#[test]
fn bools_scalars_and_nothing() {
    if !devices::has_gpu() {
        return;
    }
    let text = "program choose<N>(%x: f32[N], %m: bool[N], %a: f32) -> (f32[N], bool[N], f32) {
      %y: f32[N], %n: bool[N] = tabulate [N] |%i: i64| { %p: f32 = at %x[%i]  %q: bool = at %m[%i]  %r: f32 = select %q, %p, %a  %s: bool = not %q  yield %r, %s }
      %zero: f32 = const 0.0
      %t: f32 = fold [N] |%i: i64| { %p: f32 = at %y[%i]  yield %p } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
      return %y, %n, %t }";
    let device = Wgpu::new(None);
    let f = compile(&device, text);
    let x = device.upload(ArrayData::Host(floats(&[1.0, 2.0, 3.0]))).expect("an upload");
    let m = device.upload(ArrayData::Host(&[1, 0, 1])).expect("an upload");
    let mask = |m| Argument::Array { ty: Ty::Bool, shape: vec![3].into(), data: ArrayData::Buffer(m) };
    let first = f.run(&[Some(3)], &[array(&x), mask(&m), Argument::Scalar(Scalar::f32(10.0))]).expect("a result");
    // The sum goes in for the scalar, the mask as it came.
    let args = [first[0].as_argument(), first[1].as_argument(), first[2].as_argument()];
    let second = f.run(&[Some(3)], &args).expect("a result");
    assert_eq!(second[0].data.as_slice::<f32>(), Some(&[14.0, 10.0, 14.0][..]));
    assert_eq!(second[1].data.bytes().expect("bytes"), [1, 0, 1]);
    let none = device.upload(ArrayData::Host(&[])).expect("an upload");
    let none_mask = Argument::Array { ty: Ty::Bool, shape: vec![0].into(), data: ArrayData::Buffer(&none) };
    let empty = f.run(&[Some(0)], &[array(&none), none_mask, Argument::Scalar(Scalar::f32(1.0))]).expect("a result");
    assert!(empty[0].data.is_empty() && empty[0].data.bytes().expect("no bytes").is_empty());
    assert_eq!(empty[2].data.as_slice::<f32>(), Some(&[0.0][..]));
    // Another device looks at bools that come from somewhere.
    let odd = device.upload(ArrayData::Host(&[1, 7, 1])).expect("an upload");
    let other = compile(&Interpreter, text);
    assert!(other.run(&[Some(3)], &[array(&x), mask(&odd), Argument::Scalar(Scalar::f32(1.0))]).is_err());
}
