//! Plans that the clock chooses.
#![cfg(feature = "cpu")]

mod devices;

use slyz_run::tune::{decisions, tuned};
use slyz_run::{Argument, Device};
use slyz_sir::text::parse_program;
use slyz_sir::types::Ty;

/// Whatever the clock chooses, the results are the same; and it is asked once.
#[test]
fn tuned_calls_give_the_same() {
    let folder = tempfile::tempdir().unwrap();
    // SAFETY: this is the only test of its process.
    unsafe { std::env::set_var("SLYZ_CACHE_DIR", folder.path()) };
    let product = "program product<N, K, M>(%a: f32[N, K], %b: f32[K, M]) -> f32[M, N] {
        %zero: f32 = const 0.0
        %c: f32[N, M] = tabulate [N, M] |%i: i64, %j: i64| {
            %s: f32 = fold [K] |%k: i64| {
                %x: f32 = at %a[%i, %k]
                %y: f32 = at %b[%k, %j]
                %z: f32 = mul %x, %y
                yield %z
            } with commutative (%zero) |%p: f32, %q: f32| { %r: f32 = add %p, %q  yield %r }
            yield %s
        }
        %t: f32[M, N] = tabulate [M, N] |%j: i64, %i: i64| { %x: f32 = at %c[%i, %j]  yield %x }
        return %t
    }";
    let [n, k, m] = [70u64, 33, 90];
    // Small whole numbers: sums are the same in every order.
    let data = |count: u64, step: u64| (0..count).map(|i| ((i * step) % 7) as f32 - 3.0).collect::<Vec<f32>>();
    let (a, b) = (data(n * k, 5), data(k * m, 3));
    let args = [Argument::host(Ty::F32, &[n, k], &a), Argument::host(Ty::F32, &[k, m], &b)];
    let sizes = [Some(n), Some(k), Some(m)];
    // A device, and whether it has to find out by itself what is best.
    let mut all: Vec<(Box<dyn Device>, bool)> =
        vec![(Box::new(devices::narrow()), true), (Box::new(devices::narrow()), false)];
    all.extend(devices::gpus().into_iter().map(|gpu| (gpu.device, true)));
    for (device, measures) in all {
        let code = device.compile(&parse_program(product).unwrap()).unwrap();
        let usual = code.run(&sizes, &args).unwrap()[0].data.bytes().unwrap().to_vec();
        for again in [false, true] {
            let tuned = tuned(|| code.run(&sizes, &args)).unwrap();
            assert_eq!(tuned[0].data.bytes().unwrap(), usual, "{}", device.name());
            let decisions = decisions();
            let tried: usize = decisions.iter().map(|decision| decision.tried.len()).sum();
            assert_eq!((decisions.len(), tried > 1), (usize::from(!again), measures && !again), "{decisions:?}");
        }
    }
}
