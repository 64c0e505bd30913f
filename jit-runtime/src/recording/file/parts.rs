//! The parts of steps that have a form of their own: library calls, checks, machine code.

use std::sync::Arc;

use super::bytes::{Read, Reader, Writer};
use crate::backend::{CodeOptions, Effort, Scatters};
use crate::cache::PortableCode;
use crate::ir::ReduceOp;
use crate::launch::native::{AXES, Call, Convolution, MatMul, Prefix, Sort, Sorted, Sought};
use crate::launch::{AccessKind, CheckedAccess, CheckedAssertion, Checks};
use crate::recording::{Scalar, SizeId};
use crate::report::{Align, Assertion, Part, Radix, Sign, Spec, Template};

/// The numbers of what a recording has, which parts refer to.
#[derive(Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) sizes: usize,
    pub(super) slots: usize,
    pub(super) scalars: u32,
}

impl Counts {
    pub(super) fn size(self, reader: &mut Reader<'_>) -> Read<SizeId> {
        reader.size_id(self.sizes)
    }

    pub(super) fn scalar(self, reader: &mut Reader<'_>) -> Read<Scalar> {
        reader.scalar(self.scalars as usize, self.sizes)
    }
}

/// Operations in the order of their numbers in files.
const SORTED: [Sorted; 3] = [Sorted::Values, Sorted::Positions, Sorted::Both];
const SOUGHT: [Sought; 3] = [Sought::Result, Sought::Input, Sought::Kernel];

pub(super) fn write_call(writer: &mut Writer, call: Call) {
    match call {
        Call::Fill(bits) => {
            writer.byte(0);
            writer.number(bits);
        }
        Call::Prefix(Prefix { op, is_exclusive, is_reverse, restart }) => {
            writer.byte(1);
            writer.byte(op as u8);
            writer.flag(is_exclusive);
            writer.flag(is_reverse);
            writer.number(restart as u64);
        }
        Call::MatMul(product) => {
            let MatMul { rows, inner, columns, is_a_transposed, is_b_transposed, batch, is_a_shared, is_b_shared } =
                product;
            writer.byte(2);
            [rows, inner, columns, batch].into_iter().for_each(|size| writer.number(size as u64));
            [is_a_transposed, is_b_transposed, is_a_shared, is_b_shared].into_iter().for_each(|is| writer.flag(is));
        }
        Call::Sort(Sort { is_descending, row, gives }) => {
            writer.byte(3);
            writer.flag(is_descending);
            writer.number(row as u64);
            writer.byte(SORTED.iter().position(|one| *one == gives).unwrap_or_default() as u8);
        }
        Call::Convolve(convolution) => {
            let Convolution { sought, groups, strides, dilations, .. } = convolution;
            writer.byte(4);
            writer.byte(SOUGHT.iter().position(|one| *one == sought).unwrap_or_default() as u8);
            let numbers = [groups].into_iter().chain(strides).chain(dilations).chain(convolution.sizes());
            numbers.for_each(|number| writer.number(number as u64));
        }
    }
}

fn read_axes(reader: &mut Reader<'_>) -> Read<[usize; AXES]> {
    let mut axes = [0; AXES];
    for axis in &mut axes {
        *axis = reader.size()?;
    }
    Ok(axes)
}

/// The numbers are in the order in which they are written: those that no replay changes come first.
fn read_convolution(reader: &mut Reader<'_>) -> Read<Convolution> {
    let sought = reader.one_of(&SOUGHT, "the result of a convolution")?;
    let groups = reader.size()?;
    let (strides, dilations) = (read_axes(reader)?, read_axes(reader)?);
    Ok(Convolution {
        sought,
        groups,
        strides,
        dilations,
        batch: reader.size()?,
        channels: reader.size()?,
        results: reader.size()?,
        input: read_axes(reader)?,
        kernel: read_axes(reader)?,
        result: read_axes(reader)?,
        before: read_axes(reader)?,
    })
}

