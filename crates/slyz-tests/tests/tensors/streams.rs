//! Devices on streams of their own: calls overlap, arrays do not. Where there is no GPU there is nothing to do.

use slyz::prelude::*;
use std::sync::Arc;

axis!(N);

type R<T = ()> = Result<T, Box<dyn std::error::Error>>;

const LENGTH: usize = 1 << 22;

fn devices(count: usize) -> R<Vec<Arc<dyn slyz::Device>>> {
    if !slyz_run::cuda::Cuda::is_usable() {
        println!("skipped: no GPU of NVIDIA");
        return Ok(vec![]);
    }
    let names = (0..count).map(|stream| format!("cuda#{stream}"));
    Ok(names.map(|name| slyz::device(&name)).collect::<Result<_, _>>()?)
}

/// Turns that each go over the array; in place where it is nobody else's.
fn turns(x: Arr<u32, N>, count: Exp<u32>) -> Arr<u32, N> {
    iterate(count, x, |_, x: Arr<u32, N>| x * 3 + 1)
}

fn expected(mut x: u32, count: u32) -> u32 {
    (0..count).for_each(|_| x = x.wrapping_mul(3).wrapping_add(1));
    x
}

#[test]
fn arrays_go_from_stream_to_stream() -> R {
    let devices = devices(3)?;
    let codes = devices.iter().map(|device| compile_on(device, turns)).collect::<Result<Vec<_>, _>>()?;
    if codes.is_empty() {
        return Ok(());
    }
    for start in 0..10u32 {
        let mut x = Tensor::<u32, N>::from_vec([LENGTH], vec![start; LENGTH])?.to(&devices[0])?;
        let mut value = start;
        for turn in 0..12u32 {
            // The array before is given back while another stream may read it.
            x = codes[turn as usize % codes.len()].call(&x, 20 + turn)?;
            value = expected(value, 20 + turn);
            assert_eq!(x.device(), "cuda");
        }
        assert!(x.to_vec()?.iter().all(|&found| found == value), "{start}");
    }
    Ok(())
}

#[test]
fn many_threads_read_one_array() -> R {
    let devices = devices(4)?;
    let Some(first) = devices.first() else { return Ok(()) };
    let x = Tensor::<u32, N>::from_vec([LENGTH], vec![7; LENGTH])?.to(first)?;
    std::thread::scope(|scope| {
        let work = |device: Arc<dyn slyz::Device>, number: u32| {
            let x = &x;
            move || -> Result<bool, slyz::Error> {
                let code = compile_on(&device, turns)?;
                let mut right = true;
                for turn in 0..20 {
                    let count = 5 + number + turn;
                    let y = code.call(x, count)?;
                    right &= y.to_vec()?.iter().all(|&found| found == expected(7, count));
                }
                Ok(right)
            }
        };
        let threads: Vec<_> =
            devices.iter().zip(0..).map(|(device, number)| scope.spawn(work(device.clone(), number))).collect();
        for thread in threads {
            assert!(thread.join().expect("the thread ends")?);
        }
        Ok(())
    })
}

#[test]
fn results_are_written_over_on_another_stream() -> R {
    let devices = devices(2)?;
    let [first, second] = &devices[..] else { return Ok(()) };
    let sum = compile_on(first, |x: Arr<u32, N>| x.map(|x| x % 2u32).sum())?;
    let (make, change) = (compile_on(first, turns)?, compile_on(second, turns)?);
    let start = Tensor::<u32, N>::from_vec([LENGTH], vec![1; LENGTH])?.to(first)?;
    for turn in 0..50u32 {
        let mut x = make.call(&start, turn)?;
        // Read on one stream, and then written by the other.
        let sums = sum.call(&x)?;
        change.call_into(&mut x, &start, 3u32)?;
        let again = sum.call(&x)?;
        assert_eq!(sums.value()?, expected(1, turn) % 2 * LENGTH as u32, "{turn}");
        assert_eq!(again.value()?, expected(1, 3) % 2 * LENGTH as u32, "{turn}");
        assert_eq!(x.get([LENGTH - 1])?, expected(1, 3), "{turn}");
    }
    Ok(())
}
