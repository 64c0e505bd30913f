//! Recordings of functions in files: what the run time does not know of them.
//!
//! That is the key of the calls that a recording fits, what becomes of its outputs, and the signature of the result,
//! from which results are built. Templates that came from a file have no copies of arguments: the first call makes
//! them, so a body that changes host values of its arguments is not saved.

use std::any::{Any, TypeId};
use std::sync::OnceLock;

use jit_runtime::device::Device;
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use jit_runtime::recording::file::{Damaged, Read, Reader, SavedRecording, Writer};
use jit_runtime::recording::{Recording, SizeId};
use jit_runtime::{Error, ErrorKind, Label, Site};
use smallvec::SmallVec;

use super::argument::{Arguments, Recordable};
use super::call::Templates;
use super::function::{CallPlan, Entry, Plan, Value};
use super::mismatch::Summary;
use super::record::strip;
use crate::graph::Var;
use crate::size::Size;
use crate::trace::record;
use crate::traverse::{Build, HostValue, Leaf, Signature, SignatureLeaf, Visitor};

/// The templates of a recording from a file.
pub(super) struct LoadedTemplates<R> {
    pub(super) result: R,
    /// Copies of the arguments of the first call, without arrays: a `T` for arguments with the copies `T`.
    copies: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl<R: Recordable> LoadedTemplates<R> {
    /// Returns copies of arguments, which differ from those of any call in arrays alone.
    pub(super) fn copies<A: Arguments>(&self, arguments: &A, values: usize) -> Result<&A::Proxies, Error> {
        let copies = self.copies.get_or_init(|| {
            let mut copies = arguments.proxies();
            strip::<A>(&mut copies);
            Box::new(copies)
        });
        let copies = copies.downcast_ref::<A::Proxies>().ok_or_else(other_function)?;
        let mut arrays = 0;
        let mut count = |leaf: Leaf<'_>| arrays += usize::from(matches!(leaf, Leaf::Array(_)));
        A::show_proxies(copies, &mut |is_exclusive, show| {
            if is_exclusive {
                show(&mut Visitor::new(&mut |_, leaf| count(leaf)));
            }
        });
        self.result.traverse(&mut Visitor::new(&mut |_, leaf| count(leaf)));
        if arrays == values { Ok(copies) } else { Err(other_function()) }
    }
}

#[cold]
fn other_function() -> Error {
    Error::new(ErrorKind::InvalidArgument, "the recording was loaded from a file, and is that of another function")
        .with_hint("save the function anew")
}

/// Templates of any types.
pub(super) struct ErasedTemplates {
    templates: Box<dyn Any + Send + Sync>,
    signature: fn(&(dyn Any + Send + Sync)) -> Result<Signature, Error>,
}

impl ErasedTemplates {
    /// Returns the templates, if they are of this type.
    pub(super) fn downcast_ref<T: 'static>(&self) -> Option<&T> {
        self.templates.downcast_ref()
    }

    /// Returns the signature of the result.
    fn signature(&self) -> Result<Signature, Error> {
        (self.signature)(&*self.templates)
    }
}

/// Erases the types of templates.
pub(super) fn erased<P: Send + Sync + 'static, R: Recordable>(templates: Templates<P, R>) -> ErasedTemplates {
    ErasedTemplates { templates: Box::new(templates), signature: result_signature::<P, R> }
}

/// Returns the signature of the result in templates of some types.
fn result_signature<P: 'static, R: Recordable>(templates: &(dyn Any + Send + Sync)) -> Result<Signature, Error> {
    let made = templates.downcast_ref::<Templates<P, R>>().map(|templates| &templates.result);
    let result = made.or_else(|| templates.downcast_ref::<LoadedTemplates<R>>().map(|loaded| &loaded.result));
    Signature::of(result.ok_or_else(other_function)?)
}

/// Why a recording cannot be saved.
pub(super) fn refuse(name: &str, why: &str, hint: &str, site: Site) -> Error {
    let message = format!("`{name}` cannot be saved: {why}");
    Error::new(ErrorKind::NotRecordable, message).at(site).with_hint(hint)
}

