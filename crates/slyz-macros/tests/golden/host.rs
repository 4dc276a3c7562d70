#[function]
fn host(x: Exp<f32>, mode: Mode, n: usize) -> Exp<f32> {
    let mut acc = x;
    'outer: for i in 0..n {
        if i == 1 {
            acc += 100.0;
        }
        #[host]
        if i == 3 || i == 4 {
            break;
        } else if i == 7 {
            continue 'outer;
        }
        while let Some(k) = next() && k > 3 {
            break 'outer;
        }
        while i < n {}
    }
    if x > 0.0 {
        for i in 0..n {
            #[host]
            if i > 2 {
                break;
            }
        }
        #[host]
        if n > 7 {
            panic!("too many");
        }
    }
    match mode {
        Mode::Fast if n > 2 => acc,
        Mode::Slow => if acc > 0.0 { acc } else { 0.0 }
        _ => unreachable!(),
    }
}
