//! Number expressions as text, computed by a program that does not have the function.
//!
//! A file names a number that is combined with arrays by its expression, as `(a * 0.5).max(1.0)`. It is made of
//! parameters, literals, casts, arithmetic of floats and functions of floats (`jit-macros/src/freeze/number.rs`), and
//! means what it means in Rust: a literal has the type of what it is combined with.

use jit_runtime::ir::{Type, scalar};

/// A number with its type, as bits.
pub(super) type Typed = (Type, u64);

/// A value of a part of an expression.
enum Value<'a> {
    Typed(Typed),
    /// A literal, with its sign.
    Literal(bool, &'a str),
}

/// Computes an expression over parameters; none if it is none that is known here.
pub(super) fn evaluate(text: &str, parameter: &dyn Fn(&str) -> Option<Typed>) -> Option<Typed> {
    let mut parser = Parser { rest: text, parameter };
    match parser.sum()? {
        Value::Typed(typed) if parser.peek().is_none() => Some(typed),
        _ => None,
    }
}

struct Parser<'a> {
    rest: &'a str,
    parameter: &'a dyn Fn(&str) -> Option<Typed>,
}

impl<'a> Parser<'a> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, expected: char) -> Option<()> {
        let is_there = self.peek() == Some(expected);
        is_there.then(|| self.rest = &self.rest[expected.len_utf8()..])
    }

    /// Takes an identifier or the digits of a literal.
    fn word(&mut self) -> Option<&'a str> {
        let first = self.peek()?;
        let is_number = first.is_ascii_digit();
        let mut before = ' ';
        let is_other = |letter: char| {
            let is_sign = matches!(letter, '+' | '-') && is_number && matches!(before, 'e' | 'E');
            let is_point = letter == '.' && is_number;
            before = letter;
            !(letter.is_alphanumeric() || letter == '_' || letter == '#' || is_sign || is_point)
        };
        let end = self.rest.find(is_other);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    fn sum(&mut self) -> Option<Value<'a>> {
        self.chain(&['+', '-'], Parser::product)
    }

    fn product(&mut self) -> Option<Value<'a>> {
        self.chain(&['*', '/'], Parser::cast)
    }

    fn chain(&mut self, ops: &[char], part: fn(&mut Self) -> Option<Value<'a>>) -> Option<Value<'a>> {
        let mut value = part(self)?;
        while let Some(op) = self.peek().filter(|next| ops.contains(next)) {
            self.take(op)?;
            value = Value::Typed(arithmetic(op, value, part(self)?)?);
        }
        Some(value)
    }

    fn cast(&mut self) -> Option<Value<'a>> {
        let mut value = self.negation()?;
        while self.peek() == Some('a') && self.rest.starts_with("as ") {
            self.word()?;
            let to = ty(self.word()?)?;
            let Value::Typed((from, bits)) = value else { return None };
            value = Value::Typed((to, scalar::cast(from, to, bits)));
        }
        Some(value)
    }

    fn negation(&mut self) -> Option<Value<'a>> {
        if self.take('-').is_none() {
            return self.calls();
        }
        Some(match self.negation()? {
            Value::Literal(is_negative, text) => Value::Literal(!is_negative, text),
            Value::Typed((Type::F32, bits)) => Value::Typed((Type::F32, bits ^ 1 << 31)),
            Value::Typed((Type::F64, bits)) => Value::Typed((Type::F64, bits ^ 1 << 63)),
            Value::Typed(_) => return None,
        })
    }

    fn calls(&mut self) -> Option<Value<'a>> {
        let mut value = self.primary()?;
        while self.take('.').is_some() {
            let (name, mut arguments) = (self.word()?, Vec::new());
            self.take('(')?;
            while self.peek()? != ')' {
                arguments.push(self.sum()?);
                let _ = self.take(',');
            }
            self.take(')')?;
            let Value::Typed(receiver) = value else { return None };
            value = Value::Typed(function(name, receiver, &arguments)?);
        }
        Some(value)
    }

    fn primary(&mut self) -> Option<Value<'a>> {
        if self.take('(').is_some() {
            let inner = self.sum()?;
            self.take(')')?;
            return Some(inner);
        }
        let word = self.word()?;
        match word.starts_with(|first: char| first.is_ascii_digit()) {
            true => Some(Value::Literal(false, word)),
            false => (self.parameter)(word).map(Value::Typed),
        }
    }
}

