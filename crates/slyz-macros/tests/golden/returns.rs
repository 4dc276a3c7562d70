#[function]
fn guards(x: Exp<f32>) -> Exp<f32> {
    if x < 0.0 {
        return 0.0;
    }
    let y = x * 2.0;
    if y > 10.0 {
        return y;
    } else if y == 4.0 {
        return lit(-4.0);
    }
    y + 1.0
}
#[function]
fn other_way(x: Exp<f32>) -> Exp<f32> {
    let mut y = x;
    if x < 0.0 {
        let x = 1.0;
        y = x;
    } else {
        return x;
    }
    return y + x;
}
#[function]
fn host(x: Exp<f32>, n: usize, m: Mode) -> Exp<f32> {
    if x < 0.0 {
        return x;
    }
    #[host]
    if n == 0 {
        return -x;
    } else if n == 1 {
        return x;
    }
    match m {
        Mode::Slow => return x + 1.0,
        Mode::Fast => {
            if x > 1.0 {
                return 1.0;
            }
            x
        }
    }
}
#[function(inline)]
fn real(x: Exp<f32>, n: Option<usize>) -> Result<Exp<f32>, E> {
    for i in 0..3 {
        #[host]
        if i > n? {
            return Ok(x);
        }
    }
    let y = sum(|k| {
        if k > 1.0 {
            return 1.0;
        }
        k
    });
    Ok(y)
}
