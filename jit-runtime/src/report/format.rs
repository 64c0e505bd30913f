//! Formats a value as specified by a placeholder of a format string, like Rust.

use std::fmt::Write as _;

use half::{bf16, f16};

use crate::ir::{Type, scalar};

/// A piece of a format string.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Piece {
    /// Text.
    Text(&'static str),
    /// A placeholder: the number of its argument, and its format.
    Value(usize, Spec),
}

/// The format of a value: the part after the colon of a placeholder.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spec {
    /// The fill character.
    pub fill: char,
    /// The alignment; by default numbers are on the right.
    pub align: Option<Align>,
    /// Whether positive numbers get a sign.
    pub sign: Sign,
    /// `#`: a prefix for the radix.
    pub is_alternate: bool,
    /// Whether to pad with zeros, after the sign.
    pub is_zero_padded: bool,
    /// The fewest characters.
    pub width: usize,
    /// The number of digits after the point; for text, the maximum number of characters.
    pub precision: Option<usize>,
    /// Decimal, or something else.
    pub radix: Radix,
}

/// The alignment of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Align {
    /// `<`
    Left,
    /// `^`
    Centre,
    /// `>`
    Right,
}

/// Whether positive numbers get a sign.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// They don't.
    Minus,
    /// `+`
    Plus,
}

/// The kind of digits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Radix {
    /// As `Display` does.
    Display,
    /// `?`: as `Debug` does.
    Debug,
    /// `x`
    LowerHex,
    /// `X`
    UpperHex,
    /// `b`
    Binary,
    /// `o`
    Octal,
    /// `e`
    LowerExp,
    /// `E`
    UpperExp,
}

impl Spec {
    /// `{}`
    pub const DISPLAY: Spec = Spec {
        fill: ' ',
        align: None,
        sign: Sign::Minus,
        is_alternate: false,
        is_zero_padded: false,
        width: 0,
        precision: None,
        radix: Radix::Display,
    };

    /// `{:?}`
    pub const DEBUG: Spec = Spec { radix: Radix::Debug, ..Spec::DISPLAY };

    /// Appends a value with these bits.
    pub fn write(&self, ty: Type, bits: u64, text: &mut String) {
        let plain = self.digits(ty, bits);
        let (sign, digits) = match plain.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None if self.sign == Sign::Plus && ty != Type::Bool && plain != "NaN" => ("+", &plain[..]),
            None => ("", &plain[..]),
        };
        let prefix = if self.is_alternate && !ty.is_float() && ty != Type::Bool { self.radix.prefix() } else { "" };
        let length = sign.len() + prefix.len() + digits.chars().count();
        if self.is_zero_padded && ty != Type::Bool && digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
            let zeros = "0".repeat(self.width.saturating_sub(length));
            let _ = write!(text, "{sign}{prefix}{zeros}{digits}");
        } else {
            let default = if ty == Type::Bool { Align::Left } else { Align::Right };
            self.pad(&format!("{sign}{prefix}{digits}"), default, text);
        }
    }

    /// Appends a text from the host.
    pub fn write_text(&self, value: &str, text: &mut String) {
        if self.radix == Radix::Debug {
            return self.pad(&format!("{value:?}"), Align::Left, text);
        }
        match self.precision {
            Some(most) => self.pad(&value.chars().take(most).collect::<String>(), Align::Left, text),
            None => self.pad(value, Align::Left, text),
        }
    }

    fn pad(&self, value: &str, default: Align, text: &mut String) {
        let missing = self.width.saturating_sub(value.chars().count());
        let before = match self.align.unwrap_or(default) {
            Align::Left => 0,
            Align::Centre => missing / 2,
            Align::Right => missing,
        };
        text.extend(std::iter::repeat_n(self.fill, before));
        text.push_str(value);
        text.extend(std::iter::repeat_n(self.fill, missing - before));
    }

    /// The value without padding and added signs.
    fn digits(&self, ty: Type, bits: u64) -> String {
        match ty {
            Type::Bool => (bits != 0).to_string(),
            Type::F16 => self.float(f16::from_bits(bits as u16).to_f32()),
            Type::BF16 => self.float(bf16::from_bits(bits as u16).to_f32()),
            Type::F32 => self.float(f32::from_bits(bits as u32)),
            Type::F64 => self.float(f64::from_bits(bits)),
            _ => self.integer(ty, bits),
        }
    }

    fn integer(&self, ty: Type, bits: u64) -> String {
        match self.radix {
            Radix::LowerHex => format!("{bits:x}"),
            Radix::UpperHex => format!("{bits:X}"),
            Radix::Binary => format!("{bits:b}"),
            Radix::Octal => format!("{bits:o}"),
            _ if ty.is_signed_integer() => (scalar::cast(ty, Type::I64, bits) as i64).to_string(),
            _ => bits.to_string(),
        }
    }

    fn float<F: std::fmt::Display + std::fmt::Debug + std::fmt::LowerExp + std::fmt::UpperExp>(
        &self,
        value: F,
    ) -> String {
        match (self.radix, self.precision) {
            (Radix::Debug, Some(digits)) => format!("{value:.digits$?}"),
            (Radix::Debug, None) => format!("{value:?}"),
            (Radix::LowerExp, Some(digits)) => format!("{value:.digits$e}"),
            (Radix::LowerExp, None) => format!("{value:e}"),
            (Radix::UpperExp, Some(digits)) => format!("{value:.digits$E}"),
            (Radix::UpperExp, None) => format!("{value:E}"),
            (_, Some(digits)) => format!("{value:.digits$}"),
            (_, None) => format!("{value}"),
        }
    }
}

