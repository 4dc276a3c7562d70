//! Kernels that people write, launched on every device: arguments that do not fit, grids past the limits, arrays that stay where they are, many
//! callers. What launches compute is in `tests/corpus/launch_*.sir`. It needs an adapter; lavapipe will do.

mod devices;

use slyz_run::{Buffer, Device, Error, Interpreter, Launch, LaunchArray, Threads};
use slyz_sir::launch::Template;
use slyz_sir::text::parse_kernel;
use slyz_sir::types::{Scalar, Ty};
use std::sync::{Arc, OnceLock};

/// A device under test.
struct Tested {
    name: &'static str,
    device: Box<dyn Device>,
}

/// Made once, so that what they compile is kept.
fn all() -> &'static [Tested] {
    static ALL: OnceLock<Vec<Tested>> = OnceLock::new();
    ALL.get_or_init(make)
}

fn make() -> Vec<Tested> {
    let mut all = vec![
        Tested { name: "interpreter", device: Box::new(Interpreter) },
        Tested { name: "cpu", device: Box::new(devices::narrow()) },
        Tested { name: "cpu, wide", device: Box::new(devices::wide()) },
    ];
    all.extend(devices::gpus().into_iter().map(|gpu| Tested { name: gpu.name, device: gpu.device }));
    all
}

const HEAD: &str = "grid_x, grid_y, grid_z, threads_x, threads_y, threads_z";

/// A kernel: its sizes behind those of the launch, its scalars, and its memories and statements.
fn template(name: &str, sizes: &str, scalars: &str, body: &str) -> Arc<Template> {
    with_constants(name, sizes, scalars, body, vec![])
}

fn with_constants(name: &str, sizes: &str, scalars: &str, body: &str, constants: Vec<Vec<u64>>) -> Arc<Template> {
    let comma = if sizes.is_empty() { "" } else { ", " };
    let text = format!(
        "kernel {name}<{HEAD}{comma}{sizes}>({scalars}) grid [grid_x, grid_y, grid_z] block [1, 1, 1] {{ {body} }}"
    );
    let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Arc::new(Template { kernel, constants })
}

/// An array of a test, in the memory of the host.
#[derive(Clone, Debug, PartialEq)]
struct Host {
    ty: Ty,
    shape: Vec<u64>,
    bytes: Vec<u8>,
    written: bool,
}

fn host<T: bytemuck::NoUninit>(ty: Ty, shape: &[u64], data: &[T], written: bool) -> Host {
    Host { ty, shape: shape.to_vec(), bytes: bytemuck::cast_slice(data).to_vec(), written }
}

fn input(data: &[f32]) -> Host {
    host(Ty::F32, &[data.len() as u64], data, false)
}

fn output(data: &[f32]) -> Host {
    host(Ty::F32, &[data.len() as u64], data, true)
}

/// The arrays after a launch.
fn launch(
    device: &dyn Device,
    template: &Arc<Template>,
    threads: Threads,
    arrays: &[Host],
    scalars: &[Scalar],
    unchecked: bool,
) -> (Result<(), Error>, Vec<Host>) {
    let mut buffers: Vec<Buffer> = arrays.iter().map(|a| Buffer::copy_of(&a.bytes).expect("memory")).collect();
    let memories = buffers.iter_mut().zip(arrays).map(|(buffer, array)| {
        let (ty, shape) = (array.ty, array.shape.clone());
        match array.written {
            true => LaunchArray::Write { ty, shape, data: buffer },
            false => LaunchArray::Read { ty, shape, data: slyz_run::ArrayData::Buffer(buffer) },
        }
    });
    let (memories, scalars) = (memories.collect(), scalars.to_vec());
    let launcher = device.prepare(template).unwrap_or_else(|error| panic!("{}: {error}", template.kernel.name));
    let launch = Launch { threads, memories, scalars };
    let done = match unchecked {
        false => launcher.launch(launch),
        // SAFETY: the kernels of these tests stay inside their memories in every launch that is made unchecked.
        true => unsafe { launcher.launch_unchecked(launch) },
    };
    let after = buffers.iter().zip(arrays);
    let after = after.map(|(b, a)| Host { bytes: b.bytes().expect("the data").to_vec(), ..a.clone() }).collect();
    (done, after)
}

