#[function]
fn both(x: Exp<f32>) -> Exp<f32> {
    let (mut y, mut z, mut v) = (x, x, [x, x]);
    if x < 0.0 {
        y = -x;
        v[0] += 1.0;
    } else {
        let y = 3.0;
        (z, v.1) = (y, y);
    }
    if y > 5.0 {
        y -= 1.0;
        if y > 7.0 {
            y *= 10.0
        }
    }
    y + z
}
/// At the end nobody reads the locals: they do not come out.
#[function]
fn tail(x: Exp<f32>) -> Exp<f32> {
    let mut y = x;
    if x < 0.0 {
        y = -x;
        y
    } else {
        x
    }
}
#[function]
fn inner_names(x: Exp<f32>, o: Option<Exp<f32>>) -> Exp<f32> {
    let mut y = x;
    if x > 0.0 {
        if let Some(mut z) = o {
            z += 1.0;
            y = z;
        }
        for k in 0..3 {
            y += k;
        }
        let f = |mut w| {
            w = 1.0;
            w
        };
    }
    y
}
#[function]
fn many(x: Exp<f32>) -> Exp<f32> {
    if x > 0.0 {
        a = x; b = x; c = x; d = x; e = x; f = x; g = x; h = x; i = x; j = x; k = x; l = x; m = x;
    }
    a
}