impl Radix {
    fn prefix(self) -> &'static str {
        match self {
            Radix::LowerHex | Radix::UpperHex => "0x",
            Radix::Binary => "0b",
            Radix::Octal => "0o",
            _ => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(spec: Spec, ty: Type, bits: u64) -> String {
        let mut text = String::new();
        spec.write(ty, bits, &mut text);
        text
    }

    #[test]
    fn values_are_written_as_rust_writes_them() {
        let plain = Spec::DISPLAY;
        assert_eq!(text(plain, Type::F32, u64::from(1.5_f32.to_bits())), format!("{}", 1.5_f32));
        assert_eq!(text(Spec::DEBUG, Type::F32, u64::from(1.0_f32.to_bits())), format!("{:?}", 1.0_f32));
        let spec = Spec { precision: Some(3), ..plain };
        assert_eq!(text(spec, Type::F64, (-2.0_f64 / 3.0).to_bits()), format!("{:.3}", -2.0_f64 / 3.0));
        let spec = Spec { width: 8, is_zero_padded: true, sign: Sign::Plus, precision: Some(1), ..plain };
        assert_eq!(text(spec, Type::F64, 2.25_f64.to_bits()), format!("{:+08.1}", 2.25));
        let spec = Spec { width: 10, is_zero_padded: true, is_alternate: true, radix: Radix::LowerHex, ..plain };
        assert_eq!(text(spec, Type::U32, 0xabc), format!("{:#010x}", 0xabc));
        let spec = Spec { radix: Radix::Binary, ..plain };
        assert_eq!(text(spec, Type::I8, 0xFF), format!("{:b}", -1_i8));
        let spec = Spec { width: 6, align: Some(Align::Centre), fill: '*', ..plain };
        assert_eq!(text(spec, Type::I16, 0xFFFF), format!("{:*^6}", -1));
        let spec = Spec { width: 7, ..plain };
        assert_eq!(text(spec, Type::Bool, 1) + "|", format!("{:7}|", true));
        assert_eq!(text(spec, Type::I32, 12), format!("{:7}", 12));
        let spec = Spec { radix: Radix::LowerExp, ..plain };
        assert_eq!(text(spec, Type::F32, u64::from(1234.5_f32.to_bits())), format!("{:e}", 1234.5_f32));
        let spec = Spec { sign: Sign::Plus, ..plain };
        assert_eq!(text(spec, Type::F64, f64::NAN.to_bits()), format!("{:+}", f64::NAN));
        let mut word = String::new();
        Spec { width: 6, precision: Some(2), ..plain }.write_text("abc", &mut word);
        assert_eq!(word, format!("{:6.2}", "abc"));
    }
}
