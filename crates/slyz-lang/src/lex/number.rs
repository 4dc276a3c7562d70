//! Numbers: `17`, `1_000`, `0xffu8`, `0b1010`, `1.5`, `1e-3f32`, `2.`.

use super::{Kind, Lexer, clipped, word};
use slyz_sir::types::Ty;

impl<'t> Lexer<'t> {
    /// The number in front.
    pub(super) fn number(&mut self) -> Kind<'t> {
        let start = self.at;
        let rest = self.rest();
        let radix = match rest.get(..2) {
            Some("0x" | "0X") => 16,
            Some("0b" | "0B") => 2,
            Some("0o" | "0O") => 8,
            _ => return self.decimal(),
        };
        let length = word(rest);
        self.at += length;
        let body = &rest[2..length];
        let digits = body.find(|c: char| c != '_' && !c.is_digit(radix)).unwrap_or(body.len());
        let (digits, suffix) = body.split_at(digits);
        match self.suffix(start, suffix) {
            Err(()) => Kind::Wrong,
            Ok(Some(ty)) if ty.is_float() => {
                self.error(
                    start,
                    "number",
                    format!("a number in base {radix} is no {ty}"),
                    "write it with decimal digits",
                );
                Kind::Wrong
            }
            Ok(ty) => self.whole(start, digits, radix, ty),
        }
    }

    fn decimal(&mut self) -> Kind<'t> {
        let start = self.at;
        let digits = |text: &str| text.find(|c: char| c != '_' && !c.is_ascii_digit()).unwrap_or(text.len());
        self.at += digits(self.rest());
        let whole = &self.text[start..self.at];
        // `0..n` is a range and `1.max(x)` a call; a point belongs to the number before digits, or before nothing much.
        let point = self.rest().strip_prefix('.').filter(|after| {
            after.starts_with(|c: char| c.is_ascii_digit())
                || !after.starts_with(|c: char| c == '.' || c == '_' || c.is_alphabetic())
        });
        let mut float = false;
        if let Some(after) = point {
            self.at += 1 + digits(after);
            float = true;
        }
        let exponent =
            self.rest().strip_prefix(['e', 'E']).map(|after| after.strip_prefix(['+', '-']).unwrap_or(after));
        if let Some(after) =
            exponent.filter(|after| after.trim_start_matches('_').starts_with(|c: char| c.is_ascii_digit()))
        {
            self.at = self.text.len() - after.len() + digits(after);
            float = true;
        }
        let number: String = self.text[start..self.at].chars().filter(|&c| c != '_').collect();
        let rest = self.rest();
        let suffix = &rest[..word(rest)];
        self.at += suffix.len();
        match self.suffix(start, suffix) {
            Err(()) => Kind::Wrong,
            Ok(Some(ty)) if ty.is_float() => Kind::Float(number, Some(ty)),
            Ok(Some(ty)) if float => {
                let help = format!("write a whole number, or convert: `{number} as {ty}`");
                self.error(start, "number", format!("a number with a point or an exponent is no {ty}"), help);
                Kind::Wrong
            }
            Ok(None) if float => Kind::Float(number, None),
            Ok(ty) => self.whole(start, whole, 10, ty),
        }
    }

    fn whole(&mut self, start: usize, digits: &str, radix: u32, ty: Option<Ty>) -> Kind<'t> {
        let digits: String = digits.chars().filter(|&c| c != '_').collect();
        match u128::from_str_radix(&digits, radix) {
            Ok(value) => Kind::Int(value, ty),
            Err(_) if digits.is_empty() => {
                self.error(start, "number", "a number without digits", "write the digits, as in `0xff`");
                Kind::Wrong
            }
            Err(_) => {
                let help = "the largest type is `u64`, up to 18446744073709551615; with a point it is a float";
                self.error(start, "number", "this number is too large for every type", help);
                Kind::Wrong
            }
        }
    }

    /// The type behind the digits.
    fn suffix(&mut self, start: usize, suffix: &str) -> Result<Option<Ty>, ()> {
        // `1_f32` is as good as `1f32`.
        let name = suffix.trim_start_matches('_');
        if name.is_empty() {
            return Ok(None);
        }
        match Ty::from_name(name).filter(|&ty| ty != Ty::Bool) {
            Some(ty) => Ok(Some(ty)),
            None => {
                let message = format!("`{}` behind a number is no type", clipped(name));
                let help = "a number may end in i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32 or f64";
                self.error(start, "number", message, help);
                Err(())
            }
        }
    }
}
