//! Loads, stores, atomics, and what subgroups do.

use super::expr::Expr;
use super::writer::ClikeWriter;
use super::{Cell, EmitError, PlaceName, names};
use crate::back::teller;
use crate::back::tree::{Binding, Infix, Prefix, Tree};
use crate::code::{AtomicOp, Fragment, Id, MemId, SubgroupOp};
use crate::kernel::{Access, Space};
use crate::ops::Operator;
use crate::size::Size;
use crate::types::{Scalar, Ty};

/// Of vectors.
const FIELDS: [&str; 4] = ["x", "y", "z", "w"];

impl ClikeWriter<'_> {
    /// Memories of a thread.
    pub fn local_memories(&mut self) -> Result<(), EmitError> {
        for memory in &self.kernel.memories {
            if memory.space != Space::Local {
                continue;
            }
            let ty = self.ops().ty(memory.ty)?;
            let name = self.fresh(&memory.name);
            let elements = Size::product(&memory.shape).constant().unwrap_or(1).max(1);
            let elements = if memory.shape.is_empty() { None } else { Some(elements) };
            self.line(self.dialect.local_array(ty, &name, elements));
            self.locals.push((memory.name.clone(), name));
        }
        Ok(())
    }

    fn memory_name(&self, memory: MemId) -> String {
        let d = self.description;
        let buffers = d.buffers.iter().map(|b| (b.memory, &b.name));
        let named = buffers.chain(d.shared.iter().map(|s| (s.memory, &s.name))).find(|(m, _)| *m == memory);
        let declared = &self.kernel.memories[memory.0 as usize].name;
        let local = || self.locals.iter().find(|(known, _)| known == declared).map(|(_, name)| name.clone());
        named.map(|(_, name)| name.clone()).or_else(local).unwrap_or_else(|| declared.clone())
    }

    fn cell<'a>(&'a self, memory: MemId, name: &'a str) -> Cell<'a> {
        let atomic = self.description.atomics.contains(&memory);
        Cell { name, memory: &self.kernel.memories[memory.0 as usize], atomic }
    }

    /// The number of an element. Positions are inside, so a sum that fits its type in the end is right whatever its
    /// parts do: 32 bits are enough for memories of up to 2^32 elements.
    pub fn flat(&mut self, memory: MemId, index: &[Id]) -> Result<Expr, EmitError> {
        let shape = self.kernel.memories[memory.0 as usize].shape.clone();
        // A memory that is bound has at most so many positions as an array may have.
        let total = Size::product(&shape).constant();
        let narrow = total.unwrap_or(self.dialect.machine().max_positions) <= 1 << 32;
        let rep = if narrow { Ty::U32 } else { Ty::I64 };
        let mut sum: Option<Expr> = None;
        for (d, &id) in index.iter().enumerate() {
            let mut at = self.get(id);
            if at.rep == Ty::U64 {
                at = self.ops().to(&at, Ty::I64)?;
            }
            if at.literal.is_some() || !self.dialect.converts() {
                at = self.ops().to(&at, rep)?;
            }
            let stride = Size::product(&shape[d + 1..]);
            let term = match (at.literal, stride.constant()) {
                (Some(n), _) if n.as_int() == 0 && index.len() > 1 => continue,
                (_, Some(1)) => at,
                (Some(n), Some(stride)) => {
                    let product = n.as_int().saturating_mul(stride.into());
                    self.ops().literal(Scalar::from_int(rep, product))
                }
                (_, Some(stride)) => {
                    let stride = self.ops().literal(Scalar::from_int(rep, stride.into()));
                    self.ops().times(&at, &stride)
                }
                (_, None) => {
                    let stride = self.stride(&stride, rep)?;
                    self.ops().times(&at, &stride)
                }
            };
            sum = Some(match sum {
                None => term,
                Some(sum) => self.ops().plus(&sum, &term),
            });
        }
        let zero = self.ops().literal(Scalar::from_int(rep, 0));
        let sum = sum.unwrap_or(zero);
        let plain = index.len() <= 1;
        if let Some(number) = sum.literal.and_then(|n| i32::try_from(n.as_int()).ok()) {
            return Ok(Expr { literal: None, ..self.ops().literal(Scalar::from_int(Ty::I32, number.into())) });
        }
        Ok(Expr { rep: if plain { sum.rep } else { rep }, literal: None, ..sum })
    }

    /// A product of extents, modulo the width of the type that positions are computed in.
    fn stride(&mut self, size: &Size, rep: Ty) -> Result<Expr, EmitError> {
        let value = match size {
            Size::Mul(a, b) => {
                let a = self.stride(a, rep)?;
                let b = self.stride(b, rep)?;
                return Ok(self.ops().times(&a, &b));
            }
            size => self.size(size)?,
        };
        self.ops().to(&value, rep)
    }

    /// An element, `offset` past the index: its number, or where it is on each axis.
    fn element(&mut self, memory: MemId, index: &[Expr], offset: u64) -> Tree {
        let declared = &self.kernel.memories[memory.0 as usize];
        let name = Tree::name(self.memory_name(memory));
        if offset == 0 && declared.space == Space::Local && declared.shape.is_empty() {
            return name;
        }
        let mut element = name;
        for (axis, at) in index.iter().enumerate() {
            let moves = offset > 0 && axis + 1 == index.len();
            let tree = if moves {
                let offset = self.ops().literal(Scalar::from_int(at.rep, offset.into()));
                self.ops().plus(at, &offset).tree
            } else {
                at.tree.clone()
            };
            element = Tree::index(element, tree);
        }
        element
    }

    /// Is it an array of arrays, as people write tiles?
    fn nests(&self, memory: MemId) -> bool {
        self.dialect.nests(&self.kernel.memories[memory.0 as usize])
    }

    /// The number of an element, with the names that positions of threads have.
    fn position(&mut self, memory: MemId, index: &[Id], load: bool) -> Result<Expr, EmitError> {
        let shape = &self.kernel.memories[memory.0 as usize].shape;
        if let Some((own, own_shape)) = self.own.clone() {
            let is_own = self.is_own(index) && *shape == own_shape;
            if is_own && !(load && self.spell_own) {
                index.iter().for_each(|&i| drop(self.get(i)));
                return Ok(own);
            }
            let other = load && !is_own && index.iter().all(|i| self.places.contains_key(i));
            if let Some(name) = self.swapped.take_if(|_| other) {
                let flat = self.flat(memory, index)?;
                self.declare_as(&name, flat.rep, &flat)?;
                return Ok(Expr::name(name, flat.rep));
            }
        }
        self.flat(memory, index)
    }

    pub fn load(&mut self, ids: &[Id], memory: MemId, index: &[Id]) -> Result<(), EmitError> {
        let declared = &self.kernel.memories[memory.0 as usize];
        let (ty, reads) = match declared.space {
            Space::Global(Access::Read) | Space::Constant => (declared.ty, false),
            Space::Global(_) | Space::Shared | Space::Scratch | Space::Local => (declared.ty, true),
        };
        let flat = self.several(ids.len(), memory, index, true)?;
        let eights = declared.space.is_bound() && ids.len().is_multiple_of(2 * FIELDS.len());
        if let Some(words) = self.dialect.vector_of_words(ty).filter(|_| eights) {
            return self.load_words(ids, (memory, &flat), words);
        }
        if let Some((vector, lanes)) = self.vector(memory, ids.len()) {
            for (number, ids) in ids.chunks(lanes).enumerate() {
                let element = self.element(memory, &flat, (number * lanes) as u64);
                let name = self.fresh("v");
                self.settle()?;
                let value = self.dialect.vector_read(vector, &element);
                self.line(format!("const {vector} {name} = {value};"));
                for (&id, field) in ids.iter().zip(FIELDS) {
                    let element = Tree::member(Tree::name(&name), field);
                    let value = self.dialect.read(&self.cell(memory, &name), element, self.helpers);
                    self.bind(id, Expr::new(value, ty), "x")?;
                }
            }
            return Ok(());
        }
        let stem = self.element_of(memory);
        for (k, &id) in ids.iter().enumerate() {
            let element = self.element(memory, &flat, k as u64);
            if let Some(value) = self.read_together(id, memory, &element) {
                self.settle()?;
                self.name_now(id, Expr::new(value, ty), &stem)?;
                continue;
            }
            let value = self.dialect.read(&self.cell(memory, &self.memory_name(memory)), element, self.helpers);
            // Perhaps it gets a name later only.
            self.roles.entry(id).or_insert_with(|| stem.clone());
            self.bind(id, Expr { reads, ..Expr::new(value, ty) }, &stem)?;
        }
        Ok(())
    }

    /// Elements of 16 bits, two in a word.
    fn load_words(&mut self, ids: &[Id], (memory, flat): (MemId, &[Expr]), vector: &str) -> Result<(), EmitError> {
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let lanes = 2 * FIELDS.len();
        for (number, ids) in ids.chunks(lanes).enumerate() {
            let element = self.element(memory, flat, (number * lanes) as u64);
            let name = self.fresh("v");
            self.settle()?;
            let value = self.dialect.vector_read(vector, &element);
            self.line(format!("const {vector} {name} = {value};"));
            for (k, &id) in ids.iter().enumerate() {
                let word = Tree::member(Tree::name(&name), FIELDS[k / 2]);
                let half = Tree::call(["low_half", "high_half"][k % 2], [word]);
                let value = self.dialect.read(&self.cell(memory, &name), half, self.helpers);
                self.bind(id, Expr::new(value, ty), "x")?;
            }
        }
        Ok(())
    }

    /// A fragment of a matrix.
    pub fn load_fragment(&mut self, ids: &[Id], memory: MemId, index: &[Id], turned: bool) -> Result<(), EmitError> {
        let lacks = || EmitError::Fragments { kernel: self.kernel.name.clone(), language: self.dialect.language() };
        let four = self.dialect.vector(Ty::U32, FIELDS.len()).ok_or_else(lacks)?;
        let at = self.places_of(memory, index, true)?;
        self.settle()?;
        let element = self.element(memory, &at, 0);
        let lacks = || EmitError::Fragments { kernel: self.kernel.name.clone(), language: self.dialect.language() };
        let read = self.dialect.load_fragment(element, turned).ok_or_else(lacks)?;
        let name = self.fresh("fragment");
        self.line(format!("const {four} {name} = {read};"));
        for (&id, field) in ids.iter().zip(FIELDS) {
            self.values.insert(id, Expr::new(Tree::member(Tree::name(&name), field), Ty::U32));
        }
        Ok(())
    }

    /// What an element of a memory is called: as the memory of the block that it is in, which says what it is for.
    fn element_of(&self, memory: MemId) -> String {
        let memory = &self.kernel.memories[memory.0 as usize];
        match memory.space {
            Space::Shared => names::of_one(&memory.name).to_string(),
            _ => "x".to_string(),
        }
    }

    /// The type that holds neighbours of a memory, as many as it has fields. The first of `count` is a multiple of them.
    fn vector(&self, memory: MemId, count: usize) -> Option<(&'static str, usize)> {
        let memory = &self.kernel.memories[memory.0 as usize];
        let near = memory.space == Space::Shared && self.dialect.has_shared_vectors();
        let together = memory.space.is_bound() || near;
        let lanes = [4, 2].into_iter().filter(|lanes| together && count.is_multiple_of(*lanes));
        lanes.filter_map(|lanes| Some((self.dialect.vector(memory.ty, lanes)?, lanes))).next()
    }

    /// A read of a block's memory that decides whether threads meet, where the language wants to know that they agree.
    fn read_together(&self, id: Id, memory: MemId, element: &Tree) -> Option<Tree> {
        let name = self.memory_name(memory);
        let shared = self.kernel.memories[memory.0 as usize].space == Space::Shared;
        let decides = shared && self.decisions.contains(&id);
        if decides { self.dialect.read_together(&self.cell(memory, &name), element) } else { None }
    }

    /// A position that may be written `count` times.
    fn several(&mut self, count: usize, memory: MemId, index: &[Id], load: bool) -> Result<Vec<Expr>, EmitError> {
        let places = self.places_of(memory, index, load)?;
        if count == 1 {
            return Ok(places);
        }
        let mut named = vec![];
        for place in places {
            if place.tree.binding() == Binding::Atom {
                named.push(place);
                continue;
            }
            let name = self.fresh("at");
            self.declare_as(&name, place.rep, &place)?;
            named.push(Expr::name(name, place.rep));
        }
        Ok(named)
    }

    /// Where an element is: its number, or a number for each axis.
    fn places_of(&mut self, memory: MemId, index: &[Id], load: bool) -> Result<Vec<Expr>, EmitError> {
        if !self.nests(memory) {
            return Ok(vec![self.position(memory, index, load)?]);
        }
        let mut places = vec![];
        for &id in index {
            let at = self.get(id);
            let at = self.ops().to(&at, Ty::U32)?;
            places.push(Expr { literal: None, ..at });
        }
        Ok(places)
    }

    pub fn store(&mut self, memory: MemId, index: &[Id], values: &[Id]) -> Result<(), EmitError> {
        let ty = self.kernel.memories[memory.0 as usize].ty;
        let flat = self.several(values.len(), memory, index, false)?;
        let mut assigned = vec![];
        for &value in values {
            let value = self.get(value);
            assigned.push(self.ops().assigned(&value, ty)?);
        }
        self.settle()?;
        if let Some((vector, lanes)) = self.vector(memory, values.len()) {
            for (number, values) in assigned.chunks(lanes).enumerate() {
                let element = self.element(memory, &flat, (number * lanes) as u64);
                let cell = self.memory_name(memory);
                let cell = self.cell(memory, &cell);
                let values: Vec<Tree> = values.iter().map(|value| self.dialect.packed(&cell, value.clone())).collect();
                self.line(self.dialect.vector_write(vector, &element, &values));
            }
            return Ok(());
        }
        for (k, value) in assigned.into_iter().enumerate() {
            let element = self.element(memory, &flat, k as u64);
            let cell = self.memory_name(memory);
            self.line(self.dialect.write(&self.cell(memory, &cell), element, value, self.helpers));
        }
        Ok(())
    }

    pub fn atomic(
        &mut self,
        id: Option<Id>,
        op: AtomicOp,
        memory: MemId,
        index: &[Id],
        args: &[Id],
    ) -> Result<(), EmitError> {
        let declared = &self.kernel.memories[memory.0 as usize];
        let (ty, space) = (declared.ty, declared.space);
        if op == AtomicOp::Claim {
            // Its function tells nobody what was there before.
            if id.is_some_and(|id| self.is_used(id)) {
                let kernel = self.kernel.name.clone();
                let language = self.dialect.language();
                return Err(EmitError::Atomic { kernel, language, what: "claim with a result".to_string(), ty });
            }
            return self.claim(memory, index, args);
        }
        let places =
            if self.nests(memory) { self.places_of(memory, index, false)? } else { vec![self.flat(memory, index)?] };
        let mut values = vec![];
        for arg in args {
            let value = self.get(*arg);
            values.push(self.ops().to(&value, ty)?.tree);
        }
        self.settle()?;
        let element = self.element(memory, &places, 0);
        let tree = self.atomic_tree(op, space, ty, element, &values)?;
        match id.filter(|&id| self.is_used(id)) {
            Some(id) => self.name_now(id, Expr::new(tree, ty), "old"),
            None => {
                self.line(self.dialect.unused(&tree));
                Ok(())
            }
        }
    }

    /// A fault is told by a function, so that the kernel's own text stays short. Nobody asks what was there before.
    fn claim(&mut self, memory: MemId, index: &[Id], args: &[Id]) -> Result<(), EmitError> {
        let flat = self.flat(memory, index)?;
        let values: Vec<Expr> = args.iter().map(|&arg| self.get(arg)).collect();
        // A number that stands in the text fits.
        let held = |value: &Expr| if value.literal.is_some() { Ty::I32 } else { value.rep };
        let types = teller::types(&values.iter().map(held).collect::<Vec<_>>());
        let mut passed = vec![];
        for (value, &ty) in values.iter().zip(&types) {
            passed.push(self.ops().to(value, ty)?.tree);
        }
        self.settle()?;
        let faults = self.memory_name(memory);
        let function = self.teller(memory, &flat, &types)?;
        let memory = self.dialect.passes_memories().then(|| Tree::name(faults));
        let call = Tree::call(function, memory.into_iter().chain(passed));
        self.line(format!("{call};"));
        Ok(())
    }

    /// The function that tells faults: a number for the tensor, the thread, and a position for each axis.
    fn teller(&mut self, memory: MemId, flat: &Expr, types: &[Ty]) -> Result<String, EmitError> {
        let space = self.kernel.memories[memory.0 as usize].space;
        let faults = self.memory_name(memory);
        let Some(first) = flat.tree.value().map(|value| value.as_int()) else {
            let what = "claims of places that are not constants".to_string();
            return Err(EmitError::Form { kernel: self.kernel.name.clone(), what });
        };
        let name = teller::name(types, &faults, first as i64);
        let names = teller::PARAMETERS;
        let mut parameters = vec![];
        if self.dialect.passes_memories() {
            parameters.push((self.pointer(space, Ty::I32)?, faults.clone()));
        }
        for (&ty, name) in types.iter().zip(names) {
            parameters.push((self.ops().ty(ty)?.to_string(), name.to_string()));
        }
        let head = self.dialect.procedure_head(&name, &parameters);
        let element = |k: usize| Tree::index(Tree::name(&faults), Tree::int((first + k as i128) as i64));
        let zero = self.ops().literal(Scalar::from_int(Ty::I32, 0)).tree;
        let exchanged = [zero.clone(), Tree::name(names[0])];
        let found = self.dialect.compare_exchange(space, Ty::I32, element(0), exchanged, self.helpers);
        let condition = self.dialect.if_head(&Tree::infix(Infix::Eq, found, zero));
        let mut body = String::new();
        for (k, (&ty, name)) in types.iter().zip(names).enumerate().skip(1) {
            let value = Expr::name(name, ty);
            let mut words = vec![self.ops().assigned(&value, Ty::I32)?];
            // That of an unsigned number is 0, as it is before the launch.
            if ty != Ty::U32 {
                let bits = if ty == Ty::I64 { 32 } else { 31 };
                let amount = self.dialect.shift_amount();
                let above = self.ops().literal(Scalar::from_int(amount, bits));
                let high = self.ops().infix(Infix::Shr, &value, &above, ty);
                words.push(self.ops().assigned(&high, Ty::I32)?);
            }
            for (half, word) in words.into_iter().enumerate() {
                let cell = self.cell(memory, &faults);
                let line = self.dialect.write(&cell, element(2 * k - 1 + half), word, self.helpers);
                body += &format!("        {line}\n");
            }
        }
        Ok(self.helpers.add(&name, || format!("{head} {{\n    {condition} {{\n{body}    }}\n}}\n")))
    }

    fn atomic_tree(
        &mut self,
        op: AtomicOp,
        space: Space,
        ty: Ty,
        element: Tree,
        args: &[Tree],
    ) -> Result<Tree, EmitError> {
        let what = match op {
            AtomicOp::Update(operator) => operator.name(),
            // It gives the old value, as an exchange does.
            AtomicOp::Exchange | AtomicOp::Store => "exchange",
            AtomicOp::CompareExchange => "compare_exchange",
            AtomicOp::Load => "load",
            AtomicOp::Claim => "claim",
        };
        let dialect = self.dialect;
        if dialect.has_atomic(op, ty) {
            return Ok(match (op, args) {
                (AtomicOp::CompareExchange, [expected, value]) => {
                    let args = [expected.clone(), value.clone()];
                    dialect.compare_exchange(space, ty, element, args, self.helpers)
                }
                (AtomicOp::Update(_), _) => {
                    dialect.atomic(&format!("fetch_{what}"), space, ty, element, args.first().cloned())
                }
                _ => dialect.atomic(what, space, ty, element, args.first().cloned()),
            });
        }
        // A float is exchanged by its bits, and updated by exchanging it until nobody was in between.
        let bits = carrier(ty).filter(|&bits| dialect.has_atomic(AtomicOp::CompareExchange, bits));
        match (op, bits) {
            (AtomicOp::Update(operator), Some(bits)) => {
                let function = self.float_update(operator, space, ty, bits)?;
                let pointer = Tree::cast(self.pointer(space, bits)?, Tree::prefix(Prefix::Address, element));
                Ok(Tree::call(function, [pointer, args[0].clone()]))
            }
            (_, Some(bits)) => {
                let args: Vec<Tree> = args.iter().map(|a| dialect.bits(ty, bits, a.clone())).collect();
                let word = dialect.as_word(space, bits, element);
                Ok(dialect.bits(bits, ty, self.atomic_tree(op, space, bits, word, &args)?))
            }
            (_, None) => {
                let kernel = self.kernel.name.clone();
                let language = dialect.language();
                Err(EmitError::Atomic { kernel, language, what: what.to_string(), ty })
            }
        }
    }

    /// The type of pointers to elements.
    fn pointer(&mut self, space: Space, ty: Ty) -> Result<String, EmitError> {
        let words = [self.dialect.space(space), self.ops().ty(ty)?];
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        Ok(words.join(" ") + "*")
    }

    /// A function that combines a float into memory, whose bits are exchanged.
    fn float_update(&mut self, operator: Operator, space: Space, ty: Ty, bits: Ty) -> Result<String, EmitError> {
        let carrier = self.ops().ty(bits)?;
        let float = self.ops().ty(ty)?;
        let qualifier = self.dialect.space(space);
        let pointer = self.pointer(space, bits)?;
        let inline = self.dialect.inline();
        let old = Expr::name("old", ty);
        let x = Expr::name("x", ty);
        let next = self.ops().apply(operator, &[old, x], ty, &[])?.tree;
        let at = Tree::index(Tree::name("at"), Tree::int(0));
        let seen = self.atomic_tree(AtomicOp::Load, space, bits, at.clone(), &[])?;
        let exchanged = ["seen", "next"].map(Tree::name);
        let swapped = self.dialect.compare_exchange(space, bits, at, exchanged, self.helpers);
        let as_float = self.dialect.bits(bits, ty, Tree::name("seen"));
        let as_bits = self.dialect.bits(ty, bits, next);
        let name = format!("atomic_{}_{ty}_{qualifier}", operator.name());
        Ok(self.helpers.add(&name, || {
            format!(
                "{inline} {float} {name}({pointer} at, {float} x) {{
    {carrier} seen = {seen};
    while (true) {{
        {float} old = {as_float};
        {carrier} next = {as_bits};
        {carrier} now = {swapped};
        if (now == seen) return old;
        seen = now;
    }}
}}
"
            )
        }))
    }

    pub fn subgroup(&mut self, id: Id, op: SubgroupOp, args: &[Id]) -> Result<(), EmitError> {
        let ty = self.types[&args[0]];
        let value = self.get(args[0]);
        let mut trees = vec![self.ops().to(&value, ty)?.tree];
        for &lane in &args[1..] {
            let lane = self.get(lane);
            let number = self.dialect.lane_number();
            trees.push(self.ops().to(&lane, number)?.tree);
        }
        self.settle()?;
        let tree = self.subgroup_tree(op, ty, &trees)?;
        let rep = self.types[&id];
        let stem = stem(op);
        if op == SubgroupOp::ShuffleDown && self.description.last_subgroup_is_partial {
            return self.shuffle_inside(id, tree, ty, &trees);
        }
        if self.is_used(id) {
            self.name_now(id, Expr::new(tree, rep), stem)
        } else {
            self.line(self.dialect.unused(&tree));
            Ok(())
        }
    }

    /// A product of fragments. Sums that are those of another one travel on as they came.
    pub fn mma(&mut self, ids: &[Id], fragment: Fragment, args: &[Id]) -> Result<(), EmitError> {
        let (words, sums) = args.split_at(args.len() - FIELDS.len());
        let mut trees = vec![];
        for &word in words {
            let word = self.get(word);
            trees.push(self.ops().to(&word, Ty::U32)?.tree);
        }
        let sums: Vec<Tree> = sums.iter().map(|&sum| self.get(sum).tree).collect();
        self.settle()?;
        let lacks = || EmitError::Fragments { kernel: self.kernel.name.clone(), language: self.dialect.language() };
        let four = self.dialect.vector(Ty::F32, FIELDS.len()).ok_or_else(lacks)?;
        let whole = sums[0].whole().filter(|whole| {
            FIELDS.iter().zip(&sums).all(|(field, sum)| *sum == Tree::member((*whole).clone(), *field))
        });
        let sums = whole.cloned().unwrap_or_else(|| Tree::call(format!("make_{four}"), sums.iter().cloned()));
        let product = self.dialect.mma(fragment, &trees, sums).ok_or_else(lacks)?;
        let name = self.fresh("product");
        self.line(format!("const {four} {name} = {product};"));
        for (&id, field) in ids.iter().zip(FIELDS) {
            self.values.insert(id, Expr::new(Tree::member(Tree::name(&name), field), Ty::F32));
        }
        Ok(())
    }

    /// A shuffle from further up, in a block whose last subgroup is partial: lanes keep their own value where the other
    /// is not there. All lanes take part before any chooses.
    fn shuffle_inside(&mut self, id: Id, shuffled: Tree, ty: Ty, args: &[Tree]) -> Result<(), EmitError> {
        let (rank, block) = (self.description.rank, self.description.block);
        let number = |w: &mut Self, n: u32| w.ops().literal(Scalar::from_int(Ty::U32, n.into())).tree;
        // The number of the thread in its block: x + nx * (y + ny * z).
        let last = rank.clamp(1, 3) as u8 - 1;
        let mut thread = self.dialect.place(PlaceName::Local, last, rank);
        for d in (0..last).rev() {
            let extent = number(self, block[usize::from(d)]);
            let further = Tree::infix(Infix::Mul, extent, thread);
            thread = Tree::infix(Infix::Add, self.dialect.place(PlaceName::Local, d, rank), further);
        }
        let other = self.fresh("other");
        self.declare_as(&other, ty, &Expr::new(shuffled, ty))?;
        let from = Tree::infix(Infix::Add, thread, args[1].clone());
        let is_there = Tree::infix(Infix::Lt, from, number(self, block.iter().product()));
        let chosen = self.dialect.choice(is_there, Tree::name(other), args[0].clone());
        self.name_now(id, Expr::new(chosen, ty), "other")
    }

    fn subgroup_tree(&mut self, op: SubgroupOp, ty: Ty, args: &[Tree]) -> Result<Tree, EmitError> {
        let op = match (op, ty) {
            (SubgroupOp::Reduce(Operator::And), Ty::Bool) => SubgroupOp::All,
            (SubgroupOp::Reduce(Operator::Or), Ty::Bool) => SubgroupOp::Any,
            (op, _) => op,
        };
        match (self.dialect.subgroup(op, ty, args), op) {
            (Some(tree), _) => Ok(tree),
            (None, SubgroupOp::Reduce(operator)) if self.dialect.walks_lanes() => {
                Ok(Tree::call(self.lane_loop(operator, false, ty)?, args.first().cloned()))
            }
            (None, SubgroupOp::Scan(operator)) if self.dialect.walks_lanes() => {
                Ok(Tree::call(self.lane_loop(operator, true, ty)?, args.first().cloned()))
            }
            (None, _) => {
                let language = self.dialect.language();
                let remedy = self.dialect.remedy(ty);
                Err(EmitError::Type { kernel: self.kernel.name.clone(), language, ty, remedy })
            }
        }
    }

    /// A function that goes through the active lanes one by one, for what the language has no word for.
    fn lane_loop(&mut self, operator: Operator, scan: bool, ty: Ty) -> Result<String, EmitError> {
        let t = self.ops().ty(ty)?;
        let uint = self.ops().ty(Ty::U32)?;
        let inline = self.dialect.inline();
        let number = self.dialect.lane_number();
        let lane = self.ops().ty(number)?;
        let shuffled = self.subgroup_tree(SubgroupOp::Shuffle, ty, &["x", "lane"].map(Tree::name))?;
        let total = Expr::name("total", ty);
        let other = Expr::name("other", ty);
        let range = crate::ranges::Range::FULL;
        let both = self.ops().apply(operator, &[total, other], ty, &[range, range])?;
        let both = self.ops().to(&both, ty)?.tree;
        let name = format!("subgroup_{}_{}_{ty}", if scan { "scan" } else { "reduce" }, operator.name());
        let long = self.ops().ty(Ty::U64)?;
        let active = self.dialect.active_lanes();
        let below = self.dialect.lanes_below();
        let head = if scan { format!("    {uint} own = {below};\n") } else { String::new() };
        let stop = if scan { "seen <= own" } else { "true" };
        Ok(self.helpers.add(&name, || {
            format!(
                "{inline} {t} {name}({t} x) {{
    {long} active = {active};
{head}    {t} total = x;
    {uint} seen = 0;
    for ({lane} lane = 0; lane < 64; ++lane) {{
        if (((active >> lane) & 1) == 0) continue;
        {t} other = {shuffled};
        if (seen == 0) total = other;
        else if ({stop}) total = {both};
        ++seen;
    }}
    return total;
}}
"
            )
        }))
    }
}

/// The integer that holds the bits of a float.
fn carrier(ty: Ty) -> Option<Ty> {
    match ty {
        Ty::F32 => Some(Ty::U32),
        Ty::F64 => Some(Ty::U64),
        _ => None,
    }
}

/// What the result of a subgroup operation is called.
fn stem(op: SubgroupOp) -> &'static str {
    match op {
        SubgroupOp::Reduce(_) => "total",
        SubgroupOp::Scan(_) => "prefix",
        SubgroupOp::Shuffle | SubgroupOp::ShuffleXor | SubgroupOp::ShuffleUp | SubgroupOp::ShuffleDown => "other",
        SubgroupOp::Broadcast => "first",
        SubgroupOp::Ballot | SubgroupOp::Any | SubgroupOp::All => "votes",
    }
}