/// Returns the type of plain numbers with a name. Sizes are passed as numbers of 64 bits.
fn ty(name: &str) -> Option<Type> {
    match name {
        "usize" => Some(Type::U64),
        "isize" => Some(Type::I64),
        _ => Type::ALL.into_iter().find(|ty| ty.to_string() == name),
    }
}

/// Returns the value of a literal as a float of a type.
fn literal(ty: Type, is_negative: bool, text: &str) -> Option<u64> {
    let digits = text.replace('_', "");
    let digits = digits.trim_end_matches("f32").trim_end_matches("f64");
    let signed = if is_negative { format!("-{digits}") } else { digits.to_owned() };
    match ty {
        Type::F32 => signed.parse::<f32>().ok().map(|value| value.to_bits().into()),
        Type::F64 => signed.parse::<f64>().ok().map(f64::to_bits),
        _ => None,
    }
}

/// Returns a value as a float of a type.
fn of_type(ty: Type, value: &Value<'_>) -> Option<u64> {
    match *value {
        Value::Typed((own, bits)) => (own == ty).then_some(bits),
        Value::Literal(is_negative, text) => literal(ty, is_negative, text),
    }
}

fn arithmetic(op: char, left: Value<'_>, right: Value<'_>) -> Option<Typed> {
    let ((Value::Typed((ty, _)), _) | (_, Value::Typed((ty, _)))) = (&left, &right) else { return None };
    let (ty, left, right) = (*ty, of_type(*ty, &left)?, of_type(*ty, &right)?);
    macro_rules! compute {
        ($float:ty, $bits:ty) => {{
            let (left, right) = (<$float>::from_bits(left as $bits), <$float>::from_bits(right as $bits));
            let value = match op {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                _ => left / right,
            };
            Some((ty, value.to_bits().into()))
        }};
    }
    match ty {
        Type::F32 => compute!(f32, u32),
        Type::F64 => compute!(f64, u64),
        _ => None,
    }
}

macro_rules! functions {
    ($name:ident, $float:ty) => {
        /// Computes a function of floats.
        fn $name(name: &str, x: $float, others: &[$float]) -> Option<$float> {
            Some(match (name, others) {
                ("abs", []) => x.abs(),
                ("acos", []) => x.acos(),
                ("asin", []) => x.asin(),
                ("atan", []) => x.atan(),
                ("cbrt", []) => x.cbrt(),
                ("ceil", []) => x.ceil(),
                ("cos", []) => x.cos(),
                ("cosh", []) => x.cosh(),
                ("exp", []) => x.exp(),
                ("exp2", []) => x.exp2(),
                ("exp_m1", []) => x.exp_m1(),
                ("floor", []) => x.floor(),
                ("fract", []) => x.fract(),
                ("ln", []) => x.ln(),
                ("ln_1p", []) => x.ln_1p(),
                ("log10", []) => x.log10(),
                ("log2", []) => x.log2(),
                ("recip", []) => x.recip(),
                ("round", []) => x.round(),
                ("signum", []) => x.signum(),
                ("sin", []) => x.sin(),
                ("sinh", []) => x.sinh(),
                ("sqrt", []) => x.sqrt(),
                ("tan", []) => x.tan(),
                ("tanh", []) => x.tanh(),
                ("trunc", []) => x.trunc(),
                ("atan2", [y]) => x.atan2(*y),
                ("hypot", [y]) => x.hypot(*y),
                ("max", [y]) => x.max(*y),
                ("min", [y]) => x.min(*y),
                ("powf", [y]) => x.powf(*y),
                ("mul_add", [y, z]) => x.mul_add(*y, *z),
                _ => return None,
            })
        }
    };
}

