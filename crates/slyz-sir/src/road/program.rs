//! The road of a program: from arrays to a plan of launches.
//!
//! ```text
//! program ── simplify … dce ── optimize ── lower ──┬── join, share, unswitch ──> cores (CPUs)
//!                                                  └── simplify, cse, dce ─────> threads (GPUs)
//! ```
//!
//! `optimize` does nothing: it is the name of the place where nothing changes any more. `tiling`, `memory` and `matmul` are steps of `lower`.

use super::{RoadError, Stop};
use crate::choices::Precision;
use crate::kernel::Plan;
use crate::lower::gpu::{Expected, Machine};
use crate::lower::{Choice, STEPS, cpu, gpu};
use crate::pass::{CPU_PASSES, GPU_PASSES, PROGRAM_PASSES, Selection, optimize_with};
use crate::program::Program;

/// The kind of machine that a plan is for.
#[derive(Clone, Debug)]
pub enum Strategy {
    /// Few wide cores.
    Cores,
    /// Many threads, and what sizes to expect.
    Threads(Machine, Expected),
}

/// How a program goes.
#[derive(Clone, Debug)]
pub struct ProgramRoad {
    /// Where to.
    pub strategy: Strategy,
    /// The passes that run.
    pub passes: Selection,
    /// What the lowering chooses where several choices are right.
    pub choice: Choice,
    /// What is taken for asked of programs that ask for no precision.
    pub precision: Option<Precision>,
}

/// What is seen on the road.
#[derive(Clone, Copy, Debug)]
pub enum Seen<'s> {
    /// Arrays.
    Program(&'s Program),
    /// Launches.
    Plan(&'s Plan),
}

impl std::fmt::Display for Seen<'_> {
    /// As SIR text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Seen::Program(program) => write!(f, "{program}"),
            Seen::Plan(plan) => f.write_str(&crate::text::print_plan(plan)),
        }
    }
}

impl ProgramRoad {
    /// The road to a kind of machine with nothing left out.
    ///
    /// ```
    /// use slyz_sir::{road::{ProgramRoad, Strategy}, text::parse_program};
    /// let program = parse_program("program twice(%x: f32[8]) -> f32[8] {
    ///     %y: f32[8] = tabulate [8] |%i: i64| { %a: f32 = at %x[%i]  %b: f32 = add %a, %a  yield %b }
    ///     return %y
    /// }")?;
    /// assert_eq!(ProgramRoad::to(Strategy::Cores).end(&program).kernels.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to(strategy: Strategy) -> ProgramRoad {
        ProgramRoad { strategy, passes: Selection::All, choice: Choice::USUAL, precision: None }
    }

    /// The passes in order, each once.
    pub fn stops(&self) -> Vec<Stop> {
        let mut stops = vec![];
        super::add(&mut stops, PROGRAM_PASSES.iter().map(|pass| pass.name));
        stops.extend([Stop::needed("optimize"), Stop::needed("lower")]);
        super::add(&mut stops, STEPS.into_iter());
        let lowered = match self.strategy {
            Strategy::Cores => CPU_PASSES,
            Strategy::Threads(..) => GPU_PASSES,
        };
        super::add(&mut stops, lowered.iter().map(|pass| pass.name));
        stops
    }

    /// Are the passes that are selected, and this one, on the road?
    pub fn check(&self, named: Option<&str>) -> Result<(), RoadError> {
        let stops = self.stops();
        named.map_or(Ok(()), |name| super::find(&stops, name).map(drop))?;
        super::check(&stops, &self.passes)
    }

    /// Goes all the way. `after` sees the program or the plan behind every pass, each time it runs.
    pub fn travel(&self, program: &Program, after: &mut dyn FnMut(&'static str, Seen<'_>)) -> Plan {
        let program = optimize_with(program, &self.passes, &mut |name, program| after(name, Seen::Program(program)));
        after("optimize", Seen::Program(&program));
        self.lower_with(&program, after)
    }

    /// The plan at the end of the road.
    pub fn end(&self, program: &Program) -> Plan {
        self.travel(program, &mut |_, _| {})
    }

    /// The first half of the road, which is the same for all machines.
    pub fn optimize(&self, program: &Program) -> Program {
        optimize_with(program, &self.passes, &mut |_, _| {})
    }

    /// The second half of the road, from where the first ended.
    pub fn lower(&self, optimized: &Program) -> Plan {
        self.lower_with(optimized, &mut |_, _| {})
    }

    fn lower_with(&self, program: &Program, after: &mut dyn FnMut(&'static str, Seen<'_>)) -> Plan {
        let after: &mut dyn FnMut(&'static str, &Plan) = &mut |name, plan| {
            after(name, Seen::Plan(plan));
            if name == "lower" {
                // What its steps have done is seen when all is written.
                STEPS.iter().filter(|step| self.passes.has(step)).for_each(|step| after(step, Seen::Plan(plan)));
            }
        };
        let choice = self.choice.with(&self.passes);
        match &self.strategy {
            Strategy::Cores => cpu::lower_with(program, choice, &self.passes, after),
            Strategy::Threads(machine, expected) => {
                let precision = program.precision.or(self.precision);
                let program = Program { precision, ..program.clone() };
                gpu::lower_with(&program, &machine.choosing(choice), expected, &self.passes, after)
            }
        }
    }
}
