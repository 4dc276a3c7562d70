//! Calls that wait: random chains of programs, with results that are read early, late or never, give what they give one by one.
#![cfg(feature = "cpu")]

mod devices;

use slyz_run::{Argument, Buffer, Device, Executable, Output, lazily, profile};
use slyz_sir::text::parse_program;
use slyz_sir::types::{Scalar, Ty};
use slyz_trials::{Random, trials};
use std::sync::Arc;

/// Rows and columns of the matrices; flat arrays have all their elements.
const SHAPES: [[u64; 2]; 5] = [[1, 1], [3, 5], [4, 4], [16, 1], [9, 40]];

/// Programs over flat arrays, matrices, rows and numbers, and what their arguments and results are.
const PROGRAMS: [(&str, &[Kind], &[Kind]); 8] = [
    (
        "program scale<L>(%x: f32[L], %a: f32) -> f32[L] {
            %y: f32[L] = tabulate [L] |%i: i64| { %b: f32 = at %x[%i]  %c: f32 = mul %b, %a  yield %c }
            return %y
        }",
        &[Kind::Flat, Kind::Number],
        &[Kind::Flat],
    ),
    (
        "program mix<L>(%x: f32[L], %y: f32[L]) -> (f32[L], f32[L]) {
            %s: f32[L], %d: f32[L] = tabulate [L] |%i: i64| {
                %a: f32 = at %x[%i]
                %b: f32 = at %y[%i]
                %c: f32 = add %a, %b
                %e: f32 = sub %a, %b
                yield %c, %e
            }
            return %s, %d
        }",
        &[Kind::Flat, Kind::Flat],
        &[Kind::Flat, Kind::Flat],
    ),
    (
        "program reversed<L>(%x: f32[L]) -> f32[L] {
            %n: i64 = extent L
            %one: i64 = const 1
            %y: f32[L] = tabulate [L] |%i: i64| {
                %j: i64 = sub %n, %i
                %k: i64 = sub %j, %one
                %a: f32 = at %x[%k]
                yield %a
            }
            return %y
        }",
        &[Kind::Flat],
        &[Kind::Flat],
    ),
    (
        "program half<N, M>(%x: f32[N, M]) -> f32[N, M] {
            %h: f32 = const 0.5
            %y: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| { %a: f32 = at %x[%i, %j]  %b: f32 = mul %a, %h  yield %b }
            return %y
        }",
        &[Kind::Matrix],
        &[Kind::Matrix],
    ),
    (
        "program rows<N, M>(%x: f32[N, M]) -> f32[N] {
            %zero: f32 = const 0.0
            %y: f32[N] = tabulate [N] |%i: i64| {
                %s: f32 = fold [M] |%j: i64| { %a: f32 = at %x[%i, %j]  yield %a } with (%zero) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
                yield %s
            }
            return %y
        }",
        &[Kind::Matrix],
        &[Kind::Rows],
    ),
    (
        "program spread<N, M>(%x: f32[N, M], %r: f32[N]) -> f32[N, M] {
            %y: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
                %a: f32 = at %x[%i, %j]
                %b: f32 = at %r[%i]
                %c: f32 = sub %a, %b
                yield %c
            }
            return %y
        }",
        &[Kind::Matrix, Kind::Rows],
        &[Kind::Matrix],
    ),
    (
        "program largest<L>(%x: f32[L]) -> f32 {
            %least: f32 = const -inf
            %y: f32 = fold [L] |%i: i64| { %a: f32 = at %x[%i]  yield %a } with commutative (%least) |%a: f32, %b: f32| { %c: f32 = max %a, %b  yield %c }
            return %y
        }",
        &[Kind::Flat],
        &[Kind::Number],
    ),
    (
        "program positive<L, counted K>(%x: f32[L]) -> f32[K] {
            %zero: f32 = const 0.0
            %y: f32[K] = filter L as K |%i: i64| { %a: f32 = at %x[%i]  %b: bool = gt %a, %zero  yield %b, %a }
            return %y
        }",
        &[Kind::Flat],
        &[],
    ),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Flat,
    Matrix,
    Rows,
    Number,
}

impl Kind {
    fn shape(self, [n, m]: [u64; 2]) -> Vec<u64> {
        match self {
            Kind::Flat => vec![n * m],
            Kind::Matrix => vec![n, m],
            Kind::Rows => vec![n],
            Kind::Number => vec![],
        }
    }

    /// A flat array is a matrix, row by row.
    fn fits(self, wanted: Kind) -> bool {
        let large = |kind| matches!(kind, Kind::Flat | Kind::Matrix);
        self == wanted || large(self) && large(wanted)
    }
}

/// Something that was computed, and what it is.
#[derive(Clone)]
struct Value {
    kind: Kind,
    data: Buffer,
}

/// What a seed does, with calls on one device: what was read, in order.
fn story(seed: u64, code: &[Arc<dyn Executable>]) -> Vec<Vec<u8>> {
    let mut random = Random(seed);
    let shape = random.pick(&SHAPES);
    let count = |kind: Kind| kind.shape(shape).iter().product::<u64>();
    let mut start = |kind: Kind| {
        let bytes: Vec<u8> =
            (0..count(kind)).flat_map(|_| (random.below(33) as f32 / 4.0 - 4.0).to_ne_bytes()).collect();
        Value { kind, data: Buffer::copy_of(&bytes).unwrap() }
    };
    let mut held = vec![start(Kind::Flat), start(Kind::Matrix), start(Kind::Rows), start(Kind::Number)];
    let mut told = vec![];
    for _ in 0..random.below(14) + 2 {
        match random.below(8) {
            0 => {
                let value = &held[random.below(held.len() as u64) as usize];
                told.push(value.data.bytes().unwrap().to_vec());
            }
            1 if held.len() > 4 => drop(held.remove(4 + random.below(held.len() as u64 - 4) as usize)),
            2 => {
                // Whoever changes a result changes nobody else's.
                let place = random.below(held.len() as u64) as usize;
                if let Some(byte) = held[place].data.bytes_mut().unwrap().first_mut() {
                    *byte ^= 1;
                }
            }
            _ => call(&mut random, shape, code, &mut held, &mut told),
        }
    }
    told.extend(held.iter().map(|value| value.data.bytes().unwrap().to_vec()));
    told
}

