//! The canonical binary form of kernels, for files and for content hashes.
//!
//! The form is a header (`JITK`, a version), then parameters, local memory, types and regions. Numbers are LEB128 in
//! their shortest form, so equal kernels have equal bytes and each kernel has one form. Reading validates everything:
//! bytes that are not a kernel return an error, and never cause a panic or a large allocation.

use super::kernel::{Access, Inst, Kernel, LocalId, LocalMemory, Param, ParamId, Region, RegionId, Value};
use super::lines::Lines;
use super::op::{AtomicOp, BinaryOp, CompareOp, Op, ReduceOp, UnaryOp};
use super::types::Type;
use super::verify::{VerifyError, verify};

const MAGIC: &[u8; 4] = b"JITK";

/// Incremented whenever the form or the meaning of an operation changes.
const VERSION: u8 = 3;

/// Why bytes are not a valid kernel.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// The header is not that of a kernel, or has another version.
    #[error("the bytes do not start as a kernel of version {VERSION} does")]
    Header,
    /// The bytes end too early.
    #[error("the bytes end at {0}, in the middle of the kernel")]
    Truncated(usize),
    /// A byte or number is not valid at its position.
    #[error("byte {at}: {value} is not a valid {what}")]
    Invalid {
        /// Position behind the number.
        at: usize,
        /// The number.
        value: u64,
        /// What was expected.
        what: &'static str,
    },
    /// Bytes follow the kernel.
    #[error("{0} bytes follow the kernel")]
    Trailing(usize),
    /// The form is right but the kernel is invalid.
    #[error("the kernel is invalid")]
    Kernel(#[from] VerifyError),
}

/// Returns the canonical bytes of a kernel.
#[must_use]
pub fn to_bytes(kernel: &Kernel) -> Vec<u8> {
    let mut writer = Writer(MAGIC.to_vec());
    writer.byte(VERSION);
    writer.list(&kernel.params, |w, param| match *param {
        Param::Scalar { ty } => {
            w.byte(0);
            w.byte(ty as u8);
        }
        Param::Buffer { ty, access } => {
            w.byte(1 + access as u8);
            w.byte(ty as u8);
        }
    });
    writer.list(&kernel.locals, |w, local| {
        w.byte(local.ty as u8);
        w.number(local.len.into());
    });
    writer.list(&kernel.types, |w, ty| w.byte(*ty as u8));
    writer.list(&kernel.regions, |w, region| {
        w.values(&region.params);
        w.list(&region.insts, |w, inst| {
            w.op(&inst.op);
            w.value(inst.first);
            w.number(inst.results.into());
        });
        w.values(&region.yields);
    });
    writer.0
}

/// Returns the BLAKE3 hash of the canonical bytes, which names the kernel on disk.
#[must_use]
pub fn content_hash(kernel: &Kernel) -> blake3::Hash {
    blake3::hash(&to_bytes(kernel))
}

/// Decodes a kernel.
///
/// # Errors
///
/// If the bytes are not exactly those of a valid kernel.
pub fn from_bytes(bytes: &[u8]) -> Result<Kernel, DecodeError> {
    let mut reader = Reader { bytes, at: 0 };
    let header = bytes.get(..5).ok_or(DecodeError::Header)?;
    if header[..4] != *MAGIC || header[4] != VERSION {
        return Err(DecodeError::Header);
    }
    reader.at = 5;
    let kernel = Kernel {
        params: reader.list(Reader::param)?,
        locals: reader.list(Reader::local)?,
        types: reader.list(Reader::ty)?,
        regions: reader.list(Reader::region)?,
        lines: Lines::default(),
    };
    if reader.at < bytes.len() {
        return Err(DecodeError::Trailing(bytes.len() - reader.at));
    }
    verify(&kernel)?;
    Ok(kernel)
}

/// Tags of the operations in the binary form.
mod tag {
    pub(super) const CONST: u8 = 0;
    pub(super) const LANE_INDEX: u8 = 1;
    pub(super) const SCALAR: u8 = 2;
    pub(super) const UNARY: u8 = 3;
    pub(super) const BINARY: u8 = 4;
    pub(super) const FMA: u8 = 5;
    pub(super) const COMPARE: u8 = 6;
    pub(super) const SELECT: u8 = 7;
    pub(super) const CAST: u8 = 8;
    pub(super) const BITCAST: u8 = 9;
    pub(super) const LOAD: u8 = 10;
    pub(super) const GATHER: u8 = 11;
    pub(super) const STORE: u8 = 12;
    pub(super) const SCATTER: u8 = 13;
    pub(super) const REDUCE: u8 = 14;
    pub(super) const LOOP: u8 = 15;
    pub(super) const IF: u8 = 16;
    pub(super) const ATOMIC: u8 = 17;
    pub(super) const COMPARE_EXCHANGE: u8 = 18;
    pub(super) const SWITCH: u8 = 19;
    pub(super) const LOCAL_READ: u8 = 20;
    pub(super) const LOCAL_WRITE: u8 = 21;
}

