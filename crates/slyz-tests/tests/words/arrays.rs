//! Structs of arrays: parameters, results and states of loops, nested and generic, on every device.

use crate::devices;
use slyz::prelude::*;
use slyz::{Arrays, CallError, Error, HostOf};

axis!(N, M, K);

#[derive(Clone, Copy, Arrays)]
struct Layer {
    /// The weights.
    w: Arr<f32, (N, M)>,
    b: Arr<f32, M>,
}

#[derive(Clone, Copy, Arrays)]
struct Net {
    first: Layer,
    rate: Exp<f32>,
    steps: Arr<u32, N>,
}

fn net() -> Result<NetTensors, Error> {
    let w = Tensor::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let b = Tensor::from_vec([3], vec![10.0, 20.0, 30.0])?;
    let steps = Tensor::from_vec([2], vec![7, 8])?;
    Ok(NetTensors { first: LayerTensors { w, b }, rate: Tensor::from_value(0.5)?, steps })
}

fn scaled(net: Net, x: Arr<f32, N>) -> Net {
    let Layer { w, b } = net.first;
    let w: Arr<f32, (N, M)> = tabulate(|(i, j)| w.at((i, j)) * x.at(i));
    Net { first: Layer { w, b: b * net.rate }, steps: net.steps + 1, ..net }
}

#[test]
fn in_and_out() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, scaled)?;
        let x = [2.0f32, -1.0];
        let next: NetTensors = f.call(&net()?, &x)?;
        assert_eq!(next.first.w.to_vec()?, [2.0, 4.0, 6.0, -4.0, -5.0, -6.0]);
        assert_eq!(next.first.b.to_vec()?, [5.0, 10.0, 15.0]);
        assert_eq!((next.rate.value()?, next.steps.to_vec()?), (0.5, vec![8, 9]));
        let again = f.call(next.clone(), &x)?;
        assert_eq!(again.first.b.to_vec()?, [2.5, 5.0, 7.5]);
        assert_ne!(next, again);
        assert_eq!(f.call(&next, &x)?, again);
        assert!(format!("{again:?}").starts_with("NetTensors { first: LayerTensors { w: Tensor([["));
        let (_, profile) = f.profile(|f| f.call(&next, &x))?;
        assert!(profile.seconds() > 0.0);
    }
    Ok(())
}

#[test]
fn sent_to_threads() -> Result<(), Error> {
    fn shared_by_threads<T: Send + Sync + Clone + std::fmt::Debug>(_: &T) {}
    let net = net()?;
    shared_by_threads(&net);
    let f = compile(scaled)?;
    let next = std::thread::scope(|scope| scope.spawn(|| f.call(&net, &[1.0f32, 1.0])).join());
    assert_eq!(next.expect("no panic")?.first.w, net.first.w);
    Ok(())
}

/// Every kind of loop, with a struct, and with a struct in tuples and `[_; N]`.
#[test]
fn states_of_loops() -> Result<(), Error> {
    for device in devices() {
        let grow = |net: Net| Net { first: Layer { w: net.first.w * 2.0, ..net.first }, rate: net.rate + 1.0, ..net };
        let f = compile_on(&device, move |net: Net, turns: Exp<u32>| iterate(turns, net, |_, net: Net| grow(net)))?;
        for turns in [0, 1, 5] {
            let grown = f.call(&net()?, turns)?;
            assert_eq!(grown.first.w.to_vec()?[0], 2f32.powi(turns as i32));
            assert_eq!(grown.rate.value()?, 0.5 + turns as f32);
        }
        let f = compile_on(&device, move |net: Net| repeat_while(net, |net: Net| net.first.w.sum().lt(100.0), grow))?;
        assert_eq!(f.call(&net()?)?.rate.value()?, 3.5);
        let f = compile_on(&device, |net: Net| {
            for_each::<N, _>((net, 0.0), |i, (net, sum): (Net, Exp<f32>)| {
                let b = net.first.b + net.first.w.row(i);
                (Net { first: Layer { b, ..net.first }, ..net }, sum + b.sum())
            })
        })?;
        let (end, sum) = f.call(&net()?)?;
        assert_eq!((end.first.b.to_vec()?, sum.value()?), (vec![15.0, 27.0, 39.0], 66.0 + 81.0));
        let f = compile_on(&device, |layers: [Layer; 2]| {
            scan_over(layers, |[a, b]: [Layer; 2], i: Idx<N>| {
                let sum = a.w.row(i) + b.b;
                ([b, a], (sum, sum.sum()))
            })
        })?;
        let layer = net()?.first;
        let other = LayerTensors { b: Tensor::zeros([3])?, ..layer.clone() };
        let ([a, b], (rows, sums)) = f.call(&[layer.clone(), other.clone()])?;
        assert_eq!((a.b, b.b), (layer.b, other.b));
        assert_eq!(rows.to_vec()?, [1.0, 2.0, 3.0, 14.0, 25.0, 36.0]);
        assert_eq!(sums.to_vec()?, [6.0, 75.0]);
    }
    Ok(())
}

