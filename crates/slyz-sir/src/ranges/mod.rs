//! What the integers of a kernel can be: one analysis, for everybody who asks.
//!
//! [`of_kernel`] walks a kernel once with what is known before ([`Facts`]: sizes, scalars, where threads stand, limits of a
//! machine) and gives the range of every name: what conditions say on the way to it, what loops carry, and
//! arithmetic. Proofs that accesses are inside (`bounds`), the elements that blocks touch (`reach`), turns of loops and the
//! registers of every backend hang on it; who wants to know something at a statement is an [`Ask`].
//!
//! *Never too small:* a number that may wrap around is anything of its type, and so is what memory holds. It takes time in proportion to
//! the kernel: a walk that gets tired takes what loops carry, and what functions give, for anything.
//!
//! | file | what |
//! |---|---|
//! | `range` | ranges, the table of operators, the table of comparisons |
//! | `facts` | what is known before the code is looked at |
//! | `walk`, `loops` | one way through the code |
//! | `guard` | what conditions say about the names in them |
//! | `form` | sums of names, for what ranges alone cannot tell |
//! | `low` | of which numbers nobody asks for more than the low word |

mod facts;
mod form;
mod guard;
mod loops;
pub(crate) mod low;
mod range;
mod walk;

pub use facts::Facts;
pub(crate) use range::{Range, counts_width, exact, of_type};
pub(crate) use walk::{Ask, Walk};

use crate::code::Id;
use crate::kernel::Kernel;
use crate::types::Ty;

/// The range of every name of a kernel.
#[derive(Default)]
pub(crate) struct Ranges {
    /// Where the name is bound; nothing where no thread comes by.
    found: Vec<Option<Range>>,
    types: Vec<Ty>,
}

impl Ranges {
    /// What a name can be, wherever it is seen. Of a float, nothing is said.
    pub fn get(&self, id: Id) -> Range {
        let at = id.0 as usize;
        let by_type = || self.types.get(at).map_or(Range::FULL, |&ty| range::of_type(ty));
        self.found.get(at).copied().flatten().unwrap_or_else(by_type)
    }

    /// What an `i64` can be, where that is less than anything.
    pub fn known(&self, id: Id) -> Option<Range> {
        let counts = self.types.get(id.0 as usize) == Some(&Ty::I64);
        Some(self.get(id)).filter(|range| counts && *range != Range::FULL)
    }

    /// Is there a thread that binds it?
    #[cfg(feature = "naga")]
    pub fn is_reached(&self, id: Id) -> bool {
        self.found.get(id.0 as usize).is_some_and(Option::is_some)
    }
}

/// What the names of a kernel can be, in every launch that the facts allow.
pub(crate) fn of_kernel(kernel: &Kernel, facts: &Facts) -> Ranges {
    Walk::new(kernel, facts, None).run()
}

/// Tells somebody about every statement that a thread can come to, in order.
pub(crate) fn walk(kernel: &Kernel, facts: &Facts, ask: &mut dyn Ask) {
    Walk::new(kernel, facts, Some(ask)).run();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Body, Op, Stmt};
    use crate::text::parse_kernel;

    /// The ranges of the names that `print` marks: the values that the kernel stores, in order.
    fn stored(code: &str, facts: impl Fn(&Kernel) -> Facts) -> Vec<(i128, i128)> {
        let text = format!(
            "kernel k<n>(%y: i64) grid [ceil(n / 256), 1, 1] block [256, 1, 1] {{
               global read data: i64[n]  global write out: i64[n]
               %i: i64 = global.x  %n: i64 = extent n  %zero: i64 = const 0  %one: i64 = const 1
               {code} }}"
        );
        let kernel = parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(crate::verify::kernel(&kernel), Ok(()));
        let ranges = of_kernel(&kernel, &facts(&kernel));
        let mut found = vec![];
        gather(&kernel.body, &mut |stmt| {
            if let Op::Store { values, .. } = &stmt.op {
                found.extend(values.iter().map(|&id| (ranges.get(id).lo, ranges.get(id).hi)));
            }
        });
        found
    }

    fn gather(body: &Body, see: &mut dyn FnMut(&Stmt)) {
        for stmt in &body.stmts {
            see(stmt);
            stmt.op.bodies().into_iter().for_each(|inner| gather(inner, see));
        }
    }

    const FULL: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

    fn of_thousand(_: &Kernel) -> Facts {
        Facts::of_call(&[Some(1000)])
    }

    #[test]
    fn places_and_sizes() {
        let code = "store out[%i], %i  store out[%i], %n  %l: i64 = lane  store out[%i], %l  store out[%i], %y";
        let lane = (0, i128::from(crate::launch::LARGEST_SUBGROUP) - 1);
        assert_eq!(stored(code, of_thousand), [(0, 1023), (1000, 1000), lane, FULL]);
        let limited = |kernel: &Kernel| Facts::with_axes(kernel, 1 << 40).with_extents(1 << 30).with_places(99);
        assert_eq!(stored(code, limited), [(0, 99), (0, 1 << 30), lane, FULL]);
        let blocks = |_: &Kernel| Facts::of_call(&[Some(1000)]).in_blocks(&[1..3, 0..1, 0..1]);
        assert_eq!(stored(code, blocks)[0], (256, 767));
    }

    #[test]
    fn what_conditions_say_holds_behind_them() {
        let code = "%d: i64 = load data[%i]  %a: bool = ge %d, %zero  %b: bool = lt %d, %n  %c: bool = and %a, %b
                    if %c { %e: i64 = add %d, %one  store out[%i], %e } else { store out[%i], %d }";
        assert_eq!(stored(code, of_thousand), [(1, 1000), FULL]);
        let decide_only = |_: &Kernel| Facts::of_call(&[Some(1000)]).in_blocks(&[0..1, 0..1, 0..1]);
        assert_eq!(stored(code, decide_only), [FULL, FULL]);
    }

    #[test]
    fn what_loops_carry() {
        let doubling = "%s: i64 = while (%one) |%t: i64| { %c: bool = lt %t, %n  yield %c }
                        do |%u: i64| { %v: i64 = add %u, %u  store out[%i], %v  yield %v }  store out[%i], %s";
        assert_eq!(stored(doubling, of_thousand), [(2, 1998), (1000, 1998)]);
        let counting = "%s: i64 = for %zero to %n step %one (%zero) |%k: i64, %t: i64| {
                        %v: i64 = add %t, %k  yield %t }  store out[%i], %s";
        assert_eq!(stored(counting, of_thousand), [(0, 0)]);
        let adding = "%two: i64 = const 2  %s: i64 = for %zero to %n step %one (%zero) |%k: i64, %t: i64| {
                      %v: i64 = add %t, %two  store out[%k], %t  yield %v }  store out[%i], %s";
        assert_eq!(stored(adding, of_thousand), [(0, 1998), (0, 2000)]);
    }

    /// The walk is tired long before its end, and yet everything but what loops carry is known behind it.
    #[test]
    fn a_long_walk_knows_what_needs_no_rounds() {
        let mut code = String::new();
        for k in 0..20_000 {
            code += &format!(
                "%s{k}: i64 = while (%one) |%t{k}: i64| {{ %c{k}: bool = ne %t{k}, %n  yield %c{k} }}
                 do |%u{k}: i64| {{ %v{k}: i64 = add %u{k}, %one  yield %v{k} }} "
            );
        }
        code += "%last: i64 = add %i, %one  store out[%i], %last  store out[%i], %s19999";
        assert_eq!(stored(&code, of_thousand), [(1, 1024), FULL]);
    }
}
