//! Tensors on devices and profiles, as users write them.

use crate::devices;
use slyz::prelude::*;

axis!(N, M);

#[test]
fn tensors_go_anywhere() -> Result<(), slyz::Error> {
    let x = Tensor::<f32, N>::from_vec([3], vec![1.0, 2.0, 3.0])?;
    for here in devices() {
        let f = compile_on(&here, |x: Arr<f32, N>| (x * 2.0, x.sum()))?;
        for there in devices() {
            let moved = x.to(&there)?;
            assert_eq!(moved, x);
            assert!(["host", "wgpu"].contains(&moved.device()), "{}", moved.device());
            let (y, sum) = f.call(&moved)?;
            assert_eq!((y.to_vec()?, sum.value()?), (vec![2.0, 4.0, 6.0], 6.0), "{} {}", here.name(), there.name());
        }
        here.synchronize()?;
    }
    Ok(())
}

/// A scalar result goes into the next call without being read.
#[test]
fn results_feed_calls() -> Result<(), slyz::Error> {
    for device in devices() {
        let total = compile_on(&device, |x: Arr<f32, N>| x.sum())?;
        let scale = compile_on(&device, |x: Arr<f32, N>, a: Exp<f32>| x / a)?;
        let mut x = Tensor::<f32, N>::from_vec([4], vec![1.0, 2.0, 3.0, 4.0])?.to(&device)?;
        for _ in 0..3 {
            x = scale.call(&x, &total.call(&x)?)?;
        }
        assert_eq!(x.to_vec()?, [0.1, 0.2, 0.3, 0.4], "{}", device.name());
    }
    Ok(())
}

/// Positions from one call index the arrays of the next; those that are outside there are found.
#[test]
fn positions_stay_inside() -> Result<(), slyz::Error> {
    for device in devices() {
        let order = compile_on(&device, |x: Arr<f32, N>, m: Arr<f32, M>| -> Arr<At<N>, M> {
            m.map(|v| argmax(|i: Idx<N>| (x.at(i) - v).abs() * -1.0))
        })?;
        let gather = compile_on(&device, |x: Arr<f32, N>, p: Arr<At<N>, M>| p.map(|i| x.at(i)))?;
        let places = order.call(&[1.0f32, 5.0, 9.0], &[8.0f32, 2.0])?;
        assert_eq!(gather.call(&[10.0f32, 20.0, 30.0], &places)?.to_vec()?, [30.0, 10.0]);
        assert_eq!(gather.call(&[10.0f32, 20.0, 30.0, 40.0], &places)?.to_vec()?, [30.0, 10.0]);
        let error = gather.call(&[10.0f32, 20.0], &places).unwrap_err().to_string();
        assert!(error.contains("position 2"), "{error}");
    }
    Ok(())
}

#[test]
fn profiles() -> Result<(), slyz::Error> {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<f32, N>| (x * 2.0).sum())?;
        let x = vec![1.0f32; 1000];
        let (sum, profile) = f.profile(|f| f.call(&x))?;
        assert_eq!(sum.value()?, 2000.0);
        let text = profile.to_string();
        assert!(text.contains(f.device()), "{text}");
        assert!(profile.copy_bandwidths().all(|(_, rate)| rate > 0.0) && profile.seconds() > 0.0, "{text}");
        if f.device() != "interpreter" {
            let kernels = profile.kernels();
            assert_eq!(profile.copy_bandwidths().count(), 1, "{text}");
            assert!(kernels.iter().map(|k| k.read).sum::<u64>() >= 4000, "{text}");
            assert!(kernels.iter().all(|k| k.seconds >= 0.0 && k.seconds < 10.0 && k.launches > 0), "{text}");
        }
        // A mistake inside is a mistake outside.
        let g = compile_on(&device, |x: Arr<f32, N>, y: Arr<f32, N>| x + y)?;
        assert!(g.profile(|g| g.call(&x, &[1.0f32])).is_err());
    }
    Ok(())
}

#[test]
fn many_threads_share_tensors() -> Result<(), slyz::Error> {
    for device in devices() {
        let f = compile_on(&device, |x: Arr<f32, N>, a: Exp<f32>| x + a)?;
        let x = Tensor::<f32, N>::from_vec([100], vec![1.0; 100])?.to(&device)?;
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (f, x) = (&f, &x);
                scope.spawn(move || {
                    let mut y = x.clone();
                    for _ in 0..5 {
                        y = f.call(&y, thread as f32).expect("a result");
                    }
                    assert_eq!(y.to_vec().expect("data"), vec![1.0 + 5.0 * thread as f32; 100]);
                });
            }
        });
    }
    Ok(())
}
