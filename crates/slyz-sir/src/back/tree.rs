//! Expressions of C and its relatives as trees, printed once.
//!
//! What is asked of an expression is asked of its tree: whether it is a literal and of what value, which names it mentions,
//! how long it gets. Its text is made where a line is written, and nobody reads it back. Parentheses stand where the
//! language needs them, and where its order surprises people and compilers warn: around operands of bits and shifts, and
//! around comparisons of comparisons.
//!
//! What it does not do: types, statements, spelling of literals. These are the writers' and the dialects'.

use crate::types::Scalar;
use std::fmt::{self, Write};
use std::rc::Rc;

/// The longest comparison that is written more than once.
const BRIEF: usize = 24;

/// An expression. A clone shares the tree.
///
/// ```
/// use slyz_sir::back::tree::{Infix, Tree};
/// let sum = Tree::infix(Infix::Add, Tree::name("a"), Tree::name("b"));
/// let product = Tree::infix(Infix::Mul, sum, Tree::int(-2));
/// assert_eq!(product.to_string(), "(a + b) * -2");
/// assert!(product.mentions("b"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tree(Rc<Node>);

#[derive(Debug, PartialEq)]
enum Node {
    /// A number: its value, and how it is spelled behind its sign.
    Literal {
        value: Scalar,
        negative: bool,
        spelled: String,
    },
    Name(String),
    Call(String, Vec<Tree>),
    Infix(Infix, Tree, Tree),
    Prefix(Prefix, Tree),
    Cast(String, Tree),
    Index(Tree, Tree),
    Member(Tree, String),
    Choice(Tree, Tree, Tree),
}

/// Operators between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Infix {
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `&`
    And,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `&&`
    Both,
    /// `||`
    Either,
}

/// Operators before an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    /// `-`
    Minus,
    /// `!`
    Not,
    /// `~`
    Complement,
    /// `&`
    Address,
    /// `*`
    Deref,
}

/// How tightly an expression binds, in C's own order; the tightest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// `c ? a : b`
    Choice,
    /// `||`
    Either,
    /// `&&`
    Both,
    /// `& | ^`, which C orders among themselves and we never mix.
    Bits,
    /// `== !=`
    Equality,
    /// `< <= > >=`
    Relation,
    /// `<< >>`
    Shift,
    /// `+ -`
    Sum,
    /// `* / %`
    Product,
    /// Signs and conversions.
    Unary,
    /// Names, literals, calls, elements, members.
    Atom,
}

impl Infix {
    /// All of them.
    pub const ALL: [Infix; 18] = [
        Infix::Mul,
        Infix::Div,
        Infix::Rem,
        Infix::Add,
        Infix::Sub,
        Infix::Shl,
        Infix::Shr,
        Infix::Lt,
        Infix::Le,
        Infix::Gt,
        Infix::Ge,
        Infix::Eq,
        Infix::Ne,
        Infix::And,
        Infix::Or,
        Infix::Xor,
        Infix::Both,
        Infix::Either,
    ];

    /// The operator that the table spells so.
    pub fn spelled(symbol: &str) -> Option<Infix> {
        Infix::ALL.into_iter().find(|infix| infix.symbol() == symbol)
    }

    fn symbol(self) -> &'static str {
        match self {
            Infix::Mul => "*",
            Infix::Div => "/",
            Infix::Rem => "%",
            Infix::Add => "+",
            Infix::Sub => "-",
            Infix::Shl => "<<",
            Infix::Shr => ">>",
            Infix::Lt => "<",
            Infix::Le => "<=",
            Infix::Gt => ">",
            Infix::Ge => ">=",
            Infix::Eq => "==",
            Infix::Ne => "!=",
            Infix::And => "&",
            Infix::Or => "|",
            Infix::Xor => "^",
            Infix::Both => "&&",
            Infix::Either => "||",
        }
    }

    /// How tightly it binds.
    pub fn binding(self) -> Binding {
        match self {
            Infix::Mul | Infix::Div | Infix::Rem => Binding::Product,
            Infix::Add | Infix::Sub => Binding::Sum,
            Infix::Shl | Infix::Shr => Binding::Shift,
            Infix::Lt | Infix::Le | Infix::Gt | Infix::Ge => Binding::Relation,
            Infix::Eq | Infix::Ne => Binding::Equality,
            Infix::And | Infix::Or | Infix::Xor => Binding::Bits,
            Infix::Both => Binding::Both,
            Infix::Either => Binding::Either,
        }
    }

    /// May it stand before `=`?
    fn updates(self) -> bool {
        !matches!(self.binding(), Binding::Relation | Binding::Equality | Binding::Both | Binding::Either)
    }

    /// How tightly its operands must bind to stand without parentheses, left and right.
    fn operands(self) -> [Binding; 2] {
        match self.binding() {
            Binding::Bits | Binding::Shift => [Binding::Unary; 2],
            Binding::Relation | Binding::Equality => [Binding::Sum; 2],
            // In `a && (b && c)` nothing depends on the parentheses.
            Binding::Both | Binding::Either => [Binding::Equality; 2],
            Binding::Sum => [Binding::Sum, Binding::Product],
            Binding::Product => [Binding::Product, Binding::Unary],
            Binding::Choice | Binding::Unary | Binding::Atom => [Binding::Atom; 2],
        }
    }
}

