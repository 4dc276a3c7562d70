//! Tuples: `let (a, b) = (x, y)` and `(a, b) = (b, a)`.
//!
//! A tuple is no value. It is taken apart where it stands, and so is each branch of an `if` that gives one; all of its values
//! are computed, in order, before the first of them is given away. What is left is one assignment for each name.

use super::body::Body;
use super::declare::says_its_type;
use super::draft::{Class, Draft};
use super::expr::{Element, both_leave, branch_without_value, no_else, unlike, with_value};
use super::rules;
use super::scope::{Entity, Kind, Memory, Variable};
use super::settle::Why;
use super::stmt::not_assignable;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::syntax::{BinaryOp, Block, Expr, ExprKind, Name, Pattern, TypeExpr};
use crate::typed::{self, LocalId, Stmt};
use slyz_sir::types::Ty;

/// The left side: places for values, by number.
enum Shape {
    Leaf(usize),
    Tuple(Vec<Shape>, Span),
}

/// The right side: a value for each place.
enum Values<'a> {
    One(usize, Draft<'a>),
    Tuple(Vec<Values<'a>>),
    If { cond: typed::Expr, then: Arm<'a>, otherwise: Arm<'a>, span: Span },
}

/// A branch: statements, then values unless the statements leave.
struct Arm<'a> {
    stmts: Vec<Stmt>,
    values: Option<Box<Values<'a>>>,
}

/// What a place wants.
struct Goal {
    purpose: Purpose,
    name: String,
    /// Where it is declared.
    span: Span,
    ty: Option<Ty>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Let,
    Assigned,
    Element,
    Ignored,
}

/// What is assigned to.
enum Target {
    Variable(Variable, String),
    Element(Element, Span),
    Ignored,
}

/// A place that has its type.
struct Slot {
    local: LocalId,
    ty: Ty,
    /// What the values could be, if the type follows from them.
    found: Option<Class>,
}

impl Goal {
    fn ignored(span: Span) -> Goal {
        Goal { purpose: Purpose::Ignored, name: "_".to_string(), span, ty: None }
    }

    fn why(&self) -> Why<'_> {
        match self.purpose {
            Purpose::Let | Purpose::Ignored => Why::Let(&self.name, self.span),
            Purpose::Assigned => Why::Assigned(&self.name, self.span),
            Purpose::Element => Why::Element(&self.name, self.span),
        }
    }
}

