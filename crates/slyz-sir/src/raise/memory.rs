//! What threads load and store.

use super::lift::{Lift, Value};
use super::poly::{Poly, Term};
use super::{Passed, Unraised, does};
use crate::code::{Id, MemId, Op, Stmt, Type, Var};
use crate::kernel::Space;
use crate::size::Size;
use crate::write::Write;

impl<'k> Lift<'k> {
    pub(super) fn is_bound(&self, memory: MemId) -> bool {
        self.kernel.memories.get(memory.0 as usize).is_some_and(|memory| memory.space.is_bound())
    }

    pub(super) fn memory_name(&self, memory: MemId) -> String {
        self.kernel.memories.get(memory.0 as usize).map_or(String::new(), |memory| memory.name.clone())
    }

    pub(super) fn outside(&self, memory: MemId) -> Unraised {
        Unraised::Unproven(self.memory_name(memory))
    }

    pub(super) fn neighbours(&self, memory: MemId) -> Unraised {
        Unraised::Neighbours(self.memory_name(memory))
    }

    /// The positions of an index, if all are polynomials.
    pub(super) fn polys(&self, index: &[Id]) -> Option<Vec<Poly>> {
        let poly = |id: &Id| match self.env.get(id) {
            Some(Value::Poly(poly)) => Some(self.normal(poly)),
            _ => None,
        };
        index.iter().map(poly).collect()
    }

    /// The tensor as a parameter of the program.
    pub(super) fn array(&mut self, memory: MemId) -> Result<Id, Unraised> {
        let place = memory.0 as usize;
        if let Some((_, var)) = self.params.get(&place) {
            return Ok(var.id);
        }
        let shape = self.shape(memory)?;
        let Some(known) = self.kernel.memories.get(place) else { return Err(Unraised::Large) };
        let earlier =
            |space: Space| self.kernel.memories[..place].iter().filter(|memory| memory.space == space).count();
        let passed = match known.space {
            Space::Constant => Passed::Constant(earlier(Space::Constant)),
            _ => Passed::Memory(place),
        };
        let id = self.lines.fresh();
        self.names.note(id, &known.name);
        self.params.insert(place, (passed, Var { id, ty: Type::Array(known.ty, shape) }));
        Ok(id)
    }

    pub(super) fn load(&mut self, stmt: &'k Stmt, memory: MemId, index: &[Id]) -> Result<(), Unraised> {
        if !self.is_bound(memory) {
            return self.load_shared(stmt, memory, index);
        }
        let polys = self.polys(index);
        self.accessed.entry(memory).or_default().push(polys.clone());
        if !self.looking
            && let Some(written) = self.layouts.written(memory).cloned()
        {
            let position =
                polys.map(|polys| self.layouts.split(memory, polys)).ok_or_else(|| self.neighbours(memory))?;
            let value = if written.has_rows() {
                self.own_row(memory, &written, &position)?
            } else if position == written.position {
                self.current(memory)?
            } else {
                return Err(self.neighbours(memory));
            };
            self.bind(stmt, &[Value::Code(value)]);
            return Ok(());
        }
        let index = self.index(memory, index, polys)?;
        let array = self.array(memory)?;
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let value = self.lines.push(Op::At { array, index }, ty);
        self.bind(stmt, &[Value::Code(value)]);
        Ok(())
    }

    /// What a thread's own element is now.
    pub(super) fn current(&mut self, memory: MemId) -> Result<Id, Unraised> {
        if let Some(&value) = self.stored.get(&memory) {
            return Ok(value);
        }
        let Some(written) = self.layouts.written(memory).cloned() else { return Err(self.neighbours(memory)) };
        let mut position = written.position.clone();
        if written.has_rows() {
            // Behind the loops that write rows there is no element of one's own.
            let Some(counter) = self.row_counter else { return Err(self.neighbours(memory)) };
            position.pop();
            position.push(Poly::term(Term::Atom(counter)));
            return self.own_row(memory, &written, &position);
        }
        let index: Vec<Id> = position.iter().map(|poly| self.write(poly)).collect();
        let array = self.array(memory)?;
        let ty = self.kernel.memories[memory.0 as usize].ty;
        Ok(self.lines.push(Op::At { array, index }, ty))
    }

    /// Writes the position of an access, which is inside of the tensor wherever the code is run, and where it could be moved to.
    pub(super) fn index(&mut self, memory: MemId, index: &[Id], polys: Option<Vec<Poly>>) -> Result<Vec<Id>, Unraised> {
        let Some(polys) = polys else {
            if !self.certain {
                return Err(self.outside(memory));
            }
            self.risky = true;
            self.ever_risky = true;
            return self.codes(index);
        };
        let polys = self.layouts.split(memory, polys);
        if !self.looking {
            let shape = self.shape(memory)?;
            let inside = |(poly, size): (&Poly, &Size)| {
                let known = self.range(poly).zip(self.size_value(size));
                // Of a launch that nobody knows, as much is inside as threads and turns are.
                let otherwise = self.numbers.is_none() && matches!(poly.as_shifted(), Some((Term::Atom(_), 0)));
                known.map_or(otherwise, |((low, high), extent)| low >= 0 && high < extent)
            };
            if !polys.iter().zip(&shape).all(inside) {
                if !self.certain && self.numbers.is_some() {
                    return Err(self.outside(memory));
                }
                self.risky = true;
                self.ever_risky = true;
            }
        }
        Ok(polys.iter().map(|poly| self.write(poly)).collect())
    }

    pub(super) fn store(&mut self, memory: MemId, index: &[Id], values: &[Id]) -> Result<(), Unraised> {
        let &[value] = values else { return does("it stores several elements at once") };
        if !self.is_bound(memory) {
            return self.store_shared(memory, index, value);
        }
        let polys = self.polys(index).ok_or_else(|| Unraised::Position(self.memory_name(memory)))?;
        self.accessed.entry(memory).or_default().push(Some(polys.clone()));
        let value = self.code(value)?;
        if self.looking {
            self.written.push((memory, polys));
            self.stored.insert(memory, value);
            return Ok(());
        }
        let position = self.layouts.split(memory, polys);
        if !self.layouts.written(memory).is_some_and(|written| written.is_at(&position)) {
            return Err(Unraised::Position(self.memory_name(memory)));
        }
        self.stored.insert(memory, value);
        Ok(())
    }
}