/// Returns what a file has of a recording besides its launches.
pub(super) fn write_entry(
    name: &str,
    words: &[u64],
    (entry, plan): (&Entry, &Plan),
    site: Site,
) -> Result<Vec<u8>, Error> {
    if plan.flows.is_some() {
        let hint = "save a function whose arguments carry no gradients: pass them as `x.detach()`";
        return Err(refuse(name, "gradients flow through it, and a file has no derivative", hint, site));
    }
    if !plan.is_unchanged {
        let why = "it changes lengths, variants or numbers in its arguments, which a file has no copies of";
        return Err(refuse(name, why, "change arrays alone, or return the other values", site));
    }
    let mut writer = Writer::default();
    write_words(&mut writer, words);
    write_words(&mut writer, &entry.literals);
    writer.list(entry.numbers.iter(), |writer, number| writer.option(*number, Writer::number));
    writer.list(entry.lifted.iter(), |writer, is| writer.flag(*is));
    writer.list(entry.widths.iter(), |writer, first| writer.number((*first).into()));
    writer.list(plan.values.iter(), write_value);
    writer.list(plan.sizes.iter(), |writer, size| writer.number(size.0.into()));
    writer.list(plan.may_donate.iter(), |writer, is| writer.flag(*is));
    writer.number(plan.kept.len() as u64);
    plan.kept.iter().try_for_each(|var| write_array(&mut writer, var))?;
    write_signature(&mut writer, &entry.templates.signature()?)?;
    writer.list(entry.summary.iter(), Summary::write);
    writer.option(plan.are_lengths.as_ref(), |writer, are_lengths| {
        writer.list(are_lengths.iter(), |writer, is| writer.flag(*is));
    });
    Ok(writer.finish())
}

/// A recording from a file.
pub(super) struct LoadedEntry {
    pub(super) words: Box<[u64]>,
    pub(super) entry: Entry,
    /// The plan, if it is not in the entry.
    pub(super) plan: Plan,
}

/// A recording from a file that no call of a frozen function has looked for yet.
pub(super) struct Loaded {
    /// The instantiation that it is of, if the function has several.
    pub(super) of: Option<TypeId>,
    pub(super) words: Box<[u64]>,
    pub(super) entry: Entry,
}

/// A recording from a file, before it is known what the result is.
pub(super) struct ReadEntry {
    pub(super) words: Box<[u64]>,
    pub(super) literals: Vec<u64>,
    pub(super) numbers: Vec<Option<u64>>,
    pub(super) lifted: Vec<bool>,
    pub(super) widths: Vec<u32>,
    pub(super) plan: Plan,
    pub(super) signature: Signature,
    pub(super) summary: Vec<Summary>,
}

/// Reads a recording.
pub(super) fn read_untyped(saved: SavedRecording, site: Site) -> Result<ReadEntry, Error> {
    let SavedRecording { about, recording } = saved;
    let mut reader = Reader::new(&about)?;
    let words = reader.list(Reader::number)?.into();
    let literals = reader.list(Reader::number)?;
    let numbers = reader.list(|reader| reader.option(Reader::number))?;
    let lifted = reader.list(Reader::flag)?;
    let widths = reader.list(Reader::small)?;
    let values = reader.list(|reader| read_value(reader, &recording))?;
    let sizes = reader.list(|reader| read_size(reader, &recording))?;
    let may_donate = reader.list(Reader::flag)?;
    let mut kept = Vec::new();
    for _ in 0..reader.size()? {
        kept.push(read_array(&mut reader, site)?);
    }
    let signature = read_signature(&mut reader)?;
    // Files of version 1 end here.
    let (mut summary, mut are_lengths) = (Vec::new(), None);
    if !reader.is_at_end() {
        summary = reader.list(Summary::read)?;
        are_lengths = reader.option(|reader| reader.list(Reader::flag))?;
    }
    reader.end()?;
    let is_known = |value: &Value| match *value {
        Value::Input(number) | Value::Detached(number) => (number as usize) < may_donate.len(),
        Value::Retained(number) => (number as usize) < kept.len(),
        Value::Output(..) | Value::Known(..) => true,
    };
    let are_told = are_lengths.as_ref().is_none_or(|are_lengths| are_lengths.len() == sizes.len());
    if !values.iter().all(is_known) || widths.len() != may_donate.len() || !are_told {
        return Err(Damaged { at: about.len(), what: "the value of a result" }.into());
    }
    let plan = Plan {
        recording,
        values,
        sizes,
        are_lengths,
        is_unchanged: true,
        shared: Vec::new(),
        may_donate,
        kept,
        flows: None,
        is_loaded: true,
    };
    Ok(ReadEntry { words, literals, numbers, lifted, widths, plan, signature, summary })
}

