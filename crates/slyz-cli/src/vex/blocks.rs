//! The blocks that kernels of a .vex file are made for.

use super::Source;
use crate::usage;
use slyz_lang::check::gives;
use slyz_lang::host::Kernel;
use slyz_lang::syntax::{Block, Expr, ExprKind, Item, Stmt, StmtKind};
use slyz_sir::choices::Checks;

/// What the command line says about them.
#[derive(clap::Args)]
pub struct Blocks {
    /// Threads of a block (.vex files). Without it: what a launch in the file says in numbers, else 256, 16,16 or 8,8,4.
    #[arg(long, value_name = "X[,Y[,Z]]", value_delimiter = ',')]
    block: Vec<u32>,
    /// What becomes of accesses that are not proven to be inside (.vex files): `report` tells the first in a buffer `faults`,
    /// `guard` reads zero and writes nothing, `trust` leaves them as they are.
    #[arg(long, value_name = "report|guard|trust")]
    checks: Option<Checks>,
}

impl Blocks {
    /// Is anything asked for that only kernels by hand have?
    pub fn any(&self) -> bool {
        !self.block.is_empty() || self.checks.is_some()
    }

    /// What was asked for, or else this.
    pub fn checks(&self, otherwise: Checks) -> Checks {
        self.checks.unwrap_or(otherwise)
    }

    /// Threads of a block: asked for, or as the file launches it, or the usual ones.
    pub fn of(&self, kernel: &Kernel, source: &Source) -> anyhow::Result<[u32; 3]> {
        let block = match self.block[..] {
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
        StmtKind::For { body, .. } | StmtKind::While { body, .. } => in_block(body, kernel),
        StmtKind::Expr(expr) | StmtKind::Let { value: Some(expr), .. } => in_expr(expr, kernel),
        StmtKind::Assign { value, .. } | StmtKind::Return(Some(value)) => in_expr(value, kernel),
        _ => None,
    }
}

fn in_expr(expr: &Expr, kernel: &str) -> Option<[u32; 3]> {
    match &expr.kind {
        ExprKind::Launch { function, config, .. }
            if function.text == kernel || gives::is_of(kernel, &function.text) =>
        {
            let block = config.block.as_ref()?;
            let number = |expr: &Expr| match expr.kind {
                ExprKind::Int(n, _) => u32::try_from(n).ok(),
                _ => None,
            };
            let numbers: Vec<u32> = block.iter().map(number).collect::<Option<_>>()?;
            Some(std::array::from_fn(|d| numbers.get(d).copied().unwrap_or(1)))
        }
        ExprKind::If { then, otherwise, .. } => {
            in_block(then, kernel).or_else(|| otherwise.as_ref().and_then(|other| in_block(other, kernel)))
        }
        _ => None,
    }
}
