//! What depends on one argument alone, as a program of its own: it runs once for an argument that stays the same.
//!
//! ```text
//! y = f(x, w)     →     v, u = w′, g(w)        a pack: once for each tensor that `w` is; `w′` lies as its readers go over it
//!                       y = h(x, v, u)         at every call
//! ```

use crate::code::{Body, Id, Op, Stmt, Type, Var};
use crate::lower::cpu::{Panels, in_panels};
use crate::pass::fuse::cost;
use crate::pass::layout::{Turned, turn_arguments};
use crate::pass::{self, dce};
use crate::program::Program;
use crate::size::{Size, SizeOrigin, SizeVar};
use std::collections::{HashMap, HashSet};

/// A program in parts.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// What is made of one argument each.
    pub packs: Vec<Pack>,
    /// The rest.
    pub main: Program,
    /// What is passed for the parameters of the rest.
    pub sources: Vec<Source>,
}

/// A program over one argument of another.
#[derive(Clone, Debug)]
pub struct Pack {
    /// Which argument.
    pub argument: usize,
    /// The program; it has the size variables of the whole.
    pub program: Program,
}

/// What is passed for a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// An argument of the whole.
    Argument(usize),
    /// A result of a pack.
    Packed {
        /// Which pack.
        pack: usize,
        /// Which of its results.
        result: usize,
    },
}

/// How arguments lie that stay the same from call to call, where that is not how callers have them.
#[derive(Clone, Debug, Default)]
pub struct Arranged {
    /// Those with another axis last.
    pub turned: Vec<Turned>,
    /// Those in panels of columns.
    pub panels: Vec<Panels>,
}

/// A program for arguments that stay the same from call to call: optimized, in parts, and these arguments in the order in which they are read, as
/// far as that is another. `panels` says whether right factors of products may lie [in panels](in_panels), as the CPU reads them.
///
/// ```
/// use slyz_sir::{prepare::for_arguments, text::parse_program};
/// let program = parse_program("program words<V, D, N>(%table: f32[D, V], %which: i64[N]) -> f32[N, D] {
///   %y: f32[N, D] = tabulate [N, D] |%i: i64, %d: i64| {
///     %w: i64 = at %which[%i]  %x: f32 = at %table[%d, %w]  yield %x
///   }
///   return %y
/// }")?;
/// let (parts, arranged) = for_arguments(&program, &[0], true);
/// assert_eq!((parts.packs.len(), arranged.turned.len()), (1, 1));
/// // The elements of a word are neighbours now.
/// assert!(parts.packs[0].program.to_string().contains("-> f32[V, D]"));
/// # Ok::<(), slyz_sir::text::ParseError>(())
/// ```
pub fn for_arguments(program: &Program, arguments: &[usize], panels: bool) -> (Prepared, Arranged) {
    // Before passes write it into whoever reads it.
    let first = cut(program, arguments, &is_dear);
    let place = |argument: &usize| first.sources.iter().position(|source| *source == Source::Argument(*argument));
    let pairs: Vec<(usize, usize)> = arguments.iter().filter_map(|own| Some((place(own)?, *own))).collect();
    let places: Vec<usize> = pairs.iter().map(|(place, _)| *place).collect();
    let main = pass::optimize(&first.main);
    let (main, panels) = if panels { in_panels(main, &places) } else { (main, vec![]) };
    let (main, turned) = turn_arguments(main, &places);
    let second = prepare(&main, &places);
    let source = |source: Source| match source {
        Source::Argument(place) => first.sources[place],
        Source::Packed { pack, result } => Source::Packed { pack: first.packs.len() + pack, result },
    };
    let argument = |place: usize| pairs.iter().find(|pair| pair.0 == place).map_or(place, |pair| pair.1);
    let sources = second.sources.into_iter().map(source).collect();
    let later = second.packs.into_iter().map(|pack| Pack { argument: argument(pack.argument), ..pack });
    let packs = first.packs.iter().cloned().chain(later).collect();
    (Prepared { packs, main: second.main, sources }, Arranged { turned, panels })
}

/// Cuts a program in parts: what depends on one of these arguments alone, and the rest.
pub fn prepare(program: &Program, arguments: &[usize]) -> Prepared {
    cut(program, arguments, &|_, _| true)
}

/// The same for what is worth it: a statement of the top level, over an argument with these extents.
fn cut(program: &Program, arguments: &[usize], is_worth_it: &dyn Fn(&Stmt, &[Size]) -> bool) -> Prepared {
    let mut rest =
        Rest { main: program.clone(), sources: (0..program.body.params.len()).map(Source::Argument).collect() };
    let mut packs = vec![];
    for &argument in arguments {
        packs.extend(rest.pack(program, argument, packs.len(), is_worth_it));
    }
    rest.drop_unread();
    Prepared { packs, main: dce::run(rest.main), sources: rest.sources }
}

