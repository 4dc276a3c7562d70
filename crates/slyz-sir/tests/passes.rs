//! Each law and each pass on a small program, in SIR text before and after.

use slyz_sir::pass::{blend, cse, dce, fuse, hoist, simplify};
use slyz_sir::program::Program;
use slyz_sir::text::parse_program;
use slyz_sir::verify;

fn parsed(text: &str) -> Program {
    let program = parse_program(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(verify::program(&program), Ok(()), "{text}");
    program
}

/// Runs passes over the first text and compares with the second; numbering and layout do not matter.
#[track_caller]
fn becomes(passes: &[fn(Program) -> Program], before: &str, after: &str) {
    let rewritten = passes.iter().fold(parsed(before), |program, pass| pass(program));
    assert_eq!(verify::program(&rewritten), Ok(()), "{rewritten}");
    let want = parsed(after);
    assert_eq!(rewritten.to_string(), want.to_string(), "\nfound:\n{rewritten}wanted:\n{want}");
}

/// The scalar code `before` over `%x %y: ty` and `%p %q: bool` is the same as `after` to `simplify`, and both give `%r`.
#[track_caller]
fn law(ty: &str, result: &str, before: &str, after: &str) {
    let program =
        |code: &str| format!("program g(%x: {ty}, %y: {ty}, %p: bool, %q: bool) -> {result} {{ {code} return %r }}");
    let (before, after) = (program(before), program(after));
    becomes(&[simplify::run, dce::run], &before, &after);
}

/// The result is one of the parameters.
#[track_caller]
fn is(ty: &str, before: &str, name: &str) {
    let program = |code: &str, name: &str| {
        format!("program g(%x: {ty}, %y: {ty}, %p: bool, %q: bool) -> {ty} {{ {code} return {name} }}")
    };
    becomes(&[simplify::run, dce::run], &program(before, "%r"), &program("", name));
}

/// Nothing happens.
#[track_caller]
fn stays(ty: &str, result: &str, code: &str) {
    law(ty, result, code, code);
}

#[test]
fn constants_fold() {
    law("i32", "i32", "%a: i32 = const 7  %b: i32 = const 0  %r: i32 = div %a, %b", "%r: i32 = const 7");
    law("f32", "f32", "%a: f32 = const 0.0  %r: f32 = exp %a", "%r: f32 = const 1.0");
    law("f32", "bool", "%a: f32 = const nan  %r: bool = ne %a, %a", "%r: bool = const true");
    law("f32", "u8", "%a: f32 = const 300.5  %r: u8 = cast %a", "%r: u8 = const 255");
    law("f32", "u32", "%a: f32 = const 1.0  %r: u32 = bitcast %a", "%r: u32 = const 1065353216");
    law("i32", "i64", "%r: i64 = extent (3 * (2 + 2))", "%r: i64 = const 12");
}

#[test]
fn identities_of_the_table() {
    is("i32", "%u: i32 = const 0  %r: i32 = add %x, %u", "%x");
    is("i32", "%u: i32 = const 0  %r: i32 = add %u, %x", "%x");
    is("f32", "%u: f32 = const -0.0  %r: f32 = add %x, %u", "%x");
    is("f32", "%u: f32 = const 1.0  %r: f32 = mul %u, %x", "%x");
    is("f64", "%u: f64 = const 1.0  %r: f64 = div %x, %u", "%x");
    is("u8", "%u: u8 = const 255  %r: u8 = and %x, %u", "%x");
    is("i8", "%u: i8 = const 127  %r: i8 = min %x, %u", "%x");
    is("bool", "%u: bool = const false  %r: bool = or %x, %u", "%x");
    is("u16", "%u: u16 = const 0  %r: u16 = xor %u, %x", "%x");
}

#[test]
fn identities_that_are_not() {
    // Turns -0.0 into 0.0.
    stays("f32", "f32", "%u: f32 = const 0.0  %r: f32 = add %x, %u");
    // A NaN gives way.
    stays("f32", "f32", "%u: f32 = const inf  %r: f32 = min %x, %u");
    // 1 / x is not x.
    stays("i32", "i32", "%u: i32 = const 1  %r: i32 = div %u, %x");
    stays("f32", "f32", "%u: f32 = const -0.0  %r: f32 = sub %x, %u");
    stays("i32", "i32", "%u: i32 = const 0  %r: i32 = sub %u, %x");
}

#[test]
fn absorbing_elements() {
    law("i32", "i32", "%u: i32 = const 0  %r: i32 = mul %x, %u", "%r: i32 = const 0");
    law("bool", "bool", "%u: bool = const false  %r: bool = and %u, %x", "%r: bool = const false");
    law("u8", "u8", "%u: u8 = const 255  %r: u8 = max %x, %u", "%r: u8 = const 255");
    // 0.0 * NaN is NaN.
    stays("f32", "f32", "%u: f32 = const 0.0  %r: f32 = mul %x, %u");
    stays("f32", "f32", "%u: f32 = const -inf  %r: f32 = min %x, %u");
}

#[test]
fn laws_beyond_the_table() {
    is("f32", "%u: f32 = const 0.0  %r: f32 = sub %x, %u", "%x");
    law("i32", "i32", "%r: i32 = sub %x, %x", "%r: i32 = const 0");
    stays("f32", "f32", "%r: f32 = sub %x, %x");
    law("u8", "u8", "%r: u8 = xor %x, %x", "%r: u8 = const 0");
    law("i32", "i32", "%u: i32 = const 1  %r: i32 = rem %x, %u", "%r: i32 = const 0");
    is("i32", "%u: i32 = const 32  %r: i32 = shl %x, %u", "%x");
    is("f32", "%r: f32 = max %x, %x", "%x");
    law("i32", "bool", "%r: bool = le %x, %x", "%r: bool = const true");
    law("i32", "bool", "%r: bool = lt %x, %x", "%r: bool = const false");
    stays("f32", "bool", "%r: bool = eq %x, %x");
    is("bool", "%u: bool = const true  %r: bool = eq %x, %u", "%x");
    is("f32", "%a: f32 = neg %x  %r: f32 = neg %a", "%x");
    is("u8", "%a: u8 = not %x  %r: u8 = not %a", "%x");
    law("f32", "f32", "%a: f32 = abs %x  %r: f32 = abs %a", "%r: f32 = abs %x");
    law("f32", "bool", "%a: bool = eq %x, %y  %r: bool = not %a", "%r: bool = ne %x, %y");
    law("i32", "bool", "%a: bool = lt %x, %y  %r: bool = not %a", "%r: bool = ge %x, %y");
    // Both are false on NaN.
    stays("f32", "bool", "%a: bool = lt %x, %y  %r: bool = not %a");
}

#[test]
fn selects() {
    is("f32", "%c: bool = const false  %r: f32 = select %c, %x, %y", "%y");
    is("f32", "%r: f32 = select %p, %x, %x", "%x");
    law("f32", "f32", "%c: bool = not %p  %r: f32 = select %c, %x, %y", "%r: f32 = select %p, %y, %x");
    let arms = "%t: bool = const true  %f: bool = const false";
    is("bool", &format!("{arms} %r: bool = select %x, %t, %f"), "%x");
    law("bool", "bool", &format!("{arms} %r: bool = select %x, %f, %t"), "%r: bool = not %x");
}

#[test]
fn conversions() {
    is("i32", "%r: i32 = cast %x", "%x");
    is("i32", "%a: f64 = cast %x  %r: i32 = cast %a", "%x");
    stays("i32", "i32", "%a: f32 = cast %x  %r: i32 = cast %a");
    law("i32", "u8", "%a: i64 = cast %x  %r: u8 = cast %a", "%r: u8 = cast %x");
    law("i64", "u8", "%a: u16 = cast %x  %r: u8 = cast %a", "%r: u8 = cast %x");
    // The first conversion cuts.
    stays("i64", "i32", "%a: u8 = cast %x  %r: i32 = cast %a");
    // Floats saturate, integers wrap.
    stays("i32", "u8", "%a: f64 = cast %x  %r: u8 = cast %a");
    law("f16", "f64", "%a: f32 = cast %x  %r: f64 = cast %a", "%r: f64 = cast %x");
    stays("f64", "f16", "%a: f32 = cast %x  %r: f16 = cast %a");
    // 256 is true, its low byte is not.
    stays("i32", "bool", "%a: u8 = cast %x  %r: bool = cast %a");
    stays("i32", "i32", "%a: bool = cast %x  %r: i32 = cast %a");
    is("f32", "%a: u32 = bitcast %x  %r: f32 = bitcast %a", "%x");
}

#[test]
fn known_branches_and_loops() {
    is("f32", "%c: bool = const true  %r: f32 = if %c (%y) |%a: f32| { yield %a } else |%b: f32| { yield %x }", "%y");
    law(
        "i32",
        "i32",
        "%c: bool = const false
         %r: i32 = if %c (%y) |%a: i32| { yield %a } else |%b: i32| { %d: i32 = mul %b, %x  yield %d }",
        "%r: i32 = mul %y, %x",
    );
    // A constant that is passed in is a constant inside.
    law(
        "i32",
        "i32",
        "%z: i32 = const 0
         %r: i32 = if %p (%z) |%a: i32| { %c: i32 = add %x, %a  yield %c } else |%b: i32| { yield %y }",
        "%r: i32 = if %p { yield %x } else { yield %y }",
    );
    let bounds = |hi: u32| format!("%lo: i32 = const 0  %hi: i32 = const {hi}  %step: i32 = const 2");
    let looped = "%r: i32 = for %lo to %hi step %step (%x) |%i: i32, %a: i32| { %b: i32 = sub %a, %y  yield %b }";
    is("i32", &format!("{} {looped}", bounds(0)), "%x");
    law("i32", "i32", &format!("{} {looped}", bounds(2)), "%r: i32 = sub %x, %y");
    stays("i32", "i32", &format!("{} {looped}", bounds(3)));
    is("i32", "%r: i32 = while (%x) |%a: i32| { %c: bool = ne %a, %a  yield %c } do |%b: i32| { yield %y }", "%x");
    is(
        "i32",
        "%r: i32 = fold [3, 0] |%i: i64, %j: i64| { yield %y } with commutative (%x) |%a: i32, %b: i32| {
           %c: i32 = add %a, %b  yield %c }",
        "%x",
    );
}

