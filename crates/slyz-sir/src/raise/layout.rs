//! Flat tensors with rows and columns, and which thread writes what.

use super::Unraised;
use super::lift::{Atom, Axis, Lift};
use super::poly::{Poly, Term};
use crate::code::MemId;
use crate::size::{Size, SizeVar};
use std::collections::HashMap;

/// A tensor that is written, one element for each thread.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) memory: MemId,
    /// Its extents; those of the threads where these write all of it.
    pub(super) shape: Vec<Size>,
    /// Where a thread writes.
    pub(super) position: Vec<Poly>,
    /// What goes along each of its axes; but for the last one of those whose threads write rows.
    pub(super) along: Vec<Along>,
    /// The counters of the loops that go along the last axis, where a thread writes a row.
    pub(super) rows: Vec<u32>,
    /// Is every element written?
    pub(super) covers: bool,
}

/// What goes along an axis of a tensor that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// An axis of threads, and where it begins.
    Threads { axis: usize, shift: i128 },
    /// All threads are at one place.
    Fixed(i128),
}

impl Written {
    /// Does a thread write rows?
    pub(super) fn has_rows(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Is it where a thread writes?
    pub(super) fn is_at(&self, position: &[Poly]) -> bool {
        let outer = |position: &[Poly]| position.split_last().map(|(_, outer)| outer.to_vec());
        let counter = position.last().and_then(Poly::as_shifted);
        let along_row = |&row: &u32| counter == Some((Term::Atom(row), 0));
        position == self.position || self.rows.iter().any(along_row) && outer(position) == outer(&self.position)
    }
}

/// How tensors lie, and which are written.
#[derive(Clone, Debug, Default)]
pub(super) struct Layouts {
    /// For flat tensors: the extents that positions are computed with, the innermost first.
    strides: HashMap<MemId, Vec<u32>>,
    shapes: HashMap<MemId, Vec<Size>>,
    written: Vec<Written>,
}

impl Layouts {
    pub(super) fn written(&self, memory: MemId) -> Option<&Written> {
        self.written.iter().find(|written| written.memory == memory)
    }

    /// Tensors that are written in the same way.
    pub(super) fn groups(&self) -> Vec<Vec<Written>> {
        let mut groups: Vec<Vec<Written>> = vec![];
        for written in &self.written {
            let same = |group: &&mut Vec<Written>| {
                let first = &group[0];
                let how = |written: &Written| {
                    (written.shape.clone(), written.along.clone(), written.has_rows(), written.covers)
                };
                how(first) == how(written)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(written.clone()),
                None => groups.push(vec![written.clone()]),
            }
        }
        groups
    }

    /// The position in a tensor with rows and columns, from that in a flat one.
    pub(super) fn split(&self, memory: MemId, polys: Vec<Poly>) -> Vec<Poly> {
        let Some(strides) = self.strides.get(&memory) else { return polys };
        let [flat] = &polys[..] else { return polys };
        let mut outer = flat.clone();
        let mut position = vec![];
        for &stride in strides {
            let (quotient, rest) = outer.over(Term::Size(stride));
            position.push(rest);
            outer = quotient;
        }
        position.push(outer);
        position.reverse();
        position
    }