/// Launches on every device, checked and unchecked, and gives what all of them agree on.
fn everywhere(template: &Arc<Template>, threads: Threads, arrays: &[Host], scalars: &[Scalar]) -> Vec<Host> {
    let (done, expected) = launch(&Interpreter, template, threads, arrays, scalars, false);
    done.unwrap_or_else(|error| panic!("{}: {error}", template.kernel.name));
    for Tested { name, device } in all() {
        for unchecked in [false, true] {
            let (done, found) = launch(&**device, template, threads, arrays, scalars, unchecked);
            match done {
                Ok(()) => assert_eq!(found, expected, "{} on {name}, unchecked: {unchecked}", template.kernel.name),
                Err(error) if *name == devices::PLAIN && lacks(&error) => {}
                Err(error) => panic!("{} on {name}: {error}", template.kernel.name),
            }
        }
    }
    expected
}

/// Is it what a GPU without optional features may say?
fn lacks(error: &Error) -> bool {
    error.to_string().contains("which this adapter does not have")
}

/// Launches on every device, all of which have the same complaint.
fn fails(template: &Arc<Template>, threads: Threads, arrays: &[Host], scalars: &[Scalar]) -> (Error, Vec<Host>) {
    let (expected, after) = launch(&Interpreter, template, threads, arrays, scalars, false);
    let expected = expected.expect_err("a failure");
    for Tested { name, device } in all() {
        let (done, found) = launch(&**device, template, threads, arrays, scalars, false);
        let error = done.expect_err("a failure");
        match (&expected, &error) {
            (Error::Fault(expected), Error::Fault(error)) => {
                assert_eq!((&expected.kernel, &expected.memory), (&error.kernel, &error.memory), "{name}");
            }
            _ => assert_eq!(error.to_string(), expected.to_string(), "{name}"),
        }
        assert_eq!(found, after, "{name}");
    }
    (expected, after)
}

fn floats(host: &Host) -> Vec<f32> {
    bytemuck::pod_collect_to_vec(&host.bytes)
}

fn ints(host: &Host) -> Vec<i32> {
    bytemuck::pod_collect_to_vec(&host.bytes)
}

fn saxpy() -> Arc<Template> {
    template(
        "saxpy",
        "x_len, y_len",
        "%a: f32",
        "global read x: f32[x_len]
         global readwrite y: f32[y_len]
         %i: i64 = global.x
         %n: i64 = extent y_len
         %in: bool = lt %i, %n
         if %in {
           %okx: bool = check x[%i]
           if %okx {
             %p: f32 = load x[%i]
             %oky: bool = check y[%i]
             if %oky {
               %q: f32 = load y[%i]
               %m: f32 = mul %a, %p
               %r: f32 = add %m, %q
               store y[%i], %r
             } else {}
           } else {}
         } else {}",
    )
}

#[test]
fn arguments_that_do_not_fit() {
    let template = saxpy();
    let good = || [input(&[1.0; 4]), output(&[0.0; 4])];
    let one = [Scalar::f32(1.0)];
    let complaint = |arrays: &[Host], scalars: &[Scalar], threads: Threads| {
        let (error, after) = fails(&template, threads, arrays, scalars);
        assert_eq!(after, arrays);
        error.to_string()
    };
    let text = complaint(&good()[..1], &one, Threads::Inferred);
    assert!(text.contains("saxpy") && text.contains("2 arguments, not 1"), "{text}");
    let text = complaint(&good(), &[], Threads::Inferred);
    assert!(text.contains("1 arguments, not 0"), "{text}");
    let text = complaint(&good(), &[Scalar::i64(1)], Threads::Inferred);
    assert!(text.contains("scalar 1") && text.contains("f32"), "{text}");
    let [x, y] = good();
    let text = complaint(&[host(Ty::I32, &[4], &[0i32; 4], false), y.clone()], &one, Threads::Inferred);
    assert!(text.contains("`x`") && text.contains("i32"), "{text}");
    let text = complaint(&[Host { shape: vec![5], ..x.clone() }, y.clone()], &one, Threads::Inferred);
    assert!(text.contains("20 bytes"), "{text}");
    let text = complaint(&[x.clone(), Host { written: false, ..y.clone() }], &one, Threads::Inferred);
    assert!(text.contains("`y`") && text.contains("&mut"), "{text}");
    let text = complaint(&good(), &one, Threads::Exact([1 << 62, 8, 1]));
    assert!(text.contains("threads") && text.contains("2^48"), "{text}");
    let text = complaint(&good(), &one, Threads::Blocks { grid: [1, 1, 1], block: [0, 1, 1] });
    assert!(text.contains("no threads"), "{text}");
    // Any shape does for a parameter over all elements, and bools are looked at.
    let square = [Host { shape: vec![2, 2], ..x }, Host { shape: vec![4, 1, 1], ..y }];
    assert_eq!(floats(&everywhere(&template, Threads::Inferred, &square, &one)[1]), [1.0; 4]);
}