struct Writer(Vec<u8>);

impl Writer {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// LEB128.
    fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    fn list<T>(&mut self, list: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.number(list.len() as u64);
        list.iter().for_each(|item| each(self, item));
    }

    fn value(&mut self, value: Value) {
        self.number(value.0.into());
    }

    fn values(&mut self, values: &[Value]) {
        self.list(values, |w, value| w.value(*value));
    }

    /// 0 for none, otherwise the number plus one.
    fn option(&mut self, option: Option<u32>) {
        self.number(option.map_or(0, |number| u64::from(number) + 1));
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn op(&mut self, op: &Op) {
        match *op {
            Op::Const(ty, bits) => {
                self.bytes(&[tag::CONST, ty as u8]);
                self.number(bits);
            }
            Op::LaneIndex => self.byte(tag::LANE_INDEX),
            Op::Scalar(param) => self.tagged(&[tag::SCALAR], &[param.0]),
            Op::Unary(op, a) => self.tagged(&[tag::UNARY, op as u8], &[a.0]),
            Op::Binary(op, a, b) => self.tagged(&[tag::BINARY, op as u8], &[a.0, b.0]),
            Op::Fma(a, b, c) => self.tagged(&[tag::FMA], &[a.0, b.0, c.0]),
            Op::Compare(op, a, b) => self.tagged(&[tag::COMPARE, op as u8], &[a.0, b.0]),
            Op::Select(mask, a, b) => self.tagged(&[tag::SELECT], &[mask.0, a.0, b.0]),
            Op::Cast(ty, a) => self.tagged(&[tag::CAST, ty as u8], &[a.0]),
            Op::Bitcast(ty, a) => self.tagged(&[tag::BITCAST, ty as u8], &[a.0]),
            Op::Load(buffer) => self.tagged(&[tag::LOAD], &[buffer.0]),
            Op::Gather { buffer, index, mask } => {
                self.tagged(&[tag::GATHER], &[buffer.0, index.0]);
                self.option(mask.map(|mask| mask.0));
            }
            Op::Store { buffer, value } => self.tagged(&[tag::STORE], &[buffer.0, value.0]),
            Op::Scatter { reduce, buffer, index, value, mask } => {
                self.tagged(&[tag::SCATTER, reduce.map_or(0, |op| op as u8 + 1)], &[buffer.0, index.0, value.0]);
                self.option(mask.map(|mask| mask.0));
            }
            Op::Atomic { op, buffer, index, value, mask } => {
                let number = match op {
                    AtomicOp::Exchange => 0,
                    AtomicOp::Reduce(op) => op as u8 + 1,
                };
                self.tagged(&[tag::ATOMIC, number], &[buffer.0, index.0, value.0]);
                self.option(mask.map(|mask| mask.0));
            }
            Op::CompareExchange { buffer, index, expected, value, mask } => {
                self.tagged(&[tag::COMPARE_EXCHANGE], &[buffer.0, index.0, expected.0, value.0]);
                self.option(mask.map(|mask| mask.0));
            }
            Op::Reduce { op, buffer, value } => self.tagged(&[tag::REDUCE, op as u8], &[buffer.0, value.0]),
            Op::Loop { ref inits, condition, body } => {
                self.tagged(&[tag::LOOP], &[condition.0, body.0]);
                self.values(inits);
            }
            Op::If { condition, then_region, else_region } => {
                self.tagged(&[tag::IF], &[condition.0, then_region.0, else_region.0]);
            }
            Op::Switch { index, ref cases, default } => {
                self.tagged(&[tag::SWITCH], &[index.0, default.0]);
                self.list(cases, |w, case| w.number(case.0.into()));
            }
            Op::LocalRead { local, index } => self.tagged(&[tag::LOCAL_READ], &[local.0, index.0]),
            Op::LocalWrite { local, index, value } => {
                self.tagged(&[tag::LOCAL_WRITE], &[local.0, index.0, value.0]);
            }
        }
    }

    fn tagged(&mut self, bytes: &[u8], numbers: &[u32]) {
        self.bytes(bytes);
        numbers.iter().for_each(|&number| self.number(number.into()));
    }
}

type Read<T> = Result<T, DecodeError>;

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn byte(&mut self) -> Read<u8> {
        let byte = *self.bytes.get(self.at).ok_or(DecodeError::Truncated(self.at))?;
        self.at += 1;
        Ok(byte)
    }

