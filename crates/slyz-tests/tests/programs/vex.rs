//! Kernels of `.vex` files, built into the program by `vex!` and read while it runs, on every device.

use slyz::f16;
use slyz::graph::{Kernels, VexError};
use slyz::prelude::*;

type Result<T = ()> = std::result::Result<T, slyz::Error>;

slyz::vex!("tests/kernels/many.vex");

mod inner {
    slyz::vex!(
        /// All of it.
        pub mod many = "tests/kernels/many.vex"
    );
}

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/many.vex");

#[test]
fn functions_of_a_file() -> Result {
    for device in crate::devices() {
        let mut y = vec![1.0f32; 4];
        relu(&[-1.0, 2.0, 30.0], &mut y[..3]).threads(3).on(&device).run()?;
        assert_eq!(y, [0.0, 2.0, 10.0, 1.0]);
        let m = [[1, 2, 3], [4, 5, 6]];
        let mut out = Tensor::<i32>::zeros([2, 3])?;
        inner::many::scaledRows(10, &m, &mut out, true).on(&device).run()?;
        assert_eq!(out.to_vec()?, [-10, -20, -30, -40, -50, -60]);
    }
    let mut half = [f16::ZERO];
    r#match(&[f16::ONE], &mut half).run()?;
    assert_eq!(half, [f16::from_f32(2.0)]);
    assert!(relu(&[1.0], &mut [0.0]).kernel().sir().starts_with("kernel relu<"));
    Ok(())
}

#[test]
fn the_same_read_at_run_time() -> Result {
    let kernels = Kernels::load(FILE)?;
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
    assert_eq!(names, ["relu", "scaledRows", "match"]);
    assert_eq!(kernels.warnings(), "");
    let relu = kernels.get("relu")?;
    assert_eq!(relu.signature(), "relu(input: Tensor<f32>, output: Tensor<f32>!)");
    for device in crate::devices() {
        let x = Tensor::<f32>::from_vec([3], vec![-1.0, 2.0, 30.0])?;
        let mut y = Tensor::<f32>::zeros([3])?;
        relu.launch().arg(&x).arg(&mut y).threads(x.len()).on(&device).run()?;
        assert_eq!(y.to_vec()?, [0.0, 2.0, 10.0]);
        let list = vec![1.0f32, -1.0];
        let mut out = [9.0f32; 2];
        relu.launch().arg(&list).arg(&mut out).grid(1).block(32).on(&device).run()?;
        assert_eq!(out, [1.0, 0.0]);
        let mut flat = vec![0i32; 4];
        let rows = vec![[1, 2], [3, 4]];
        let launch = kernels.get("scaledRows")?.launch();
        launch.arg(3i32).arg(&rows).arg((&mut flat, [2, 2])).arg(false).on(&device).run()?;
        assert_eq!(flat, [3, 6, 9, 12]);
        let error = relu.launch().arg(&list[..1]).arg(&mut out).on(&device).run().unwrap_err();
        assert_eq!(error.fault().map(|fault| fault.memory.as_str()), Some("input"));
    }
    assert!(relu.source_on(&slyz::device("cpu")?)?.contains("relu"));
    Ok(())
}

#[test]
fn what_does_not_fit_is_told() -> Result {
    let kernels = Kernels::load(FILE)?;
    let relu = kernels.get("relu")?;
    let rows = kernels.get("scaledRows")?;
    let x = [1.0f32];
    let mut y = vec![0.0f32];
    let said = |result: Result| result.unwrap_err().to_string();
    let prefix = "of `relu(input: Tensor<f32>, output: Tensor<f32>!)`: ";
    assert_eq!(
        said(relu.launch().arg(&x).arg(&y).run()),
        format!("argument 2 {prefix}`output` is written; pass it with `&mut`")
    );
    assert_eq!(
        said(relu.launch().arg(&mut y).run()),
        format!("argument 1 {prefix}`input` is only read; pass it with `&`")
    );
    assert_eq!(
        said(relu.launch().arg(&[1i32]).arg(&mut y).run()),
        format!("argument 1 {prefix}the elements of `input` are f32, and these are i32; pass elements of f32")
    );
    assert_eq!(
        said(relu.launch().arg(1.0f32).arg(&mut y).run()),
        format!("argument 1 {prefix}`input` is a tensor, and this is one f32; pass a tensor, vector or slice")
    );
    assert_eq!(
        said(relu.launch().arg(&x).run()),
        "`relu(input: Tensor<f32>, output: Tensor<f32>!)` takes 2 arguments, found 1; pass one for each parameter, in order"
    );
    let error = relu.launch().arg(&x).arg(&mut y).arg(1i32).run().unwrap_err();
    assert!(matches!(error, slyz::Error::Vex(VexError::Count { wanted: 2, found: 3, .. })));
    assert!(
        said(rows.launch().arg(&x).run()).ends_with("`factor` is one i32, and this is a tensor; pass the value itself")
    );
    assert!(said(rows.launch().arg(1i64).run()).ends_with("`factor` is i32, and this is i64; pass a value of i32"));
    assert!(
        said(rows.launch().arg(1i32).arg(&[1i32]).run())
            .ends_with("`m` has 2 axes, and this has 1; pass a `Tensor` of 2 axes, or `(&data, [..])`")
    );
    let unknown = kernels.get("total").unwrap_err().to_string();
    assert!(unknown.starts_with("there is no kernel `total`; there are `relu(input: Tensor<f32>,"), "{unknown}");
    Ok(())
}

#[test]
fn files_that_are_wrong() {
    let wrong = Kernels::parse("graph fn k(x: Tensor<f32>!) {\n    x[thread.x] = 1\n}").unwrap_err();
    assert!(wrong.to_string().contains("--> text.vex:2:19"), "{wrong}");
    let missing = Kernels::load("nowhere.vex").unwrap_err();
    assert!(matches!(missing, slyz::Error::Vex(VexError::Unreadable { .. })), "{missing}");
    let nothing = Kernels::parse("print(1)").and_then(|kernels| kernels.get("k").map(drop)).unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "there is no kernel `k`; there are none: a kernel is a `graph fn` without a result"
    );
}

#[graph]
fn tuples(x: &Tensor<f32>, out: &mut Tensor<f32>) {
    let i = thread.x;
    let (mut a, (b, _)): (f32, (_, i32)) = (x[i], (2.0, 3));
    let mut c = 1.0;
    let _ = a + b;
    for _ in 0..3 {
        (a, c) = (c, a + b);
    }
    let (low, high) = if a < c { (a, c) } else { (c, a) };
    (out[2 * i], out[2 * i + 1]) = (high, low);
}

#[test]
fn tuples_in_rust() -> Result {
    let host = |mut a: f32| {
        let mut c = 1.0;
        for _ in 0..3 {
            (a, c) = (c, a + 2.0);
        }
        [a.max(c), a.min(c)]
    };
    for device in crate::devices() {
        let mut out = vec![0.0f32; 4];
        tuples(&[5.0, -7.0], &mut out).threads(2).on(&device).run()?;
        assert_eq!(out, [host(5.0), host(-7.0)].concat());
    }
    Ok(())
}
