//! The header of a file in the format npy: a magic number, a version, and a literal of Python with three keys.
//!
//! <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>

use std::io::Read;

use jit_runtime::ir::Type;

use super::Source;
use crate::Result;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The elements begin at a multiple of this many bytes.
const ALIGNMENT: usize = 64;

/// The longest header that is read, in bytes. That of an array with all possible axes takes some hundred.
const MAX_LENGTH: usize = 1 << 16;

/// What a file in the format npy contains.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Header {
    /// The element type.
    pub ty: Type,
    /// The lengths of the axes.
    pub shape: Vec<usize>,
    /// Whether neighbours along the first axis are neighbours in the file, and not those along the last one.
    pub is_fortran_order: bool,
    /// Whether the bytes of an element begin with the most significant one.
    pub is_big_endian: bool,
}

impl Header {
    pub(super) fn of(ty: Type, shape: &[usize]) -> Header {
        Header { ty, shape: shape.to_vec(), is_fortran_order: false, is_big_endian: false }
    }

    /// Returns the number of elements, which an array can have.
    pub(super) fn count(&self, source: Source<'_>) -> Result<usize> {
        // Axes of length zero are no excuse for others that are too long.
        let mut lengths = self.shape.iter().filter(|&&length| length != 0);
        let claimed = lengths.try_fold(1_usize, |count, &length| count.checked_mul(length));
        if claimed.is_none_or(|count| count > u32::MAX as usize) {
            let shape = &self.shape;
            return Err(
                source.error(format_args!("has the shape {shape:?}: an array has at most {} elements", u32::MAX))
            );
        }
        Ok(self.shape.iter().product())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let lengths: String = self.shape.iter().map(|length| format!("{length}, ")).collect();
        // A tuple of one has a comma behind it, longer ones need none.
        let lengths = if self.shape.len() > 1 { lengths.trim_end_matches(", ") } else { lengths.trim_end() };
        let descr = descr_of(self.ty);
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({lengths}), }}");
        let version: u8 = if text.len() + ALIGNMENT < usize::from(u16::MAX) { 1 } else { 2 };
        let prefix = MAGIC.len() + 2 + if version == 1 { 2 } else { 4 };
        let total = (prefix + text.len() + 1).next_multiple_of(ALIGNMENT);
        text.extend(std::iter::repeat_n(' ', total - prefix - text.len() - 1));
        text.push('\n');
        let mut bytes = [MAGIC, &[version, 0]].concat();
        match version {
            1 => bytes.extend((text.len() as u16).to_le_bytes()),
            _ => bytes.extend((text.len() as u32).to_le_bytes()),
        }
        bytes.extend(text.as_bytes());
        bytes
    }

    /// Reads a header; the elements follow in the stream.
    pub(super) fn read(stream: &mut dyn Read, source: Source<'_>) -> Result<Header> {
        let mut bytes = |count: usize| {
            let mut bytes = vec![0; count];
            let read = stream.read_exact(&mut bytes);
            read.map(|()| bytes).map_err(|_| source.malformed("its header is not complete"))
        };
        let start = bytes(MAGIC.len() + 2)?;
        if !start.starts_with(MAGIC) {
            return Err(source.malformed("it does not begin with the magic number"));
        }
        let length = match start[MAGIC.len()] {
            1 => bytes(2)?,
            2 | 3 => bytes(4)?,
            other => return Err(source.malformed(format_args!("version {other} is unknown, 1 to 3 are known"))),
        };
        let length = length.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
        if length > MAX_LENGTH {
            return Err(source.malformed(format_args!("its header claims {length} bytes")));
        }
        parse(&bytes(length)?).map_err(|what| source.malformed(what))
    }
}

/// The name of an element type in files.
fn descr_of(ty: Type) -> &'static str {
    match ty {
        Type::Bool => "|b1",
        Type::I8 => "|i1",
        Type::I16 => "<i2",
        Type::I32 => "<i4",
        Type::I64 => "<i8",
        Type::U8 => "|u1",
        Type::U16 => "<u2",
        Type::U32 => "<u4",
        Type::U64 => "<u8",
        Type::F16 => "<f2",
        Type::BF16 => "|V2",
        Type::F32 => "<f4",
        Type::F64 => "<f8",
    }
}

