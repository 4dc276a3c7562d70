//! `slyz dump`: a module at a stage of its road: parsed, after a pass, as a plan, as C.

use crate::{GraphChoice, load, usage};
use anyhow::{Context, anyhow};
use slyz_sir::graph::{Graph, Module};
use slyz_sir::kernel::Plan;
use slyz_sir::lower::gpu::Machine;
use slyz_sir::pass::{self, GRAPH_PASSES};
use slyz_sir::{back, lower, text, verify};
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Dump {
    /// A file of SIR text.
    #[arg(value_name = "FILE.sir")]
    file: PathBuf,
    /// Run the passes up to this one; `cse:2` is the second time it runs, `all` runs everything until nothing changes.
    #[arg(long, value_name = "PASS")]
    after: Option<String>,
    /// Print the plan for the CPU instead: buffers, launches, kernels. Runs all passes unless --after says otherwise.
    #[arg(long)]
    plan: bool,
    /// Print the plan for another kind of machine.
    #[arg(long, value_name = "MACHINE")]
    lower: Option<Target>,
    /// Print the generated C instead. Runs all passes unless --after says otherwise.
    #[arg(long, conflicts_with_all = ["plan", "lower"])]
    c: bool,
    #[command(flatten)]
    choice: GraphChoice,
}

/// The machine that a plan is for.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Target {
    /// Few wide cores.
    Cpu,
    /// Apple GPUs.
    Metal,
    /// NVIDIA GPUs.
    Cuda,
    /// WebGPU with its default limits.
    Webgpu,
}

impl Target {
    fn lower(self, graph: &Graph) -> Plan {
        match self {
            Target::Cpu => lower::cpu::lower(graph),
            Target::Metal => lower::gpu::lower(graph, &Machine::metal()),
            Target::Cuda => lower::gpu::lower(graph, &Machine::cuda()),
            Target::Webgpu => lower::gpu::lower(graph, &Machine::webgpu()),
        }
    }
}

impl Dump {
    pub fn run(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let (module, _) = load::verified(&self.file)?;
        let lowered = self.plan || self.c || self.lower.is_some();
        let stage = match &self.after {
            Some(name) => Stage::named(name)?,
            None if lowered => Stage::All,
            None => Stage::Passes(0),
        };
        let chosen: Vec<&Graph> = match &self.choice.graph {
            Some(name) => vec![load::graph(&self.file, &module, Some(name))?],
            None => module.graphs.iter().collect(),
        };
        let graphs = chosen.into_iter().map(|graph| stage.run(graph)).collect::<anyhow::Result<Vec<Graph>>>()?;
        if !lowered {
            let kernels = if self.choice.graph.is_some() { vec![] } else { module.kernels };
            write!(out, "{}", text::print_module(&Module { graphs, kernels }))?;
            return Ok(());
        }
        if graphs.is_empty() {
            return Err(anyhow!("{}: no graph in the file; kernels have no plan", self.file.display()));
        }
        for (k, graph) in graphs.iter().enumerate() {
            let plan = self.lower.unwrap_or(Target::Cpu).lower(graph);
            let text = if self.c { back::c::emit(&plan, false)? } else { text::print_plan(&plan) };
            let gap = if k > 0 { "\n" } else { "" };
            write!(out, "{gap}{text}")?;
        }
        Ok(())
    }
}

/// How far a graph goes.
#[derive(Clone, Copy)]
enum Stage {
    /// So many passes of the first round.
    Passes(usize),
    /// Until nothing changes.
    All,
}

impl Stage {
    /// `fuse`, `cse:2`, `all`.
    fn named(text: &str) -> anyhow::Result<Stage> {
        if text == "all" {
            return Ok(Stage::All);
        }
        let (name, time) = match text.split_once(':') {
            Some((name, time)) => (name, time.parse().ok().filter(|&n| n > 0)),
            None => (text, Some(1)),
        };
        let places = GRAPH_PASSES.iter().enumerate().filter(|(_, pass)| pass.name == name).map(|(k, _)| k + 1);
        match time.and_then(|time: usize| places.clone().nth(time - 1)) {
            Some(count) => Ok(Stage::Passes(count)),
            None => usage(format!("there is no pass `{text}`; the passes are, in order: {}, all", listed())),
        }
    }

    fn run(self, graph: &Graph) -> anyhow::Result<Graph> {
        let count = match self {
            Stage::Passes(count) => count,
            Stage::All => return Ok(pass::optimize(graph)),
        };
        let mut graph = graph.clone();
        for pass in &GRAPH_PASSES[..count] {
            graph = (pass.run)(graph);
            verify::graph(&graph).with_context(|| format!("after the pass `{}`; this is a bug in Słyż", pass.name))?;
        }
        Ok(graph)
    }
}

/// The passes in order, as `--after` takes them.
fn listed() -> String {
    let name = |k: usize| {
        let name = GRAPH_PASSES[k].name;
        let earlier = GRAPH_PASSES[..k].iter().filter(|pass| pass.name == name).count();
        if earlier == 0 { name.to_string() } else { format!("{name}:{}", earlier + 1) }
    };
    (0..GRAPH_PASSES.len()).map(name).collect::<Vec<_>>().join(", ")
}
