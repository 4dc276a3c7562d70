//! Programs in safe Rust that try to reach outside arrays: through traits that users may implement, through what the macros
//! expand to, and through kernels, programs and devices of their own. Each is refused, told or harmless. Those that rustc refuses are in
//! `fails/c*.rs`.
#![forbid(unsafe_code)]

use slyz::__private::{self as expanded, FunctionArg, Phi};
use slyz::graph::{EmbeddedKernel, InOut, Input, Launch};
use slyz::prelude::*;
use slyz::{
    CallError, Device, Elem, Error, Fed, Feed, Flat, Handle, Leaf, LoopState, Offset, Param, ScatterTo, Traced,
};
use slyz_run::{Argument, ArrayData, Buffer, Executable, Launcher, Output};
use slyz_sir::kernel::Plan;
use slyz_sir::launch::Template;
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar as Constant, Ty};
use std::sync::Arc;

axis!(N, M, A, B);

/// Arrays of the host whose neighbours can be recognised.
const OURS: [f32; 12] = [7.0, 7.0, 7.0, 7.0, 1.0, 2.0, 3.0, 4.0, 7.0, 7.0, 7.0, 7.0];
const MINE: std::ops::Range<usize> = 4..8;

/// The handles of a traced value, which anybody can have.
fn handles<V: Value>(value: V) -> Vec<Handle> {
    let mut out = vec![];
    value.leaves(&mut out);
    out
}

fn is_refused<T>(result: Result<T, Error>, why: &str) {
    match result {
        Err(Error::Trace(errors)) if errors[0].what.contains(why) => {}
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("it is believed"),
    }
}

const NOT_A_POSITION: &str = "a number stands where a position of another axis must be";

// ---- elements that lie about their parts

/// An element that is a position, by hand.
#[derive(Clone, Copy)]
struct Own(At<N>);

#[derive(Clone, Copy)]
struct OwnTraced {
    position: Idx<N>,
    /// A leaf that the element does not have.
    more: Option<Exp<i64>>,
}

impl Elem for Own {
    type Exp = OwnTraced;
    fn parts() -> Vec<Leaf> {
        vec![Leaf::positions::<N>()]
    }
    fn store(self, out: &mut Vec<Constant>) {
        self.0.store(out)
    }
    fn load(next: &mut dyn FnMut() -> Constant) -> Self {
        Own(At::load(next))
    }
}

impl Value for OwnTraced {
    type Elem = Own;
    fn leaves(self, out: &mut Vec<Handle>) {
        out.extend(handles(self.position));
        out.extend(self.more.into_iter().flat_map(handles));
    }
    fn build(next: &mut dyn FnMut() -> Handle) -> Self {
        OwnTraced { position: Value::build(next), more: None }
    }
}

impl State for OwnTraced {
    fn save(self, out: &mut Vec<expanded::Part>) {
        self.position.save(out);
    }
    fn restore(next: &mut dyn FnMut() -> expanded::Part) -> Self {
        OwnTraced { position: State::restore(next), more: None }
    }
}

impl LoopState<OwnTraced> for OwnTraced {
    fn start(self) -> OwnTraced {
        self
    }
}

impl Traced for OwnTraced {
    type Form = OwnTraced;
}

impl Lift<Own> for OwnTraced {
    fn lift(self) -> OwnTraced {
        self
    }
}

impl Lift<Own> for Own {
    fn lift(self) -> OwnTraced {
        unreachable!("nobody lifts a constant here")
    }
}

impl slyz::Additive for Own {}

#[test]
fn sums_of_positions() {
    let sum = compile(|x: Arr<f32, N>, p: Arr<Own, M>| x.at(p.sum().position));
    is_refused(sum, "positions cannot be added up");
}

/// A place with one number less than its shape has axes.
struct Short(Idx<A>);