/// `let`.
impl<'a> Body<'_, 'a> {
    /// `let (a, b) = (x, y)`.
    pub(super) fn tuple_let(&mut self, pattern: &'a Pattern, ty: Option<&'a TypeExpr>, value: &'a Expr) -> Vec<Stmt> {
        let names = pattern.names();
        self.twice(&names);
        let made = self.declared(pattern, ty, value);
        made.unwrap_or_else(|| {
            self.marks.broken = true;
            names.iter().for_each(|(name, _)| self.scopes.declare(&name.text, Entity::Wrong));
            vec![]
        })
    }

    fn declared(&mut self, pattern: &'a Pattern, ty: Option<&'a TypeExpr>, value: &'a Expr) -> Option<Vec<Stmt>> {
        let mut goals = vec![];
        let shape = self.names_of(pattern, ty.and_then(TypeExpr::said), &mut goals);
        let Some(shape) = shape else {
            self.look_at(value);
            return None;
        };
        let values = self.values(&shape, value)?;
        let slots = self.slots(&values, &goals)?;
        let made = self.set(values, &goals, &slots);
        let named = goals.iter().zip(slots).filter(|(goal, _)| goal.purpose == Purpose::Let);
        for ((name, mutable), (_, Slot { local, ty, found })) in pattern.names().into_iter().zip(named) {
            let variable = Variable { local, ty, kind: Kind::Let { mutable }, span: name.span, found };
            self.scopes.declare(&name.text, Entity::Variable(variable));
            if mutable {
                self.constants.remove(&local);
            }
        }
        Some(made)
    }

    /// The places of a pattern. Its types have to be a tuple of as many.
    fn names_of(&mut self, pattern: &'a Pattern, ty: Option<&'a TypeExpr>, goals: &mut Vec<Goal>) -> Option<Shape> {
        let parts = match pattern {
            Pattern::Tuple(parts, _) => parts,
            Pattern::Name { name, .. } => {
                let span = ty.map_or(name.span, |ty| ty.span);
                let ty = match ty {
                    Some(ty) => Some(self.scalar_type(ty)?),
                    None => None,
                };
                goals.push(Goal { purpose: Purpose::Let, name: name.text.clone(), span, ty });
                return Some(Shape::Leaf(goals.len() - 1));
            }
            Pattern::Ignored(span) => {
                goals.push(Goal::ignored(*span));
                return Some(Shape::Leaf(goals.len() - 1));
            }
        };
        let types = match ty.map(|ty| (ty, ty.parts(parts.len()))) {
            None => vec![None; parts.len()],
            Some((_, Some(types))) => types,
            Some((ty, None)) => {
                let message = format!("a tuple of {} is wanted here", counted(parts.len(), "type"));
                let diagnostic = Diagnostic::error(rules::TUPLE, ty.span, message);
                let diagnostic = diagnostic.related(pattern.span(), "taken apart here");
                self.say(diagnostic.help("write a type for each, `_` for one that its value says"));
                return None;
            }
        };
        let inner: Vec<Option<Shape>> =
            parts.iter().zip(types).map(|(part, ty)| self.names_of(part, ty, goals)).collect();
        Some(Shape::Tuple(inner.into_iter().collect::<Option<Vec<Shape>>>()?, pattern.span()))
    }

    /// A name that is given two values at once.
    fn twice(&mut self, names: &[(&Name, bool)]) {
        for (k, (name, _)) in names.iter().enumerate() {
            if let Some((first, _)) = names[..k].iter().find(|(first, _)| first.text == name.text) {
                let message = format!("`{}` stands twice in this `let`", name.text);
                let diagnostic = Diagnostic::error(rules::DUPLICATE, name.span, message);
                self.say(diagnostic.related(first.span, "the first one").help("give one of them another name"));
            }
        }
    }
}

/// Assignments.
impl<'a> Body<'_, 'a> {
    /// `(a, b) = (b, a)`.
    pub(super) fn tuple_assign(
        &mut self,
        target: &'a Expr,
        operator: Option<BinaryOp>,
        value: &'a Expr,
    ) -> Option<Vec<Stmt>> {
        if operator.is_some() {
            let message = "an assignment with an operator changes one value";
            self.say(Diagnostic::error(rules::TUPLE, target.span, message).help("write one statement for each"));
            self.look_at(value);
            return None;
        }
        let mut targets = vec![];
        let Some(shape) = self.targets(target, &mut targets) else {
            self.look_at(value);
            return None;
        };
        let goals: Vec<Goal> = targets.iter().map(Target::goal).collect();
        let values = self.values(&shape, value)?;
        let slots = self.slots(&values, &goals)?;
        let mut made = self.set(values, &goals, &slots);
        for (target, slot) in targets.into_iter().zip(slots) {
            let new = |span| typed::Expr { ty: slot.ty, kind: typed::ExprKind::Local(slot.local), span };
            match target {
                Target::Variable(variable, _) => made.push(Stmt::Set(variable.local, new(variable.span))),
                Target::Element(Element { memory, index }, span) => {
                    made.push(Stmt::Store { memory: memory.memory, index, value: new(span), span });
                }
                Target::Ignored => {}
            }
        }
        Some(made)
    }

    fn targets(&mut self, target: &'a Expr, targets: &mut Vec<Target>) -> Option<Shape> {
        let found = match &target.kind {
            ExprKind::Tuple(parts) => {
                let inner: Vec<Option<Shape>> = parts.iter().map(|part| self.targets(part, targets)).collect();
                return Some(Shape::Tuple(inner.into_iter().collect::<Option<Vec<Shape>>>()?, target.span));
            }
            ExprKind::Name(name) if name == "_" => Target::Ignored,
            ExprKind::Name(name) => Target::Variable(self.variable_target(name, target)?, name.clone()),
            ExprKind::Index(..) => Target::Element(self.element_target(target)?, target.span),
            ExprKind::Wrong => return None,
            _ => {
                self.say(not_assignable(target));
                return None;
            }
        };
        targets.push(found);
        Some(Shape::Leaf(targets.len() - 1))
    }
}