#[test]
fn blend_selects_between_cheap_sides() {
    becomes(
        &[blend::run],
        "program g(%p: bool, %x: f32) -> (f32, f32) {
           %y: f32, %z: f32 = if %p (%x) |%a: f32| { %b: f32 = neg %a  yield %b, %x } else |%c: f32| { yield %c, %c }
           return %y, %z }",
        "program g(%p: bool, %x: f32) -> (f32, f32) {
           %b: f32 = neg %x
           %y: f32 = select %p, %b, %x
           %z: f32 = select %p, %x, %x
           return %y, %z }",
    );
}

#[test]
fn blend_dissolves_nested_branches() {
    becomes(
        &[blend::run],
        "program g(%p: bool, %q: bool, %x: f32) -> f32 {
           %y: f32 = if %p (%x) |%a: f32| {
             %b: f32 = if %q (%a) |%c: f32| { yield %c } else |%d: f32| { %e: f32 = neg %d  yield %e }
             yield %b
           } else |%f: f32| { yield %f }
           return %y }",
        "program g(%p: bool, %q: bool, %x: f32) -> f32 {
           %e: f32 = neg %x
           %b: f32 = select %q, %x, %e
           %y: f32 = select %p, %b, %x
           return %y }",
    );
}

#[test]
fn blend_leaves_reads_and_costly_sides() {
    let read = "program g<N>(%x: f32[N], %d: f32) -> f32 {
           %n: i64 = extent N  %zero: i64 = const 0
           %some: bool = gt %n, %zero
           %y: f32 = if %some { %a: f32 = at %x[%zero]  yield %a } else { yield %d }
           return %y }";
    becomes(&[blend::run], read, read);
    let costly = "program g(%p: bool, %x: f32) -> f32 {
           %y: f32 = if %p { %a: f32 = pow %x, %x  yield %a } else { yield %x }
           return %y }";
    becomes(&[blend::run], costly, costly);
}