impl Prefix {
    fn symbol(self) -> char {
        match self {
            Prefix::Minus => '-',
            Prefix::Not => '!',
            Prefix::Complement => '~',
            Prefix::Address => '&',
            Prefix::Deref => '*',
        }
    }
}

impl Tree {
    fn new(node: Node) -> Tree {
        Tree(Rc::new(node))
    }

    /// A name of the text.
    pub fn name(name: impl Into<String>) -> Tree {
        Tree::new(Node::Name(name.into()))
    }

    /// A number of that value, spelled so behind its sign.
    pub fn literal(value: Scalar, negative: bool, spelled: impl Into<String>) -> Tree {
        Tree::new(Node::Literal { value, negative, spelled: spelled.into() })
    }

    /// Plain digits.
    pub fn int(value: i64) -> Tree {
        Tree::literal(Scalar::i64(value), value < 0, value.unsigned_abs().to_string())
    }

    /// A call of a function, or whatever looks like one.
    pub fn call(function: impl Into<String>, args: impl IntoIterator<Item = Tree>) -> Tree {
        Tree::new(Node::Call(function.into(), args.into_iter().collect()))
    }

    /// An operator between two operands. `a + -1` is `a - 1`.
    pub fn infix(operator: Infix, left: Tree, right: Tree) -> Tree {
        if let (Infix::Add, Node::Literal { value, negative: true, spelled }) = (operator, &*right.0) {
            let negated = Scalar { bits: negated(*value), ..*value };
            return Tree::infix(Infix::Sub, left, Tree::literal(negated, false, spelled.clone()));
        }
        Tree::new(Node::Infix(operator, left, right))
    }

    /// An operator before its operand.
    pub fn prefix(operator: Prefix, operand: Tree) -> Tree {
        // The address of what an address leads to.
        if let (Prefix::Address, Node::Prefix(Prefix::Deref, address)) = (operator, &*operand.0) {
            return address.clone();
        }
        Tree::new(Node::Prefix(operator, operand))
    }

    /// A conversion to a type of the language.
    pub fn cast(ty: impl Into<String>, operand: Tree) -> Tree {
        Tree::new(Node::Cast(ty.into(), operand))
    }

    /// An element.
    pub fn index(of: Tree, at: Tree) -> Tree {
        Tree::new(Node::Index(of, at))
    }

    /// The arguments, where it is a call of that function.
    pub fn called(&self, function: &str) -> Option<&[Tree]> {
        match &*self.0 {
            Node::Call(name, args) if name == function => Some(args),
            _ => None,
        }
    }

    /// What it is a member of.
    pub fn whole(&self) -> Option<&Tree> {
        match &*self.0 {
            Node::Member(whole, _) => Some(whole),
            _ => None,
        }
    }

    /// A member.
    pub fn member(of: Tree, name: impl Into<String>) -> Tree {
        Tree::new(Node::Member(of, name.into()))
    }

    /// `condition ? a : b`.
    pub fn choice(condition: Tree, a: Tree, b: Tree) -> Tree {
        Tree::new(Node::Choice(condition, a, b))
    }

    /// A sum that begins with `start`: for pointers, `p + (a + b)` is `p + a + b`.
    pub fn sum_from(start: Tree, sum: &Tree) -> Tree {
        match &*sum.0 {
            Node::Infix(operator @ (Infix::Add | Infix::Sub), left, right) => {
                Tree::infix(*operator, Tree::sum_from(start, left), right.clone())
            }
            _ => Tree::infix(Infix::Add, start, sum.clone()),
        }
    }