impl ScatterTo for Short {
    type Shape = (A, N);
    fn numbers(&self, out: &mut Vec<Handle>) {
        out.extend(handles(self.0));
    }
    fn is_there(&self) -> Exp<bool> {
        lit(true)
    }
}

#[test]
fn leaves_in_the_place_of_others() {
    let scattered = compile(|x: Arr<f32, N>, first: Idx<N>, far: Exp<i64>| {
        let neutral = OwnTraced { position: first, more: None };
        let written = scatter(monoid::<Own, _>(neutral, |_, b| b), |i: Idx<A>| {
            (Short(i), OwnTraced { position: first, more: Some(far) })
        });
        written.map(|own| x.at(own.position))
    });
    is_refused(scattered, "a value of 2 leaves stands for an element of 1");
}

/// A state whose parts come back in another order.
#[derive(Clone, Copy)]
struct Turned<P, Q>(P, Q);

impl<P: State, Q: State> State for Turned<P, Q> {
    fn save(self, out: &mut Vec<expanded::Part>) {
        self.0.save(out);
        self.1.save(out);
    }
    fn restore(next: &mut dyn FnMut() -> expanded::Part) -> Self {
        let (first, second) = (next(), next());
        Turned(P::restore(&mut || second), Q::restore(&mut || first))
    }
}

impl<P, Q> LoopState<Turned<P, Q>> for Turned<P, Q> {
    fn start(self) -> Turned<P, Q> {
        self
    }
}

#[test]
fn states_in_another_order() {
    let why = "a part of a state stands where one of another type must be";
    let number = compile(|x: Arr<f32, N>, i: Idx<N>, far: Exp<i64>| {
        x.at(iterate(1, Turned(i, far), |_, s: Turned<Idx<N>, Exp<i64>>| s).0)
    });
    is_refused(number, why);
    let array = compile(|x: Arr<f32, N>, p: Arr<At<N>, M>, far: Arr<i64, M>| {
        let forged = iterate(1, Turned(p, far), |_, s: Turned<Arr<At<N>, M>, Arr<i64, M>>| s).0;
        forged.map(|i| x.at(i))
    });
    is_refused(array, why);
}

// ---- parameters and results by hand

/// A number that comes back as a position.
#[derive(Clone, Copy)]
struct Posing(Exp<i64>);

impl slyz::Output for Posing {
    type Host = Tensor<At<N>, ()>;
    fn outs(self, out: &mut expanded::Outs) {
        self.0.outs(out);
    }
    fn read(results: &mut expanded::Results) -> Self::Host {
        <Idx<N> as slyz::Output>::read(results)
    }
}

/// An array of numbers that comes back as one of positions, in another order than the results are in.
#[derive(Clone, Copy)]
struct Posed(Arr<At<N>, M>, Arr<i64, M>);

impl slyz::Output for Posed {
    type Host = (Tensor<i64, M>, Tensor<At<N>, M>);
    fn outs(self, out: &mut expanded::Outs) {
        self.0.outs(out);
        self.1.outs(out);
    }
    fn read(results: &mut expanded::Results) -> Self::Host {
        (<Arr<i64, M> as slyz::Output>::read(results), <Arr<At<N>, M> as slyz::Output>::read(results))
    }
}

fn is_outside<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(Error::Call(CallError::Outside { position: 4, extent: 4, .. })) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_that_are_read_as_others() -> Result<(), Error> {
    let number = compile(|x: Arr<f32, N>, far: Exp<i64>| (x.sum(), Posing(far)))?.call(&OURS[MINE], 4)?.1;
    is_outside(compile(|x: Arr<f32, N>, i: Idx<N>| x.at(i))?.call(&OURS[MINE], &number));
    let f = compile(|x: Arr<f32, N>, inside: Arr<At<N>, M>, far: Arr<i64, M>| (x.sum(), Posed(inside, far)))?;
    let numbers = f.call(&OURS[MINE], &[At::new(0)], &[4i64])?.1.1;
    is_outside(compile(|x: Arr<f32, N>, p: Arr<At<N>, M>| p.map(|i| x.at(i)))?.call(&OURS[MINE], &numbers));
    Ok(())
}