    fn invalid<T>(&self, value: u64, what: &'static str) -> Read<T> {
        Err(DecodeError::Invalid { at: self.at, value, what })
    }

    /// LEB128 in its shortest form.
    fn number(&mut self) -> Read<u64> {
        let mut number = 0;
        for shift in (0..).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            let is_overlong = byte == 0 && shift > 0;
            if shift > 63 || is_overlong || (part << shift) >> shift != part {
                return self.invalid(part, "number in its shortest form");
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        Ok(number)
    }

    fn small(&mut self) -> Read<u32> {
        let number = self.number()?;
        u32::try_from(number).or_else(|_| self.invalid(number, "32-bit number"))
    }

    fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let count = self.number()?;
        // Each item takes at least one byte, so the claimed count never exceeds the remaining bytes.
        if count > (self.bytes.len() - self.at) as u64 {
            return Err(DecodeError::Truncated(self.bytes.len()));
        }
        (0..count).map(|_| each(self)).collect()
    }

    fn in_table<T: Copy>(&mut self, table: &[T], what: &'static str) -> Read<T> {
        let byte = self.byte()?;
        table.get(usize::from(byte)).copied().map_or_else(|| self.invalid(byte.into(), what), Ok)
    }

    fn ty(&mut self) -> Read<Type> {
        self.in_table(&Type::ALL, "type")
    }

    fn reduce_op(&mut self) -> Read<ReduceOp> {
        self.in_table(ReduceOp::ALL, "reduction")
    }

    fn value(&mut self) -> Read<Value> {
        self.small().map(Value)
    }

    fn param_id(&mut self) -> Read<ParamId> {
        self.small().map(ParamId)
    }

    fn local_id(&mut self) -> Read<LocalId> {
        self.small().map(LocalId)
    }

    fn local(&mut self) -> Read<LocalMemory> {
        Ok(LocalMemory { ty: self.ty()?, len: self.small()? })
    }

    fn region_id(&mut self) -> Read<RegionId> {
        self.small().map(RegionId)
    }

    fn mask(&mut self) -> Read<Option<Value>> {
        Ok(self.small()?.checked_sub(1).map(Value))
    }

    fn param(&mut self) -> Read<Param> {
        let kind = self.byte()?;
        let ty = self.ty()?;
        if kind == 0 {
            return Ok(Param::Scalar { ty });
        }
        let access = Access::ALL.get(usize::from(kind) - 1).copied();
        access.map_or_else(|| self.invalid(kind.into(), "parameter"), |access| Ok(Param::Buffer { ty, access }))
    }

    fn region(&mut self) -> Read<Region> {
        Ok(Region { params: self.list(Self::value)?, insts: self.list(Self::inst)?, yields: self.list(Self::value)? })
    }

    fn inst(&mut self) -> Read<Inst> {
        let op = self.op()?;
        let (first, results) = (self.value()?, self.small()?);
        if first.0.checked_add(results).is_none() {
            return self.invalid(results.into(), "number of results");
        }
        Ok(Inst { op, first, results })
    }

