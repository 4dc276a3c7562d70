//! `slyz build FILE.vex`: its kernels as files of targets, or as SIR behind a pass.

use super::Source;
use crate::usage;
use anyhow::{Context, anyhow};
use slyz_lang::host::Kernel;
use slyz_lang::syntax::{Block, Expr, ExprKind, Item, LaunchConfig, Stmt, StmtKind};
use slyz_sir::back::harness::{Emitted, Explicit, Target, emit_kernels};
use slyz_sir::road::{Destination, Road};
use std::io::Write;
use std::path::Path;

/// What the command line says about passes and blocks.
#[derive(clap::Args)]
pub struct Wishes {
    /// Print the kernels as SIR behind this pass instead (.vex files).
    #[arg(long, value_name = "PASS")]
    dump_after: Option<String>,
    /// Leave a pass out (.vex files); may be given several times.
    #[arg(long, value_name = "PASS")]
    disable: Vec<String>,
    /// Threads of a block (.vex files). Without it: what a launch in the file says in numbers, else 256, 16,16 or 8,8,4.
    #[arg(long, value_name = "X[,Y[,Z]]", value_delimiter = ',')]
    block: Vec<u32>,
    /// Leave out the checks of accesses (.vex files): only for launches that stay inside their tensors.
    #[arg(long)]
    unchecked: bool,
}

impl Wishes {
    /// Is SIR printed instead of files?
    pub fn dumps(&self) -> bool {
        self.dump_after.is_some()
    }

    /// Is anything asked for that only kernels by hand have?
    pub fn any(&self) -> bool {
        self.dump_after.is_some() || !self.disable.is_empty() || !self.block.is_empty() || self.unchecked
    }
}

/// The kernels of a file for targets. Where a dump is asked for it is printed, and there are no files.
pub fn build(
    path: &Path,
    targets: &[Target],
    wishes: &Wishes,
    out: &mut dyn Write,
) -> anyhow::Result<Option<Vec<Emitted>>> {
    let source = Source::read_right(path)?;
    if source.kernels.is_empty() {
        return Err(anyhow!("{}: no graph function that can be launched; there is nothing to build", path.display()));
    }
    let mut kernels = vec![];
    for kernel in &source.kernels {
        let block = block(kernel, &source, wishes)?;
        kernels.push(Explicit { template: &kernel.template, block });
    }
    let unchecked = wishes.unchecked;
    let road = |to: Destination| Road { trusted: unchecked, disabled: wishes.disable.clone(), ..Road::to(to) };
    let mut all = vec![];
    for &target in targets {
        let to = kernels.first().map(|kernel| road(kernel.destination(target)));
        check_names(to.as_ref(), wishes)?;
        match &wishes.dump_after {
            Some(pass) => dump(&kernels, target, pass, &road, out)?,
            None => all.push(emit_kernels(&kernels, target, &road).with_context(|| path.display().to_string())?),
        }
    }
    Ok(wishes.dump_after.is_none().then_some(all))
}

/// Are the passes those of the road?
fn check_names(road: Option<&Road>, wishes: &Wishes) -> anyhow::Result<()> {
    let passes = road.map(Road::passes).unwrap_or_default();
    let list = || passes.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    for pass in wishes.dump_after.iter().chain(&wishes.disable) {
        if !passes.iter().any(|(name, _)| name == pass) {
            return usage(format!("there is no pass `{pass}` on this road; the passes are, in order: {}", list()));
        }
    }
    let needed = |pass: &&String| passes.iter().any(|(name, optional)| name == *pass && !optional);
    match wishes.disable.iter().find(needed) {
        Some(pass) => usage(format!("`{pass}` cannot be left out: what follows builds on it")),
        None => Ok(()),
    }
}

/// The kernels behind the last time a pass ran.
fn dump(
    kernels: &[Explicit],
    target: Target,
    pass: &str,
    road: &dyn Fn(Destination) -> Road,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    for explicit in kernels {
        let mut text = None;
        road(explicit.destination(target)).travel(explicit.template, &mut |name, kernel| {
            if name == pass {
                text = Some(kernel.to_string());
            }
        })?;
        // A pass that is left out ran no time.
        write!(out, "{}", text.unwrap_or_default())?;
    }
    Ok(())
}

/// Threads of a block: asked for, or as the file launches it, or the usual ones.
fn block(kernel: &Kernel, source: &Source, wishes: &Wishes) -> anyhow::Result<[u32; 3]> {
    let block = match wishes.block[..] {
        [] => launched(kernel, source).unwrap_or_else(|| match kernel.template.axes() {
            0 | 1 => [256, 1, 1],
            2 => [16, 16, 1],
            _ => [8, 8, 4],
        }),
        [x] => [x, 1, 1],
        [x, y] => [x, y, 1],
        [x, y, z] => [x, y, z],
        _ => return usage("a block has at most three dimensions, as in --block 16,16"),
    };
    let threads = block.iter().fold(1u64, |n, &d| n.saturating_mul(d.into()));
    if !(1..=slyz_sir::verify::MAX_BLOCK).contains(&threads) {
        let (name, most) = (&kernel.name, slyz_sir::verify::MAX_BLOCK);
        return usage(format!("a block of {block:?} for `{name}` has {threads} threads; it must have 1 to {most}"));
    }
    Ok(block)
}

/// The block of the first launch of the kernel that says it in numbers.
fn launched(kernel: &Kernel, source: &Source) -> Option<[u32; 3]> {
    source.file.items.iter().find_map(|item| match item {
        Item::Function(function) => in_block(&function.body, &kernel.name),
        Item::Stmt(stmt) => in_stmt(stmt, &kernel.name),
        Item::Foreign(_) => None,
    })
}

fn in_block(block: &Block, kernel: &str) -> Option<[u32; 3]> {
    block.stmts.iter().find_map(|stmt| in_stmt(stmt, kernel))
}

fn in_stmt(stmt: &Stmt, kernel: &str) -> Option<[u32; 3]> {
    match &stmt.kind {
        StmtKind::Launch { function, config: LaunchConfig { block: Some(block), .. }, .. }
            if function.text == kernel =>
        {
            let number = |expr: &Expr| match expr.kind {
                ExprKind::Int(n, _) => u32::try_from(n).ok(),
                _ => None,
            };
            let numbers: Vec<u32> = block.iter().map(number).collect::<Option<_>>()?;
            Some(std::array::from_fn(|d| numbers.get(d).copied().unwrap_or(1)))
        }
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => in_block(body, kernel),
        StmtKind::Expr(Expr { kind: ExprKind::If { then, otherwise, .. }, .. }) => {
            in_block(then, kernel).or_else(|| otherwise.as_ref().and_then(|other| in_block(other, kernel)))
        }
        _ => None,
    }
}
