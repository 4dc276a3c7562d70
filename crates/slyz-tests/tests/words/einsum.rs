//! Einstein's sums against plain Rust.

use slyz::prelude::*;

type R<T = ()> = Result<T, slyz::Error>;

axis!(N, M, K, L);

#[test]
fn letters() -> R {
    type One = (Arr<i32, (M, N)>, Arr<i32, N>, Exp<i32>, Arr<i32, (N, M)>);
    fn one(x: Arr<i32, (N, M)>) -> One {
        (einsum!("ij->ji", x), einsum!("ij -> i", x), einsum!("ij->", x), einsum!("ij", x))
    }
    type Two = (Arr<i32, (N, K)>, Arr<i32, (N, K)>, Arr<i32, (K, N)>, Arr<i32, (N, M, K)>);
    fn two(x: Arr<i32, (N, M)>, y: Arr<i32, (M, K)>) -> Two {
        (einsum!("ij,jk->ik", x, y), einsum!("ij,jk", x, y), einsum!("ab,bc->ca", x, y), einsum!("ij,jk->ijk", x, y,))
    }
    for device in crate::devices() {
        let one = compile_on(&device, one)?;
        let two = compile_on(&device, two)?;
        let square = compile_on(&device, |x: Arr<i32, (N, N)>| (einsum!("ii->i", x), einsum!("ii", x)))?;
        let bilinear =
            compile_on(&device, |x: Arr<i32, N>, a: Arr<i32, (N, M)>, y: Arr<i32, M>| einsum!("i,ij,j->", x, a, y))?;
        for (n, m, k) in [(0usize, 2usize, 2usize), (2, 0, 3), (1, 1, 1), (3, 4, 5)] {
            let x: Vec<i32> = (0..(n * m) as i32).map(|k| k % 7 - 3).collect();
            let y: Vec<i32> = (0..(m * k) as i32).map(|k| k % 5 - 2).collect();
            let a = |i: usize, j: usize| x[i * m + j];
            let b = |i: usize, j: usize| y[i * k + j];
            let (turned, rows, all, same) = one.call((&x, [n, m]))?;
            assert_eq!(turned.to_vec()?, (0..m * n).map(|p| a(p % n, p / n)).collect::<Vec<_>>());
            assert_eq!(rows.to_vec()?, (0..n).map(|i| (0..m).map(|j| a(i, j)).sum()).collect::<Vec<i32>>());
            assert_eq!((all.value()?, same.to_vec()?), (x.iter().sum(), x.clone()));
            let cell = |i: usize, l: usize| (0..m).map(|j| a(i, j) * b(j, l)).sum::<i32>();
            let (product, implicit, back, cube) = two.call((&x, [n, m]), (&y, [m, k]))?;
            let expected: Vec<i32> = (0..n * k).map(|p| cell(p / k, p % k)).collect();
            assert_eq!((product.to_vec()?, implicit.to_vec()?), (expected.clone(), expected));
            assert_eq!(back.to_vec()?, (0..k * n).map(|p| cell(p % n, p / n)).collect::<Vec<_>>());
            let expected = (0..n * m * k).map(|p| a(p / k / m, p / k % m) * b(p / k % m, p % k));
            assert_eq!(cube.to_vec()?, expected.collect::<Vec<_>>());
            let s: Vec<i32> = (0..(n * n) as i32).collect();
            let (diagonal, trace) = square.call((&s, [n, n]))?;
            let expected: Vec<i32> = (0..n).map(|i| s[i * n + i]).collect();
            assert_eq!((trace.value()?, diagonal.to_vec()?), (expected.iter().sum(), expected));
            let (u, v): (Vec<i32>, Vec<i32>) = ((0..n as i32).collect(), (0..m as i32).collect());
            let expected = (0..n * m).map(|p| u[p / m] * a(p / m, p % m) * v[p % m]).sum::<i32>();
            assert_eq!(bilinear.call(&u, (&x, [n, m]), &v)?.value()?, expected);
        }
    }
    Ok(())
}