/// Generic over axes and elements, in tuples, tuple structs, with positions, elements and nothing.
#[derive(Clone, Copy, Arrays)]
struct Dense<T: Num, A: Axis, B: Axis = M>
where
    Exp<T>: Copy,
{
    w: Arr<T, (A, B)>,
    bias: Exp<T>,
}

#[derive(Clone, Copy, Arrays)]
struct Pair(Arr<f32, N>, (Arr<i32, K>, [Exp<u8>; 2]));

#[derive(Clone, Copy, Arrays)]
struct Nothing;

#[derive(Clone, Copy, Arrays)]
struct AlsoNothing {}

#[derive(Clone, Copy, Debug, PartialEq, Elem)]
struct Point<T> {
    x: T,
    y: T,
}

#[derive(Clone, Copy, Arrays)]
pub(crate) struct Mixed {
    pair: Pair,
    nothing: Nothing,
    also: AlsoNothing,
    start: Idx<N>,
    places: Arr<At<N>, K>,
    centre: Point<Exp<f32>>,
    points: Arr<Point<f32>, K>,
    root: Complex<Exp<f32>>,
}

fn dense<T: Num, A: Axis + Copy>(d: Dense<T, A, Fix<2>>) -> Dense<T, A, Fix<2>> {
    iterate(2, d, |_, d: Dense<T, A, Fix<2>>| Dense { w: d.w + d.bias, ..d })
}

#[test]
fn generic() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, dense::<i32, N>)?;
        let d = DenseTensors { w: Tensor::from_vec([1, 2], vec![1, 2])?, bias: Tensor::from_value(10)? };
        assert_eq!(f.call(&d)?.w.to_vec()?, [21, 22]);
        let d = DenseTensors { w: Tensor::from_vec([0, 2], vec![])?, bias: Tensor::from_value(10)? };
        assert!(f.call(&d)?.w.is_empty());
        let f = compile_on(&device, dense::<f32, Fix<1>>)?;
        let d = DenseTensors { w: Tensor::from_vec([1, 2], vec![1.0, 2.0])?, bias: Tensor::from_value(0.25)? };
        assert_eq!(f.call(d)?.w.to_vec()?, [1.5, 2.5]);
    }
    Ok(())
}

fn mixed() -> Result<MixedTensors, Error> {
    let flags = [Tensor::from_value(3u8)?, Tensor::from_value(4)?];
    let pair = PairTensors(Tensor::from_vec([3], vec![5.0, 6.0, 7.0])?, (Tensor::from_vec([2], vec![1, 2])?, flags));
    Ok(MixedTensors {
        pair,
        nothing: NothingTensors,
        also: AlsoNothingTensors {},
        start: Tensor::from_value(At::new(1))?,
        places: Tensor::from_vec([2], vec![At::new(2), At::new(0)])?,
        centre: Tensor::from_value(Point { x: 1.0, y: 2.0 })?,
        points: Tensor::from_vec([2], vec![Point { x: 3.0, y: 4.0 }, Point { x: 5.0, y: 6.0 }])?,
        root: Tensor::from_value(Complex { re: 0.0, im: 1.0 })?,
    })
}

fn gathered(m: Mixed) -> (Mixed, Arr<f32, K>, Exp<f32>) {
    let x = m.pair.0;
    let (whole, [a, b]) = m.pair.1;
    let picked = m.places.map(|i| x.at(i)) + whole.map(|k| k.cast::<f32>());
    let sum = x.at(m.start) + m.centre.x + m.points.map(|p| p.y).sum() + a.cast::<f32>() * b.cast::<f32>();
    (Mixed { start: m.start.reversed(), root: m.root * m.root, ..m }, picked, sum)
}

