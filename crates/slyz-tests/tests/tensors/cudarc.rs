//! Slices of the crate `cudarc`: without a copy, and in the order of streams. Where there is no GPU there is nothing to do.

use slyz::cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr};
use slyz::prelude::*;
use slyz::{Dyn, Tensor};
use std::sync::Arc;

axis!(N, M);

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A context of cudarc's, and a device of ours.
type Gpu = (Arc<CudaContext>, Arc<dyn slyz::Device>);

fn gpu() -> R<Option<Gpu>> {
    if !slyz_run::cuda::Cuda::is_usable() {
        println!("skipped: no GPU of NVIDIA");
        return Ok(None);
    }
    Ok(Some((CudaContext::new(0)?, slyz::device("cuda")?)))
}

fn address<T>(slice: &CudaSlice<T>, stream: &CudaStream) -> u64 {
    slice.device_ptr(stream).0
}

#[test]
fn slices_there_and_back() -> R {
    let Some((context, device)) = gpu()? else { return Ok(()) };
    for stream in [context.default_stream(), context.new_stream()?] {
        let slice = stream.clone_htod(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
        let start = address(&slice, &stream);
        let x = Tensor::<f32, (N, M)>::from_cudarc([2, 3], slice)?;
        assert_eq!((x.device(), x.dims()), ("cuda", &[2, 3][..]));
        let lent = x.to_cudarc(&stream)?;
        assert_eq!((address(&lent, &stream), lent.len()), (start, 6), "no element moved");
        let doubled = compile_on(&device, |x: Arr<f32, (N, M)>| x * 2.0)?.call(&x)?;
        assert_eq!(doubled.to_vec()?, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        assert_eq!(stream.clone_dtoh(&*doubled.to_cudarc(&stream)?)?, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
        drop(x);
        // The memory is there while somebody has it.
        assert_eq!(stream.clone_dtoh(&*lent)?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }
    Ok(())
}

#[test]
fn streams_wait_for_each_other() -> R {
    let Some((context, device)) = gpu()? else { return Ok(()) };
    const LENGTH: usize = 1 << 24;
    let turn = compile_on(&device, |x: Arr<u32, N>| x * 3 + 1)?;
    let stream = context.new_stream()?;
    let mut expected = vec![];
    let mut kept: Vec<CudaSlice<u32>> = vec![];
    for number in 0..20u32 {
        let data = vec![number; LENGTH];
        let mut slice = stream.alloc_zeros::<u32>(LENGTH)?;
        // What is written to it is still under way.
        stream.memcpy_htod(&data, &mut slice)?;
        let y = turn.call(&Tensor::<u32, N>::from_cudarc([LENGTH], slice)?)?;
        let lent = y.to_cudarc(&stream)?;
        drop(y);
        kept.push(stream.clone_dtod(&*lent)?);
        expected.push(number * 3 + 1);
    }
    for (slice, value) in kept.iter().zip(expected) {
        assert!(stream.clone_dtoh(slice)?.iter().all(|&found| found == value), "{value}");
    }
    Ok(())
}

#[test]
fn what_is_lent_is_not_written() -> R {
    let Some((context, device)) = gpu()? else { return Ok(()) };
    let stream = context.new_stream()?;
    let x = Tensor::<i32, N>::from_cudarc([3], stream.clone_htod(&[1, 2, 3])?)?;
    let lent = x.to_cudarc(&stream)?;
    let again = compile_on(&device, |x: Arr<i32, N>| iterate(5u32, x, |_, x: Arr<i32, N>| x + 1))?.call(&x)?;
    assert_eq!((again.to_vec()?, stream.clone_dtoh(&*lent)?), (vec![6, 7, 8], vec![1, 2, 3]));
    Ok(())
}

#[test]
fn what_cannot_be_shared_is_refused() -> R {
    let Some((context, device)) = gpu()? else { return Ok(()) };
    let stream = context.new_stream()?;
    let told = |error: slyz::Error| error.to_string();
    let host = Tensor::<f32>::from_vec([2], vec![1.0, 2.0])?;
    assert!(host.to_cudarc(&stream).map(drop).map_err(told).is_err_and(|told| told.contains("memory of host")));
    let parts = Tensor::<slyz::Complex<f32>>::from_vec([1], vec![slyz::Complex { re: 1.0, im: 2.0 }])?.to(&device)?;
    assert!(parts.to_cudarc(&stream).map(drop).map_err(told).is_err_and(|told| told.contains("several parts")));
    let short = Tensor::<f32, N>::from_cudarc([3], stream.clone_htod(&[1.0f32])?);
    assert!(short.map(drop).map_err(told).is_err_and(|told| told.contains("pass 3")));
    let other = CudaContext::new_non_primary(0, 0)?;
    let slice = other.new_stream()?.clone_htod(&[1.0f32])?;
    let refused = Tensor::<f32, Dyn>::from_cudarc([1], slice);
    assert!(refused.map(drop).map_err(told).is_err_and(|told| told.contains("another context")));
    let empty = Tensor::<f32, N>::from_cudarc([0], stream.null()?)?;
    assert!(empty.to_vec()?.is_empty());
    Ok(())
}