#[test]
fn blocks_past_the_device() {
    let template = saxpy();
    let arrays = [input(&[1.0; 4]), output(&[0.0; 4])];
    for Tested { name, device } in all() {
        let threads = Threads::Blocks { grid: [1, 1, 1], block: [1 << 20, 1, 1] };
        let (done, after) = launch(&**device, &template, threads, &arrays, &[Scalar::f32(1.0)], false);
        let error = done.expect_err("too large");
        assert!(matches!(error, Error::TooLarge { .. }), "{name}: {error}");
        assert_eq!(after, arrays);
    }
}

/// What the interpreter would take too long for: grids that a GPU does not have are laid out in another way.
#[test]
fn grids_past_the_limits() {
    let template = template(
        "place",
        "out_0, out_1",
        "",
        "global readwrite out: i32[out_0, out_1]
         %x: i64 = global.x
         %y: i64 = global.y
         %ok: bool = check out[%y, %x]
         if %ok {
           %w: i64 = extent out_1
           %r: i64 = mul %y, %w
           %p: i64 = add %r, %x
           %v: i32 = cast %p
           store out[%y, %x], %v
         } else {}",
    );
    let (rows, columns) = (1_200_000u64, 2u64);
    let arrays = [host(Ty::I32, &[rows, columns], &vec![-1i32; (rows * columns) as usize], true)];
    for Tested { name, device } in all().iter().filter(|tested| tested.name != "interpreter") {
        let (done, found) = launch(&**device, &template, Threads::Inferred, &arrays, &[], false);
        match done {
            Ok(()) => assert!(ints(&found[0]).into_iter().eq(0..(rows * columns) as i32), "{name}"),
            Err(error) if *name == devices::PLAIN && lacks(&error) => {}
            Err(error) => panic!("{name}: {error}"),
        }
    }
    // Blocks that somebody asks for are kept where they can be.
    let threads = Threads::InBlocks { threads: [columns, rows, 1], block: [2, 2, 1] };
    let gpus = || all().iter().filter(|tested| tested.name.starts_with("wgpu"));
    for Tested { name, device } in gpus() {
        let (done, _) = launch(&**device, &template, threads, &arrays, &[], true);
        assert!(matches!(done, Err(Error::TooLarge { .. })), "{name}");
    }
    // In one dimension they are counted over two.
    let (n, saxpy) = (70_001usize, saxpy());
    let threads = Threads::InBlocks { threads: [n as u64, 1, 1], block: [1, 1, 1] };
    for short in [0, 1] {
        let arrays = [input(&vec![1.0; n - short]), output(&vec![2.0; n])];
        for Tested { name, device } in all() {
            let (done, found) = launch(&**device, &saxpy, threads, &arrays, &[Scalar::f32(1.0)], false);
            match done {
                Ok(()) => assert!(short == 0 && floats(&found[1]) == vec![3.0; n], "{name}"),
                Err(Error::Fault(fault)) => {
                    assert_eq!((fault.index[0] as u64, fault.thread), (n as u64 - 1, [n as u64 - 1, 0, 0]), "{name}");
                    assert!(floats(&found[1])[..n - 1].iter().all(|&y| y == 3.0), "{name}");
                }
                Err(error) if *name == devices::PLAIN && lacks(&error) => {}
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
}

#[cfg(feature = "wgpu")]
mod on_a_gpu {
    use super::*;
    use slyz_run::ArrayData;
    use slyz_run::auto::{Auto, Measured};
    use slyz_run::wgpu::Wgpu;

    fn write(data: &mut Buffer) -> LaunchArray<'_> {
        LaunchArray::Write { ty: Ty::F32, shape: vec![data.len() as u64 / 4], data }
    }

    fn read(data: &Buffer) -> LaunchArray<'_> {
        LaunchArray::Read { ty: Ty::F32, shape: vec![data.len() as u64 / 4], data: ArrayData::Buffer(data) }
    }

    fn saxpy_on(device: &dyn Device, x: &Buffer, y: &mut Buffer) -> Result<(), Error> {
        let (memories, scalars) = (vec![read(x), write(y)], vec![Scalar::f32(1.0)]);
        device.prepare(&saxpy())?.launch(Launch { threads: Threads::Inferred, memories, scalars })
    }

    fn ones(n: usize) -> Buffer {
        Buffer::copy_of(bytemuck::cast_slice(&vec![1f32; n])).expect("memory")
    }

    #[test]
    fn arrays_stay_there() {
        if !devices::has_gpu() {
            return;
        }
        let device = Wgpu::new(std::env::var("SLYZ_ADAPTER").ok().as_deref());
        let (x, mut y) = (device.upload(ArrayData::Buffer(&ones(1000))).expect("an upload"), ones(1000));
        saxpy_on(&device, &x, &mut y).expect("done");
        assert_eq!(y.device(), Some("wgpu"));
        let before = device.memory();
        for _ in 0..20 {
            saxpy_on(&device, &x, &mut y).expect("done");
        }
        let after = device.memory();
        assert_eq!((before.live_bytes, before.fresh), (after.live_bytes, after.fresh), "written in place");
        assert_eq!(y.as_slice::<f32>(), Some(&[22.0; 1000][..]));
        assert_eq!(x.as_slice::<f32>(), Some(&[1.0; 1000][..]));
        // A GPU that is lost is an error, and is opened again for the next kernel.
        let (launcher, scalars, mut fresh) =
            (device.prepare(&saxpy()).expect("a launcher"), vec![Scalar::f32(1.0)], ones(3));
        device.lose();
        let memories = vec![read(&x), write(&mut fresh)];
        let lost = launcher.launch(Launch { threads: Threads::Inferred, memories, scalars });
        assert!(matches!(lost, Err(Error::DeviceLost { .. })));
        saxpy_on(&device, &ones(3), &mut fresh).expect("done");
        assert_eq!(fresh.as_slice::<f32>(), Some(&[2.0; 3][..]));
    }

    #[test]
    fn arrays_past_a_binding_are_refused() {
        if !devices::has_gpu() {
            return;
        }
        let device = Wgpu::with_window(std::env::var("SLYZ_ADAPTER").ok().as_deref(), 1024);
        let mut y = ones(257);
        let error = saxpy_on(&device, &ones(257), &mut y).expect_err("too large");
        assert!(matches!(&error, Error::TooLarge { .. }) && error.to_string().contains("`x`"), "{error}");
        assert!(y.is_host());
        saxpy_on(&device, &ones(256), &mut ones(256)).expect("done");
    }

    #[test]
    fn the_choice_follows_the_arrays() {
        if !devices::has_gpu() {
            return;
        }
        let gpu: Arc<dyn Device> = Arc::new(Wgpu::new(std::env::var("SLYZ_ADAPTER").ok().as_deref()));
        let measured = Measured {
            gpu_call: 1e-4,
            upload: 1e9,
            download: 1e9,
            gpu_operators: 1e13,
            cpu_call: 1e-6,
            cpu_bytes: 2e10,
            cpu_operators: 1e11,
        };
        let auto = Auto::between(Arc::new(devices::narrow()), gpu.clone(), Some(measured)).expect("two devices");
        let mut host = ones(100_000);
        saxpy_on(&auto, &ones(100_000), &mut host).expect("done");
        assert!(host.is_host(), "a sum is not worth the way");
        let mut there = gpu.upload(ArrayData::Buffer(&host)).expect("an upload");
        saxpy_on(&auto, &ones(100_000), &mut there).expect("done");
        assert_eq!(there.device(), Some("wgpu"));
        saxpy_on(&auto, &there, &mut host).expect("done");
        assert_eq!(host.device(), Some("wgpu"), "half of it is there");
        assert_eq!(
            (host.as_slice::<f32>().map(|y| y[7]), there.as_slice::<f32>().map(|y| y[7])),
            (Some(5.0), Some(3.0))
        );
        // What a GPU does not have is left to the CPU.
        let mut there = gpu.upload(ArrayData::Buffer(&ones(4))).expect("an upload");
        let (memories, scalars) = (vec![read(&host), write(&mut there)], vec![Scalar::f32(1.0)]);
        let threads = Threads::Blocks { grid: [1, 1, 1], block: [1 << 20, 1, 1] };
        let launcher = auto.prepare(&saxpy()).expect("a launcher");
        let done = launcher.launch(Launch { threads, memories, scalars });
        assert!(matches!(done, Err(Error::TooLarge { .. })));
        assert_eq!(launcher.device(), "auto");
    }
}

#[test]
fn templates_that_are_wrong() {
    let two = template("two", "n", "", "global read x: f32[n] global readwrite y: f32[n]");
    let open = template("open", "n, m", "", "global readwrite y: f32[n]");
    let launch_size = template("threads", "", "", "global readwrite y: f32[threads_x]");
    let constant = with_constants("constant", "", "", "constant c: f32[3]", vec![vec![0, 0]]);
    for (template, why) in [
        (two, "size of its own"),
        (open, "no parameter tells"),
        (launch_size, "size of its own"),
        (constant, "lengths"),
    ] {
        for Tested { name, device } in all() {
            let error = device.prepare(&template).err().unwrap_or_else(|| panic!("{name} takes it")).to_string();
            assert!(error.contains(why), "{name}: {error}");
        }
    }
}

#[test]
fn many_threads_launch_at_once() {
    for Tested { name, device } in all() {
        let (template, device) = (saxpy(), &**device);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let template = &template;
                scope.spawn(move || {
                    for turn in 0..5 {
                        let n = 100 + 50 * turn + thread;
                        let arrays = [input(&vec![1.0; n]), output(&vec![thread as f32; n])];
                        let (done, after) =
                            launch(device, template, Threads::Inferred, &arrays, &[Scalar::f32(turn as f32)], false);
                        done.unwrap_or_else(|error| panic!("{name}: {error}"));
                        assert_eq!(floats(&after[1]), vec![(turn + thread) as f32; n], "{name}");
                    }
                });
            }
        });
    }
}