#[test]
fn fields_of_all_kinds() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, gathered)?;
        let (next, picked, sum) = f.call(&mixed()?)?;
        assert_eq!((picked.to_vec()?, sum.value()?), (vec![8.0, 7.0], 6.0 + 1.0 + 10.0 + 12.0));
        assert_eq!((next.start.value()?.get(), next.root.value()?.re), (1, -1.0));
        assert_eq!(f.call(&next)?.1.to_vec()?, [8.0, 7.0]);
        let f = compile_on(&device, |m: Mixed| {
            iterate(3, m, |_, m: Mixed| Mixed { centre: Point { x: m.centre.y, y: m.centre.x }, ..m }).centre
        })?;
        assert_eq!(f.call(mixed()?)?.value()?, Point { x: 2.0, y: 1.0 });
    }
    Ok(())
}

#[test]
fn nothing_at_all() -> Result<(), Error> {
    let f = compile(|_: Nothing, x: Exp<f32>, also: AlsoNothing| (also, x))?;
    assert_eq!(f.call(NothingTensors, 2.0, &AlsoNothingTensors {})?.1.value()?, 2.0);
    Ok(())
}

/// Tuples and `[_; N]` of arrays are one parameter, too.
#[test]
fn tuples_of_arrays() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, |(x, y): (Arr<f32, N>, Arr<f32, N>), z: [Arr<f32, N>; 2]| (x + z[1], y * z[0]))?;
        let x = [1.0f32, 2.0];
        let pair = f.call((&x, &vec![3.0f32, 4.0]), [&x, &x])?;
        assert_eq!((pair.0.to_vec()?, pair.1.to_vec()?), (vec![2.0, 4.0], vec![3.0, 8.0]));
        let twice = f.call(&pair, [&pair.0, &pair.1])?;
        assert_eq!(twice.0.to_vec()?, [5.0, 12.0]);
        let e = f.call((&x, &[1.0f32]), [&x, &x]).unwrap_err().to_string();
        assert!(e.contains("axis N is 2 in field 0 of argument 1, but field 1 of argument 1 has 1 there"), "{e}");
    }
    Ok(())
}

/// More arrays than a function has parameters and results.
#[derive(Clone, Copy, Arrays)]
#[rustfmt::skip]
struct Many {
    a: Arr<f32, N>, b: Arr<f32, N>, c: Arr<f32, N>, d: Arr<f32, N>, e: Arr<f32, N>, f: Arr<f32, N>, g: Arr<f32, N>,
    h: Arr<f32, N>, i: Arr<f32, N>, j: Arr<f32, N>, k: Arr<f32, N>, l: Arr<f32, N>, m: Arr<f32, N>, n: Arr<f32, N>,
    o: Exp<f32>, p: Exp<f32>, q: Exp<f32>, r: Exp<f32>, s: Exp<f32>, r#type: Exp<f32>,
}

#[test]
fn twenty_fields() -> Result<(), Error> {
    let array = |k: i32| Tensor::from_vec([2], vec![k as f32, -k as f32]);
    let scalar = |k: i32| Tensor::from_value(k as f32);
    #[rustfmt::skip]
    let many = ManyTensors {
        a: array(0)?, b: array(1)?, c: array(2)?, d: array(3)?, e: array(4)?, f: array(5)?, g: array(6)?,
        h: array(7)?, i: array(8)?, j: array(9)?, k: array(10)?, l: array(11)?, m: array(12)?, n: array(13)?,
        o: scalar(14)?, p: scalar(15)?, q: scalar(16)?, r: scalar(17)?, s: scalar(18)?, r#type: scalar(19)?,
    };
    for device in devices() {
        let f = compile_on(&device, |m: Many| Many { a: m.n + m.o, n: m.a * m.r#type, r#type: m.b.sum(), ..m })?;
        let found = f.call(&many)?;
        assert_eq!(found.a.to_vec()?, [27.0, 1.0]);
        assert_eq!(f.call(&found)?.n.to_vec()?, [0.0, 0.0]);
        assert_eq!((found.k, found.s), (many.k.clone(), many.s.clone()));
        let text = f.explain().to_string();
        assert!(text.contains("%19  field type of argument 1: f32\n"), "{text}");
    }
    Ok(())
}

#[slyz::function]
fn stepped(layer: Layer, by: Exp<f32>) -> Layer {
    let scale = if by > 0.0 { by } else { -by };
    Layer { w: layer.w * scale, b: layer.b }
}

#[slyz::function]
fn at_start(net: Net, i: Idx<N>) -> Exp<u32> {
    net.steps.at(i)
}

#[test]
fn functions_of_structs() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, |net: Net, i: Idx<N>| {
            (stepped(stepped(net.first, net.rate), -2.0 * net.rate), at_start(net, i), at_start(net, i.reversed()))
        })?;
        let (layer, start, end) = f.call(&net()?, At::new(0))?;
        assert_eq!((layer.w.to_vec()?[1], start.value()?, end.value()?), (1.0, 7, 8));
    }
    Ok(())
}

