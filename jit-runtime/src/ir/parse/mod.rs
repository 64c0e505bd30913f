//! Parses the text form of kernels, see [`print`](mod@super::print).
//!
//! The printed text of a valid kernel parses to an equal kernel if its regions are numbered in text order, as the
//! builder and the passes number them. The parser checks only the form; [`verify`](mod@super::verify) checks the
//! kernel.

mod lexer;
mod literal;

use super::kernel::{Access, Inst, Kernel, LocalId, LocalMemory, Param, ParamId, Region, RegionId, Value};
use super::op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use super::types::Type;
use super::verify::MAX_DEPTH;
use lexer::{Kind, Token};

/// Why a text is not a kernel, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct ParseError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in characters.
    pub column: usize,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// Parses the text form of a kernel.
///
/// # Errors
///
/// Names the position of the first token that was not expected.
pub fn parse(text: &str) -> Result<Kernel, ParseError> {
    let mut parser =
        Parser { tokens: lexer::tokens(text), at: 0, kernel: Kernel::default(), typed: Vec::new(), depth: 0 };
    parser.kernel()?;
    Ok(parser.kernel)
}

type Parse<T> = Result<T, ParseError>;

struct Parser<'a> {
    tokens: Vec<Token<'a>>,
    at: usize,
    kernel: Kernel,
    /// Whether the type of each value is known; the table of types is filled while parsing.
    typed: Vec<bool>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Token<'a> {
        self.tokens[self.at]
    }

    fn next(&mut self) -> Token<'a> {
        let token = self.peek();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    /// An error at a token.
    fn expected<T>(token: Token<'_>, what: impl Into<String>) -> Parse<T> {
        let found = if token.kind == Kind::End { "the end".to_owned() } else { format!("`{}`", token.text) };
        Err(ParseError { line: token.line, column: token.column, expected: what.into(), found })
    }

    /// Consumes the text if it is next.
    fn takes(&mut self, text: &str) -> bool {
        let is_next = self.peek().text == text && self.peek().kind != Kind::End;
        if is_next {
            self.next();
        }
        is_next
    }

    fn expect(&mut self, text: &str) -> Parse<()> {
        if self.takes(text) { Ok(()) } else { Self::expected(self.peek(), format!("`{text}`")) }
    }

    /// Reads a token that a function recognises.
    fn read<T>(&mut self, what: &str, known: impl FnOnce(&str) -> Option<T>) -> Parse<T> {
        let token = self.peek();
        let found = if token.kind == Kind::Word { known(token.text) } else { None };
        self.next();
        found.map_or_else(|| Self::expected(token, what), Ok)
    }

    fn number(&mut self, prefix: char, what: &str) -> Parse<u32> {
        self.read(what, |text| text.strip_prefix(prefix)?.parse().ok())
    }

    fn param_id(&mut self) -> Parse<ParamId> {
        self.number('p', "a parameter such as `p0`").map(ParamId)
    }

    fn local_id(&mut self) -> Parse<LocalId> {
        self.number('l', "local memory such as `l0`").map(LocalId)
    }

    fn value(&mut self) -> Parse<Value> {
        self.number('v', "a value such as `v0`").map(Value)
    }

    fn comma_value(&mut self) -> Parse<Value> {
        self.expect(",")?;
        self.value()
    }

    fn ty(&mut self) -> Parse<Type> {
        self.read("a type such as `f32`", Type::from_name)
    }

    /// Items up to a closing mark, separated by commas.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parse<T>) -> Parse<Vec<T>> {
        let mut items = Vec::new();
        if self.takes(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.takes(close) {
                return Ok(items);
            }
            self.expect(",")?;
        }
    }

    fn kernel(&mut self) -> Parse<()> {
        self.expect("kernel")?;
        self.expect("(")?;
        self.kernel.params = self.list(")", Self::param)?;
        if self.takes("locals") {
            self.expect("(")?;
            let mut count = 0;
            self.kernel.locals = self.list(")", |parser| {
                count += 1;
                parser.local(count - 1)
            })?;
        }
        self.region()?;
        match self.peek().kind {
            Kind::End => {}
            _ => return Self::expected(self.peek(), "the end"),
        }
        match self.typed.iter().position(|typed| !typed) {
            None => Ok(()),
            Some(missing) => {
                Self::expected(self.peek(), format!("a definition of v{missing}, since there are later values"))
            }
        }
    }

    fn param(&mut self) -> Parse<Param> {
        let token = self.peek();
        let id = self.param_id()?;
        // The list is not stored yet, so the position is counted from the text before.
        let expected = self.tokens[..self.at].iter().filter(|token| token.text == ":").count();
        if id.index() != expected {
            return Self::expected(token, format!("p{expected}"));
        }
        self.expect(":")?;
        let access = self.read("`read`, `write`, `readwrite`, `reduce` or `scalar`", |text| {
            let access = Access::ALL.into_iter().find(|access| access.name() == text);
            if text == "scalar" { Some(None) } else { access.map(Some) }
        })?;
        let ty = self.ty()?;
        Ok(access.map_or(Param::Scalar { ty }, |access| Param::Buffer { ty, access }))
    }

    fn local(&mut self, expected: usize) -> Parse<LocalMemory> {
        let token = self.peek();
        if self.local_id()?.index() != expected {
            return Self::expected(token, format!("l{expected}"));
        }
        self.expect(":")?;
        let ty = self.ty()?;
        self.expect("[")?;
        let len = self.read("a number of elements", |text| text.parse().ok())?;
        self.expect("]")?;
        Ok(LocalMemory { ty, len })
    }

    /// A value with its type, which goes into the table.
    fn definition(&mut self) -> Parse<Value> {
        let token = self.peek();
        let value = self.value()?;
        self.expect(":")?;
        let ty = self.ty()?;
        let index = value.index();
        // No text has more values than tokens, so a larger number is a mistake and would only fill memory.
        if index > self.tokens.len() || self.typed.get(index) == Some(&true) {
            return Self::expected(token, "a value that is not defined yet, numbered without gaps");
        }
        if index >= self.typed.len() {
            self.typed.resize(index + 1, false);
            self.kernel.types.resize(index + 1, Type::Bool);
        }
        self.typed[index] = true;
        self.kernel.types[index] = ty;
        Ok(value)
    }

    fn region(&mut self) -> Parse<RegionId> {
        let id = RegionId(self.kernel.regions.len() as u32);
        self.kernel.regions.push(Region::default());
        if self.depth > MAX_DEPTH {
            return Self::expected(self.peek(), format!("regions nested at most {MAX_DEPTH} deep"));
        }
        self.depth += 1;
        let mut region = Region::default();
        if self.takes("(") {
            region.params = self.list(")", Self::definition)?;
        }
        self.expect("{")?;
        while !self.takes("}") {
            if self.takes("yield") {
                region.yields = self.list("}", Self::value)?;
                break;
            }
            region.insts.push(self.inst()?);
        }
        self.kernel.regions[id.index()] = region;
        self.depth -= 1;
        Ok(id)
    }

    fn inst(&mut self) -> Parse<Inst> {
        let start = self.peek();
        let is_value = |text: &str| text.strip_prefix('v').is_some_and(|rest| rest.parse::<u32>().is_ok());
        let results = if is_value(start.text) { self.list("=", Self::definition)? } else { Vec::new() };
        let first = results.first().copied().unwrap_or(Value(0));
        if results.iter().zip(first.0..).any(|(value, number)| value.0 != number) {
            return Self::expected(start, "results that are numbered one after another");
        }
        let op = self.op(results.first().map(|&value| self.kernel.ty(value)))?;
        Ok(Inst { op, first, results: results.len() as u32 })
    }

    /// An operation; `ty` is the type of its first result.
    fn op(&mut self, ty: Option<Type>) -> Parse<Op> {
        let token = self.peek();
        let word = if token.kind == Kind::Word { token.text } else { "" };
        self.next();
        if let Some(op) = UnaryOp::from_name(word) {
            return Ok(Op::Unary(op, self.value()?));
        }
        if let Some(op) = BinaryOp::from_name(word) {
            return Ok(Op::Binary(op, self.value()?, self.comma_value()?));
        }
        if let Some(op) = CompareOp::from_name(word) {
            return Ok(Op::Compare(op, self.value()?, self.comma_value()?));
        }
        match (word.split_once('.').unwrap_or((word, "")), ty) {
            (("const", ""), Some(ty)) => Ok(Op::Const(ty, self.literal(ty)?)),
            (("cast", ""), Some(ty)) => Ok(Op::Cast(ty, self.value()?)),
            (("bitcast", ""), Some(ty)) => Ok(Op::Bitcast(ty, self.value()?)),
            (("const" | "cast" | "bitcast", ""), None) => Self::expected(token, "a result, as in `v0: f32 =`"),
            (("lane_index", ""), _) => Ok(Op::LaneIndex),
            (("scalar", ""), _) => Ok(Op::Scalar(self.param_id()?)),
            (("load", ""), _) => Ok(Op::Load(self.param_id()?)),
            (("fma", ""), _) => Ok(Op::Fma(self.value()?, self.comma_value()?, self.comma_value()?)),
            (("select", ""), _) => Ok(Op::Select(self.value()?, self.comma_value()?, self.comma_value()?)),
            (("gather", ""), _) => {
                let (buffer, index) = self.element()?;
                Ok(Op::Gather { buffer, index, mask: self.mask()? })
            }
            (("store", ""), _) => Ok(Op::Store { buffer: self.param_id()?, value: self.comma_value()? }),
            (("scatter", ""), _) => self.scatter(None),
            (("scatter", op), _) if ReduceOp::from_name(op).is_some() => self.scatter(ReduceOp::from_name(op)),
            (("atomic", op), _) => match AtomicOp::from_name(op) {
                Some(op) => self.atomic(op),
                None => Self::expected(token, "an atomic operation such as `atomic.add`"),
            },
            (("compare_exchange", ""), _) => self.compare_exchange(),
            (("reduce", op), _) => match ReduceOp::from_name(op) {
                Some(op) => Ok(Op::Reduce { op, buffer: self.param_id()?, value: self.comma_value()? }),
                None => Self::expected(token, "a reduction such as `reduce.add`"),
            },
            (("loop", ""), _) => self.loop_(),
            (("if", ""), _) => self.if_(),
            (("switch", ""), _) => self.switch(),
            (("local_read", ""), _) => {
                let (local, index) = self.local_element()?;
                Ok(Op::LocalRead { local, index })
            }
            (("local_write", ""), _) => {
                let (local, index) = self.local_element()?;
                self.expect("=")?;
                Ok(Op::LocalWrite { local, index, value: self.value()? })
            }
            _ => Self::expected(token, "an operation"),
        }
    }

    fn literal(&mut self, ty: Type) -> Parse<u64> {
        self.read(&format!("a constant of type {ty}"), |text| literal::parse(ty, text))
    }

    fn element(&mut self) -> Parse<(ParamId, Value)> {
        let buffer = self.param_id()?;
        self.expect("[")?;
        let index = self.value()?;
        self.expect("]")?;
        Ok((buffer, index))
    }

    fn local_element(&mut self) -> Parse<(LocalId, Value)> {
        let local = self.local_id()?;
        self.expect("[")?;
        let index = self.value()?;
        self.expect("]")?;
        Ok((local, index))
    }

    fn mask(&mut self) -> Parse<Option<Value>> {
        if self.takes("where") { self.value().map(Some) } else { Ok(None) }
    }

    fn scatter(&mut self, reduce: Option<ReduceOp>) -> Parse<Op> {
        let (buffer, index) = self.element()?;
        self.expect("=")?;
        Ok(Op::Scatter { reduce, buffer, index, value: self.value()?, mask: self.mask()? })
    }

    fn atomic(&mut self, op: AtomicOp) -> Parse<Op> {
        let (buffer, index) = self.element()?;
        self.expect("=")?;
        Ok(Op::Atomic { op, buffer, index, value: self.value()?, mask: self.mask()? })
    }

    fn compare_exchange(&mut self) -> Parse<Op> {
        let (buffer, index) = self.element()?;
        self.expect("=")?;
        let (expected, value) = (self.value()?, self.comma_value()?);
        Ok(Op::CompareExchange { buffer, index, expected, value, mask: self.mask()? })
    }

    fn loop_(&mut self) -> Parse<Op> {
        self.expect("(")?;
        let inits = self.list(")", Self::value)?;
        self.expect("while")?;
        let condition = self.region()?;
        self.expect("do")?;
        Ok(Op::Loop { inits, condition, body: self.region()? })
    }

    fn if_(&mut self) -> Parse<Op> {
        let condition = self.value()?;
        let then_region = self.region()?;
        self.expect("else")?;
        Ok(Op::If { condition, then_region, else_region: self.region()? })
    }

    fn switch(&mut self) -> Parse<Op> {
        let index = self.value()?;
        let mut cases = Vec::new();
        while self.takes("case") {
            self.expect(&cases.len().to_string())?;
            cases.push(self.region()?);
        }
        self.expect("default")?;
        Ok(Op::Switch { index, cases, default: self.region()? })
    }
}

#[cfg(test)]
mod tests;
