//! What the checker lets through is right: random kernels with barriers and subgroup operations in branches, loops and calls, run by
//! the interpreter, which tells where a thread is missing.

use slyz_lang::check::{Dialect, check};
use slyz_lang::lower::lower;
use slyz_lang::parse::parse;
use slyz_lang::typed::FunctionId;
use slyz_sir::interp::Array;
use slyz_sir::interp::kernel::{LaunchOptions, launch};
use slyz_sir::types::{Scalar, Ty};

const PROGRAMS: u64 = 1500;

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    fn value(&mut self) -> String {
        match self.below(14) {
            10 => format!("subgroup.max(v{})", self.below(3)),
            11 => format!("subgroup.broadcast(v{})", self.below(3)),
            12 => format!("subgroup.shuffle_xor(v{}, 1)", self.below(3)),
            0 => "thread.x".into(),
            1 => "x[thread.x]".into(),
            2 => "block.x".into(),
            3 => format!("own[{}]", self.below(2)),
            4 => "s[0]".into(),
            5 => "n".into(),
            6 => format!("x[{}]", self.below(8)),
            7 => format!("(v{} + v{}) % 5", self.below(3), self.below(3)),
            8 => format!("twice(v{})", self.below(3)),
            _ => self.below(4).to_string(),
        }
    }

    fn condition(&mut self) -> String {
        let (a, b, c) = (self.value(), self.below(4), self.below(3));
        match self.below(5) {
            0 => format!("{a} > {b} && v{c} < 3"),
            1 => format!("v{c} > {b}"),
            2 => format!("n > {b}"),
            _ => format!("{a} > {b}"),
        }
    }

    fn block(&mut self, depth: u64, in_loop: bool, out: &mut String) {
        for _ in 0..1 + self.below(3) {
            self.statement(depth, in_loop, out);
        }
    }

    fn statement(&mut self, depth: u64, in_loop: bool, out: &mut String) {
        let (kind, number) = (self.below(if depth == 0 { 5 } else { 11 }), out.len());
        match kind {
            0 | 1 => *out += &format!("v{} = {}\n", self.below(3), self.value()),
            2 if self.below(3) == 0 => *out += "subgroup.barrier()\n",
            2 => *out += "threadgroup.barrier()\n",
            3 => *out += &format!("own[{}] = {}\n", self.below(2), self.value()),
            4 => *out += &format!("meet(v{})\n", self.below(3)),
            5 | 6 => {
                *out += &format!("if {} {{\n", self.condition());
                self.block(depth - 1, in_loop, out);
                if self.below(2) == 0 {
                    *out += "} else {\n";
                    self.block(depth - 1, in_loop, out);
                }
                *out += "}\n";
            }
            7 => {
                *out += &format!("for k{number} in 0..min({}, 4) {{\nv{} += k{number}\n", self.value(), self.below(3));
                self.block(depth - 1, true, out);
                *out += "}\n";
            }
            8 => {
                *out += &format!("let! w{number} = 0\nwhile w{number} < min({}, 3) {{\nw{number} += 1\n", self.value());
                self.block(depth - 1, true, out);
                *out += "}\n";
            }
            9 if in_loop => {
                let word = if self.below(2) == 0 { "break" } else { "continue" };
                *out += &format!("if {} {{ {word} }}\n", self.condition());
            }
            9 => {
                *out += &format!(
                    "let u{number} = if {} {{ {} }} else {{ 1 }}\nv0 = u{number}\n",
                    self.condition(),
                    self.value()
                )
            }
            _ if self.below(3) == 0 => *out += &format!("if {} {{ return }}\n", self.condition()),
            _ => *out += &format!("v{} = if {} {{ {} }} else {{ 2 }}\n", self.below(3), self.condition(), self.value()),
        }
    }
}

fn program(dice: &mut Dice) -> String {
    let mut body = String::new();
    dice.block(3, false, &mut body);
    dice.block(3, false, &mut body);
    format!(
        "fn meet(c: i64) {{\nif c > 1 {{ threadgroup.barrier() }}\n}}\n\
         fn twice(c: i64): i64 {{\nif c > 9 {{ return 3 }}\nreturn c * 2 % 7\n}}\n\
         graph fn k(x: Tensor<i64>, s: Tensor<i64>, out: Tensor<i64>!, n: i32) {{\n\
         let! own: [i64; 2]\nlet! v0 = 0\nlet! v1 = 1\nlet! v2 = 2\n{body}out[global.x] = v0 + v1 + v2 + own[0]\n}}\n"
    )
}

#[test]
fn differences_are_followed_a_long_way() {
    // Each turn takes the thread's index one name further.
    let mut text = String::from("graph fn k(out: Tensor<i64>!) {\nlet i = thread.x\n");
    (0..300).for_each(|k| text += &format!("let! a{k} = {k}\n"));
    text += "for q in 0..400 {\n";
    (0..299).for_each(|k| text += &format!("a{k} = a{}\n", k + 1));
    text += "a299 = i\n}\nif a0 > 3 { threadgroup.barrier() }\nout[i] = a0\n}\n";
    let checked = check(&parse(&text).0, Dialect::Vex);
    assert!(checked.diagnostics.iter().any(|d| d.rule == "divergent-barrier"), "{:?}", checked.diagnostics);
}

#[test]
fn no_thread_is_missing_at_a_barrier() {
    let mut dice = Dice(7);
    let (mut fine, mut refused) = (0, 0);
    for _ in 0..PROGRAMS {
        let text = program(&mut dice);
        let (file, errors) = parse(&text);
        assert!(errors.is_empty(), "{text}\n{errors:?}");
        let checked = check(&file, Dialect::Vex);
        let errors: Vec<_> = checked.diagnostics.iter().filter(|d| d.is_error()).collect();
        assert!(errors.iter().all(|d| d.rule.starts_with("divergent-")), "{text}\n{errors:?}");
        if !errors.is_empty() {
            refused += 1;
            continue;
        }
        fine += text.contains("barrier()\n") as u32;
        let number = checked.program.functions.iter().position(|f| f.launches).unwrap();
        let template = lower(&checked.program, FunctionId(number as u32)).unwrap();
        let kernel = template.shaped([4, 1, 1], false, false);
        let sizes = [2, 1, 1, 8, 1, 1, 8, 1, 8];
        let longs = |data: Vec<u64>| Array { ty: Ty::I64, shape: vec![data.len() as u64], data };
        let mut memories =
            [longs((0..8).map(|_| dice.below(5)).collect()), longs(vec![dice.below(5)]), longs(vec![0; 8])];
        let scalars = [Scalar::from_int(Ty::I32, i128::from(dice.below(5)))];
        let options = LaunchOptions { subgroup_size: 2, ..LaunchOptions::default() };
        launch(&kernel, &sizes, &mut memories, &scalars, &options).unwrap_or_else(|error| panic!("{error}\n{text}"));
    }
    // Both happen often enough to mean something.
    assert!(fine > 100 && refused > 100, "{fine} fine, {refused} refused");
}