    /// How tightly it binds.
    pub fn binding(&self) -> Binding {
        match &*self.0 {
            Node::Literal { negative: true, .. } | Node::Prefix(..) | Node::Cast(..) => Binding::Unary,
            Node::Literal { .. } | Node::Name(_) | Node::Call(..) | Node::Index(..) | Node::Member(..) => Binding::Atom,
            Node::Infix(operator, ..) => operator.binding(),
            Node::Choice(..) => Binding::Choice,
        }
    }

    /// The value of a literal.
    pub fn value(&self) -> Option<Scalar> {
        match &*self.0 {
            Node::Literal { value, .. } => Some(*value),
            _ => None,
        }
    }

    /// Is it that whole number, as a literal of any type?
    pub fn is_int(&self, number: i128) -> bool {
        self.value().is_some_and(|value| !value.ty.is_float() && value.as_int() == number)
    }

    /// The statement that assigns a value: `a += b` where the value is `a + b`.
    pub fn assignment(&self, value: &Tree) -> String {
        match &*value.0 {
            Node::Infix(operator, left, right) if left == self && operator.updates() => {
                format!("{self} {}= {right};", operator.symbol())
            }
            _ => format!("{self} = {value};"),
        }
    }

    /// The function that it calls.
    pub fn function(&self) -> Option<&str> {
        match &*self.0 {
            Node::Call(function, _) => Some(function),
            _ => None,
        }
    }

    /// The operator and its operands, where it is an infix one.
    pub fn as_infix(&self) -> Option<(Infix, &Tree, &Tree)> {
        match &*self.0 {
            Node::Infix(operator, left, right) => Some((*operator, left, right)),
            _ => None,
        }
    }

    /// What is cast, or the tree itself.
    pub fn without_cast(&self) -> &Tree {
        match &*self.0 {
            Node::Cast(_, operand) => operand,
            _ => self,
        }
    }

    /// The name that it is.
    pub fn as_name(&self) -> Option<&str> {
        match &*self.0 {
            Node::Name(name) => Some(name),
            _ => None,
        }
    }

    /// What it is an element of, and where.
    pub fn as_element(&self) -> Option<(&Tree, &Tree)> {
        match &*self.0 {
            Node::Index(of, at) => Some((of, at)),
            _ => None,
        }
    }

    /// Is it an `int` in C where its type has fewer bits? Literals are, and what operators give.
    pub fn is_promoted(&self) -> bool {
        match &*self.0 {
            Node::Literal { .. } | Node::Infix(..) | Node::Prefix(..) | Node::Choice(..) => true,
            Node::Name(_) | Node::Call(..) | Node::Cast(..) | Node::Index(..) | Node::Member(..) => false,
        }
    }

    /// Is it as short as a name: one, a literal, or a member of one?
    pub fn is_simple(&self) -> bool {
        match &*self.0 {
            Node::Literal { .. } | Node::Name(_) => true,
            Node::Member(of, _) => of.is_simple(),
            _ => false,
        }
    }

    /// Is it as quickly read as a name would be: a sum, difference or product of a name and a number, or a comparison of two?
    pub fn is_brief(&self) -> bool {
        let Node::Infix(operator, left, right) = &*self.0 else { return false };
        let simple = left.is_simple() && right.is_simple();
        match operator {
            Infix::Add | Infix::Sub | Infix::Mul => simple && matches!(&*right.0, Node::Literal { .. }),
            Infix::Lt | Infix::Le | Infix::Gt | Infix::Ge | Infix::Eq | Infix::Ne => simple && self.width() <= BRIEF,
            _ => false,
        }
    }

    /// Does it hold no call, no conversion, and nothing in parentheses?
    pub fn is_flat(&self) -> bool {
        if matches!(&*self.0, Node::Call(..) | Node::Cast(..)) {
            return false;
        }
        let mut flat = true;
        self.each_part(&mut |part, least| flat &= part.stands(least) && part.is_flat());
        flat
    }

    /// Does it mention the name? Functions, members and types are not looked at.
    pub fn mentions(&self, name: &str) -> bool {
        let mut found = false;
        self.each_name(&mut |mentioned| found |= mentioned == name);
        found
    }

    /// Calls `f` with the names that it mentions: what is free in it.
    pub fn each_name(&self, f: &mut dyn FnMut(&str)) {
        if let Node::Name(name) = &*self.0 {
            f(name);
        }
        self.each_part(&mut |part, _| part.each_name(f));
    }