    /// From what the code was seen to access.
    pub(super) fn of(seen: &Lift<'_>) -> Result<Layouts, Unraised> {
        let mut layouts = Layouts::default();
        let mut seen_memories: Vec<&MemId> = seen.accessed.keys().collect();
        seen_memories.sort_unstable();
        for &memory in seen_memories {
            let polys: Option<Vec<Vec<Poly>>> = seen.accessed[&memory].iter().cloned().collect();
            let flat = |polys: Vec<Vec<Poly>>| {
                polys.into_iter().map(|index| <[Poly; 1]>::try_from(index).ok().map(|[flat]| flat)).collect()
            };
            let Some(polys): Option<Vec<Poly>> = polys.and_then(flat) else { continue };
            let strides = strides(seen, memory, polys);
            if !strides.is_empty() {
                layouts.strides.insert(memory, strides);
            }
        }
        for (memory, polys) in &seen.written {
            let position = layouts.split(*memory, polys.clone());
            let (along, row) = along(seen, &position).ok_or_else(|| seen.position_error(*memory))?;
            match layouts.written.iter_mut().find(|known| known.memory == *memory) {
                Some(known) if known.is_at(&position) => {}
                // Another loop over the same rows.
                Some(known) if known.has_rows() && row.is_some() && known.along == along => known.rows.extend(row),
                Some(_) => return Err(seen.position_error(*memory)),
                None => {
                    let rows = row.into_iter().collect();
                    let memory = *memory;
                    layouts.written.push(Written { memory, shape: vec![], position, along, rows, covers: false });
                }
            }
        }
        if layouts.written.is_empty() {
            return Err(Unraised::Nothing);
        }
        Ok(layouts)
    }
}

/// What goes along the axes of a tensor that is written there. All axes that have several threads have to, each once; a counter may go along the last
/// axis.
fn along(seen: &Lift<'_>, position: &[Poly]) -> Option<(Vec<Along>, Option<u32>)> {
    let mut along: Vec<Along> = vec![];
    let mut row = None;
    for (place, poly) in position.iter().enumerate() {
        if let Some(number) = poly.as_number() {
            along.push(Along::Fixed(number));
            continue;
        }
        match poly.as_shifted()? {
            (Term::Atom(axis @ 0..3), shift) => along.push(Along::Threads { axis: axis as usize, shift }),
            (Term::Atom(counter), 0) if place > 0 && place + 1 == position.len() => row = Some(counter),
            _ => return None,
        }
    }
    let goes = |axis: usize| {
        along.iter().filter(|along| matches!(along, Along::Threads { axis: own, .. } if *own == axis)).count()
    };
    let single = |axis: usize| seen.axes[axis].value.map(|threads| threads == 1);
    let right = |axis: usize| match goes(axis) {
        0 => seen.holds(single(axis)),
        many => many == 1,
    };
    (0..3).all(right).then_some((along, row))
}

/// The extents with which positions in a flat tensor are computed, the innermost first.
fn strides(seen: &Lift<'_>, memory: MemId, mut polys: Vec<Poly>) -> Vec<u32> {
    let mut len = seen.length(memory);
    let mut strides = vec![];
    loop {
        let mut sizes: Vec<u32> = polys.iter().flat_map(Poly::terms).filter_map(size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let Some((stride, quotients)) = sizes.into_iter().find_map(|stride| {
            let extent = seen.size_value(&Size::Var(SizeVar(stride)));
            let quotients =
                polys.iter().map(|poly| quotient(seen, poly, stride, extent)).collect::<Option<Vec<_>>>()?;
            let divides = len.zip(extent).map(|(len, extent)| extent > 0 && len % extent == 0);
            (seen.holds(divides) && quotients.iter().any(|poly| !poly.is_uniform())).then_some((stride, quotients))
        }) else {
            return strides;
        };
        let extent = seen.size_value(&Size::Var(SizeVar(stride)));
        len = len.zip(extent).map(|(len, extent)| len / extent);
        strides.push(stride);
        polys = quotients;
    }
}

fn size(term: Term) -> Option<u32> {
    match term {
        Term::Size(size) => Some(size),
        Term::Atom(_) => None,
    }
}

/// The row of a position, where rows have that extent and the column is inside of it.
fn quotient(seen: &Lift<'_>, poly: &Poly, stride: u32, extent: Option<i128>) -> Option<Poly> {
    let (quotient, rest) = poly.over(Term::Size(stride));
    let is_column = rest.terms().all(|term| size(term).is_none());
    let from_zero = seen.range(&quotient).map(|(low, _)| low >= 0);
    let inside = seen.range(&rest).zip(extent).map(|((low, high), extent)| low >= 0 && high < extent);
    (is_column && seen.holds(from_zero) && seen.holds(inside)).then_some(quotient)
}

impl Lift<'_> {
    fn position_error(&self, memory: MemId) -> Unraised {
        Unraised::Position(self.kernel.memories[memory.0 as usize].name.clone())
    }

    /// The elements of a flat tensor.
    fn length(&self, memory: MemId) -> Option<i128> {
        let known = self.kernel.memories.get(memory.0 as usize)?;
        let [size] = &known.shape[..] else { return None };
        let value = |SizeVar(var): SizeVar| self.numbers.and_then(|numbers| numbers.sizes.get(var as usize).copied());
        size.eval(&value).ok().map(i128::from)
    }

    /// The extents of a tensor in the program. One that threads or turns go along has theirs, where they go along all of it.
    pub(super) fn shape(&mut self, memory: MemId) -> Result<Vec<Size>, Unraised> {
        if let Some(shape) = self.layouts.shapes.get(&memory) {
            return Ok(shape.clone());
        }
        let declared = self.kernel.memories[memory.0 as usize].shape.clone();
        let mut shape = vec![];
        for size in &declared {
            let poly = self.size_of(size)?;
            shape.push(self.as_size(&poly).ok_or(Unraised::Large)?);
        }
        if let (Some(strides), [_]) = (self.layouts.strides.get(&memory).cloned(), &shape[..]) {
            let mut len = self.length(memory);
            let mut inner = vec![];
            for stride in strides {
                let size = Size::Var(SizeVar(stride));
                len = len.zip(self.size_value(&size)).map(|(len, extent)| len / extent.max(1));
                inner.push(size);
            }
            let rows = self.known_extent(memory, len);
            inner.push(rows.unwrap_or_else(|| self.fresh_size("rows", len)));
            inner.reverse();
            shape = inner;
        }
        self.layouts.shapes.insert(memory, shape.clone());
        Ok(shape)
    }

    /// The extent of what goes along the first axis of a tensor, or of rows of other tensors, if that is so long.
    fn known_extent(&self, memory: MemId, len: Option<i128>) -> Option<Size> {
        let accesses = self.accessed.get(&memory).map_or(&[][..], |accesses| accesses);
        let extent = |polys: &Option<Vec<Poly>>| {
            let position = self.layouts.split(memory, polys.clone()?);
            let (Term::Atom(atom), 0) = position.first()?.as_shifted()? else { return None };
            let Atom { extent, .. } = self.atoms.get(atom as usize)?;
            extent.clone()
        };
        let mut others: Vec<u32> = self.layouts.strides.values().flatten().copied().collect();
        others.sort_unstable();
        let own = self.layouts.strides.get(&memory);
        let others = others.into_iter().filter(|size| own.is_none_or(|own| !own.contains(size)));
        let others = others.map(|size| Size::Var(SizeVar(size)));
        accesses.iter().filter_map(extent).chain(others).find(|extent| {
            let same = len.zip(self.size_value(extent)).map(|(len, extent)| len == extent);
            self.holds(same)
        })
    }

    /// Settles the shapes of what is written, now that sizes have their names.
    pub(super) fn settle_written(&mut self) -> Result<(), Unraised> {
        for place in 0..self.layouts.written.len() {
            let Written { memory, along, rows, .. } = self.layouts.written[place].clone();
            let mut shape = self.shape(memory)?;
            let mut covers = true;
            for (size, &along) in shape.iter_mut().zip(&along) {
                let extent = self.size_value(size);
                let (own, shift) = match along {
                    Along::Threads { axis, shift } => (self.axes[axis].clone(), shift),
                    Along::Fixed(at) => (Axis { extent: Size::Const(1), value: Some(1) }, at),
                };
                let all = extent.zip(own.value).map(|(extent, threads)| shift == 0 && threads == extent);
                let fits = extent.zip(own.value).map(|(extent, threads)| shift >= 0 && shift + threads <= extent);
                if !self.holds(fits) {
                    return Err(self.outside(memory));
                }
                if shift == 0 && self.holds(all) {
                    *size = own.extent;
                } else {
                    covers = false;
                }
            }
            // A row is written as a whole, and all of them are.
            if let Some(&row) = rows.first() {
                let extent = self.atoms.get(row as usize).and_then(|atom| atom.extent.clone());
                let (Some(extent), Some(last), true) = (extent, shape.last_mut(), covers) else {
                    return Err(self.position_error(memory));
                };
                let whole = self.size_value(&extent).zip(self.size_value(last)).map(|(turns, extent)| turns == extent);
                if !self.holds(whole) {
                    return Err(self.position_error(memory));
                }
                *last = extent;
            }
            self.layouts.shapes.insert(memory, shape.clone());
            let written = &mut self.layouts.written[place];
            written.shape = shape;
            written.covers = covers;
        }
        Ok(())
    }
}