#[test]
fn errors_name_fields() -> Result<(), Error> {
    let f = compile(scaled)?;
    let x = [1.0f32, 1.0];
    let mut wrong = net()?;
    wrong.first.b = Tensor::zeros([2])?;
    let error = f.call(&wrong, &x).unwrap_err();
    let names = "axis M is 3 in field first.w of argument 1, but field first.b of argument 1 has 2 there";
    assert!(error.to_string().contains(names), "{error}");
    let Error::Call(CallError::Disagree { argument: 1, field, known_by, .. }) = error else { panic!("{error}") };
    assert_eq!((&field[..], known_by.as_deref()), ("first.b", Some("field first.w of argument 1")));
    let error = f.call(&net()?, &[1.0f32]).unwrap_err().to_string();
    assert!(error.contains("axis N is 2 in field first.w of argument 1, but argument 2 has 1 there"), "{error}");
    let text = f.explain().to_string();
    for line in ["%0  field first.w of argument 1: f32[N, M]\n", "%2  field rate of argument 1: f32\n"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    Ok(())
}

/// Positions in structs of tensors are looked at as those in arguments are.
#[test]
fn positions_are_checked() -> Result<(), Error> {
    for device in devices() {
        let f = compile_on(&device, gathered)?;
        let mut wrong = mixed()?;
        wrong.places = Tensor::from_vec([2], vec![At::new(2), At::new(3)])?;
        let error = f.call(&wrong).unwrap_err().to_string();
        assert!(error.contains("field places of argument 1: element 1 is position 3, but axis N has 3"), "{error}");
        // Of a call whose axis was longer.
        let far = compile_on(&device, |x: Arr<f32, N>| x.argmax())?.call(&[0.0f32, 1.0, 2.0, 3.0, 4.0])?;
        let error = f.call(&MixedTensors { start: far, ..mixed()? }).unwrap_err().to_string();
        assert!(error.contains("field start of argument 1: element 0 is position 4, but axis N has 3"), "{error}");
    }
    Ok(())
}

#[test]
fn written_out() -> Result<(), Error> {
    let mut module = Module::new();
    module.kernel("scaled", scaled)?;
    assert_eq!(module.programs()[0].body.params.len(), 5);
    assert!(module.emit(Target::Metal)?.file("kernels.metal").is_some_and(|text| text.contains("scaled")));
    Ok(())
}

mod inner {
    use super::*;
    #[derive(Clone, Copy, Arrays)]
    #[arrays(host = "Weights")]
    pub struct Named<A: Axis> {
        /// Seen from outside.
        pub w: Arr<f32, A>,
    }
}

/// Generic code over anything that is made of arrays.
fn thrice<S: Arrays>(state: S, step: impl Fn(S) -> S) -> S {
    iterate(3, state, |_, state: S| step(state))
}

#[test]
fn other_names() -> Result<(), Error> {
    let f = compile(|s: inner::Named<N>| thrice(s, |s| inner::Named { w: s.w + 1.0 }))?;
    let weights: HostOf<inner::Named<N>> = inner::Weights { w: Tensor::zeros([1])? };
    assert_eq!(f.call(weights)?.w.to_vec()?, [3.0]);
    Ok(())
}