/// A parameter by hand.
#[derive(Clone, Copy)]
struct Row(Arr<f32, N>, Idx<N>);

impl Param for Row {
    fn make(from: &mut expanded::Parameters) -> Self {
        Row(from.field("x"), from.field("i"))
    }
}

/// What stands for its position, after the array.
enum Misfit {
    Nothing,
    Twice,
    Number(i64),
    Bits(&'static [f64]),
    Half(&'static [f32]),
    Pairs(&'static [(f32, f32)]),
    Line(&'static [i64]),
}

impl Feed<Row> for Misfit {
    fn feed<'a>(&'a self, out: &mut Fed<'a>) {
        const X: &[f32] = &[1.0, 2.0, 3.0, 4.0];
        Feed::<Arr<f32, N>>::feed(&X, out);
        match self {
            Misfit::Nothing => {}
            Misfit::Twice => [1, 2].iter().for_each(|_| Feed::<Exp<i64>>::feed(&0, out)),
            Misfit::Number(far) => Feed::<Exp<i64>>::feed(far, out),
            Misfit::Bits(far) => Feed::<Arr<f64, N>>::feed(far, out),
            Misfit::Half(far) => Feed::<Arr<f32, N>>::feed(far, out),
            Misfit::Pairs(far) => Feed::<Arr<(f32, f32), N>>::feed(far, out),
            Misfit::Line(far) => Feed::<Arr<i64, N>>::feed(far, out),
        }
    }
}

#[test]
fn arguments_by_hand() -> Result<(), Error> {
    for device in crate::devices() {
        let f = compile_on(&device, |row: Row| row.0.at(row.1))?;
        assert_eq!(f.call(Misfit::Number(3))?.value()?, 4.0);
        is_outside(f.call(Misfit::Number(4)));
        assert!(matches!(f.call(Misfit::Number(-1)), Err(Error::Call(CallError::Outside { .. }))));
        assert!(matches!(f.call(Misfit::Bits(&[1.0])), Err(Error::Call(CallError::Outside { .. }))));
        assert!(matches!(f.call(Misfit::Half(&[1.0])), Err(Error::Run(_))));
        let parts = f.call(Misfit::Pairs(&[(1.0, 1.0)]));
        assert!(matches!(parts, Err(Error::Call(CallError::Parts { argument: 1, expected: 1, found: 2, .. }))));
        assert!(matches!(f.call(Misfit::Line(&[0, 1])), Err(Error::Call(CallError::Length { .. }))));
        for (misfit, found) in [(Misfit::Nothing, 1), (Misfit::Twice, 3)] {
            let pieces = f.call(misfit);
            assert!(matches!(pieces, Err(Error::Call(CallError::Pieces { expected: 2, found: n })) if n == found));
        }
    }
    Ok(())
}

#[derive(Clone, Copy, slyz::Arrays)]
struct Places {
    x: Arr<f32, N>,
    i: Idx<N>,
}

/// A struct of another function, or of none, is as good as its handles.
#[test]
fn structs_of_others() -> Result<(), Error> {
    let kept = std::cell::Cell::new(None);
    compile(|places: Places| {
        kept.set(Some(places));
        places.x.sum()
    })?;
    let stolen = kept.get().expect("it was traced");
    is_refused(compile(|x: Arr<f32, N>| x.at(stolen.i)), "a value of another traced function is used here");
    is_refused(compile(|i: Idx<N>| Places { i, ..stolen }), "a value of another traced function is used here");
    is_refused(
        compile(|now: Places| iterate(2, now, |_, _: Places| stolen)),
        "a value of another traced function is used here",
    );
    Ok(())
}

// ---- what the macros expand to

#[test]
fn positions_of_functions() {
    let forged = compile(|x: Arr<f32, N>, i: Idx<N>, far: Exp<i64>| x.at(i.again(&mut || handles(far)[0])));
    is_refused(forged, NOT_A_POSITION);
    let forged = compile(|x: Arr<f32, N>, i: Idx<N>, far: Exp<i64>| x.at(Phi::build(i, &mut || handles(far)[0])));
    is_refused(forged, NOT_A_POSITION);
}

/// An argument that hands out its position or its number.
#[derive(Clone, Copy)]
struct Either2(Idx<N>, Exp<i64>, bool);

impl FunctionArg for Either2 {
    fn handles(self, out: &mut Vec<Handle>) {
        out.extend(if self.2 { handles(self.0) } else { handles(self.1) })
    }
    fn again(self, next: &mut dyn FnMut() -> Handle) -> Self {
        Either2(self.0.again(next), self.1, self.2)
    }
    fn key(self, _: &mut Vec<u64>) {}
}

#[test]
fn functions_that_were_traced_for_positions() {
    let same = |arg: Either2| expanded::call("same", arg, |arg: Either2| arg.0);
    let forged = compile(|x: Arr<f32, N>, i: Idx<N>, far: Exp<i64>| {
        let inside = same(Either2(i, far, true));
        let outside = same(Either2(i, far, false));
        x.at(inside) + x.at(outside)
    });
    is_refused(forged, NOT_A_POSITION);
}

/// A variable that is a position when it is looked at, and a number inside branches.
#[derive(Clone, Copy)]
struct Changing(Idx<N>, Exp<i64>, bool);

impl Phi for Changing {
    fn leaves(self, out: &mut Vec<Handle>) {
        out.extend(if self.2 { handles(self.0) } else { handles(self.1) })
    }
    fn build(like: Self, next: &mut dyn FnMut() -> Handle) -> Self {
        Changing(Phi::build(like.0, next), like.1, like.2)
    }
}

#[test]
fn variables_of_branches() {
    let forged = compile(|x: Arr<f32, N>, i: Idx<N>, far: Exp<i64>| {
        let change = |v: Changing| (Changing(v.0, v.1, false), lit(0f32));
        let (after, _) = expanded::cond(far.gt(0)).branch(Changing(i, far, true), change, change);
        x.at(after.0)
    });
    is_refused(forged, NOT_A_POSITION);
}

#[slyz::function]
fn further(i: Idx<N>, far: Exp<bool>) -> Idx<N> {
    let mut at = i;
    if far {
        at = i.reversed();
    }
    at
}

/// What is refused above is what functions do every day.
#[test]
fn functions_of_positions() -> Result<(), Error> {
    let f = compile(|x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at(further(i, x.at(i).gt(1.0)))))?;
    assert_eq!(f.call(&[1f32, 2.0, 3.0])?.to_vec()?, [1.0, 2.0, 1.0]);
    Ok(())
}

// ---- distances and sizes

/// Says 0, and goes far.
struct Far;

impl Offset for Far {
    fn steps(self) -> Exp<i64> {
        lit(1 << 40)
    }
    fn constant(&self) -> Option<i64> {
        Some(0)
    }
}

#[test]
fn distances_that_are_others() -> Result<(), Error> {
    let device = slyz::device("interpreter")?;
    let f = compile_on(&device, |x: Arr<f32, N>| tabulate(|i: Idx<N>| x.at((i + Far).wrap())))?;
    assert_eq!(f.call(&[1f32, 2.0])?.to_vec()?, [1.0, 2.0]);
    Ok(())
}

#[test]
fn axes_with_more_positions_than_numbers() -> Result<(), Error> {
    let device = slyz::device("interpreter")?;
    let too_many = |result| match result {
        Err(Error::Call(CallError::Overflow { .. })) => {}
        other => panic!("{other:?}"),
    };
    let x = [1f32; 16];
    let there_and_back =
        |x: Arr<f32, A>| tabulate(|i: Idx<A>| x.at(Idx::<Flat<A, B>>::flat(i, Near::<B>::new(0).clamp()).outer()));
    let f = compile_on(&device, there_and_back)?;
    assert_eq!(f.clone().size::<B>(3).call(&x)?.to_vec()?, x);
    too_many(f.size::<B>(1 << 60).call(&x));
    let around = |x: Arr<f32, A>| {
        tabulate(|i: Idx<A>| {
            let last = Idx::<Either<A, B>>::right(Near::<B>::new(i64::MAX).clamp());
            last.either::<f32, _, _>(|i| x.at(i), |_| x.at(i))
        })
    };
    let f = compile_on(&device, around)?;
    assert_eq!(f.clone().size::<B>(3).call(&x)?.to_vec()?, x);
    too_many(f.size::<B>(i64::MAX as usize).call(&x));
    let turned = |x: Arr<f32, A>| {
        let wide: Arr<f32, (A, B)> = tabulate(|(i, _): Pos<(A, B)>| x.at(i));
        let wide: Arr<f32, (A, B)> = wide.reshape();
        tabulate(|i: Idx<A>| wide.at((i, Near::<B>::new(0).clamp())))
    };
    let f = compile_on(&device, turned)?;
    assert_eq!(f.clone().size::<B>(3).call(&x)?.to_vec()?, x);
    too_many(f.size::<B>(1 << 60).call(&x));
    Ok(())
}

// ---- kernels and programs from text

static PEEK: EmbeddedKernel = EmbeddedKernel::new(
    "peek",
    "kernel peek<grid_x, grid_y, grid_z, threads_x, threads_y, threads_z, x_len, y_len>(%far: i64)
     grid [grid_x, grid_y, grid_z] block [1, 1, 1] {
       global read x: f32[x_len]
       global readwrite y: f32[y_len]
       %i: i64 = global.x
       %at: i64 = add %i, %far
       %in: bool = check x[%i]
       if %in {
         %v: f32 = load x[%at]
         store y[%i], %v
       } else {}
     }",
    &[],
);

fn peek<'a>(far: i64, x: impl Input<'a, f32>, y: impl InOut<'a, f32>) -> Launch<'a> {
    Launch::new(&PEEK).scalar(far).read(x).write(y)
}

#[test]
fn kernels_without_checks() -> Result<(), Error> {
    for device in crate::devices() {
        let mut y = vec![9f32; 4];
        peek(0, &OURS[MINE], &mut y).on(&device).run()?;
        assert_eq!(y, OURS[MINE], "{}", device.name());
        let error = peek(2, &OURS[MINE], &mut y).on(&device).run().unwrap_err();
        let fault = error.fault().unwrap_or_else(|| panic!("{}: {error}", device.name()));
        assert_eq!((&fault.memory[..], fault.shape[0]), ("x", 4));
        assert_eq!(y, [3.0, 4.0, 0.0, 0.0], "{}: nothing was read there", device.name());
    }
    Ok(())
}

#[test]
fn programs_from_text() -> Result<(), Error> {
    let text = "program peek<N, M>(%x: f32[N], %p: i64[M], %k: i64) -> (f32[M], f32) {
        %y: f32[M] = tabulate [M] |%i: i64| {
          %at: i64 = at %p[%i]
          %v: f32 = at %x[%at]
          yield %v
        }
        %one: f32 = at %x[%k]
        return %y, %one
    }";
    let program = parse_program(text).unwrap_or_else(|error| panic!("{error}"));
    let positions = [0i64, 3, 4, -1, i64::MAX, i64::MIN, 1 << 32];
    // The interpreter tells where a read goes outside.
    for device in crate::devices().into_iter().filter(|device| device.name() != "interpreter") {
        let (name, code) = (device.name(), device.compile(&program)?);
        let args = [
            Argument::host(Ty::F32, &[4], &OURS[MINE]),
            Argument::host(Ty::I64, &[7], &positions),
            Argument::Scalar(Constant::i64(-4)),
        ];
        let results = code.run(&[Some(4), Some(7)], &args)?;
        assert_eq!(results[0].data.as_slice::<f32>(), Some(&[1.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0][..]), "{name}");
        assert_eq!(results[1].data.as_slice::<f32>(), Some(&[0.0][..]), "{name}");
    }
    Ok(())
}

// ---- devices

/// A device that gives back what it likes.
struct Liar {
    shape: Vec<u64>,
    words: Vec<u64>,
}

impl Device for Liar {
    fn name(&self) -> &str {
        "liar"
    }
    fn describe(&self) -> String {
        "liar: positions outside".to_string()
    }
    fn compile(&self, _: &Program) -> Result<Arc<dyn Executable>, slyz_run::Error> {
        Ok(Arc::new(Liar { shape: self.shape.clone(), words: self.words.clone() }))
    }
    fn prepare(&self, _: &Arc<Template>) -> Result<Arc<dyn Launcher>, slyz_run::Error> {
        unreachable!("it launches nothing")
    }
    fn upload(&self, _: ArrayData<'_>) -> Result<Buffer, slyz_run::Error> {
        self.buffer()
    }
}

impl Liar {
    fn buffer(&self) -> Result<Buffer, slyz_run::Error> {
        let bytes: Vec<u8> = self.words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        Buffer::copy_of(&bytes)
    }
}

impl Executable for Liar {
    fn run(&self, _: &[Option<u64>], _: &[Argument<'_>]) -> Result<Vec<Output>, slyz_run::Error> {
        Ok(vec![Output { ty: Ty::I64, shape: self.shape.clone(), data: self.buffer()? }])
    }
    fn source(&self) -> &str {
        ""
    }
    fn plan(&self) -> Option<&Plan> {
        None
    }
    fn device(&self) -> &str {
        "liar"
    }
}

fn lies(shape: &[u64], words: &[u64]) -> Arc<dyn Device> {
    Arc::new(Liar { shape: shape.to_vec(), words: words.to_vec() })
}

#[test]
fn results_of_other_devices() -> Result<(), Error> {
    let interpreter = slyz::device("interpreter")?;
    let orders = |x: Arr<f32, (M, N)>| x.innermost().argmax();
    let gather = compile_on(&interpreter, |x: Arr<f32, N>, p: Arr<At<N>, M>| p.map(|i| x.at(i)))?;
    let x = [[1f32, 2.0], [4.0, 3.0]];

    let honest = compile_on(&lies(&[2], &[1, 0]), orders)?.call(&x)?;
    assert_eq!(gather.call(&[5f32, 6.0], &honest)?.to_vec()?, [6.0, 5.0]);
    let far = compile_on(&lies(&[2], &[1, 2]), orders)?.call(&x)?;
    let outside = |result| match result {
        Err(Error::Call(CallError::Outside { argument: 2, element: 1, position: 2, extent: 2, .. })) => {}
        other => panic!("{other:?}"),
    };
    outside(gather.call(&[5f32, 6.0], &far));

    for (shape, words) in [(&[2u64][..], &[1u64][..]), (&[3], &[0, 0, 0]), (&[2, 1], &[0, 0]), (&[1 << 62], &[0, 0])] {
        let result = compile_on(&lies(shape, words), orders)?.call(&x);
        assert!(matches!(result, Err(Error::Call(CallError::Returned { .. }))), "{shape:?}: {result:?}");
    }

    let told = compile_on(&interpreter, orders)?.call(&x)?;
    outside(gather.call(&[5f32, 6.0], &told.to(&lies(&[2], &[1, 2]))?));
    assert!(told.to(&lies(&[2], &[1])).is_err());
    assert_eq!(gather.call(&[5f32, 6.0], &told.to(&interpreter)?)?.to_vec()?, [6.0, 5.0]);
    Ok(())
}