/// Elements that cost more than this are worth being kept, in additions: to read one costs two.
const CHEAP: u64 = 8;

/// Does a statement compute much for each element, and give no more of them than the argument may have?
fn is_dear(stmt: &Stmt, argument: &[Size]) -> bool {
    let small = |size: &Size| size.constant().is_some() || argument.contains(size);
    let costs = match &stmt.op {
        Op::Tabulate { body, .. } => cost(body) > CHEAP,
        op => !op.bodies().is_empty(),
    };
    costs && stmt.binds.iter().all(|bind| bind.ty.shape().iter().all(small))
}

struct Rest {
    main: Program,
    sources: Vec<Source>,
}

impl Rest {
    /// Takes out what depends on an argument alone: arrays that are worth it, with all that they are made of.
    fn pack(
        &mut self,
        whole: &Program,
        argument: usize,
        number: usize,
        is_worth_it: &dyn Fn(&Stmt, &[Size]) -> bool,
    ) -> Option<Pack> {
        let param = whole.body.params.get(argument)?.clone();
        let (mut own, mut free): (Vec<Stmt>, HashSet<Id>) = (vec![], HashSet::new());
        let mut made = HashSet::from([param.id]);
        let mut taken: HashMap<Id, Var> = HashMap::new();
        for stmt in &self.main.body.stmts {
            let uses = uses(&stmt.op);
            // Constants and sizes go wherever they are read.
            let is_free = uses.iter().all(|id| free.contains(id));
            if !uses.iter().all(|id| made.contains(id) || free.contains(id)) || self.counts(stmt) {
                continue;
            }
            let names = stmt.binds.iter().map(|bind| bind.id);
            if is_free {
                free.extend(names);
            } else {
                made.extend(names);
                let arrays = stmt.binds.iter().all(|bind| matches!(bind.ty, Type::Array(..)));
                if arrays && is_worth_it(stmt, param.ty.shape()) {
                    taken.extend(stmt.binds.iter().map(|bind| (bind.id, bind.clone())));
                }
            }
            own.push(stmt.clone());
        }
        // Results: arrays that the rest reads.
        let is_taken = |stmt: &Stmt| stmt.binds.iter().any(|bind| taken.contains_key(&bind.id));
        let mut read: Vec<Id> = self.main.body.results.clone();
        for stmt in self.main.body.stmts.iter().filter(|stmt| !is_taken(stmt)) {
            read.extend(uses(&stmt.op));
        }
        let mut results: Vec<Id> = vec![];
        for id in read {
            if taken.contains_key(&id) && !results.contains(&id) {
                results.push(id);
            }
        }
        if results.is_empty() {
            return None;
        }
        let params: Vec<Var> = results.iter().filter_map(|id| taken.get(id).cloned()).collect();
        self.main.body.stmts.retain(|stmt| !is_taken(stmt));
        let body = Body { params: vec![param], stmts: own, results: results.clone() };
        let name = format!("{}_weight{argument}", whole.name);
        let program = Program { name, requires: vec![], body, names: Default::default(), ..whole.clone() };
        self.main.body.params.extend(params);
        self.sources.extend((0..results.len()).map(|result| Source::Packed { pack: number, result }));
        Some(Pack { argument, program: dce::run(program) })
    }

    /// Does it count into a size, or is there one in it that is counted while the program runs? Only the rest knows it then.
    fn counts(&self, stmt: &Stmt) -> bool {
        let is_counted = |var: SizeVar| {
            let size = self.main.sizes.get(var.0 as usize);
            size.is_some_and(|size| size.origin == SizeOrigin::Counted)
        };
        let mut found = matches!(stmt.op, Op::Filter { .. });
        let mut alone = Body { stmts: vec![stmt.clone()], ..Body::default() };
        alone.each_size_mut(&mut |size| size.each_var(&mut |var| found |= is_counted(var)));
        found
    }

    /// Parameters that nobody reads any more need not be passed.
    fn drop_unread(&mut self) {
        let mut read: HashSet<Id> = self.main.body.results.iter().copied().collect();
        self.main.body.stmts.iter().for_each(|stmt| read.extend(uses(&stmt.op)));
        let is_read: Vec<bool> = self.main.body.params.iter().map(|param| read.contains(&param.id)).collect();
        let mut keep = is_read.iter();
        self.main.body.params.retain(|_| keep.next().copied().unwrap_or(true));
        let mut keep = is_read.iter();
        self.sources.retain(|_| keep.next().copied().unwrap_or(true));
        // They stood for places that have moved.
        self.main.names = Default::default();
    }
}

/// The names outside that an operation mentions.
fn uses(op: &Op) -> Vec<Id> {
    let mut found = vec![];
    op.each_operand(&mut |id| found.push(id));
    op.bodies().iter().for_each(|body| body.each_free(&mut |id| found.push(id)));
    found
}
