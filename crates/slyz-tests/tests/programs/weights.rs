//! Arguments that stay the same: what is made of them is made once, and they lie as they are read; on every device.

use slyz::prelude::*;
use slyz::{Error, Options, Quantize};

axis!(N, Word, Wide);

fn words(table: Arr<f32, (Wide, Word)>, which: Arr<At<Word>, N>) -> Arr<f32, (N, Wide)> {
    tabulate(|(i, d): (Idx<N>, Idx<Wide>)| table.at((d, which.at(i))))
}

fn table(wide: usize, count: usize, seed: f32) -> Result<Tensor<f32, (Wide, Word)>, Error> {
    Tensor::from_vec([wide, count], (0..wide * count).map(|k| k as f32 + seed).collect())
}

#[test]
fn tables_lie_as_they_are_read() -> Result<(), Error> {
    for device in slyz::devices() {
        let f = slyz::compile_with(words, &Options::new().device(&device).weights([1]))?;
        let told = f.explain().to_string();
        assert!(told.contains("made once for each tensor that argument 1 is: f32[Word, Wide]"), "{told}");
        assert!(
            told.contains("argument 1 lies as [Word, Wide] for its readers: 1 go along its last axis so, 0 did before")
        );
        for (wide, count) in [(1, 1), (5, 1), (1, 9), (33, 70)] {
            let which: Vec<At<Word>> = (0..40).map(|i| At::new((i * 7 % count) as u64)).collect();
            let wanted = |seed: f32| -> Vec<f32> {
                let row = |i: &At<Word>| {
                    (0..wide).map(|d| (d * count + i.get() as usize) as f32 + seed).collect::<Vec<f32>>()
                };
                which.iter().flat_map(row).collect()
            };
            let mut held = table(wide, count, 0.0)?;
            for _ in 0..2 {
                assert_eq!(f.call(&held, &which)?.to_vec()?, wanted(0.0), "{wide} × {count} on {}", device.name());
            }
            // Another tensor, and a list, about which nobody knows anything.
            held = table(wide, count, 0.5)?;
            assert_eq!(f.call(&held, &which)?.to_vec()?, wanted(0.5));
            let list = held.to_vec()?;
            assert_eq!(f.call((&list, [wide, count]), &which)?.to_vec()?, wanted(0.5));
        }
    }
    Ok(())
}

#[test]
fn what_is_made_of_weights_is_made_once() -> Result<(), Error> {
    type Layer = (Arr<f32, (N, Wide)>, Arr<f32, Wide>);
    // The sums of rows are of the weights alone; which parameters they are is counted by arguments, not by their parts.
    let f = |x: Arr<f32, Wide>, (w, shift): Layer| {
        let sizes = tabulate(|i: Idx<N>| w.row(i).sum());
        tabulate(|i: Idx<N>| w.row(i).dot(x + shift) / sizes.at(i))
    };
    let plain = slyz::compile_with(f, &Options::new().device(&slyz::device("cpu")?))?;
    let kept = slyz::compile_with(f, &Options::new().device(&slyz::device("cpu")?).weights([2]))?;
    let w = Tensor::<f32, (N, Wide)>::from_vec([3, 64], (0..192).map(|k| (k % 7) as f32).collect())?;
    let shift = Tensor::<f32, Wide>::from_vec([64], vec![0.5; 64])?;
    let x = vec![1.0f32; 64];
    let wanted = plain.call(&x, (&w, &shift))?.to_vec()?;
    let launches = || -> Result<usize, Error> {
        let (found, launches) = slyz_run::profile(|| kept.call(&x, (&w, &shift)));
        assert_eq!(found?.to_vec()?, wanted);
        Ok(launches.len())
    };
    let first = launches()?;
    let second = launches()?;
    assert!(second < first, "{second} launches, {first} at first\n{}", kept.explain());
    Ok(())
}

