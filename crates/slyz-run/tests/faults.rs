//! The wgpu device when things go wrong: memory runs out, kernels are refused, the GPU is lost, everything is dropped at
//! once. It needs an adapter; lavapipe will do.
#![cfg(all(feature = "cpu", feature = "wgpu"))]

mod devices;

use slyz_run::wgpu::Wgpu;
use slyz_run::{Argument, ArrayData, Buffer, Device, Error, Executable};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use std::sync::Arc;

const ADD: &str = "program add<N>(%a: f32, %x: f32[N]) -> f32[N] {
  %y: f32[N] = tabulate [N] |%i: i64| { %p: f32 = at %x[%i]  %q: f32 = add %p, %a  yield %q }
  return %y }";

const FILL: &str = "program fill<N>(%a: f32) -> f32[N] {
  %y: f32[N] = tabulate [N] |%i: i64| { yield %a }
  return %y }";

fn compile(device: &dyn Device, text: &str) -> Arc<dyn Executable> {
    device.compile(&parse_program(text).expect("text of a program")).expect("it compiles")
}

fn add(f: &dyn Executable, a: f32, x: &Buffer) -> Result<Buffer, Error> {
    let n = x.len() as u64 / 4;
    let x = Argument::Array { ty: Ty::F32, shape: vec![n].into(), data: ArrayData::Buffer(x) };
    Ok(f.run(&[Some(n)], &[Argument::Scalar(Scalar::f32(a)), x])?.remove(0).data)
}

fn fill(f: &dyn Executable, n: u64) -> Result<Buffer, Error> {
    Ok(f.run(&[Some(n)], &[Argument::Scalar(Scalar::f32(2.5))])?.remove(0).data)
}

fn floats(data: &[f32]) -> &[u8] {
    bytemuck::cast_slice(data)
}

#[test]
fn a_lost_gpu_is_told_and_opened_again() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, ADD);
    let x = device.upload(ArrayData::Host(floats(&[1.0; 100]))).expect("an upload");
    let read_before = add(&*f, 1.0, &x).expect("a result");
    assert_eq!(read_before.as_slice::<f32>(), Some(&[2.0; 100][..]));
    let unread = add(&*f, 1.0, &x).expect("a result");
    device.lose();
    for _ in 0..2 {
        assert!(matches!(add(&*f, 1.0, &x), Err(Error::DeviceLost { .. })));
        assert!(matches!(unread.bytes(), Err(Error::DeviceLost { .. })));
    }
    assert!(matches!(device.synchronize(), Err(Error::DeviceLost { .. })));
    assert_eq!(read_before.as_slice::<f32>(), Some(&[2.0; 100][..]), "what was read is kept");
    // The same device opens the GPU again; what was lost stays lost.
    let again = compile(&device, ADD);
    assert!(matches!(add(&*again, 1.0, &x), Err(Error::DeviceLost { .. })));
    let y = device.upload(ArrayData::Buffer(&read_before)).expect("an upload");
    assert_eq!(add(&*again, 1.0, &y).expect("a result").as_slice::<f32>(), Some(&[3.0; 100][..]));
    assert!(matches!(add(&*f, 1.0, &y), Err(Error::DeviceLost { .. })), "old code is of the old one");
    device.synchronize().expect("it works");
}

#[test]
fn lost_while_many_threads_work() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, ADD);
    let x = device.upload(ArrayData::Host(floats(&vec![1.0; 1 << 16]))).expect("an upload");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut y = x.clone();
                for turn in 0..1000 {
                    match add(&*f, 1.0, &y) {
                        Ok(next) => y = next,
                        Err(error) => return assert!(matches!(error, Error::DeviceLost { .. }), "{error}"),
                    }
                    if turn % 10 == 0 {
                        match y.bytes() {
                            Ok(_) => {}
                            Err(error) => return assert!(matches!(error, Error::DeviceLost { .. }), "{error}"),
                        }
                    }
                }
                panic!("it was never lost");
            });
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        device.lose();
    });
}

/// Results until there is no memory, then one of each kind of too large; the device goes on.
#[test]
fn memory_runs_out() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, FILL);
    for n in [1u64 << 33, 1 << 40, 1 << 60] {
        let error = fill(&*f, n).expect_err("too large");
        assert!(matches!(error, Error::TooLarge { .. } | Error::OutOfMemory { .. }), "{error}");
    }
    let out = fill(&*f, 5).expect("a result");
    assert_eq!(out.as_slice::<f32>(), Some(&[2.5; 5][..]));
    device.limit_memory(64 << 20);
    let mut kept = vec![];
    let error = loop {
        match fill(&*f, 1 << 20) {
            Ok(result) => kept.push(result),
            Err(error) => break error,
        }
        assert!(kept.len() < 100, "there is a limit");
    };
    assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
    assert!(kept.len() >= 10, "most of the memory can be used: {}", kept.len());
    assert!(kept.iter().all(|k| k.as_slice::<f32>().is_some_and(|k| k.iter().all(|&x| x == 2.5))), "all are whole");
    let x = Buffer::copy_of(floats(&vec![1.0; 1 << 20])).expect("memory");
    let adding = compile(&device, ADD);
    assert!(matches!(add(&*adding, 1.0, &x), Err(Error::OutOfMemory { .. })));
    drop(kept);
    assert_eq!(add(&*adding, 1.0, &x).expect("memory again").as_slice::<f32>().map(|y| y[77]), Some(2.0));
    assert!(fill(&*f, 1 << 20).is_ok());
}

