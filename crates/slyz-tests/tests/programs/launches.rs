//! Kernels by hand as programs launch them, with the text that `#[graph]` would write.

use slyz::graph::{EmbeddedKernel, InOut, Input, Launch, UncheckedLaunch};
use slyz::prelude::*;

static SCALE: EmbeddedKernel = EmbeddedKernel::new(
    "scale",
    "kernel scale<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, x_len, y_len>(%n: i32, %a: f32)
     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
       global read x: f32[x_len]
       global readwrite y: f32[y_len]
       %i: i64 = global.x
       %m: i64 = cast %n
       %in: bool = lt %i, %m
       if %in {
         %okx: bool = check x[%i]
         if %okx {
           %p: f32 = load x[%i]
           %q: f32 = mul %a, %p
           %oky: bool = check y[%i]
           if %oky { store y[%i], %q } else {}
         } else {}
       } else {}
     }",
    &[],
);

fn scale<'a>(x: impl Input<'a, f32>, y: impl InOut<'a, f32>, n: i32, a: f32) -> Launch<'a> {
    Launch::new(&SCALE).read(x).write(y).scalar(n).scalar(a)
}

fn scale_unchecked<'a>(x: impl Input<'a, f32>, y: impl InOut<'a, f32>, n: i32, a: f32) -> UncheckedLaunch<'a> {
    scale(x, y, n, a).unchecked()
}

static WEIGHTS: &[&[u64]] = &[&[1, 10, 100]];
static COLUMNS: EmbeddedKernel = EmbeddedKernel::new(
    "columns",
    "kernel columns<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, m_0, m_1>()
     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
       global readwrite m: i32[m_0, m_1]
       constant weights: i32[3]
       %x: i64 = global.x
       %y: i64 = global.y
       %okw: bool = check weights[%x]
       if %okw {
         %w: i32 = load weights[%x]
         %ok: bool = check m[%y, %x]
         if %ok {
           %v: i32 = load m[%y, %x]
           %p: i32 = mul %v, %w
           store m[%y, %x], %p
         } else {}
       } else {}
     }",
    WEIGHTS,
);

fn columns<'a>(m: impl InOut<'a, i32, 2>) -> Launch<'a> {
    Launch::new(&COLUMNS).write(m)
}

static FLAGS: EmbeddedKernel = EmbeddedKernel::new(
    "flags",
    "kernel flags<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, b_len>()
     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
       global readwrite b: bool[b_len]
       %i: i64 = global.x
       %ok: bool = check b[%i]
       if %ok { %v: bool = load b[%i]  %w: bool = not %v  store b[%i], %w } else {}
     }",
    &[],
);