    fn op(&mut self) -> Read<Op> {
        Ok(match self.byte()? {
            tag::CONST => Op::Const(self.ty()?, self.number()?),
            tag::LANE_INDEX => Op::LaneIndex,
            tag::SCALAR => Op::Scalar(self.param_id()?),
            tag::UNARY => Op::Unary(self.in_table(UnaryOp::ALL, "unary operation")?, self.value()?),
            tag::BINARY => Op::Binary(self.in_table(BinaryOp::ALL, "binary operation")?, self.value()?, self.value()?),
            tag::FMA => Op::Fma(self.value()?, self.value()?, self.value()?),
            tag::COMPARE => Op::Compare(self.in_table(CompareOp::ALL, "comparison")?, self.value()?, self.value()?),
            tag::SELECT => Op::Select(self.value()?, self.value()?, self.value()?),
            tag::CAST => Op::Cast(self.ty()?, self.value()?),
            tag::BITCAST => Op::Bitcast(self.ty()?, self.value()?),
            tag::LOAD => Op::Load(self.param_id()?),
            tag::GATHER => Op::Gather { buffer: self.param_id()?, index: self.value()?, mask: self.mask()? },
            tag::STORE => Op::Store { buffer: self.param_id()?, value: self.value()? },
            tag::SCATTER => self.scatter()?,
            tag::ATOMIC => Op::Atomic {
                op: self.in_table(&AtomicOp::ALL, "atomic operation")?,
                buffer: self.param_id()?,
                index: self.value()?,
                value: self.value()?,
                mask: self.mask()?,
            },
            tag::COMPARE_EXCHANGE => Op::CompareExchange {
                buffer: self.param_id()?,
                index: self.value()?,
                expected: self.value()?,
                value: self.value()?,
                mask: self.mask()?,
            },
            tag::REDUCE => Op::Reduce { op: self.reduce_op()?, buffer: self.param_id()?, value: self.value()? },
            tag::LOOP => {
                Op::Loop { condition: self.region_id()?, body: self.region_id()?, inits: self.list(Self::value)? }
            }
            tag::IF => {
                Op::If { condition: self.value()?, then_region: self.region_id()?, else_region: self.region_id()? }
            }
            tag::SWITCH => {
                let (index, default) = (self.value()?, self.region_id()?);
                Op::Switch { index, cases: self.list(Self::region_id)?, default }
            }
            tag::LOCAL_READ => Op::LocalRead { local: self.local_id()?, index: self.value()? },
            tag::LOCAL_WRITE => Op::LocalWrite { local: self.local_id()?, index: self.value()?, value: self.value()? },
            other => return self.invalid(other.into(), "operation"),
        })
    }

    fn scatter(&mut self) -> Read<Op> {
        let number = self.byte()?;
        let reduce = match number.checked_sub(1) {
            None => None,
            Some(op) => match ReduceOp::ALL.get(usize::from(op)) {
                Some(&op) => Some(op),
                None => return self.invalid(number.into(), "reduction"),
            },
        };
        Ok(Op::Scatter {
            reduce,
            buffer: self.param_id()?,
            index: self.value()?,
            value: self.value()?,
            mask: self.mask()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::random::{Case, Options, Rng};

    #[test]
    fn random_kernels_read_back() {
        for seed in 0..200 {
            let kernel = Case::new(seed, &Options::structured()).kernel;
            let bytes = to_bytes(&kernel);
            assert_eq!(from_bytes(&bytes).as_ref(), Ok(&kernel), "seed {seed}");
        }
    }

    #[test]
    fn the_hash_distinguishes_kernels() {
        let hash = |seed| content_hash(&Case::new(seed, &Options::structured()).kernel);
        assert_eq!(hash(1), hash(1));
        assert_ne!(hash(1), hash(2));
    }

    #[test]
    fn local_memory_is_part_of_the_hash() {
        let hash = |text| content_hash(&crate::ir::parse(text).unwrap());
        let (a, b, c) =
            (hash("kernel() locals(l0: f32[4]) {}"), hash("kernel() locals(l0: f32[5]) {}"), hash("kernel() {}"));
        assert!(a != b && b != c);
        assert_ne!(a, hash("kernel() locals(l0: i32[4]) {}"));
    }

    #[test]
    fn garbage_is_an_error_or_another_kernel_in_its_only_form() {
        let mut rng = Rng::new(11);
        let (mut errors, mut kernels) = (0, 0);
        for seed in 0..40 {
            let bytes = to_bytes(&Case::new(seed, &Options { operations: 15, ..Options::structured() }).kernel);
            for _ in 0..200 {
                let mut garbage = bytes.clone();
                for _ in 0..1 + rng.below(3) {
                    let at = rng.below(garbage.len());
                    garbage[at] = rng.bits() as u8;
                }
                match from_bytes(&garbage) {
                    Ok(kernel) => {
                        kernels += 1;
                        assert_eq!(to_bytes(&kernel), garbage);
                    }
                    Err(_) => errors += 1,
                }
            }
            for length in 0..bytes.len() {
                assert!(from_bytes(&bytes[..length]).is_err());
            }
        }
        assert!(errors > 1000 && kernels > 100, "{errors} {kernels}");
    }

    #[test]
    fn errors_state_what_is_wrong() {
        let kernel = Case::new(1, &Options::expressions()).kernel;
        let mut bytes = to_bytes(&kernel);
        assert_eq!(from_bytes(b"JIT"), Err(DecodeError::Header));
        bytes.push(0);
        assert_eq!(from_bytes(&bytes), Err(DecodeError::Trailing(1)));
        assert_eq!(from_bytes(b"JITK\x03\x01\x00\x0d").unwrap_err().to_string(), "byte 8: 13 is not a valid type");
    }
}
