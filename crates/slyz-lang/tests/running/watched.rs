//! What the host asks of a machine: nothing twice.

use crate::program::run_on;
use slyz_lang::host::{Argument, Failure, Interpreter, Kernel, Launch, Machine};
use slyz_sir::interp::Array;
use slyz_sir::types::Ty;
use std::rc::Rc;

/// The interpreter, watched.
#[derive(Default)]
pub struct Watched {
    interpreter: Interpreter,
    /// What launches have written.
    pub written: Vec<Array>,
    /// How often tensors went to the machine, and came back.
    pub traffic: (usize, usize),
    /// How often something was written that somebody else sees, too: it would be copied.
    pub shared: usize,
}

impl Machine for Watched {
    type Tensor = Rc<Array>;

    fn upload(&mut self, ty: Ty, shape: &[u64], bytes: &[u8]) -> Result<Rc<Array>, Failure> {
        self.traffic.0 += 1;
        self.interpreter.upload(ty, shape, bytes)
    }

    fn download(&mut self, ty: Ty, shape: &[u64], tensor: &Rc<Array>) -> Result<Vec<u8>, Failure> {
        self.traffic.1 += 1;
        self.interpreter.download(ty, shape, tensor)
    }

    fn launch(&mut self, kernel: &Kernel, mut launch: Launch<'_, Rc<Array>>) -> Result<(), Failure> {
        for argument in &launch.tensors {
            if let Argument::Write { tensor, .. } = argument {
                self.shared += usize::from(Rc::strong_count(tensor) > 1);
            }
        }
        let tensors = launch.tensors.iter_mut().map(|argument| match argument {
            Argument::Read { ty, shape, tensor } => Argument::Read { ty: *ty, shape, tensor: *tensor },
            Argument::Write { ty, shape, tensor } => Argument::Write { ty: *ty, shape, tensor: &mut **tensor },
        });
        let again = Launch { threads: launch.threads, tensors: tensors.collect(), scalars: launch.scalars.clone() };
        self.interpreter.launch(kernel, again)?;
        for argument in &launch.tensors {
            if let Argument::Write { tensor, .. } = argument {
                self.written.push(Array::clone(tensor));
            }
        }
        Ok(())
    }
}

const KERNEL: &str =
    "graph fn add(a: Tensor<f32>, x: Tensor<f32>!, n: i64) { if thread.x < n { x[thread.x] += a[thread.x] } }
    let a = Tensor.filled(1.0f32, 4)
    let! x = Tensor.zeros<f32>(4)
    ";

#[track_caller]
fn traffic(statements: &str, up_and_down: (usize, usize), shared: usize) {
    let mut machine = Watched::default();
    let ran = run_on(&format!("{KERNEL}{statements}"), &mut machine);
    assert_eq!(ran.diagnostics, []);
    assert_eq!((machine.traffic, machine.shared), (up_and_down, shared), "{statements}");
}

#[test]
fn tensors_stay_on_the_machine() {
    traffic("print(a, x)", (0, 0), 0);
    traffic("for i in 0..5 { add(a, &!x, x.len()) }", (2, 0), 0);
    traffic("for i in 0..5 { add(a, &!x, x.len()) }\nprint(x, x[0], x.sum())", (2, 1), 0);
    // Writing an element takes them back.
    traffic("add(a, &!x, 4)\nx[0] = 5.0\nx[1] = 6.0\nadd(a, &!x, 4)\nprint(x[0])", (3, 2), 0);
    // Through functions, too.
    traffic(
        "fn more(y: Tensor<f32>!, b: Tensor<f32>) { add(b, &!y, y.len()) }\nmore(&!x, a)\nmore(&!x, a)\nprint(x)",
        (2, 1),
        0,
    );
}

#[test]
fn copies_are_made_where_two_names_see_a_tensor() {
    traffic("add(a, &!x, 4)\nlet y = x\nadd(a, &!x, 4)\nprint(y, x)", (2, 2), 1);
}
