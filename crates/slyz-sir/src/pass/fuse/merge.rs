//! Moves a tabulate into the one place that reads it.
//!
//! Where all reads of a tabulate are at one position of one body, and each element is read about once, nothing is computed twice and
//! nothing need be stored. Nothing is copied either, so chains of any length are fused in one go: from the last array to the
//! first, it is decided where each goes, and then all code is moved there.
//!
//! A statement of the program is not made longer than [`LONGEST`]: registers end long before, and the C compiler takes its time. What is
//! past that is stored there, and is the end of another kernel.

use super::LONGEST;
use super::cost::weight;
use super::sites::{Definition, Sites};
use crate::code::{Body, Id, Op, Stmt};
use std::collections::{HashMap, HashSet};

/// Moves what can be moved, everywhere in the program.
pub(super) fn run(body: &mut Body) {
    let merged = Choice::of(body).merged;
    if !merged.is_empty() {
        let arrays = HashMap::new();
        let waiting = HashMap::new();
        let names = HashMap::new();
        Mover { merged, arrays, waiting, names }.body(body);
    }
}

/// Which tabulates are moved, as far as that is decided.
struct Choice {
    sites: Sites,
    /// Their names.
    merged: HashSet<Id>,
    /// What their parameters stand for.
    names: HashMap<Id, Id>,
    /// Where the statements of a body go; itself if they stay.
    homes: Vec<usize>,
    /// Which statement of the program a statement of the program becomes part of; itself if it stays.
    tops: Vec<usize>,
    /// How long the statements of the program become.
    weights: Vec<u64>,
}

impl Choice {
    fn of(body: &Body) -> Choice {
        let mut sites = Sites::of(body);
        let definitions = std::mem::take(&mut sites.definitions);
        let mut choice = Choice {
            merged: HashSet::new(),
            names: HashMap::new(),
            homes: (0..sites.tops.len()).collect(),
            tops: (0..body.stmts.len()).collect(),
            weights: body.stmts.iter().map(|stmt| weight(&stmt.op)).collect(),
            sites,
        };
        // Everything that reads an array stands behind it.
        definitions.iter().rev().for_each(|definition| choice.decide(definition));
        choice
    }

    fn decide(&mut self, definition: &Definition) {
        let Some((home, index)) = self.one_place(definition) else { return };
        // Inside of one statement of the program things only change their places.
        if definition.home == 0 && home != 0 && !self.make_room(definition, home) {
            return;
        }
        self.homes[definition.body] = home;
        self.names.extend(definition.params.iter().copied().zip(index));
        self.merged.extend(&definition.binds);
    }

    /// The body and the position of all reads of a tabulate, if they are one.
    fn one_place(&mut self, definition: &Definition) -> Option<(usize, Vec<Id>)> {
        let mut place = None;
        if !definition.of_scalars || definition.binds.iter().any(|bind| self.sites.is_whole(*bind)) {
            return None;
        }
        for bind in &definition.binds {
            for read in self.sites.reads(*bind) {
                if read.repeats != 1 || read.of_segment && definition.loops {
                    return None;
                }
                let found = (find(&mut self.homes, read.home), resolved(&mut self.names, &read.index));
                if place.get_or_insert_with(|| found.clone()) != &found {
                    return None;
                }
            }
        }
        place
    }

    /// Makes a statement of the program part of the one that holds a body, if that does not get too long.
    fn make_room(&mut self, definition: &Definition, home: usize) -> bool {
        let from = self.sites.tops[definition.body];
        let to = find(&mut self.tops, self.sites.tops[home]);
        // The tabulate itself and the reads of it are gone then.
        let gone = 1 + definition.binds.iter().map(|bind| self.sites.reads(*bind).len() as u64).sum::<u64>();
        let length = (self.weights[to] + self.weights[from]).saturating_sub(gone);
        // What reads nothing new is taken in even so: it would be stored beside what it is made of.
        let nothing_new = || self.sites.arrays[from].is_subset(&self.sites.arrays[to]);
        if length > LONGEST && (length > LONGEST + LONGEST / 4 || !nothing_new()) {
            return false;
        }
        self.weights[to] = length;
        self.tops[from] = to;
        let arrays = std::mem::take(&mut self.sites.arrays[from]);
        self.sites.arrays[to].extend(arrays);
        true
    }
}

