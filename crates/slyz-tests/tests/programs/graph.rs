//! `#[graph]` as users write it: every construct that Rust spells in its own way, on every device.

use slyz::prelude::*;

type Result<T = ()> = std::result::Result<T, slyz::Error>;

#[graph]
fn relu(input: &Tensor<f32>, output: &mut Tensor<f32>) {
    let idx = thread.x;
    if idx < output.len() {
        output[idx] = max(0.0, input[idx]);
    }
}

#[graph]
mod given {
    /// A kernel, and a helper of others.
    pub fn square(x: &Tensor<f32>) -> f32 {
        let idx = thread.x;
        if idx >= x.len() {
            return -1.0;
        }
        x[idx] * x[idx]
    }

    pub fn less(x: &Tensor<i32>, y: &Tensor<i32>) -> bool {
        y[thread.y] < x[thread.x]
    }

    fn picked(x: &Tensor<f32>, at: i64) -> f32 {
        x[at]
    }

    /// Has the name of what `picked` would be, were it launched.
    pub fn picked_each(x: &Tensor<f32>, out: &mut Tensor<f32>) {
        out[thread.x] = picked(x, 0);
    }

    pub fn twice(x: &Tensor<f32>, out: &mut Tensor<f32>) {
        out[thread.x] = 2.0 * square(x);
    }
}

/// Launches that give what each thread returns.
#[test]
fn what_threads_give() -> Result {
    for device in crate::devices() {
        let squares = given::square(&[1.0, -2.0, 3.0]).threads(4).on(&device).run()?;
        assert_eq!((squares.dims(), squares.to_vec()?), (&[4][..], vec![1.0, 4.0, 9.0, -1.0]));
        let table = given::less(&[1, 5], &[0, 3, 7]).threads((2, 3)).block((2, 1)).on(&device).run()?;
        assert_eq!((table.dims(), table.to_vec()?), (&[3, 2][..], vec![true, true, false, true, false, false]));
        let mut out = [0.0; 2];
        given::twice(&[3.0, 4.0], &mut out).on(&device).run()?;
        assert_eq!(out, [18.0, 32.0]);
        given::picked_each(&[3.0, 4.0], &mut out).on(&device).run()?;
        assert_eq!(out, [3.0, 3.0]);
        assert_eq!(given::square(&[1.0]).threads(0).on(&device).run()?.len(), 0);
        let error = given::square(&[1.0]).on(&device).run().unwrap_err().to_string();
        assert!(error.contains("say how many there are with `.threads(..)`"), "{error}");
        let fault = given::less(&[1], &[0]).threads((2, 1)).on(&device).run().unwrap_err();
        assert_eq!(fault.fault().map(|fault| fault.index[0]), Some(1));
    }
    Ok(())
}

#[test]
fn every_kind_of_argument() -> Result {
    for device in crate::devices() {
        let x = Tensor::<f32>::from_vec([2, 2], vec![-1.0, 2.0, -3.0, 4.0])?;
        let mut y = Tensor::<f32>::zeros([4])?;
        relu(&x, &mut y).threads(x.len()).on(&device).run()?;
        assert_eq!(y.to_vec()?, [0.0, 2.0, 0.0, 4.0]);
        relu(&[5.0, -5.0, 5.0, 1.0], &mut y).on(&device).run()?;
        assert_eq!(y.to_vec()?, [5.0, 0.0, 5.0, 1.0]);
        let (list, mut out) = (vec![-0.5f32, 0.5], vec![9.0f32; 3]);
        relu(&list, &mut out[..2]).grid(1).block(64).on(&device).run()?;
        assert_eq!(out, [0.0, 0.5, 9.0]);
        relu(&list[..0], &mut out[..0]).on(&device).run()?;
    }
    Ok(())
}

#[graph]
mod kernels {
    /// Between two bounds.
    fn saturate(x: f32, low: f32, high: f32) -> f32 {
        if x < low {
            return low;
        }
        min(x, high)
    }

    fn double(x: f32) -> f32 {
        2.0 * x
    }

    pub fn bright(x: &Tensor<f32, 2>, out: &mut Tensor<f32, 2>, low: f32) {
        let row = thread.y;
        let col = thread.x;
        if row >= out.dim(0) || col >= out.dim(1) {
            return;
        }
        out[(row, col)] = saturate(double(x[row][col]), low, 10.0);
    }
}

#[test]
fn modules_helpers_and_axes() -> Result {
    let rows = [[1.0f32, -2.0, 3.0], [40.0, 0.25, 5.0]];
    for device in crate::devices() {
        let mut out = Tensor::<f32>::zeros([2, 3])?;
        kernels::bright(&rows, &mut out, 0.0).on(&device).run()?;
        assert_eq!(out.to_vec()?, [2.0, 0.0, 6.0, 10.0, 0.5, 10.0]);
        let mut flat = vec![0.0; 6];
        kernels::bright((&rows.as_flattened().to_vec(), [2, 3]), (&mut flat, [2, 3]), 1.0).on(&device).run()?;
        assert_eq!(flat, [2.0, 1.0, 6.0, 10.0, 1.0, 10.0]);
    }
    Ok(())
}