#[test]
fn cse_compares_up_to_names_and_order() {
    becomes(
        &[cse::run],
        "program g<N>(%x: i32[N], %k: i32) -> (i32[N], i32[N]) {
           %y: i32[N] = tabulate [N] |%i: i64| { %a: i32 = at %x[%i]  %b: i32 = mul %a, %k  yield %b }
           %z: i32[N] = tabulate [N] |%j: i64| { %c: i32 = at %x[%j]  %d: i32 = mul %k, %c  yield %d }
           return %y, %z }",
        "program g<N>(%x: i32[N], %k: i32) -> (i32[N], i32[N]) {
           %y: i32[N] = tabulate [N] |%i: i64| { %a: i32 = at %x[%i]  %b: i32 = mul %a, %k  yield %b }
           return %y, %y }",
    );
    let zeros = "program g(%x: f32, %y: f32) -> (f32, f32) {
           %a: f32 = min %x, %y  %b: f32 = min %y, %x
           return %a, %b }";
    becomes(&[cse::run], zeros, zeros);
}

#[test]
fn cse_reuses_what_is_outside_but_not_what_is_beside() {
    becomes(
        &[cse::run],
        "program g(%p: bool, %x: f32) -> (f32, f32) {
           %a: f32 = exp %x
           %r: f32 = if %p { %b: f32 = exp %x  %c: f32 = sin %x  %d: f32 = add %b, %c  yield %d }
                     else { %e: f32 = sin %x  yield %e }
           return %a, %r }",
        "program g(%p: bool, %x: f32) -> (f32, f32) {
           %a: f32 = exp %x
           %r: f32 = if %p { %c: f32 = sin %x  %d: f32 = add %a, %c  yield %d }
                     else { %e: f32 = sin %x  yield %e }
           return %a, %r }",
    );
}