/// The end of the way from a number to where it goes, which is shortened meanwhile.
fn find(goes: &mut [usize], start: usize) -> usize {
    let mut end = start;
    while goes[end] != end {
        end = goes[end];
    }
    let mut at = start;
    while goes[at] != end {
        at = std::mem::replace(&mut goes[at], end);
    }
    end
}

/// What names stand for.
fn resolved(names: &mut HashMap<Id, Id>, ids: &[Id]) -> Vec<Id> {
    let one = |id: &Id| {
        let mut end = *id;
        let mut way = vec![];
        while let Some(&next) = names.get(&end) {
            way.push(end);
            end = next;
        }
        names.extend(way.into_iter().map(|name| (name, end)));
        end
    };
    ids.iter().map(one).collect()
}

/// Moves the code.
struct Mover {
    merged: HashSet<Id>,
    /// What has become of the arrays among them that were met.
    arrays: HashMap<Id, Met>,
    /// Tabulates whose place has not come yet, by the first of their names.
    waiting: HashMap<Id, (Vec<Id>, Body)>,
    /// Names that are replaced, and by what.
    names: HashMap<Id, Id>,
}

/// What has become of an array.
#[derive(Clone, Copy)]
enum Met {
    /// It waits under that name for its place.
    Waits(Id),
    /// Its element has that name.
    Is(Id),
}

/// Statements that are being written, and the tabulate that they are the body of.
struct Written {
    stmts: std::vec::IntoIter<Stmt>,
    of: Option<Tabulate>,
}

/// The names of a tabulate, its results, and the name of the element that is read first.
struct Tabulate {
    binds: Vec<Id>,
    results: Vec<Id>,
    array: Id,
    read: Id,
}

impl Mover {
    fn now(&self, id: Id) -> Id {
        *self.names.get(&id).unwrap_or(&id)
    }

    fn body(&mut self, body: &mut Body) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        // A tabulate reads another, and that the next: a list, since no stack is deep enough for all of them.
        let mut open = vec![Written { stmts: std::mem::take(&mut body.stmts).into_iter(), of: None }];
        while let Some(innermost) = open.last_mut() {
            match innermost.stmts.next() {
                Some(stmt) => open.extend(self.stmt(stmt, &mut stmts)),
                None => open.pop().and_then(|done| done.of).into_iter().for_each(|tabulate| self.give(tabulate)),
            }
        }
        body.stmts = stmts;
        body.results.iter_mut().for_each(|id| *id = self.now(*id));
    }

    /// Writes a statement, or says what is to be written in its place.
    fn stmt(&mut self, mut stmt: Stmt, out: &mut Vec<Stmt>) -> Option<Written> {
        match stmt.op {
            Op::Tabulate { body, .. } if self.merged.contains(&stmt.binds[0].id) => {
                let binds: Vec<Id> = stmt.binds.iter().map(|b| b.id).collect();
                self.arrays.extend(binds.iter().map(|&bind| (bind, Met::Waits(binds[0]))));
                self.waiting.insert(binds[0], (binds, body));
                None
            }
            Op::At { array, index } if let Some(&met) = self.arrays.get(&array) => {
                let read = stmt.binds[0].id;
                match met {
                    Met::Is(element) => {
                        self.names.insert(read, element);
                        None
                    }
                    Met::Waits(first) => {
                        let (binds, body) = self.waiting.remove(&first)?;
                        let index: Vec<Id> = index.iter().map(|&id| self.now(id)).collect();
                        self.names.extend(body.params.iter().map(|p| p.id).zip(index));
                        let of = Some(Tabulate { binds, results: body.results, array, read });
                        Some(Written { stmts: body.stmts.into_iter(), of })
                    }
                }
            }
            _ => {
                stmt.op.each_operand_mut(&mut |id| *id = self.now(*id));
                for inner in stmt.op.bodies_mut() {
                    self.body(inner);
                }
                out.push(stmt);
                None
            }
        }
    }

    /// The code of a tabulate is written: from here on its elements have names.
    fn give(&mut self, tabulate: Tabulate) {
        for (&bind, &result) in tabulate.binds.iter().zip(&tabulate.results) {
            let element = self.now(result);
            self.arrays.insert(bind, Met::Is(element));
            if bind == tabulate.array {
                self.names.insert(tabulate.read, element);
            }
        }
    }
}
