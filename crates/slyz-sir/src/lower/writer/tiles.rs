//! A tile, computed by a block and written to its place in the whole.

use super::{KernelWriter, Loaded, Mode, Value};
use crate::code::{Id, MemId, Stmt};
use crate::lower::untile::Untiled;
use crate::write::{Arithmetic, Write};

impl<'g> KernelWriter<'_, 'g> {
    /// Binds what the tiles and the whole read. Nobody looks for the tiles themselves.
    pub(in crate::lower) fn bind_untiled(&mut self, untiled: &Untiled<'g>, whole: &'g Stmt) {
        for (k, bind) in untiled.tiles.binds.iter().enumerate() {
            self.values.insert(bind.id, Value::Code(&untiled.tiles.op, k));
        }
        self.bind_globals(&untiled.tiles.op);
        self.bind_globals(&whole.op);
    }

    /// The elements of the whole that are in the tile with these numbers.
    pub(in crate::lower) fn put_tile(
        &mut self,
        untiled: &Untiled<'g>,
        whole: &'g Stmt,
        tile: &[Id],
        homes: &[(MemId, Vec<Id>)],
    ) {
        self.enter_but(untiled.work, tile, Mode::Block, Some(untiled.tile));
        let mut starts = vec![];
        let mut counts = vec![];
        for ((&number, side), extent) in tile.iter().zip(untiled.sides).zip(untiled.shape) {
            let side = self.extent(side);
            let start = self.value(number * side);
            let extent = self.extent(extent);
            let left = self.value(extent - start);
            counts.push(self.value(left.least(side)));
            starts.push(start);
        }
        self.put_elements(untiled, whole, (&starts, &counts), vec![], homes);
    }

    /// Loops over the axes of a tile, of which some are open; the last is for lanes.
    fn put_elements(
        &mut self,
        untiled: &Untiled<'g>,
        whole: &'g Stmt,
        (starts, counts): (&[Id], &[Id]),
        at: Vec<Id>,
        homes: &[(MemId, Vec<Id>)],
    ) {
        let zero = self.number(0);
        let count = counts[at.len()];
        if at.len() + 1 < counts.len() {
            self.for_each(zero, count, 1, (vec![], &[]), |w, p, _| {
                w.put_elements(untiled, whole, (starts, counts), [&at[..], &[p]].concat(), homes);
                vec![]
            });
            return;
        }
        self.lanes(zero, count, |w, p| {
            let at = [&at[..], &[p]].concat();
            let values = w.run(untiled.elements, &at, Mode::Lane);
            let given = |id: &Id| untiled.tile.binds.iter().position(|bind| bind.id == *id);
            let tiles = untiled.tiles.binds.iter().zip(&untiled.work.results);
            let here = untiled.place.to_vec();
            let read: Loaded =
                tiles.filter_map(|(bind, id)| Some(((bind.id, here.clone()), values[given(id)?]))).collect();
            let position: Vec<Id> = starts.iter().zip(&at).map(|(&start, &p)| w.value(start + p)).collect();
            w.set_loaded(here, p, read);
            w.write_elements(&whole.binds, untiled.body, &position, homes, false);
            w.flat = None;
        });
    }
}