/// A kernel with more arrays than a GPU binds.
#[test]
fn a_refused_kernel() {
    if !devices::has_gpu() {
        return;
    }
    let count = 1024;
    let params: String = (0..count).map(|k| format!("%x{k}: f32[N], ")).collect();
    // Leaves of a tree of sums are at 1024..2048, its root is at 1.
    let reads: String = (0..count).map(|k| format!("%s{}: f32 = at %x{k}[%i]  ", count + k)).collect();
    let sums: String = (1..count).rev().map(|k| format!("%s{k}: f32 = add %s{}, %s{}  ", 2 * k, 2 * k + 1)).collect();
    let text = format!(
        "program many<N>({params}%a: f32) -> f32[N] {{
          %y: f32[N] = tabulate [N] |%i: i64| {{ {reads} {sums} yield %s1 }}
          return %y }}"
    );
    let program = parse_program(&text).expect("text of a program");
    let device = Wgpu::plain(None);
    let data = [1.0f32; 3];
    let mut args: Vec<Argument> = (0..count).map(|_| Argument::host(Ty::F32, &[3], &data)).collect();
    args.push(Argument::Scalar(Scalar::f32(0.0)));
    let result = device.compile(&program).and_then(|f| f.run(&[Some(3)], &args));
    match result {
        Err(Error::TooLarge { .. } | Error::Driver { .. }) => {}
        Err(other) => panic!("{other}"),
        Ok(out) => assert_eq!(out[0].data.as_slice::<f32>(), Some(&[count as f32; 3][..]), "a GPU with many bindings"),
    }
    let f = compile(&device, FILL);
    assert_eq!(fill(&*f, 2).expect("a result").as_slice::<f32>(), Some(&[2.5; 2][..]));
}

/// Large arrays travel in pieces of 16 MiB.
#[test]
fn large_arrays_travel_in_pieces() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, ADD);
    for n in [(4 << 20) - 1, 4 << 20, (4 << 20) + 1, (9 << 20) + 3] {
        let data: Vec<f32> = (0..n).map(|k| (k % 1000) as f32).collect();
        let x = Buffer::copy_of(floats(&data)).expect("memory");
        let y = add(&*f, 1.0, &x).expect("a result");
        let y = y.as_slice::<f32>().expect("floats");
        assert!(y.iter().zip(&data).all(|(y, x)| *y == x + 1.0), "{n}");
    }
    let bytes: Vec<u8> = (0..(33 << 20) + 3).map(|k| (k % 251) as u8).collect();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let there = device.upload(ArrayData::Host(&bytes)).expect("an upload");
                assert!(there.bytes().expect("bytes") == bytes);
            });
        }
    });
}

#[test]
fn nothing_leaks() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, ADD);
    let work = || {
        let x = device.upload(ArrayData::Host(floats(&vec![1.0; 10_000]))).expect("an upload");
        let mut y = x.clone();
        for k in 0..50 {
            y = add(&*f, (k % 3) as f32, &y).expect("a result");
        }
        assert!(y.bytes().is_ok());
    };
    work();
    let before = device.memory();
    for _ in 0..20 {
        work();
    }
    let after = device.memory();
    assert_eq!(after.live_bytes, before.live_bytes);
    assert_eq!(after.fresh, before.fresh, "everything is used again");
    assert!(after.reused > before.reused);
}

/// Many small uploads that nothing follows.
#[test]
fn uploads_do_not_pile_up() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let data = vec![7u8; 3 << 20];
    let kept: Vec<Buffer> = (0..30).map(|_| device.upload(ArrayData::Host(&data)).expect("an upload")).collect();
    device.synchronize().expect("it works");
    assert!(kept.iter().all(|k| k.bytes().expect("bytes") == data));
}

#[test]
fn memory_has_a_speed() {
    if !devices::has_gpu() {
        return;
    }
    for device in [Wgpu::new(None), Wgpu::plain(None)] {
        let first = device.copy_bandwidth().expect("a speed");
        assert!(first > 1e7 && first < 1e14, "{first}");
        assert_eq!(device.copy_bandwidth().expect("a speed"), first, "it is measured once");
        assert_eq!(device.memory().live_bytes, 0, "nothing is left of it");
    }
}

/// A program that reads nothing does not run ahead without bound, and memory is used again behind it.
#[test]
fn far_ahead_of_the_gpu() {
    if !devices::has_gpu() {
        return;
    }
    let device = Wgpu::new(None);
    let f = compile(&device, ADD);
    let mut y = device.upload(ArrayData::Host(floats(&[0.0; 16]))).expect("an upload");
    for _ in 0..3000 {
        y = add(&*f, 1.0, &y).expect("a result");
    }
    assert_eq!(y.as_slice::<f32>(), Some(&[3000.0; 16][..]));
    assert!(device.memory().fresh < 20, "{:?}", device.memory());
}
