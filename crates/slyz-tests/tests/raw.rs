//! Raw kernels on every device that they are written for, held against what they mean.

#[path = "raw/attention.rs"]
mod attention;
#[path = "programs/here.rs"]
mod here;

use here::devices;
use slyz::prelude::*;
use slyz::{Device, Error, Options, Raw};
use std::sync::Arc;

type R<T = ()> = Result<T, Error>;

axis!(N, M);

type Saxpy = fn(Exp<f32>, Arr<f32, N>, Arr<f32, N>) -> Arr<f32, N>;

const CUDA: &str = include_str!("raw/saxpy.cu");
const OPENCL: &str = include_str!("raw/saxpy.cl");
const WGSL: &str = include_str!("raw/saxpy.wgsl");
const C: &str = include_str!("raw/saxpy.c");

/// The devices here, and OpenCL also where it has no hardware of its own.
fn everywhere() -> Vec<Arc<dyn Device>> {
    let mut all = devices();
    let has_opencl = slyz_trials::Need::OpenCl.is_met(slyz_run::opencl::found().is_ok());
    if has_opencl && !all.iter().any(|device| device.name() == "opencl") {
        all.extend(slyz::device("opencl"));
    }
    all
}

fn unwritten() -> Raw<Saxpy> {
    Raw::new("saxpy").threads::<N>().extent::<N>()
}

fn means(a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>) -> Arr<f32, N> {
    x * a + y
}

/// It adds a half where nothing should: so one sees which of source and meaning has run.
fn marked(source: &str) -> String {
    source.replace("+ y[", "+ 0.5f + y[")
}

fn in_all(mark: fn(&str) -> String) -> Raw<Saxpy> {
    let kernel = unwritten().meaning(means).wgsl(mark(WGSL));
    // SAFETY: all of them look at elements below n, and write those.
    unsafe { kernel.cuda(mark(CUDA)).opencl(mark(OPENCL)).c(mark(C)) }
}

fn numbers(count: usize) -> (Vec<f32>, Vec<f32>) {
    let x = (0..count).map(|i| (i % 17) as f32).collect();
    let y = (0..count).map(|i| (i % 5) as f32 - 2.0).collect();
    (x, y)
}

#[test]
fn a_source_runs_on_its_device_and_the_meaning_elsewhere() -> R {
    let kernel = in_all(marked);
    for device in everywhere() {
        let extra = if device.name() == "interpreter" { 0.0 } else { 0.5 };
        let alone = slyz::compile_on(&device, {
            let kernel = kernel.clone();
            move |a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>| kernel.call(a, x, y)
        })?;
        for count in [0, 1, 255, 256, 257, 70_000] {
            let (x, y) = numbers(count);
            let found = alone.call(3.0, &x, &y)?.to_vec()?;
            let wanted: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 3.0 * x + y + extra).collect();
            assert_eq!(found, wanted, "{count} on {}", device.describe());
        }
    }
    Ok(())
}

/// What is before it, behind it, computed for it, and in loops around it.
#[test]
fn among_other_operations() -> R {
    fn program(kernel: &Raw<Saxpy>, x: Arr<f32, N>, y: Arr<f32, N>) -> (Arr<f32, N>, Exp<f32>, Arr<f32, N>) {
        let once = kernel.call(2.0, x + 1.0, y);
        // A scalar that the device has computed.
        let scaled = kernel.call(once.max(), once, x * y);
        let turned = iterate(3, x, |_, state: Arr<f32, N>| kernel.call(0.5, state, y) + 1.0);
        (scaled, once.sum() + scaled.sum(), turned)
    }
    let traced = |kernel: Raw<Saxpy>| move |x: Arr<f32, N>, y: Arr<f32, N>| program(&kernel, x, y);
    let interpreter = slyz::device("interpreter")?;
    let meant = slyz::compile_on(&interpreter, traced(in_all(str::to_string)))?;
    for device in everywhere() {
        let f = slyz::compile_on(&device, traced(in_all(str::to_string)))?;
        for count in [1, 1000] {
            let (x, y) = numbers(count);
            let (scaled, sum, turned) = f.call(&x, &y)?;
            let (scaled_meant, sum_meant, turned_meant) = meant.call(&x, &y)?;
            let place = device.describe();
            assert_eq!(scaled.to_vec()?, scaled_meant.to_vec()?, "{place}");
            assert_eq!(turned.to_vec()?, turned_meant.to_vec()?, "{place}");
            let (sum, sum_meant) = (sum.value()?, sum_meant.value()?);
            assert!((sum - sum_meant).abs() <= 1e-5 * sum_meant.abs(), "{sum}, not {sum_meant}: {place}");
        }
    }
    Ok(())
}