/// Reads a recording, and builds its result.
pub(super) fn read_entry<R: Recordable + Build>(saved: SavedRecording, site: Site) -> Result<LoadedEntry, Error> {
    let ReadEntry { words, literals, numbers, lifted, widths, plan, signature, summary } = read_untyped(saved, site)?;
    let result: R = signature.build(signature.zeros())?;
    let templates = Box::new(LoadedTemplates { result, copies: OnceLock::new() });
    let templates = ErasedTemplates { templates, signature: result_signature::<(), R> };
    let entry = Entry::loaded(literals, numbers, (lifted, widths), (templates, summary));
    Ok(LoadedEntry { words, entry, plan })
}

impl LoadedEntry {
    /// Returns the entry with its plan, as frozen functions have it.
    pub(super) fn into_frozen(self) -> (Box<[u64]>, Entry) {
        let LoadedEntry { words, entry, plan } = self;
        (words, Entry { call_plan: CallPlan::Replay(Box::new(plan)), ..entry })
    }
}

impl Plan {
    /// Checks that a recording from a file is for arguments of this number.
    pub(super) fn check_loaded(&self, inputs: usize, literals: usize, lifted: &[bool]) -> Result<(), Error> {
        let is_right = !self.is_loaded || (self.may_donate.len() == inputs && lifted.len() == literals);
        if is_right { Ok(()) } else { Err(other_function()) }
    }

    /// Checks that the outputs of a recording from a file are as large as the results that they become.
    pub(super) fn check_outputs(&self, outputs: &[std::sync::Arc<Buffer>], sizes: &[usize]) -> Result<(), Error> {
        let fits = |value: &Value| match *value {
            Value::Output(number, ty, len) => {
                let bytes = sizes[len.index()].checked_mul(ty.size_bytes());
                bytes.is_some_and(|bytes| outputs[number as usize].size_bytes() >= bytes)
            }
            _ => true,
        };
        if !self.is_loaded || self.values.iter().all(fits) { Ok(()) } else { Err(other_function()) }
    }
}

pub(super) fn write_words(writer: &mut Writer, words: &[u64]) {
    writer.list(words.iter(), |writer, word| writer.number(*word));
}

fn write_value(writer: &mut Writer, value: &Value) {
    match *value {
        Value::Input(number) => {
            writer.byte(0);
            writer.number(number.into());
        }
        Value::Detached(number) => {
            writer.byte(1);
            writer.number(number.into());
        }
        Value::Output(number, ty, len) => {
            writer.byte(2);
            writer.number(number.into());
            writer.ty(ty);
            writer.number(len.0.into());
        }
        Value::Known(scalar, ty, len, is_literal) => {
            writer.byte(3);
            writer.scalar(scalar);
            writer.ty(ty);
            writer.number(len.0.into());
            writer.flag(is_literal);
        }
        Value::Retained(number) => {
            writer.byte(4);
            writer.number(number.into());
        }
    }
}

fn read_size(reader: &mut Reader<'_>, recording: &Recording) -> Read<SizeId> {
    reader.size_id(recording.sizes().exprs().len())
}

fn read_value(reader: &mut Reader<'_>, recording: &Recording) -> Read<Value> {
    Ok(match reader.byte()? {
        0 => Value::Input(reader.small()?),
        1 => Value::Detached(reader.small()?),
        2 => {
            let number = reader.below(recording.outputs().len(), "the number of an output")?;
            let (ty, len) = (reader.ty()?, read_size(reader, recording)?);
            let slot = recording.outputs()[number];
            // Other bytes than 0 and 1 are no truth values.
            let is_right = ty != Type::Bool || recording.slots()[slot.index()].ty == Type::Bool;
            reader.require(is_right, "the type of an output")?;
            Value::Output(number as u32, ty, len)
        }
        3 => {
            let known = reader.scalar(recording.scalars() as usize, recording.sizes().exprs().len())?;
            Value::Known(known, reader.ty()?, read_size(reader, recording)?, reader.flag()?)
        }
        4 => Value::Retained(reader.small()?),
        _ => return reader.fail("the kind of a result"),
    })
}