/// What others see of an array is not written, wherever it is.
#[test]
fn writers_copy_what_is_shared() {
    let template = saxpy();
    for Tested { name, device } in all() {
        let launcher = device.prepare(&template).expect("a launcher");
        let mut y = Buffer::copy_of(bytemuck::cast_slice(&[0f32; 100])).expect("memory");
        let mut seen = vec![];
        for turn in 0..5 {
            seen.push(y.clone());
            let add = |y: &mut Buffer, x: &Buffer| {
                let x = LaunchArray::Read { ty: Ty::F32, shape: vec![100], data: slyz_run::ArrayData::Buffer(x) };
                let y = LaunchArray::Write { ty: Ty::F32, shape: vec![100], data: y };
                let (memories, scalars) = (vec![x, y], vec![Scalar::f32(1.0)]);
                launcher.launch(Launch { threads: Threads::Inferred, memories, scalars }).expect("done");
            };
            let ones = Buffer::copy_of(bytemuck::cast_slice(&[1f32; 100])).expect("memory");
            add(&mut y, &ones);
            if turn % 2 == 0 {
                // A copy on the host does not go stale.
                assert_eq!(y.as_slice::<f32>().map(|y| y[99]), Some(turn as f32 + 1.0), "{name}");
            }
            // The same memory, read and written.
            let same = y.clone();
            if turn == 3 {
                add(&mut y, &same);
                assert_eq!(
                    (y.as_slice::<f32>().map(|y| y[5]), same.as_slice::<f32>().map(|y| y[5])),
                    (Some(8.0), Some(4.0))
                );
                y = same;
            }
        }
        for (turn, seen) in seen.iter().enumerate() {
            assert_eq!(seen.as_slice::<f32>(), Some(&[turn as f32; 100][..]), "{name}");
        }
        assert_eq!(y.as_slice::<f32>(), Some(&[5.0; 100][..]), "{name}");
    }
}