/// Threads in two dimensions, two results, and several types.
#[test]
fn shapes_and_results() -> R {
    type Both = (Arr<i32, (M, N)>, Arr<f32, (N, M)>);
    type Turned = fn(Arr<i32, (N, M)>) -> Both;
    fn means(x: Arr<i32, (N, M)>) -> Both {
        (x.transpose(), x.map(|x| x.cast::<f32>() * 0.5))
    }
    let kernel = Raw::<Turned>::new("turned").threads::<(N, M)>().extent::<N>().extent::<M>().block([16, 16, 1]);
    let kernel = kernel.meaning(means).wgsl(include_str!("raw/turned.wgsl"));
    // SAFETY: they look at places inside, and write all of them.
    let kernel = unsafe {
        let kernel = kernel.cuda(include_str!("raw/turned.cu")).opencl(include_str!("raw/turned.cl"));
        kernel.c(include_str!("raw/turned.c"))
    };
    for device in everywhere() {
        let kernel = kernel.clone();
        let f = slyz::compile_on(&device, move |x: Arr<i32, (N, M)>| kernel.call(x))?;
        for (n, m) in [(1, 1), (3, 50), (33, 17)] {
            let x = Tensor::<i32, (N, M)>::from_vec([n, m], (0..(n * m) as i32).collect())?;
            let (turned, halves) = f.call(&x)?;
            let wanted: Vec<i32> = (0..m * n).map(|k| ((k % n) * m + k / n) as i32).collect();
            assert_eq!(turned.to_vec()?, wanted, "{}", device.describe());
            let wanted: Vec<f32> = (0..n * m).map(|k| k as f32 * 0.5).collect();
            assert_eq!(halves.to_vec()?, wanted, "{}", device.describe());
        }
    }
    Ok(())
}

/// What lies otherwise is put row by row in front of the source, which runs.
#[test]
fn views_are_passed_to_sources() -> R {
    let kernel = in_all(marked);
    for device in everywhere() {
        let extra = if device.name() == "interpreter" { 0.0 } else { 0.5 };
        let kernel = kernel.clone();
        let f = slyz::compile_on(&device, move |a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>| kernel.call(a, x, y))?;
        let matrix = Tensor::<f32, (N, M)>::from_vec([3, 4], (0..12).map(|k| k as f32).collect())?;
        let (column, row) = (matrix.view::<2>()?.select::<1>(1, 1)?, matrix.view::<2>()?.select::<1>(0, 2)?);
        let backwards = row.slice(0, 0..3)?.flip(0)?;
        let found = f.call(10.0, column, backwards)?.to_vec()?;
        let wanted = [1.0 * 10.0 + 10.0, 5.0 * 10.0 + 9.0, 9.0 * 10.0 + 8.0].map(|sum| sum + extra);
        assert_eq!(found, wanted, "{}", device.describe());
    }
    Ok(())
}

#[test]
fn threads_call_at_once() -> R {
    let f = in_all(str::to_string).compile()?;
    let (x, y) = numbers(5000);
    let wanted = f.call(2.0, &x, &y)?.to_vec()?;
    std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| f.call(2.0, &x, &y)?.to_vec())).collect();
        for call in calls {
            assert_eq!(call.join().expect("no panic")?, wanted);
        }
        Ok(())
    })
}

/// What is told of it is what is known.
#[test]
fn explanations() -> R {
    let kernel = in_all(str::to_string);
    let f = slyz::compile_on(&slyz::device("cpu")?, move |x: Arr<f32, N>, y: Arr<f32, N>| {
        kernel.call(2.0, x + 1.0, y).map(|z| -z)
    })?;
    let told = f.explain().to_string();
    if f.device() == "cpu" {
        says(
            &told,
            &["3 launches", "3 arrays written, 3 left", "a raw kernel in C: what it computes is not known here"],
        );
    }
    Ok(())
}

fn error_on(device: &str, kernel: Raw<Saxpy>) -> R<String> {
    let device = slyz::device(device)?;
    let f = move |a: Exp<f32>, x: Arr<f32, N>, y: Arr<f32, N>| kernel.call(a, x, y);
    let (x, y) = numbers(3);
    let ran = slyz::compile_with(f, &Options::new().device(&device)).and_then(|f| f.call(1.0, &x, &y)?.to_vec());
    Ok(ran.expect_err("that cannot run").to_string())
}