    /// How long its text is.
    pub fn width(&self) -> usize {
        self.to_string().len()
    }

    /// Calls `f` with the operands, and how tightly each must bind to stand without parentheses.
    fn each_part(&self, f: &mut dyn FnMut(&Tree, Binding)) {
        match &*self.0 {
            Node::Literal { .. } | Node::Name(_) => {}
            Node::Call(_, args) => args.iter().for_each(|arg| f(arg, Binding::Choice)),
            Node::Infix(operator, left, right) => {
                for (part, least) in [left, right].into_iter().zip(operator.operands()) {
                    let same = part.binding() == operator.binding();
                    let chained = same && matches!(operator, Infix::Both | Infix::Either);
                    f(part, if chained { operator.binding() } else { least });
                }
            }
            Node::Prefix(operator, operand) => {
                // `--x` is something else.
                let twice = *operator == Prefix::Minus && operand.has_sign();
                f(operand, if twice { Binding::Atom } else { Binding::Unary });
            }
            Node::Cast(_, operand) => f(operand, Binding::Unary),
            Node::Index(of, at) => {
                f(of, Binding::Atom);
                f(at, Binding::Choice);
            }
            Node::Member(of, _) => f(of, Binding::Atom),
            Node::Choice(condition, a, b) => {
                f(condition, Binding::Either);
                f(a, Binding::Either);
                f(b, Binding::Choice);
            }
        }
    }

    fn has_sign(&self) -> bool {
        matches!(&*self.0, Node::Literal { negative: true, .. } | Node::Prefix(Prefix::Minus, _))
    }

    fn stands(&self, least: Binding) -> bool {
        self.binding() >= least
    }

    /// The texts of the operands, in parentheses where needed.
    fn parts(&self) -> Vec<String> {
        let mut parts = vec![];
        self.each_part(&mut |part, least| {
            parts.push(if part.stands(least) { part.to_string() } else { format!("({part})") });
        });
        parts
    }
}