pub(super) fn read_call(reader: &mut Reader<'_>) -> Read<Call> {
    Ok(match reader.byte()? {
        0 => Call::Fill(reader.number()?),
        1 => Call::Prefix(Prefix {
            op: reader.one_of(ReduceOp::ALL, "a reduction")?,
            is_exclusive: reader.flag()?,
            is_reverse: reader.flag()?,
            restart: reader.size()?,
        }),
        2 => Call::MatMul(MatMul {
            rows: reader.size()?,
            inner: reader.size()?,
            columns: reader.size()?,
            batch: reader.size()?,
            is_a_transposed: reader.flag()?,
            is_b_transposed: reader.flag()?,
            is_a_shared: reader.flag()?,
            is_b_shared: reader.flag()?,
        }),
        3 => Call::Sort(Sort {
            is_descending: reader.flag()?,
            row: reader.size()?,
            gives: reader.one_of(&SORTED, "the result of a sort")?,
        }),
        4 => Call::Convolve(read_convolution(reader)?),
        _ => return reader.fail("a library call"),
    })
}

pub(super) fn write_checks(writer: &mut Writer, checks: &Checks) {
    let Checks { report, accesses, assertions } = checks;
    writer.number(*report as u64);
    writer.list(accesses.iter(), |writer, access| {
        let CheckedAccess { kind, ty, width, is_signed, site } = access;
        match kind {
            AccessKind::Gather => writer.byte(0),
            AccessKind::Scatter => writer.byte(1),
            AccessKind::LocalRead => writer.byte(2),
            AccessKind::LocalWrite => writer.byte(3),
            AccessKind::Iterations => writer.byte(4),
            AccessKind::Call(what) => {
                writer.byte(5);
                writer.text(what.as_str());
            }
        }
        writer.ty(*ty);
        writer.number(*width as u64);
        writer.flag(*is_signed);
        writer.site(*site);
    });
    writer.list(assertions.iter(), |writer, CheckedAssertion { assertion, lowest, records }| {
        let Assertion { text, message, site } = &**assertion;
        writer.text(text);
        writer.list(message.0.iter(), write_part);
        writer.site(*site);
        writer.option(*lowest, |writer, position| writer.number(position as u64));
        writer.number(*records as u64);
    });
}

pub(super) fn read_checks(reader: &mut Reader<'_>) -> Read<Checks> {
    let report = reader.size()?;
    let accesses = reader.list(|reader| {
        let kind = match reader.byte()? {
            0 => AccessKind::Gather,
            1 => AccessKind::Scatter,
            2 => AccessKind::LocalRead,
            3 => AccessKind::LocalWrite,
            4 => AccessKind::Iterations,
            5 => AccessKind::Call(reader.label()?),
            _ => return reader.fail("the kind of an access"),
        };
        let (ty, width, is_signed, site) = (reader.ty()?, reader.size()?, reader.flag()?, reader.site()?);
        Ok(CheckedAccess { kind, ty, width, is_signed, site })
    })?;
    let assertions = reader.list(|reader| {
        let (text, message, site) = (reader.text()?.to_owned(), Template(reader.list(read_part)?), reader.site()?);
        let (lowest, records) = (reader.option(Reader::size)?, reader.size()?);
        Ok(CheckedAssertion { assertion: Arc::new(Assertion { text, message, site }), lowest, records })
    })?;
    Ok(Checks { report, accesses, assertions })
}

const ALIGNS: [Option<Align>; 4] = [None, Some(Align::Left), Some(Align::Centre), Some(Align::Right)];
const SIGNS: [Sign; 2] = [Sign::Minus, Sign::Plus];
const RADIXES: [Radix; 8] = [
    Radix::Display,
    Radix::Debug,
    Radix::LowerHex,
    Radix::UpperHex,
    Radix::Binary,
    Radix::Octal,
    Radix::LowerExp,
    Radix::UpperExp,
];
/// The most values of a lane, and the most characters and digits of one, in a message.
const MAX_IN_MESSAGE: usize = 1 << 16;