fn write_array(writer: &mut Writer, var: &Var) -> Result<(), Error> {
    writer.ty(var.ty());
    writer.number(var.lanes() as u64);
    match (var.known_bits(), var.data()) {
        (Some(bits), _) => {
            writer.byte(0);
            writer.number(bits);
        }
        (None, Some(buffer)) => {
            writer.byte(1);
            let bytes = buffer.bytes()?;
            writer.blob(&bytes[..var.lanes() * var.ty().size_bytes()]);
        }
        (None, None) => return Err(Error::new(ErrorKind::Internal, "an array of a recording has no contents")),
    }
    Ok(())
}

fn read_array(reader: &mut Reader<'_>, site: Site) -> Result<Var, Error> {
    let (ty, lanes) = (reader.ty()?, reader.size()?);
    match reader.byte()? {
        0 => Ok(record::opaque(ty, reader.number()?, lanes)),
        1 => {
            let bytes = reader.blob()?;
            let is_right = lanes.checked_mul(ty.size_bytes()) == Some(bytes.len());
            let are_truths = ty != Type::Bool || bytes.iter().all(|byte| *byte < 2);
            reader.require(is_right && are_truths, "the contents of an array")?;
            Ok(record::data_at(site, ty, lanes, Buffer::from_bytes(bytes)?))
        }
        _ => Ok(reader.fail("the contents of an array")?),
    }
}

fn write_signature(writer: &mut Writer, signature: &Signature) -> Result<(), Error> {
    writer.number(signature.leaves().len() as u64);
    for leaf in signature.leaves() {
        match leaf {
            SignatureLeaf::Array(ty, width) => {
                writer.byte(0);
                writer.ty(*ty);
                writer.number(*width as u64);
            }
            SignatureLeaf::Host(HostValue::Number(ty, bits)) => write_number(writer, 1, *ty, *bits),
            SignatureLeaf::Host(HostValue::Parameter(ty, bits)) => write_number(writer, 2, *ty, *bits),
            SignatureLeaf::Host(HostValue::Shape(length)) => {
                writer.byte(3);
                writer.number(*length as u64);
            }
            SignatureLeaf::Host(HostValue::Lengths(lengths)) => {
                writer.byte(4);
                writer.list(lengths.iter(), |writer, length| writer.number(length.now() as u64));
            }
            SignatureLeaf::Host(HostValue::Variant(name)) => {
                writer.byte(5);
                writer.text(name);
            }
            SignatureLeaf::Host(HostValue::Text(text)) => {
                writer.byte(6);
                writer.text(text);
            }
            SignatureLeaf::Host(HostValue::Shared(_)) => {
                let what = "its result has an array behind a shared reference";
                return Err(Error::new(ErrorKind::NotRecordable, what));
            }
        }
    }
    Ok(())
}

fn write_number(writer: &mut Writer, tag: u8, ty: Type, bits: u64) {
    writer.byte(tag);
    writer.ty(ty);
    writer.number(bits);
}

fn read_signature(reader: &mut Reader<'_>) -> Read<Signature> {
    let leaves = reader.list(|reader| {
        Ok(SignatureLeaf::Host(match reader.byte()? {
            0 => return Ok(SignatureLeaf::Array(reader.ty()?, reader.size()?)),
            1 => HostValue::Number(reader.ty()?, reader.number()?),
            2 => HostValue::Parameter(reader.ty()?, reader.number()?),
            3 => HostValue::Shape(reader.size()?),
            4 => {
                let lengths = reader.list(Reader::size)?;
                HostValue::Lengths(lengths.into_iter().map(Size::from).collect::<SmallVec<[Size; 4]>>())
            }
            // It lives as long as the program, as the variants of a program do.
            5 => HostValue::Variant(Label::new(reader.text()?).as_str()),
            6 => HostValue::Text(reader.text()?.to_owned()),
            _ => return reader.fail("a leaf of a result"),
        }))
    })?;
    Ok(Signature::new(leaves))
}

/// Reads a file, for replays on a device.
pub(super) fn load(
    path: &std::path::Path,
    device: Device,
) -> Result<jit_runtime::recording::file::SavedRecordings, Error> {
    // SAFETY: the documentation of `load` says that files are trusted as shared libraries are.
    unsafe { jit_runtime::recording::file::SavedRecordings::load(path, device) }
}

/// Reads the bytes of a file, for replays on a device.
pub(super) fn read(bytes: &[u8], device: Device) -> Result<jit_runtime::recording::file::SavedRecordings, Error> {
    // SAFETY: the bytes are a part of the program, which is trusted as a whole.
    unsafe { jit_runtime::recording::file::SavedRecordings::from_bytes(bytes, device) }
}