functions!(function_of_f32, f32);
functions!(function_of_f64, f64);

fn function(name: &str, (ty, bits): Typed, arguments: &[Value<'_>]) -> Option<Typed> {
    if name == "powi" {
        return power((ty, bits), arguments);
    }
    let others: Option<Vec<u64>> = arguments.iter().map(|argument| of_type(ty, argument)).collect();
    match ty {
        Type::F32 => {
            let others: Vec<f32> = others?.iter().map(|bits| f32::from_bits(*bits as u32)).collect();
            function_of_f32(name, f32::from_bits(bits as u32), &others).map(|value| (ty, value.to_bits().into()))
        }
        Type::F64 => {
            let others: Vec<f64> = others?.iter().map(|bits| f64::from_bits(*bits)).collect();
            function_of_f64(name, f64::from_bits(bits), &others).map(|value| (ty, value.to_bits()))
        }
        _ => None,
    }
}

fn power((ty, bits): Typed, arguments: &[Value<'_>]) -> Option<Typed> {
    let exponent = match arguments {
        [Value::Typed((Type::I32, bits))] => *bits as u32 as i32,
        [Value::Literal(is_negative, text)] => {
            let magnitude: i32 = text.replace('_', "").trim_end_matches("i32").parse().ok()?;
            if *is_negative { -magnitude } else { magnitude }
        }
        _ => return None,
    };
    match ty {
        Type::F32 => Some((ty, f32::from_bits(bits as u32).powi(exponent).to_bits().into())),
        Type::F64 => Some((ty, f64::from_bits(bits).powi(exponent).to_bits())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameter(name: &str) -> Option<Typed> {
        Some(match name {
            "a" => (Type::F32, 1.75_f32.to_bits().into()),
            "n" => (Type::U32, 7),
            "i" => (Type::I32, u64::from(-3_i32 as u32)),
            "d" => (Type::F64, 0.3_f64.to_bits()),
            "len" => (Type::U64, 1000),
            "r#as" => (Type::F32, 0.5_f32.to_bits().into()),
            _ => return None,
        })
    }

    /// Compares expressions, as the macro writes them and as programs do, with what Rust computes.
    #[test]
    fn expressions_mean_what_they_mean_in_rust() {
        let (a, n, i, d, len) = (1.75_f32, 7_u32, -3_i32, 0.3_f64, 1000_usize);
        macro_rules! check {
            ($($ty:ident $expr:expr;)*) => {$(
                let text = stringify!($expr);
                let wanted = ($ty(($expr).to_bits().into())).0;
                assert_eq!(evaluate(text, &parameter).map(|(_, bits)| bits), Some(wanted), "{text}");
            )*};
        }
        struct Single(u64);
        struct Double(u64);
        check! {
            Single a;
            Single (a * 0.5);
            Single (-a).abs().max(1.5);
            Single (n as f32);
            Single ((n as f32) * 0.1);
            Single (1.0e-3 / a);
            Single (a * 2.5f32) - (1_000.5 - a);
            Single a.mul_add(a, -2.0).sqrt().atan2(a + 1.0);
            Single a.powi(i) + a.powi(3) + a.powi(-2);
            Single ((a as i32) as f32);
            Single (len as f32).ln();
            Double (d * 2.0).hypot(d).exp_m1();
            Double (n as f64).powf(d) - (a as f64);
        }
        assert_eq!(evaluate("n", &parameter), Some((Type::U32, 7)));
        assert_eq!(evaluate("(- a) . max (0.5 ,)", &parameter), Some((Type::F32, 0.5_f32.to_bits().into())));
        assert_eq!(evaluate("r#as", &parameter).map(|(ty, _)| ty), Some(Type::F32));
    }

    #[test]
    fn other_texts_have_no_value() {
        for text in
            ["", "b", "1.0", "(a", "a +", "a b", "a.unknown()", "(n + 1)", "a.max(d)", "(a % 2.0)", "-n", "a as x"]
        {
            assert_eq!(evaluate(text, &parameter), None, "{text}");
        }
    }
}