#[test]
fn cse_works_in_functions_and_leaves_filters() {
    becomes(
        &[cse::run],
        "program g<N, counted A, counted B>(%x: i32[N]) -> (i32[A], i32[B], i32) {
           fn f(%a: i32) -> i32 { %b: i32 = neg %a  %c: i32 = neg %a  %d: i32 = mul %b, %c  return %d }
           %t: bool = const true  %one: i32 = const 1
           %y: i32[A] = filter N as A |%i: i64| { %v: i32 = at %x[%i]  yield %t, %v }
           %z: i32[B] = filter N as B |%j: i64| { %w: i32 = at %x[%j]  yield %t, %w }
           %s: i32 = call f(%one)
           return %y, %z, %s }",
        "program g<N, counted A, counted B>(%x: i32[N]) -> (i32[A], i32[B], i32) {
           fn f(%a: i32) -> i32 { %b: i32 = neg %a  %d: i32 = mul %b, %b  return %d }
           %t: bool = const true  %one: i32 = const 1
           %y: i32[A] = filter N as A |%i: i64| { %v: i32 = at %x[%i]  yield %t, %v }
           %z: i32[B] = filter N as B |%j: i64| { %w: i32 = at %x[%j]  yield %t, %w }
           %s: i32 = call f(%one)
           return %y, %z, %s }",
    );
}