fn number_in<T: PartialEq>(table: &[T], value: &T) -> u8 {
    table.iter().position(|one| one == value).unwrap_or_default() as u8
}

fn write_part(writer: &mut Writer, part: &Part) {
    match part {
        Part::Text(text) => {
            writer.byte(0);
            writer.text(text);
        }
        Part::Value { slot, ty, spec } => {
            let Spec { fill, align, sign, is_alternate, is_zero_padded, width, precision, radix } = spec;
            writer.byte(1);
            writer.number(*slot as u64);
            writer.ty(*ty);
            writer.number(u64::from(u32::from(*fill)));
            writer.byte(number_in(&ALIGNS, align));
            writer.byte(number_in(&SIGNS, sign));
            writer.flag(*is_alternate);
            writer.flag(*is_zero_padded);
            writer.number(*width as u64);
            writer.option(*precision, |writer, digits| writer.number(digits as u64));
            writer.byte(number_in(&RADIXES, radix));
        }
    }
}

fn read_part(reader: &mut Reader<'_>) -> Read<Part> {
    Ok(match reader.byte()? {
        0 => Part::Text(reader.text()?.to_owned()),
        1 => {
            let (slot, ty) = (reader.below(MAX_IN_MESSAGE, "the number of a value")?, reader.ty()?);
            let fill = reader.small()?;
            let Some(fill) = char::from_u32(fill) else { return reader.fail("a character") };
            let spec = Spec {
                fill,
                align: reader.one_of(&ALIGNS, "an alignment")?,
                sign: reader.one_of(&SIGNS, "a sign")?,
                is_alternate: reader.flag()?,
                is_zero_padded: reader.flag()?,
                width: reader.below(MAX_IN_MESSAGE, "a width")?,
                precision: reader.option(|reader| reader.below(MAX_IN_MESSAGE, "a precision"))?,
                radix: reader.one_of(&RADIXES, "a radix")?,
            };
            Part::Value { slot, ty, spec }
        }
        _ => return reader.fail("a part of a message"),
    })
}

pub(super) fn write_code(writer: &mut Writer, code: &PortableCode) {
    let PortableCode { digest, target, options, object } = code;
    // A new option does not compile before it is here.
    let CodeOptions { streaming_stores, scatters, effort } = *options;
    writer.text(digest);
    writer.text(target);
    writer.flag(streaming_stores);
    writer.byte(match scatters {
        Scatters::Shared => 0,
        Scatters::Private { copies_log2 } => copies_log2 + 1,
    });
    writer.flag(effort == Effort::Thorough);
    writer.blob(object);
}

pub(super) fn read_code(reader: &mut Reader<'_>) -> Read<PortableCode> {
    let (digest, target, streaming_stores) = (reader.text()?.to_owned(), reader.text()?.to_owned(), reader.flag()?);
    let scatters = match reader.byte()? {
        0 => Scatters::Shared,
        copies @ 1..=8 => Scatters::Private { copies_log2: copies - 1 },
        _ => return reader.fail("the way in which scatters combine"),
    };
    let effort = if reader.flag()? { Effort::Thorough } else { Effort::Quick };
    let options = CodeOptions { streaming_stores, scatters, effort };
    Ok(PortableCode { digest, target, options, object: reader.blob()?.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_a_convolution_is_read_back() {
        let numbers: Vec<usize> = (2..2 + Convolution::SIZES).collect();
        let axes = |first: usize| std::array::from_fn(|axis| first + axis);
        for sought in SOUGHT {
            let whole = Convolution { groups: 40, strides: axes(50), dilations: axes(60), ..Convolution::new(sought) };
            let call = Call::Convolve(whole.with_sizes(&numbers));
            let mut writer = Writer::default();
            write_call(&mut writer, call);
            assert_eq!(read_call(&mut Reader::new(&writer.finish()).unwrap()).unwrap(), call);
        }
    }
}