fn call(
    random: &mut Random,
    shape: [u64; 2],
    code: &[Arc<dyn Executable>],
    held: &mut Vec<Value>,
    told: &mut Vec<Vec<u8>>,
) {
    let which = random.below(PROGRAMS.len() as u64) as usize;
    let (_, params, results) = PROGRAMS[which];
    let mut args: Vec<(Vec<u64>, Buffer)> = vec![];
    for param in params {
        let fitting: Vec<&Value> = held.iter().filter(|value| value.kind.fits(*param)).collect();
        // The latest more often than others.
        let place =
            fitting.len() - 1 - (random.below(fitting.len() as u64).min(random.below(fitting.len() as u64))) as usize;
        args.push((param.shape(shape), fitting[place].data.clone()));
    }
    let [n, m] = shape;
    let sizes = match which {
        0..=2 | 6 => vec![Some(n * m)],
        7 => vec![Some(n * m), None],
        _ => vec![Some(n), Some(m)],
    };
    let array = |(shape, data): &(Vec<u64>, Buffer)| Output { ty: Ty::F32, shape: shape.clone(), data: data.clone() };
    let given: Vec<Output> = args.iter().map(array).collect();
    let passed: Vec<Argument<'_>> = given.iter().map(Output::as_argument).collect();
    let outputs = code[which].run(&sizes, &passed).unwrap();
    if results.is_empty() {
        told.push(outputs[0].data.bytes().unwrap().to_vec());
    }
    for (kind, output) in results.iter().zip(outputs) {
        held.push(Value { kind: *kind, data: output.data });
    }
}

fn programs() -> Vec<slyz_sir::program::Program> {
    let parse =
        |(text, _, _): &(&str, &[Kind], &[Kind])| parse_program(text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    PROGRAMS.iter().map(parse).collect()
}

#[test]
fn random_calls_that_wait_give_the_same() {
    let mut all: Vec<(String, Box<dyn Device>)> = vec![("cpu".to_string(), Box::new(devices::narrow()))];
    all.extend(devices::gpus().into_iter().map(|gpu| (gpu.name.to_string(), gpu.device)));
    let ready: Vec<_> = all
        .iter()
        .map(|(name, device)| {
            let code: Vec<_> = programs().iter().map(|program| device.compile(program).unwrap()).collect();
            (name, code)
        })
        .collect();
    for seed in trials("random_calls_that_wait_give_the_same", 60) {
        for (name, code) in &ready {
            let now = story(seed, code);
            let later = lazily(|| story(seed, code));
            assert_eq!(now, later, "{name}");
        }
    }
}

/// Calls whose results nobody else holds are one kernel.
#[test]
fn a_chain_is_one_launch() {
    let device = devices::narrow();
    let scale = device.compile(&programs()[0]).unwrap();
    let half = device.compile(&programs()[3]).unwrap();
    let x: Vec<f32> = (0..12).map(|k| k as f32).collect();
    let number = |value: f32| Argument::Scalar(Scalar::f32(value));
    let chained = || {
        lazily(|| {
            let once = scale.run(&[Some(12)], &[Argument::host(Ty::F32, &[12], &x), number(3.0)]).unwrap();
            let as_matrix = Argument::Array {
                ty: Ty::F32,
                shape: vec![3, 4].into(),
                data: slyz_run::ArrayData::Buffer(&once[0].data),
            };
            let twice = half.run(&[Some(3), Some(4)], &[as_matrix]).unwrap();
            let flat = Argument::Array {
                ty: Ty::F32,
                shape: vec![12].into(),
                data: slyz_run::ArrayData::Buffer(&twice[0].data),
            };
            scale.run(&[Some(12)], &[flat, number(2.0)]).unwrap()
        })
    };
    let (outputs, launches) = profile(chained);
    let expected: Vec<f32> = x.iter().map(|x| x * 3.0).collect();
    assert_eq!(outputs[0].data.as_slice::<f32>(), Some(&expected[..]));
    assert_eq!(launches.len(), 1, "{launches:?}");
    let (_, again) = profile(|| outputs[0].data.bytes().map(<[u8]>::len));
    assert!(again.is_empty(), "{again:?}");
}

/// Results travel between threads, and scopes may be inside one another.
#[test]
fn promises_are_kept_for_other_threads() {
    let device = devices::narrow();
    let scale = device.compile(&programs()[0]).unwrap();
    let x = [1.0f32, 2.0];
    let run = |arg: Argument<'_>| scale.run(&[Some(2)], &[arg, Argument::Scalar(Scalar::f32(2.0))]).unwrap();
    lazily(|| {
        let first = run(Argument::host(Ty::F32, &[2], &x));
        let second = lazily(|| run(first[0].as_argument()));
        std::thread::scope(|scope| {
            for output in [&first, &second, &first] {
                scope.spawn(move || assert!(output[0].data.as_slice::<f32>().is_some()));
            }
        });
        let third = run(second[0].as_argument());
        assert_eq!(third[0].data.as_slice::<f32>(), Some(&[8.0, 16.0][..]));
    });
}