#[test]
fn hoist_moves_scalar_work_but_no_reads() {
    becomes(
        &[hoist::run],
        "program g<N, M>(%x: f32[N], %k: f32) -> f32[M, N] requires nonempty N {
           %y: f32[M, N] = tabulate [M, N] |%i: i64, %j: i64| {
             %zero: i64 = const 0
             %first: f32 = at %x[%zero]
             %e: f32 = exp %k
             %s: f32 = mul %first, %e
             %low: f32 = const -0.0
             %t: f32 = fold [N] |%l: i64| {
               %e2: f32 = sin %s
               %e3: f32 = sin %e
               %p: f32 = mul %e2, %e3
               yield %p
             } with commutative (%low) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
             yield %t
           }
           return %y }",
        "program g<N, M>(%x: f32[N], %k: f32) -> f32[M, N] requires nonempty N {
           %zero: i64 = const 0
           %e: f32 = exp %k
           %low: f32 = const -0.0
           %e3: f32 = sin %e
           %y: f32[M, N] = tabulate [M, N] |%i: i64, %j: i64| {
             %first: f32 = at %x[%zero]
             %s: f32 = mul %first, %e
             %e2: f32 = sin %s
             %p: f32 = mul %e2, %e3
             %t: f32 = fold [N] |%l: i64| { yield %p }
               with commutative (%low) |%a: f32, %b: f32| { %c: f32 = add %a, %b  yield %c }
             yield %t
           }
           return %y }",
    );
}

#[test]
fn hoist_leaves_branches_and_calls_that_may_not_end() {
    let text = "program g<N>(%p: bool, %k: i32) -> i32[N] {
           fn f(%a: i32) -> i32 {
             %b: i32 = while (%a) |%c: i32| { %d: bool = ne %c, %a  yield %d } do |%e: i32| { yield %e }
             return %b
           }
           %y: i32[N] = tabulate [N] |%i: i64| {
             %f: i32 = call f(%k)
             %v: i32 = if %p { %m: i32 = neg %k  yield %m } else { yield %f }
             yield %v
           }
           return %y }";
    becomes(&[hoist::run], text, text);
}

#[test]
fn dce_drops_leaves_components_and_state() {
    becomes(
        &[dce::run],
        "program g<N>(%x: f32[N], %n: i32) -> (f32[N], f32, f32) {
           %zero: i32 = const 0  %one: i32 = const 1  %low: f32 = const -0.0
           %y: f32[N], %unused: i32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  %b: i32 = cast %a  yield %a, %b }
           %s: f32, %t: i32 = fold [N] |%j: i64| { %c: f32 = at %y[%j]  %d: i32 = cast %c  yield %c, %d }
             with commutative (%low, %zero) |%e: f32, %f: i32, %g: f32, %h: i32| {
               %k: f32 = add %e, %g  %l: i32 = add %f, %h  yield %k, %l }
           %u: f32, %v: i32 = for %zero to %n step %one (%s, %zero) |%m: i32, %o: f32, %p: i32| {
               %q: f32 = mul %o, %o  %r: i32 = add %p, %m  yield %q, %r }
           return %y, %s, %u }",
        "program g<N>(%x: f32[N], %n: i32) -> (f32[N], f32, f32) {
           %zero: i32 = const 0  %one: i32 = const 1  %low: f32 = const -0.0
           %y: f32[N] = tabulate [N] |%i: i64| { %a: f32 = at %x[%i]  yield %a }
           %s: f32 = fold [N] |%j: i64| { %c: f32 = at %y[%j]  yield %c }
             with commutative (%low) |%e: f32, %g: f32| { %k: f32 = add %e, %g  yield %k }
           %u: f32 = for %zero to %n step %one (%s) |%m: i32, %o: f32| { %q: f32 = mul %o, %o  yield %q }
           return %y, %s, %u }",
    );
}

