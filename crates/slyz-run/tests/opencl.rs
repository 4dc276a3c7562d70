//! The OpenCL device beyond the corpus: many callers at once, arrays that stay, clocks, what is missing.
#![cfg(feature = "opencl")]

mod devices;

use slyz_run::opencl::{OpenCl, found};
use slyz_run::{Argument, ArrayData, Clock, Device, Error};
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;

type R = Result<(), Box<dyn std::error::Error>>;

const SCALED: &str = "program scaled<N>(%x: f32[N], %a: f32) -> (f32[N], f32) {
    %zero: f32 = const 0.0
    %y: f32[N] = tabulate [N] |%i: i64| { %b: f32 = at %x[%i]  %c: f32 = mul %a, %b  yield %c }
    %sum: f32 = fold [N] |%j: i64| { %d: f32 = at %y[%j]  yield %d }
      with commutative (%zero) |%l: f32, %r: f32| { %s: f32 = add %l, %r  yield %s }
    return %y, %sum }";

/// Calls with whole numbers, whose sums are exact.
fn called(device: &OpenCl, length: u64, factor: f32) -> Result<f32, Error> {
    let program = parse_program(SCALED).expect("the text of a program");
    let bytes: Vec<u8> = (0..length).flat_map(|n| ((n % 16) as f32).to_le_bytes()).collect();
    let there = device.upload(ArrayData::Host(&bytes))?;
    let shape = [length];
    let array = Argument::Array { ty: Ty::F32, shape: (&shape[..]).into(), data: ArrayData::Buffer(&there) };
    let factor = slyz_sir::types::Scalar::f32(factor);
    let results = device.compile(&program)?.run(&[Some(length)], &[array, Argument::Scalar(factor)])?;
    assert_eq!(results[0].data.bytes()?.len(), 4 * length as usize);
    Ok(f32::from_le_bytes(results[1].data.bytes()?[..4].try_into().expect("four bytes")))
}

#[test]
fn many_callers_at_once() -> R {
    if !devices::has_opencl() {
        return Ok(());
    }
    let device = OpenCl::new(None);
    std::thread::scope(|scope| {
        let call = |n: u64| {
            let device = &device;
            move || {
                for turn in 1..20 {
                    let length = 16 * (n + 1) * turn;
                    let sum = called(device, length, 2.0).expect("a call");
                    assert_eq!(sum, (length / 16 * 240) as f32, "{length} elements");
                }
            }
        };
        for n in 0..4 {
            scope.spawn(call(n));
        }
    });
    device.synchronize()?;
    Ok(())
}

#[test]
fn the_devices_own_clock_is_asked() -> R {
    if !devices::has_opencl() {
        return Ok(());
    }
    let device = OpenCl::new(None);
    let (sum, times) = slyz_run::profile(|| called(&device, 1 << 16, 1.0));
    assert_eq!(sum?, (1 << 12) as f32 * 120.0);
    assert!(!times.is_empty() && times.iter().all(|time| time.clock == Clock::Device), "{times:?}");
    assert!(device.copy_bandwidth()? > 0.0);
    Ok(())
}

#[test]
fn what_is_missing_is_told() {
    let error = called(&OpenCl::new(Some("no such device")), 16, 1.0).expect_err("nothing is called that");
    assert!(matches!(error, Error::NoOpenCl { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("SLYZ_ADAPTER") || text.contains("install"), "{text}");
}

/// A CPU behind OpenCL is taken by those who name it.
#[test]
fn cpus_are_not_chosen() -> R {
    if !devices::has_opencl() {
        return Ok(());
    }
    if found()?.iter().all(|device| device.software) {
        assert!(!OpenCl::is_hardware(None));
        assert!(slyz_run::devices().iter().all(|device| device.name() != OpenCl::NAME));
    }
    assert_eq!(slyz_run::device(Some("opencl"))?.name(), OpenCl::NAME);
    Ok(())
}

/// Nobody asks the driver for more than it can give.
#[test]
fn arrays_that_are_too_large_are_refused() -> R {
    if !devices::has_opencl() {
        return Ok(());
    }
    let text = "program large<N>(%x: f32) -> f32[N] {
      %y: f32[N] = tabulate [N] |%i: i64| { yield %x }
      return %y }";
    let program = parse_program(text)?;
    let one = [Argument::Scalar(slyz_sir::types::Scalar::f32(1.0))];
    let compiled = OpenCl::new(None).compile(&program)?;
    let error = compiled.run(&[Some(1 << 38)], &one).err().ok_or("a terabyte was found")?;
    assert!(matches!(error, Error::TooLarge { .. } | Error::OutOfMemory { .. }), "{error}");
    Ok(())
}
