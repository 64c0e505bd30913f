//! Recording → bytes.

use super::bytes::Writer;
use super::parts::{write_call, write_checks, write_code};
use crate::backend::CodeOptions;
use crate::cache::CodeMaker;
use crate::ir::encode;
use crate::launch;
use crate::recording::host::HostStep;
use crate::recording::{
    Bind, Carried, CountStep, Guard, KernelStep, LibraryStep, LoopStep, Origin, Recording, Relation, RepeatStep,
    SizeExpr, SizeOp, Sizes, Slot, SlotId, Step, TestStep,
};
use crate::{Error, ErrorKind};

/// Appends a recording.
pub(super) fn recording(writer: &mut Writer, recording: &Recording, maker: &mut CodeMaker) -> Result<(), Error> {
    let Recording { sizes, slots, steps, outputs, inputs, scalars, .. } = recording;
    write_sizes(writer, sizes);
    writer.number((*inputs).into());
    writer.number((*scalars).into());
    writer.number(slots.len() as u64);
    slots.iter().try_for_each(|slot| write_slot(writer, slot))?;
    writer.number(steps.len() as u64);
    steps.iter().try_for_each(|step| write_step(writer, recording, step, maker))?;
    writer.list(outputs.iter(), |writer, slot| writer.number(slot.0.into()));
    Ok(())
}

fn write_sizes(writer: &mut Writer, sizes: &Sizes) {
    writer.list(sizes.exprs().iter(), |writer, expr| match *expr {
        SizeExpr::Constant(value) => {
            writer.byte(0);
            writer.number(value as u64);
        }
        SizeExpr::Input(number) => {
            writer.byte(1);
            writer.number(number.into());
        }
        SizeExpr::Count(number) => {
            writer.byte(2);
            writer.number(number.into());
        }
        SizeExpr::Binary(op, left, right) => {
            writer.byte(3);
            writer.byte(SizeOp::ALL.iter().position(|one| *one == op).unwrap_or_default() as u8);
            writer.number(left.0.into());
            writer.number(right.0.into());
        }
    });
    writer.list(sizes.guards().iter(), |writer, Guard { relation, left, right, site }| {
        writer.byte(Relation::ALL.iter().position(|one| one == relation).unwrap_or_default() as u8);
        writer.number(left.0.into());
        writer.number(right.0.into());
        writer.site(*site);
    });
}

fn write_slot(writer: &mut Writer, Slot { ty, len, origin }: &Slot) -> Result<(), Error> {
    writer.ty(*ty);
    writer.number(len.0.into());
    match origin {
        Origin::Input(number) => {
            writer.byte(0);
            writer.number((*number).into());
        }
        Origin::Constant(buffer) => {
            writer.byte(1);
            writer.blob(&buffer.bytes()?);
        }
        Origin::Step => writer.byte(2),
    }
    Ok(())
}

fn write_slots(writer: &mut Writer, slots: &[SlotId]) {
    writer.list(slots.iter(), |writer, slot| writer.number(slot.0.into()));
}

fn write_step(writer: &mut Writer, recording: &Recording, step: &Step, maker: &mut CodeMaker) -> Result<(), Error> {
    match step {
        Step::Kernel(kernel) => {
            writer.byte(0);
            write_kernel(writer, recording, kernel, maker)?;
        }
        Step::Library(LibraryStep { call, sizes, fill, inputs, outputs, site }) => {
            writer.byte(1);
            write_call(writer, *call);
            writer.list(sizes.iter(), |writer, size| writer.number(size.0.into()));
            writer.option(*fill, Writer::scalar);
            write_slots(writer, inputs);
            write_slots(writer, outputs);
            writer.option(*site, Writer::site);
        }
        Step::Count(CountStep { mask, positions, site }) => {
            writer.byte(2);
            write_slots(writer, &[*mask, *positions]);
            writer.option(*site, Writer::site);
        }
        Step::Test(TestStep { slot, expected, site }) => {
            writer.byte(3);
            writer.number(slot.0.into());
            writer.number(*expected);
            writer.option(*site, Writer::site);
        }
        Step::Loop(LoopStep { carried, test, length, limit, site }) => {
            writer.byte(4);
            writer.list(carried.iter(), |writer, Carried { param, init, out }| {
                [param, init, out].into_iter().for_each(|slot| writer.number(slot.0.into()));
            });
            writer.number((*test).into());
            writer.number((*length).into());
            writer.option(*limit, |writer, (limit, before)| {
                writer.number(limit.into());
                writer.number(before.into());
            });
            writer.site(*site);
        }
        Step::Repeat(RepeatStep { length, slots }) => {
            writer.byte(5);
            writer.number((*length).into());
            write_slots(writer, slots);
        }
        Step::Host(host) => return Err(refuse_host(host)),
    }
    Ok(())
}

#[cold]
fn refuse_host(host: &HostStep) -> Error {
    Error::new(ErrorKind::NotRecordable, "a recording that calls the host cannot be saved: the file has no host code")
        .at(host.site)
        .with_hint("pass what the host computes as an argument, or save a function without this call")
}

fn write_kernel(
    writer: &mut Writer,
    recording: &Recording,
    step: &KernelStep,
    maker: &mut CodeMaker,
) -> Result<(), Error> {
    let kernel = step.kernel();
    writer.blob(&encode::to_bytes(kernel));
    writer.flag(step.template.is_some());
    writer.number(step.lanes.0.into());
    writer.option(step.reduce_block, |writer, block| writer.number(block.0.into()));
    writer.list(step.arguments.iter(), |writer, bind| match bind {
        Bind::Slot(slot) => {
            writer.byte(0);
            writer.number(slot.0.into());
        }
        Bind::Scalar(scalar) => {
            writer.byte(1);
            writer.scalar(*scalar);
        }
    });
    writer.text(step.label.as_str());
    writer.option(step.site, Writer::site);
    writer.option(step.checks.as_ref(), write_checks);
    let options: Vec<CodeOptions> = launch::all_code_options(kernel);
    let codes = maker.codes(recording.device, kernel, &options)?;
    writer.list(codes.iter(), write_code);
    Ok(())
}