#[track_caller]
fn says(error: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(error.contains(wanted), "`{wanted}` is not in:\n{error}");
    }
}

#[test]
fn mistakes_are_told() -> R {
    // SAFETY: none of them runs.
    let [short, swapped, nameless, broken] = unsafe {
        [
            unwritten().c("void saxpy(const float *x, float *result) {}"),
            unwritten().c(C.replace("const float *x", "const double *x")),
            unwritten().c(C).entry("axpy").c(C),
            unwritten().c(C.replace("result[i] =", "result[i] == =")),
        ]
    };
    says(&error_on("cpu", short)?, &["raw kernel `saxpy`", "takes 2 parameters, and is passed 7", "raw.rs"]);
    says(&error_on("cpu", swapped)?, &["parameter 1", "`const double *x`", "a pointer to f32 that are read"]);
    says(&error_on("cpu", nameless)?, &["no function `axpy`"]);
    says(&error_on("cpu", unwritten())?, &["`saxpy` has no meaning, and no source"]);
    says(&error_on("interpreter", unwritten().wgsl(WGSL))?, &["`saxpy` has no meaning", ".meaning(..)"]);
    says(&error_on("cpu", unwritten().wgsl(WGSL))?, &["not written in C", "meaning"]);
    if slyz_trials::has_cxx() {
        says(&error_on("cpu", broken)?, &["saxpy.c:5"]);
    }
    if devices().iter().any(|device| device.name() == "wgpu") {
        let broken = unwritten().wgsl(WGSL.replace("call.n", "call.m"));
        says(&error_on("wgpu", broken)?, &["saxpy.wgsl:13", "call.m"]);
        let small = unwritten().block([64, 1, 1]).wgsl(WGSL);
        says(&error_on("wgpu", small)?, &["@workgroup_size", "[64, 1, 1]", ".block([256, 1, 1])"]);
        let unbound = unwritten().wgsl(WGSL.replace("@binding(3)", "@binding(5)"));
        says(&error_on("wgpu", unbound)?, &["`call` is at @group(0) @binding(5)"]);
    }
    Ok(())
}

/// Anybody can write a kernel as text: nothing of a source in it runs.
#[test]
fn kernels_from_text_bring_no_sources() -> R {
    let text = r#"kernel k<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z>() grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
        raw extents [] c k "void k(long long begin, long long end) { for (;;); }" }"#;
    let kernel = slyz_sir::text::parse_kernel(text).expect("it is SIR");
    let template = Arc::new(slyz_sir::launch::Template { kernel, constants: vec![] });
    for device in everywhere() {
        let error = device.prepare(&template).map(drop).expect_err("a source").to_string();
        says(&error, &["called from programs", "slyz::Raw"]);
    }
    Ok(())
}

/// What Rust and reads rely on must be known: flags are 0 or 1, positions are inside.
#[test]
fn results_that_nobody_has_looked_at() -> R {
    type Flags = fn(Arr<f32, N>) -> Arr<bool, N>;
    let flags = Raw::<Flags>::new("flags").threads::<N>().meaning(|x: Arr<f32, N>| x.map(|x| x.gt(0.0)));
    says(&flags.compile().expect_err("flags").to_string(), &["gives flags", "Arr<u8, S>"]);
    type Places = fn(Arr<f32, N>) -> Arr<At<N>, N>;
    let places = Raw::<Places>::new("places").threads::<N>();
    says(&places.compile().expect_err("positions").to_string(), &["gives positions"]);
    Ok(())
}

/// It is launched by the host: nobody can call it for an element.
#[test]
fn not_inside_of_elements() -> R {
    type Twice = fn(Arr<f32, M>) -> Arr<f32, M>;
    let kernel = Raw::<Twice>::new("twice").threads::<M>().meaning(|x: Arr<f32, M>| x * 2.0);
    let interpreter = slyz::device("interpreter")?;
    let rows = slyz::compile_on(&interpreter, move |x: Arr<f32, (N, M)>| -> Arr<f32, (N, M)> {
        stack(|i: Idx<N>| kernel.call(x.row(i)))
    });
    says(&rows.expect_err("not for elements").to_string(), &["`twice` is launched by the host"]);
    Ok(())
}
