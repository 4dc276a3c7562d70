//! Tables beside the code: what a format calls the operators that it has, and what stands for those that it has not.
//!
//! A new operator takes a line there at most, and no code.

use crate::ops::Operator;
use crate::types::Ty;

/// What stands for operators that formats lack.
const NATIVE: &str = include_str!("native.txt");

/// The words behind an operator on elements of a type, in a table of lines `operator elements words…`.
pub(in crate::back) fn words(table: &'static str, operator: Operator, ty: Ty) -> Option<Vec<&'static str>> {
    let holds = |elements: &str| match elements {
        "number" => ty != Ty::Bool,
        "float" => ty.is_float(),
        "int" => ty.is_int(),
        "bool" => ty == Ty::Bool,
        elements => elements == "any",
    };
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let fits = words.next() == Some(operator.name()) && words.next().is_some_and(holds);
        fits.then(|| words.collect())
    })
}

/// An expression of operators.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    /// An operand, by number.
    Operand(usize),
    /// A number, of the type of the first operand.
    Number(f64),
    /// An operator of others.
    Apply(Operator, Vec<Expression>),
}

/// What stands for an operator.
pub(super) fn native(operator: Operator) -> Option<Expression> {
    let line = NATIVE.lines().find(|line| line.split_whitespace().next() == Some(operator.name()))?;
    let spaced = line.replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().skip(1).collect();
    let (operands, body) = tokens.split_at_checked(operator.row().arity)?;
    let mut at = 0;
    applied(body, operands, &mut at)
}

/// An operator with its operands, which numbers of operands tell apart.
fn applied(tokens: &[&str], operands: &[&str], at: &mut usize) -> Option<Expression> {
    let operator = Operator::from_name(tokens.get(*at)?)?;
    *at += 1;
    let mut args = vec![];
    for _ in 0..operator.row().arity {
        let token = *tokens.get(*at)?;
        let operand = operands.iter().position(|operand| *operand == token);
        args.push(match (token, operand, token.parse()) {
            ("(", _, _) => {
                *at += 1;
                applied(tokens, operands, at)?
            }
            (_, Some(number), _) => Expression::Operand(number),
            (_, None, Ok(number)) => Expression::Number(number),
            (_, None, Err(_)) => return None,
        });
        // Past the operand, or past the parenthesis that closes it.
        *at += 1;
    }
    Some(Expression::Apply(operator, args))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_read() {
        for line in NATIVE.lines().filter(|line| !line.starts_with('#')) {
            let operator = line.split_whitespace().next().and_then(Operator::from_name);
            assert!(operator.and_then(native).is_some(), "{line}");
        }
        let expected = Expression::Apply(Operator::Sub, vec![Expression::Number(1.0), Expression::Operand(0)]);
        let last = |expression: Expression| match expression {
            Expression::Apply(Operator::Sub, args) => {
                Expression::Apply(Operator::Sub, vec![args[0].clone(), Expression::Operand(0)])
            }
            other => other,
        };
        assert_eq!(Operator::from_name("erfc").and_then(native).map(last), Some(expected));
    }
}