#[graph]
fn everything(x: &Tensor<i32>, out: &mut Tensor<i64>, sums: &mut Tensor<i32>, scale: i32, limit: u64) {
    #[constant]
    let table: [i32; 4] = [1, 10, 100, 1000];
    #[threadgroup]
    let mut part: [[i32; 4]; 2];
    fn squared(v: i64) -> i64 {
        v * v
    }
    let t = local.x;
    let mut last = 0;
    for k in (0..10).step_by(3) {
        if k == 6 {
            continue;
        }
        last += k;
    }
    let mut turns = 0u64;
    loop {
        turns += 1;
        if turns >= limit {
            break;
        }
    }
    let mut own = [0i32; 4];
    for k in 0..=3 {
        own[k] = table[k] * x[global.x];
    }
    part[0][t] = own[t];
    threadgroup.barrier();
    let mut sum = 0i32;
    let mut k = 0;
    while k < 4 {
        sum += part[0][k];
        k += 1;
    }
    atomic.add(sums[0], sum * t as i32);
    atomic.max(sums[1], bitcast::<i32>(bitcast::<f32>(sum)));
    out[global.x] = if t == 0 && last == 12 { squared(sum as i64) } else { turns as i64 + scale * -1 };
}

#[test]
fn every_construct() -> Result {
    for device in crate::devices() {
        let (mut out, mut sums) = (vec![0i64; 8], vec![0i32; 2]);
        everything(&[1, 2, 3, 4, 5, 6, 7, 8], &mut out, &mut sums, 5, 20).grid(2).block(4).on(&device).run()?;
        assert_eq!(out, [18_671_041, 15, 15, 15, 76_825_225, 15, 15, 15], "{}", device.name());
        assert_eq!(sums, [6 * (4321 + 8765), 8765], "{}", device.name());
    }
    Ok(())
}

#[graph]
fn gather(x: &Tensor<f32>, at: &Tensor<i32>, out: &mut Tensor<f32>) {
    out[thread.x] = x[at[thread.x]];
}

#[test]
fn a_fault_names_everything_and_writes_nothing_else() -> Result {
    for device in crate::devices() {
        let mut out = vec![9.0; 4];
        let error = gather(&[1.0, 2.0], &[1, 0, -3, 1], &mut out).on(&device).run().unwrap_err();
        let fault = error.fault().expect("a fault");
        assert_eq!((&fault.kernel[..], &fault.memory[..], &fault.index[..]), ("gather", "x", &[-3][..]));
        assert_eq!(fault.thread, [2, 0, 0]);
        assert_eq!(out, [2.0, 1.0, 0.0, 2.0], "{}", device.name());
    }
    Ok(())
}

#[graph(unchecked)]
fn copy(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    out[thread.x] = x[thread.x];
}

#[test]
fn unchecked() -> Result {
    for device in crate::devices() {
        let mut out = vec![0.0; 2];
        // SAFETY: both have two elements, and there are two threads.
        unsafe { copy(&[1.0, 2.0], &mut out).threads(2).on(&device).run()? };
        assert_eq!(out, [1.0, 2.0]);
        let error = copy(&[3.0], &mut out).checked().on(&device).run().unwrap_err();
        assert_eq!(error.fault().map(|fault| &fault.memory[..]), Some("x"), "{}", device.name());
    }
    Ok(())
}

#[test]
fn tensors_keep_what_their_clones_hold() -> Result {
    for device in crate::devices() {
        let mut y = Tensor::<f32>::from_vec([2], vec![-1.0, 1.0])?;
        let before = y.clone();
        relu(&before, &mut y).on(&device).run()?;
        assert_eq!((before.to_vec()?, y.to_vec()?), (vec![-1.0, 1.0], vec![0.0, 1.0]));
    }
    Ok(())
}

#[test]
fn two_threads_launch_at_once() -> Result {
    for device in crate::devices() {
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|k| {
                    let device = &device;
                    scope.spawn(move || -> Result {
                        for n in 1..20 {
                            let x: Vec<f32> = (0..n).map(|i| i as f32 - k as f32).collect();
                            let mut out = vec![0.0; n];
                            relu(&x, &mut out).on(device).run()?;
                            assert!(x.iter().zip(&out).all(|(x, y)| x.max(0.0) == *y));
                        }
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
    }
    Ok(())
}

#[test]
fn wrong_launches_say_what_to_do() -> Result {
    let mut y = Tensor::<f32>::zeros([2, 2])?;
    let text = |done: Result| done.unwrap_err().to_string();
    let told = text(kernels::bright(&Tensor::<f32>::zeros([4])?, &mut y, 0.0).run());
    assert!(told.contains("bright") && told.contains("`x`") && told.contains("2"), "{told}");
    let told = text(relu(&y.clone(), &mut y).grid(2).run());
    assert!(told.contains(".block("), "{told}");
    let told = text(relu(&y.clone(), &mut y).grid(2).block(1 << 20).run());
    assert!(told.contains("1024"), "{told}");
    let told = text(everything(&[1], &mut [0], &mut [0, 0], 1, 1).run());
    assert!(told.contains("grid"), "{told}");
    Ok(())
}
