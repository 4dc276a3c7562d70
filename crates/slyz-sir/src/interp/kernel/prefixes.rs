//! Goes along turns with the fold of all items up to each: [`Op::Prefixes`].

use super::error::KernelError;
use super::memory::Bank;
use super::run::{Columns, Machine};
use super::together::BATCH;
use super::wave::{Column, Wave, malformed};
use crate::code::{Id, Monoid, Op, PREFIX_ROW};
use crate::types::{Scalar, Ty};
use std::rc::Rc;

impl Machine<'_> {
    pub(super) fn prefixes(&mut self, wave: &mut Wave, op: &Op, mask: &[bool]) -> Result<Columns, KernelError> {
        let Op::Prefixes { lo, hi, from, body, monoid, put } = op else {
            return Err(malformed("asked for prefixes"));
        };
        self.only_threads(wave, "prefixes")?;
        if self.threads != 1 || mask != [true] {
            return Err(malformed("prefixes are for blocks of one thread"));
        }
        let [lo, hi] = [*lo, *hi].map(|id| uniform(wave, id));
        let lo = lo?.as_int() as i64;
        let n = (hi?.as_int() - i128::from(lo)).clamp(0, u64::MAX.into()) as u64;
        self.count_turns(n)?;
        if n > u64::from(u32::MAX) - 1 {
            return Err(KernelError::Turns { kernel: self.kernel.name.clone(), limit: u32::MAX.into() });
        }
        let neutral = uniforms(wave, &monoid.neutral)?;
        let mut before = uniforms(wave, from)?;
        self.order.barrier();
        for first in (0..n).step_by(BATCH as usize) {
            let turns = (lo, first, BATCH.min(n - first));
            let items = self.batch_with(wave, turns, vec![], body)?;
            let mut all: Vec<Vec<Scalar>> = vec![];
            for start in (0..turns.2 as usize).step_by(PREFIX_ROW) {
                let row = start..(turns.2 as usize).min(start + PREFIX_ROW);
                let row: Vec<Vec<Scalar>> = row.map(|k| items.iter().map(|column| column.at(k)).collect()).collect();
                let row = self.row(wave, monoid, &neutral, row)?;
                for prefix in &row {
                    all.push(self.join(wave, monoid, &before, prefix)?);
                }
                before = all.last().cloned().unwrap_or(before);
            }
            self.batch_with(wave, turns, columns(&neutral, &all), put)?;
        }
        self.banks.iter_mut().for_each(Bank::leave_turns);
        self.order.barrier();
        Ok(before.into_iter().map(|value| Column::uniform(value, wave.width)).collect())
    }

    /// The prefixes of a row.
    fn row(
        &mut self,
        wave: &Wave,
        monoid: &Monoid,
        neutral: &[Scalar],
        mut row: Vec<Vec<Scalar>>,
    ) -> Result<Vec<Vec<Scalar>>, KernelError> {
        let mut by = 1;
        while by < PREFIX_ROW {
            for k in (0..row.len()).rev() {
                let below = k.checked_sub(by).map_or(neutral, |below| &row[below]);
                row[k] = self.join(wave, monoid, below, &row[k])?;
            }
            by *= 2;
        }
        Ok(row)
    }

    fn join(&mut self, wave: &Wave, monoid: &Monoid, a: &[Scalar], b: &[Scalar]) -> Result<Vec<Scalar>, KernelError> {
        if let (Some(operator), [a], [b]) = (monoid.operator(), a, b) {
            let wrong = || malformed(format!("a monoid over {} by {}", a.ty, operator.name()));
            return Ok(vec![operator.eval(&[*a, *b]).ok_or_else(wrong)?]);
        }
        self.combine(wave, monoid, a, b)
    }
}

/// A value of the only thread.
fn uniform(wave: &mut Wave, id: Id) -> Result<Scalar, KernelError> {
    Ok(wave.get(id)?.at(0))
}

fn uniforms(wave: &mut Wave, ids: &[Id]) -> Result<Vec<Scalar>, KernelError> {
    ids.iter().map(|&id| uniform(wave, id)).collect()
}

/// What all turns have of each component.
fn columns(like: &[Scalar], all: &[Vec<Scalar>]) -> Columns {
    let tys = like.iter().map(|value| value.ty).enumerate();
    let bits = |k: usize| all.iter().filter_map(|values| values.get(k)).map(|value| value.bits).collect();
    tys.map(|(k, ty): (usize, Ty)| Rc::new(Column { ty, bits: bits(k) })).collect()
}