/// The bits of the number with the other sign.
fn negated(value: Scalar) -> u64 {
    if value.ty.is_float() {
        Scalar::from_f64(value.ty, -value.as_f64()).bits
    } else {
        Scalar::from_int(value.ty, -value.as_int()).bits
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        match &*self.0 {
            Node::Literal { negative, spelled, .. } => write!(f, "{}{spelled}", if *negative { "-" } else { "" }),
            Node::Name(name) => f.write_str(name),
            Node::Call(function, _) => write!(f, "{function}({})", parts.join(", ")),
            Node::Infix(operator, ..) => f.write_str(&parts.join(&format!(" {} ", operator.symbol()))),
            Node::Prefix(operator, _) => {
                f.write_char(operator.symbol())?;
                f.write_str(&parts.concat())
            }
            Node::Cast(ty, _) => write!(f, "({ty}){}", parts.concat()),
            Node::Index(..) => write!(f, "{}[{}]", parts[0], parts[1]),
            Node::Member(_, name) => write!(f, "{}.{name}", parts[0]),
            Node::Choice(..) => write!(f, "{} ? {} : {}", parts[0], parts[1], parts[2]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Ty;

    fn name(name: &str) -> Tree {
        Tree::name(name)
    }

    fn infix(operator: Infix, a: &Tree, b: &Tree) -> Tree {
        Tree::infix(operator, a.clone(), b.clone())
    }

    #[test]
    fn parentheses_where_needed() {
        use Infix::{Add, And, Both, Either, Lt, Mul, Ne, Shl, Sub};
        let a = name("a");
        let b = name("b");
        let c = name("c");
        let cases = [
            (infix(Mul, &infix(Add, &a, &b), &c), "(a + b) * c"),
            (infix(Add, &infix(Mul, &a, &b), &c), "a * b + c"),
            (infix(Sub, &a, &infix(Sub, &b, &c)), "a - (b - c)"),
            (infix(Sub, &infix(Sub, &a, &b), &c), "a - b - c"),
            (infix(Lt, &infix(Add, &a, &b), &c), "a + b < c"),
            (infix(Ne, &infix(Lt, &a, &b), &c), "(a < b) != c"),
            (infix(And, &infix(And, &a, &b), &c), "(a & b) & c"),
            (infix(Shl, &infix(Add, &a, &b), &c), "(a + b) << c"),
            (infix(Both, &a, &infix(Both, &b, &c)), "a && b && c"),
            (infix(Both, &a, &infix(Either, &b, &c)), "a && (b || c)"),
            (infix(Either, &infix(Both, &a, &b), &c), "(a && b) || c"),
            (infix(Both, &infix(Lt, &a, &b), &c), "a < b && c"),
        ];
        for (tree, text) in cases {
            assert_eq!(tree.to_string(), text);
        }
    }

    #[test]
    fn choices_nest_to_the_right() {
        let [a, b, c] = ["a", "b", "c"].map(name);
        let inner = Tree::choice(a.clone(), b.clone(), c.clone());
        assert_eq!(Tree::choice(a.clone(), b.clone(), inner.clone()).to_string(), "a ? b : a ? b : c");
        assert_eq!(Tree::choice(a.clone(), inner.clone(), b.clone()).to_string(), "a ? (a ? b : c) : b");
        assert_eq!(Tree::choice(inner, a, b).to_string(), "(a ? b : c) ? a : b");
    }

    #[test]
    fn negative_literals() {
        let x = name("x");
        assert_eq!(infix(Infix::Add, &x, &Tree::int(-1)).to_string(), "x - 1");
        assert_eq!(infix(Infix::Mul, &Tree::int(-1), &x).to_string(), "-1 * x");
        assert_eq!(Tree::prefix(Prefix::Minus, Tree::int(-1)).to_string(), "-(-1)");
        assert_eq!(Tree::index(x.clone(), Tree::int(-1)).to_string(), "x[-1]");
        assert_eq!(Tree::index(Tree::int(-1), x).to_string(), "(-1)[x]");
        assert!(infix(Infix::Add, &name("y"), &Tree::int(-1)).mentions("y"));
        let half = Tree::literal(Scalar::f32(-0.5), true, "0.5f");
        assert_eq!(half.value().map(Scalar::as_f64), Some(-0.5));
        assert_eq!(infix(Infix::Add, &name("y"), &half).to_string(), "y - 0.5f");
    }

    #[test]
    fn conversions_and_signs() {
        let x = name("x");
        let converted = Tree::cast("float", x.clone());
        assert_eq!(Tree::prefix(Prefix::Minus, converted.clone()).to_string(), "-(float)x");
        assert_eq!(Tree::cast("int", converted.clone()).to_string(), "(int)(float)x");
        assert_eq!(Tree::cast("int", infix(Infix::Add, &x, &x)).to_string(), "(int)(x + x)");
        assert_eq!(Tree::member(converted, "y").to_string(), "((float)x).y");
        let twice = Tree::prefix(Prefix::Minus, Tree::prefix(Prefix::Minus, x.clone()));
        assert_eq!(twice.to_string(), "-(-x)");
        assert_eq!(Tree::prefix(Prefix::Not, Tree::prefix(Prefix::Minus, x)).to_string(), "!-x");
    }

    #[test]
    fn names_that_are_free() {
        let at = infix(Infix::Add, &name("i"), &Tree::int(1));
        let tree = Tree::call("f", [Tree::index(name("memory"), at), Tree::member(name("r"), "r0")]);
        let mut names = vec![];
        tree.each_name(&mut |name| names.push(name.to_string()));
        assert_eq!(names, ["memory", "i", "r"]);
        assert!(!tree.mentions("f") && !tree.mentions("r0"));
        assert_eq!(tree.to_string(), "f(memory[i + 1], r.r0)");
        assert_eq!(tree.width(), 22);
    }

    #[test]
    fn what_is_asked_of_trees() {
        let x = name("x");
        let one = Tree::literal(Scalar::from_int(Ty::U32, 1), false, "1u");
        assert!(one.is_int(1) && !one.is_int(2) && !x.is_int(1));
        let element = Tree::index(x.clone(), infix(Infix::Add, &one, &x));
        assert!(element.is_flat() && !element.is_simple());
        let inside = infix(Infix::Mul, &infix(Infix::Add, &one, &x), &x);
        assert!(!Tree::index(x.clone(), inside).is_flat());
        assert!(!Tree::cast("int", x.clone()).is_flat());
        let sum = infix(Infix::Sub, &infix(Infix::Add, &x, &one), &x);
        assert_eq!(Tree::sum_from(name("p"), &sum).to_string(), "p + x + 1u - x");
    }
}