#[test]
fn weights_of_products_lie_in_panels() -> Result<(), Error> {
    axis!(P, Inner, Out);
    let plain = |x: Arr<f32, (P, N, Inner)>, w: Arr<f32, (P, Inner, Out)>, u: Arr<f32, (Wide, Out)>| {
        let y =
            tabulate(|(p, i, j): (Idx<P>, Idx<N>, Idx<Out>)| sum(|k: Idx<Inner>| x.at((p, i, k)) * w.at((p, k, j))));
        // The columns of this factor are its rows.
        tabulate(|(p, i, j): (Idx<P>, Idx<N>, Idx<Wide>)| sum(|k: Idx<Out>| y.at((p, i, k)) * u.at((j, k))).max(0.0))
    };
    let device = slyz::device("cpu")?;
    let f = slyz::compile_with(plain, &Options::new().device(&device))?;
    let kept = slyz::compile_with(plain, &Options::new().device(&device).weights([2, 3]))?;
    let told = kept.explain().to_string();
    for argument in [2, 3] {
        assert!(told.contains(&format!("argument {argument} lies in panels of 64 columns for products")), "{told}");
    }
    // It is read where it lies.
    assert!(f.source().contains("right"), "{}", f.source());
    assert!(!kept.source().contains("right"), "{}", kept.source());
    for (p, n, inner, out, wide) in
        [(2, 7, 300, 130, 65), (1, 1, 1, 1, 1), (3, 5, 17, 64, 63), (2, 3, 0, 70, 4), (1, 4, 9, 0, 5)]
    {
        let made = |n: usize, step: usize| (0..n).map(|k| (k * step % 13) as f32 - 6.0).collect::<Vec<f32>>();
        let x = Tensor::<f32, (P, N, Inner)>::from_vec([p, n, inner], made(p * n * inner, 7))?;
        let w = Tensor::<f32, (P, Inner, Out)>::from_vec([p, inner, out], made(p * inner * out, 5))?;
        let u = Tensor::<f32, (Wide, Out)>::from_vec([wide, out], made(wide * out, 3))?;
        let wanted = f.call(&x, &w, &u)?.to_vec()?;
        for _ in 0..2 {
            assert_eq!(kept.call(&x, &w, &u)?.to_vec()?, wanted, "{p} × {n} × {inner} × {out} × {wide}");
        }
    }
    // So do the turns of a loop.
    let turns = |x: Arr<f32, (N, Inner)>, w: Arr<f32, (Inner, Inner)>| {
        iterate(3, x, |_, x| {
            tabulate(|(i, j): (Idx<N>, Idx<Inner>)| sum(|k: Idx<Inner>| x.at((i, k)) * w.at((k, j))) / 64.0)
        })
    };
    let f = slyz::compile_with(turns, &Options::new().device(&device))?;
    let kept = slyz::compile_with(turns, &Options::new().device(&device).weights([2]))?;
    assert!(kept.explain().to_string().contains("argument 2 lies in panels"), "{}", kept.explain());
    let x = Tensor::<f32, (N, Inner)>::from_vec([5, 70], (0..350).map(|k| (k * 7 % 13) as f32 - 6.0).collect())?;
    let w = Tensor::<f32, (Inner, Inner)>::from_vec([70, 70], (0..4900).map(|k| (k * 5 % 13) as f32 - 6.0).collect())?;
    for _ in 0..2 {
        assert_eq!(kept.call(&x, &w)?.to_vec()?, f.call(&x, &w)?.to_vec()?);
    }
    // Who is read otherwise too stays as it is.
    let both = |x: Arr<f32, (N, Inner)>, w: Arr<f32, (Inner, Out)>| {
        let y = tabulate(|(i, j): (Idx<N>, Idx<Out>)| sum(|k: Idx<Inner>| x.at((i, k)) * w.at((k, j))));
        (y, tabulate(|(k, j): (Idx<Inner>, Idx<Out>)| w.at((k, j)) + 1.0))
    };
    let both = slyz::compile_with(both, &Options::new().device(&device).weights([2]))?;
    assert!(!both.explain().to_string().contains("in panels"), "{}", both.explain());
    Ok(())
}

#[test]
fn arguments_that_are_not_there() -> Result<(), Error> {
    for wrong in [0, 3] {
        let wanted = format!("there is no argument {wrong}: the function has 2, counted from 1");
        let error = slyz::compile_with(words, &Options::new().weights([wrong])).map(drop).unwrap_err();
        assert_eq!(error.to_string(), wanted);
        let error = compile(words)?.quantized(&Quantize::f16().weights([wrong])).map(drop).unwrap_err();
        assert_eq!(error.to_string(), wanted);
    }
    let none = slyz::compile_with(|x: Arr<f32, N>| x + 1.0, &Options::new().weights([1]))?;
    assert_eq!(none.call(&[1.0f32])?.to_vec()?, [2.0]);
    Ok(())
}