#[test]
fn every_kind_of_argument() -> Result<(), slyz::Error> {
    for device in crate::devices() {
        let x = Tensor::<f32>::from_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
        let mut y = Tensor::<f32>::zeros([4])?;
        scale(&x, &mut y, 4, 2.0).threads(4).on(&device).run()?;
        assert_eq!(y.to_vec()?, [2.0, 4.0, 6.0, 8.0], "{}", device.name());
        // Tensors that are on the device stay there, and are written in place or, where a clone sees them, in a copy.
        let before = y.clone();
        scale(&before, &mut y, 3, 10.0).on(&device).run()?;
        assert_eq!(y.to_vec()?, [20.0, 40.0, 60.0, 8.0]);
        assert_eq!(before.to_vec()?, [2.0, 4.0, 6.0, 8.0]);
        // Data of the host.
        let mut list = vec![0.0; 4];
        scale(&[1.0, 2.0, 3.0, 4.0], &mut list, 4, 1.0).on(&device).run()?;
        assert_eq!(list, [1.0, 2.0, 3.0, 4.0]);
        scale(&list[1..], &mut [0.0, 0.0][..], 2, 1.0).on(&device).run()?;
        let mut array = [0.0f32; 3];
        scale(&vec![1.0, 2.0, 3.0], &mut array, 3, 3.0).grid(1).block(64).on(&device).run()?;
        assert_eq!(array, [3.0, 6.0, 9.0]);
        scale((&list, [2, 2]), (&mut array, [3, 1]), 3, 1.0).threads((3, 1)).on(&device).run()?;
        assert_eq!(array, [1.0, 2.0, 3.0]);
        let mut rows = [[1, 2, 3], [4, 5, 6]];
        columns(&mut rows).on(&device).run()?;
        assert_eq!(rows, [[1, 20, 300], [4, 50, 600]]);
        let mut flat = vec![1; 6];
        columns((&mut flat, [2, 3])).on(&device).run()?;
        assert_eq!(flat, [1, 10, 100, 1, 10, 100]);
        axis!(N);
        let mut named = Tensor::<i32, (N, Fix<3>)>::filled([1, 3], 2)?;
        columns(&mut named).threads((3, 1)).on(&device).run()?;
        assert_eq!(named.to_vec()?, [2, 20, 200]);
        let mut flags = [true, false, true];
        Launch::new(&FLAGS).write(&mut flags).on(&device).run()?;
        assert_eq!(flags, [false, true, false]);
        let mut none: [f32; 0] = [];
        scale(&[] as &[f32], &mut none, 0, 1.0).on(&device).run()?;
        // SAFETY: four threads, four elements.
        unsafe { scale_unchecked(&x, &mut y, 4, 1.0).threads(4).on(&device).run()? };
        assert_eq!(y.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
        assert!(!SCALE.source_on(&device)?.is_empty());
    }
    Ok(())
}

#[test]
fn the_best_device_is_the_default() -> Result<(), slyz::Error> {
    let mut y = vec![0.0; 100_000];
    scale(&vec![1.0; 100_000], &mut y, 100_000, 5.0).run()?;
    assert!(y.iter().all(|&y| y == 5.0));
    Ok(())
}

#[test]
fn faults() {
    for device in crate::devices() {
        let mut y = [0.0; 3];
        let error = scale(&[1.0; 2], &mut y, 3, 2.0).on(&device).run().expect_err("a fault");
        let fault = error.fault().expect("a fault");
        let told = (&fault.kernel[..], &fault.memory[..], &fault.index[..], &fault.shape[..], fault.thread);
        assert_eq!(told, ("scale", "x", &[2][..], &[2][..], [2, 0, 0]), "{}", device.name());
        assert_eq!(y, [2.0, 2.0, 0.0], "all other accesses are done");
        assert!(error.to_string().contains("`x[2]` is out of bounds in thread (2, 0, 0)"), "{error}");
    }
}

#[test]
fn mistakes() {
    let mut y = [0.0; 4];
    let mut complaint = |change: fn(Launch<'_>) -> Launch<'_>| {
        change(scale(&[1.0; 4], &mut y, 4, 1.0)).run().expect_err("a mistake").to_string()
    };
    assert!(complaint(|launch| launch.grid(2)).contains(".block(..)"));
    assert!(complaint(|launch| launch.block(2)).contains(".grid(..)"));
    assert!(complaint(|launch| launch.threads(2).grid(2)).contains("twice"));
    assert!(complaint(|launch| launch.grid(1).block(0)).contains("no threads"));
    assert!(complaint(|launch| launch.grid(1).block(1 << 40)).contains("1024"));
    assert!(complaint(|launch| launch.grid(1).block(1 << 20)).contains("too large"));
    let mut cube = Tensor::<i32>::zeros([1, 2, 3]).expect("zeros");
    let error = columns(&mut cube).run().expect_err("a mistake").to_string();
    assert!(error.contains("`m`") && error.contains("3 axes"), "{error}");
    let mut short = vec![1; 5];
    let error = columns((&mut short, [2, 3])).run().expect_err("a mistake").to_string();
    assert!(error.contains("`m`") && error.contains("24 bytes"), "{error}");
    static BROKEN: EmbeddedKernel = EmbeddedKernel::new("broken", "kernel broken", &[]);
    let error = Launch::new(&BROKEN).run().expect_err("no kernel").to_string();
    assert!(error.contains("`broken`"), "{error}");
    assert!(Tensor::<u8>::zeros([usize::MAX, 2]).is_err());
    assert!(Tensor::<u8>::zeros([usize::MAX / 4]).is_err());
}

#[test]
fn threads_launch_at_once() {
    std::thread::scope(|scope| {
        for k in 0..8 {
            scope.spawn(move || {
                let mut y = vec![0.0; 1000];
                scale(&vec![1.0; 1000], &mut y, 1000, k as f32).run().expect("a result");
                assert_eq!(y, vec![k as f32; 1000]);
            });
        }
    });
}

#[test]
fn launches_are_told_to_profiles() -> Result<(), slyz::Error> {
    for device in crate::devices().into_iter().filter(|device| device.name() != "interpreter") {
        let (x, mut y) = (Tensor::<f32>::filled([1000], 1.0)?, Tensor::<f32>::zeros([1000])?);
        let (done, launches) = slyz_run::profile(|| scale(&x, &mut y, 1000, 2.0).on(&device).run());
        done?;
        assert_eq!(launches.len(), 1, "{}", device.name());
        // As the program that it is, it may have another name.
        assert!(launches[0].kernel.starts_with("scale"), "{}", launches[0].kernel);
        assert_eq!((launches[0].read, launches[0].written), (4000, 4000));
    }
    Ok(())
}