#[test]
fn dce_keeps_what_used_components_depend_on() {
    let text = "program g<N>(%x: i32[N]) -> (i32, i32) {
           %no: bool = const false  %zero: i32 = const 0
           %there: bool, %last: i32 = fold [N] |%i: i64| {
             %a: i32 = at %x[%i]  %b: bool = gt %a, %zero  yield %b, %a
           } with (%no, %zero) |%c: bool, %d: i32, %e: bool, %f: i32| {
             %g: bool = or %c, %e  %h: i32 = select %e, %f, %d  yield %g, %h }
           %k: i32, %l: i32 = while (%zero, %zero) |%m: i32, %n: i32| { %o: bool = lt %n, %last  yield %o }
             do |%p: i32, %q: i32| { %r: i32 = sub %p, %q  %s: i32 = sub %q, %last  yield %r, %s }
           return %last, %k }";
    becomes(&[dce::run], text, text);
}

#[test]
fn dce_drops_unused_branch_results_and_arguments() {
    becomes(
        &[dce::run],
        "program g(%p: bool, %x: f32, %y: f32) -> f32 {
           %a: f32, %b: f32 = if %p (%x, %y) |%c: f32, %d: f32| { %e: f32 = exp %d  yield %c, %e }
                              else |%f: f32, %h: f32| { yield %f, %h }
           return %a }",
        "program g(%p: bool, %x: f32, %y: f32) -> f32 {
           %a: f32 = if %p (%x) |%c: f32| { yield %c } else |%f: f32| { yield %f }
           return %a }",
    );
}

#[test]
fn dce_keeps_a_filter_for_its_count() {
    let program = |used: &str, rest: &str, result: &str| {
        format!(
            "program g<N, counted A, counted B>(%x: i32[N]) -> {result} {{
               %zero: i32 = const 0
               {rest}
               %y: i32[B] = filter N as B |%j: i64| {{ %a: i32 = at %x[%j]  %b: bool = gt %a, %zero  yield %b, %a }}
               %n: i64 = extent B
               return {used} }}"
        )
    };
    let other = "%u: i32[A], %w: i32[A] = filter N as A |%i: i64| {
                   %c: i32 = at %x[%i]  %d: bool = lt %c, %zero  yield %d, %c, %c }";
    becomes(&[dce::run], &program("%n", other, "i64"), &program("%n", "", "i64"));
}

#[test]
fn dce_drops_functions_and_renumbers_calls() {
    becomes(
        &[dce::run],
        "program g(%x: i32) -> i32 {
           fn unused(%a: i32) -> i32 { return %a }
           fn inner(%b: i32) -> i32 { %c: i32 = neg %b  return %c }
           fn outer(%d: i32) -> i32 { %e: i32 = call inner(%d)  return %e }
           %y: i32 = call outer(%x)
           %z: i32 = call unused(%x)
           return %y }",
        "program g(%x: i32) -> i32 {
           fn inner(%b: i32) -> i32 { %c: i32 = neg %b  return %c }
           fn outer(%d: i32) -> i32 { %e: i32 = call inner(%d)  return %e }
           %y: i32 = call outer(%x)
           return %y }",
    );
}

/// The kernel passes, once each, over code of a block of threads.
#[track_caller]
/// A row's elements from one offset to another, of an array that is computed. Gives whether that is stored.
fn stores_what_rows_read(from: &str, to: &str, element: &str) -> bool {
    let text = format!(
        "program rows<S, N>(%starts: i64[S], %ends: i64[S], %x: f32[N]) -> f32[S] requires nonempty N {{
           %zero: f32 = const 0.0  %one: i64 = const 1  %o: i64 = const 0  %n: i64 = extent N  %top: i64 = sub %n, %one
           %e: f32[N] = tabulate [N] |%i: i64| {{ %p: f32 = at %x[%i]  {element}  yield %q }}
           %y: f32[S] = tabulate [S] |%s: i64| {{
             %a: i64 = at %starts[%s]  %b: i64 = at %ends[%s]  %c: i64 = add %a, %one
             %end: i64, %sum: f32 = while ({from}, %zero) |%k: i64, %t: f32| {{ %on: bool = lt %k, {to}  yield %on }} do |%k2: i64, %t2: f32| {{
               %at: i64 = clamp %k2, %o, %top
               %v: f32 = at %e[%at]  %sum2: f32 = add %t2, %v  %next: i64 = add %k2, %one  yield %next, %sum2 }}
             yield %sum }}
           return %y }}"
    );
    let fused = fuse::run(parsed(&text));
    assert_eq!(verify::program(&fused), Ok(()), "{fused}");
    fused.to_string().matches("tabulate").count() > 1
}