impl Target {
    fn goal(&self) -> Goal {
        match self {
            Target::Variable(Variable { ty, span, .. }, name) => {
                Goal { purpose: Purpose::Assigned, name: name.clone(), span: *span, ty: Some(*ty) }
            }
            Target::Element(Element { memory: Memory { name, span, elem, .. }, .. }, _) => {
                Goal { purpose: Purpose::Element, name: name.clone(), span: *span, ty: Some(*elem) }
            }
            Target::Ignored => Goal::ignored(Span::default()),
        }
    }
}

/// Values.
impl<'a> Body<'_, 'a> {
    /// Reads the right side into as many values as there are places.
    fn values(&mut self, shape: &Shape, value: &'a Expr) -> Option<Values<'a>> {
        let (parts, span) = match shape {
            Shape::Leaf(place) => {
                let draft = self.infer(value);
                return (draft.class != Class::Wrong).then_some(Values::One(*place, draft));
            }
            Shape::Tuple(parts, span) => (parts, *span),
        };
        match &value.kind {
            ExprKind::Tuple(items) if items.len() == parts.len() => {
                // All of them are looked at, so that each mistake is told.
                let each: Vec<Option<Values>> =
                    parts.iter().zip(items).map(|(part, item)| self.values(part, item)).collect();
                Some(Values::Tuple(each.into_iter().collect::<Option<Vec<Values>>>()?))
            }
            ExprKind::Tuple(items) => {
                self.look_at(value);
                let found = format!("here are {}", items.len());
                self.say(wrong_count(&found, value.span, parts.len(), span));
                None
            }
            ExprKind::If { cond, then, otherwise } => {
                self.branches(shape, cond, [Some(then), otherwise.as_ref()], value)
            }
            _ => {
                if self.infer(value).class != Class::Wrong {
                    self.say(wrong_count("this is one value", value.span, parts.len(), span));
                }
                None
            }
        }
    }

    fn branches(
        &mut self,
        shape: &Shape,
        cond: &'a Expr,
        [then, otherwise]: [Option<&'a Block>; 2],
        value: &'a Expr,
    ) -> Option<Values<'a>> {
        let cond = self.condition(cond, "`if`");
        let (Some(then), Some(otherwise)) = (then, otherwise) else {
            self.say(no_else(value.span));
            return None;
        };
        let [then, otherwise] = [then, otherwise].map(|block| self.arm(shape, block, value.span));
        let (then, otherwise) = (then?, otherwise?);
        if then.values.is_none() && otherwise.values.is_none() {
            self.say(both_leave(value.span));
            return None;
        }
        Some(Values::If { cond, then, otherwise, span: value.span })
    }

    fn arm(&mut self, shape: &Shape, block: &'a Block, whole: Span) -> Option<Arm<'a>> {
        self.scopes.open();
        let (stmts, value) = with_value(block);
        let (stmts, ended) = self.statements(stmts);
        let values = value.map(|value| self.values(shape, value));
        self.scopes.close();
        if values.is_none() && !ended {
            self.say(branch_without_value(whole));
            return None;
        }
        let values = match values {
            Some(values) => Some(Box::new(values?)),
            None => None,
        };
        Some(Arm { stmts, values })
    }

    /// Looks at values for which there are no places.
    fn look_at(&mut self, value: &'a Expr) {
        match &value.kind {
            ExprKind::Tuple(items) => items.iter().for_each(|item| self.look_at(item)),
            // What its branches give would be called no value.
            ExprKind::If { .. } => {}
            _ => drop(self.infer(value)),
        }
    }

    /// A local for each place, of the type that is said or that its values have together.
    fn slots(&mut self, values: &Values<'a>, goals: &[Goal]) -> Option<Vec<Slot>> {
        let mut known = vec![None; goals.len()];
        self.join(values, goals, value_span(values), &mut known)?;
        let mut slots = vec![];
        for (goal, known) in goals.iter().zip(known) {
            let class = known.map_or(Class::Wrong, |(_, class)| class);
            let found = match goal.ty {
                Some(_) => None,
                None => Some(class).filter(|_| !known.is_some_and(|(draft, _)| says_its_type(draft))),
            };
            let ty = goal.ty.unwrap_or(class.natural());
            let name = if goal.purpose == Purpose::Let { &goal.name } else { "new" };
            slots.push(Slot { local: self.local(name, ty), ty, found });
        }
        Some(slots)
    }

    /// What the values for each place are in all branches.
    fn join<'v>(
        &mut self,
        values: &'v Values<'a>,
        goals: &[Goal],
        span: Span,
        known: &mut [Option<(&'v Draft<'a>, Class)>],
    ) -> Option<()> {
        match values {
            Values::One(place, draft) => {
                let class = match known[*place] {
                    // A type that is said is held against each value.
                    Some((_, class)) if goals[*place].ty.is_some() => class,
                    Some((first, class)) => match class.join(draft.class) {
                        Some(both) => both,
                        None => {
                            self.say(unlike(first, class, draft, "the branches", span));
                            return None;
                        }
                    },
                    None => draft.class,
                };
                known[*place] = Some((draft, class));
                Some(())
            }
            Values::Tuple(parts) => parts.iter().try_for_each(|part| self.join(part, goals, span, known)),
            Values::If { then, otherwise, span, .. } => {
                let mut arms = [then, otherwise].into_iter().filter_map(|arm| arm.values.as_deref());
                arms.try_for_each(|values| self.join(values, goals, *span, known))
            }
        }
    }

    /// Gives each local its value.
    fn set(&mut self, values: Values<'a>, goals: &[Goal], slots: &[Slot]) -> Vec<Stmt> {
        match values {
            Values::One(place, draft) if goals[place].purpose == Purpose::Ignored => self.forgotten_on_purpose(draft),
            Values::One(place, draft) => {
                let Slot { local, ty, .. } = slots[place];
                let value = self.settle(draft, ty, goals[place].why());
                self.constants.extend(self.constant(&value).map(|value| (local, value)));
                vec![Stmt::Set(local, value)]
            }
            Values::Tuple(parts) => parts.into_iter().flat_map(|part| self.set(part, goals, slots)).collect(),
            Values::If { cond, then, otherwise, .. } => {
                let [then, otherwise] = [then, otherwise].map(|arm| {
                    let mut stmts = arm.stmts;
                    stmts.extend(arm.values.into_iter().flat_map(|values| self.set(*values, goals, slots)));
                    stmts
                });
                // Which branch it was nobody knows.
                self.constants.retain(|local, _| slots.iter().all(|slot| slot.local != *local));
                vec![Stmt::If { cond, then, otherwise }]
            }
        }
    }
}

fn value_span(values: &Values) -> Span {
    match values {
        Values::One(_, draft) => draft.span(),
        Values::Tuple(parts) => parts.first().map_or(Span::default(), value_span),
        Values::If { span, .. } => *span,
    }
}

fn wrong_count(found: &str, at: Span, wanted: usize, left: Span) -> Diagnostic {
    let message = format!("a tuple of {} is wanted here, but {found}", counted(wanted, "value"));
    let help = "take as many as there are, `_` for one that is not wanted";
    Diagnostic::error(rules::TUPLE, at, message).related(left, "taken apart here").help(help)
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