/// Returns the element type of a name, and whether it is big endian.
fn type_of(descr: &str) -> Result<(Type, bool), String> {
    let unknown = || {
        format!("elements of type '{descr}' are unknown: arrays have bool, integers of 8 to 64 bits, f16, f32 and f64")
    };
    let (order, name) = descr.split_at_checked(1).ok_or_else(unknown)?;
    let is_big_endian = match order {
        "<" | "|" => false,
        ">" => true,
        "=" => cfg!(target_endian = "big"),
        _ => return Err(unknown()),
    };
    let ty = Type::ALL.into_iter().find(|&ty| &descr_of(ty)[1..] == name).ok_or_else(unknown)?;
    // An order of single bytes has no meaning.
    Ok((ty, is_big_endian))
}

/// A value of the literal.
enum Literal {
    Text(String),
    Bool(bool),
    Lengths(Vec<usize>),
}

fn parse(text: &[u8]) -> Result<Header, String> {
    let mut parser = Parser { rest: text };
    let (mut descr, mut order, mut shape) = (None, None, None);
    parser.expect(b'{')?;
    while !parser.eat(b'}') {
        let key = parser.text()?;
        parser.expect(b':')?;
        match (key.as_str(), parser.literal(&key)?) {
            ("descr", Literal::Text(text)) if descr.is_none() => descr = Some(text),
            ("fortran_order", Literal::Bool(is_fortran)) if order.is_none() => order = Some(is_fortran),
            ("shape", Literal::Lengths(lengths)) if shape.is_none() => shape = Some(lengths),
            _ => return Err(format!("`{key}` in its header is unknown, of the wrong kind, or there twice")),
        }
        if !parser.eat(b',') {
            parser.expect(b'}')?;
            break;
        }
    }
    if !parser.rest.trim_ascii().is_empty() {
        return Err("something follows the literal in its header".into());
    }
    let missing = |key: &str| format!("`{key}` is missing in its header");
    let (ty, is_big_endian) = type_of(&descr.ok_or_else(|| missing("descr"))?)?;
    let is_fortran_order = order.ok_or_else(|| missing("fortran_order"))?;
    Ok(Header { ty, shape: shape.ok_or_else(|| missing("shape"))?, is_fortran_order, is_big_endian })
}

/// The rest of a literal.
struct Parser<'a> {
    rest: &'a [u8],
}

impl Parser<'_> {
    /// Takes a character, behind spaces, if it is there.
    fn eat(&mut self, character: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        let rest = self.rest.strip_prefix(&[character]);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, character: u8) -> Result<(), String> {
        let is_there = self.eat(character);
        is_there.then_some(()).ok_or_else(|| format!("`{}` is missing in its header", char::from(character)))
    }

    fn word(&mut self, word: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(word);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn text(&mut self) -> Result<String, String> {
        let quote = if self.eat(b'\'') { b'\'' } else { b'"' };
        if quote == b'"' {
            self.expect(b'"')?;
        }
        let end = self.rest.iter().position(|&byte| byte == quote).ok_or("a text in its header has no end")?;
        let text = std::str::from_utf8(&self.rest[..end]).map_err(|_| "its header is no text")?.to_owned();
        self.rest = &self.rest[end + 1..];
        Ok(text)
    }

    fn literal(&mut self, key: &str) -> Result<Literal, String> {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.first() {
            Some(b'\'' | b'"') => self.text().map(Literal::Text),
            Some(b'(') => self.lengths().map(Literal::Lengths),
            Some(b'[') if key == "descr" => Err("its elements are records; arrays have numbers and `bool`".into()),
            _ if self.word(b"True") => Ok(Literal::Bool(true)),
            _ if self.word(b"False") => Ok(Literal::Bool(false)),
            _ => Err(format!("the value of `{key}` in its header cannot be read")),
        }
    }

    fn lengths(&mut self) -> Result<Vec<usize>, String> {
        let mut lengths = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            self.rest = self.rest.trim_ascii_start();
            let digits = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (length, rest) = self.rest.split_at(digits);
            let length = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok());
            lengths.push(length.ok_or("a length of the shape in its header is not a number")?);
            self.rest = rest;
            // Python 2 writes long numbers so.
            self.eat(b'L');
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(lengths)
    }
}