#[test]
fn fuse_computes_elements_of_segments_where_they_are_read() {
    let dear = "%l: f32 = exp %p  %q: f32 = exp %l";
    assert!(!stores_what_rows_read("%a", "%b", dear));
    // A window around a place, which its neighbours share.
    assert!(stores_what_rows_read("%a", "%c", dear));
    // A loop for each element is for threads of its own.
    let looped = "%q: f32 = fold [N] |%j: i64| { %r: f32 = at %x[%j]  yield %r } with commutative (%zero) |%f: f32, %g: f32| { %h: f32 = add %f, %g  yield %h }";
    assert!(stores_what_rows_read("%a", "%b", looped));
}

fn kernel_becomes(before: &str, after: &str) {
    let parsed = |code: &str| {
        let text = format!(
            "kernel k<n>() grid [1, 1, 1] block [8, 1, 1] {{ global readwrite a: i32[n] shared s: i32[8] {code} }}"
        );
        let kernel = slyz_sir::text::parse_kernel(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(verify::kernel(&kernel), Ok(()), "{text}");
        kernel
    };
    let found = slyz_sir::pass::optimize_kernel(parsed(before));
    assert_eq!(found.to_string(), parsed(after).to_string(), "\nfound:\n{found}");
}

#[test]
fn passes_over_kernels_leave_memory_and_threads_in_order() {
    // Loads around a store, an atomic and a barrier are different loads.
    let loads = "%i: i64 = local.x  %x: i32 = load s[%i]  store s[%i], %x  %y: i32 = load s[%i]  barrier block  %z: i32 = load s[%i]
      %o: i32 = atomic add a[%i], %y  %p: i32 = load a[%i]  %q: i32 = add %z, %p  store a[%i], %q";
    kernel_becomes(loads, loads);
    // A load stays in its loop; what waits, checks or updates stays though nobody looks at it; what only reads goes.
    kernel_becomes(
        "%i: i64 = local.x  %zero: i64 = const 0  %one: i64 = const 1  %n: i64 = extent n
         for %zero to %n step %one |%j: i64| {
           %k: i64 = add %i, %one  %x: i32 = load s[%k]  %dead: i32 = load s[%i]  %o: i32 = atomic add a[%k], %x
           %ok: bool = check a[%k]  barrier block }",
        "%i: i64 = local.x  %zero: i64 = const 0  %one: i64 = const 1  %n: i64 = extent n  %k: i64 = add %i, %one
         for %zero to %n step %one |%j: i64| {
           %x: i32 = load s[%k]  %o: i32 = atomic add a[%k], %x  %ok: bool = check a[%k]  barrier block }",
    );
    // The second of two equal checks has nothing to tell, and neither side of a branch tells for the other.
    kernel_becomes(
        "%i: i64 = global.x  %1: bool = check a[%i]  %x: i32 = const 1  if %1 { store a[%i], %x } else {}
         %2: bool = check a[%i]  if %2 { %o: i32 = atomic add a[%i], %x } else {}",
        "%i: i64 = global.x  %1: bool = check a[%i]  %x: i32 = const 1  if %1 { store a[%i], %x } else {}
         if %1 { %o: i32 = atomic add a[%i], %x } else {}",
    );
    // That a condition does not hold is not all there is to it.
    let asked = "%i: i64 = global.x  while { %1: bool = check a[%i]  %no: bool = const false  yield %no } do {}";
    let lifted = "%i: i64 = global.x  %no: bool = const false  while { %1: bool = check a[%i]  yield %no } do {}";
    kernel_becomes(asked, lifted);
}
