//! The parameters of an emitted kernel, and the bytes that a launch passes for them.

use std::borrow::Cow;

use super::has_reductions;
use super::ptx::{Parameter, Symbol, memory_type};
use crate::backend::RawArgument;
use crate::ir::{Kernel, Param, ParamId, Type};

/// The most bytes of parameters that every driver passes by value.
const MAX_BYTES: usize = 4096;

/// The most bytes of local memory that lanes have on their own. The driver reserves it for all threads that the device
/// can hold at a time, some hundred thousand.
const MAX_LOCAL_BYTES: u64 = 2048;

/// What a launch is run with, besides the arguments of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grid {
    /// The first lane.
    pub first_lane: u32,
    /// The lane after the last one.
    pub end_lane: u32,
    /// Reductions combine this many consecutive lanes; for those over all lanes, their number.
    pub lanes_per_reduction: u32,
    /// A block of threads combines this many of them, see [`crate::ir::reduce_chunk`].
    pub lanes_per_chunk: u32,
    /// The address of [`Layout::scratch_bytes_per_thread`] for each thread; 0 if that is 0.
    pub scratch: u64,
}

/// A parameter with its place.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) parameter: Parameter,
    pub(super) offset: usize,
    pub(super) content: Content,
}

/// What a parameter holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    FirstLane,
    EndLane,
    LanesPerReduction,
    LanesPerChunk,
    Scratch,
    /// The address of a buffer, or the bits of a scalar.
    Word(ParamId, Type),
    /// The number of elements of a buffer.
    Length(ParamId),
}

/// How a launch passes arguments to a kernel.
///
/// A kernel receives the lanes to run, then for each parameter of the IR the address and the number of elements of the
/// buffer, or the scalar. Each is aligned to its size. If these are more bytes than every driver accepts by value, they
/// are in memory, and the only parameter is their address.
#[derive(Clone, Debug)]
pub struct Layout {
    slots: Vec<Slot>,
    size_bytes: usize,
    scratch_bytes_per_thread: u64,
}

impl Layout {
    /// The layout of a kernel.
    #[must_use]
    pub fn of(kernel: &Kernel) -> Layout {
        let local_bytes: u64 = kernel.locals.iter().map(|local| local.size_bytes()).sum();
        let scratch_bytes_per_thread = if local_bytes > MAX_LOCAL_BYTES { local_bytes } else { 0 };
        Layout::with(&kernel.params, has_reductions(kernel), scratch_bytes_per_thread)
    }

    /// The layout of a kernel with such parameters, which no pass changes.
    pub(super) fn with(params: &[Param], has_reductions: bool, scratch_bytes_per_thread: u64) -> Layout {
        let mut layout = Layout { slots: Vec::new(), size_bytes: 0, scratch_bytes_per_thread };
        layout.push("first_lane".into(), "u32", Content::FirstLane);
        layout.push("end_lane".into(), "u32", Content::EndLane);
        if has_reductions {
            layout.push("lanes_per_reduction".into(), "u32", Content::LanesPerReduction);
            layout.push("lanes_per_chunk".into(), "u32", Content::LanesPerChunk);
        }
        if scratch_bytes_per_thread > 0 {
            layout.push("scratch".into(), "u64", Content::Scratch);
        }
        for (index, param) in params.iter().enumerate() {
            let id = ParamId(index as u32);
            match *param {
                Param::Buffer { ty, .. } => {
                    layout.push(format!("{id}").into(), "u64", Content::Word(id, Type::U64));
                    layout.push(format!("{id}_length").into(), "u32", Content::Length(id));
                    layout.comment_last_buffer(format!("{} elements of {ty}", param_access(*param)));
                }
                Param::Scalar { ty } => layout.push(format!("{id}").into(), memory_type(ty), Content::Word(id, ty)),
            }
        }
        layout
    }

    fn push(&mut self, name: Cow<'static, str>, ty: &'static str, content: Content) {
        let size = size_bytes(ty);
        let offset = self.size_bytes.next_multiple_of(size);
        self.size_bytes = offset + size;
        let parameter = Parameter { name: Symbol(name), ty, comment: String::new() };
        self.slots.push(Slot { parameter, offset, content });
    }

    fn comment_last_buffer(&mut self, comment: String) {
        let position = self.slots.len() - 2;
        self.slots[position].parameter.comment = comment;
    }

    /// Whether the bytes are passed by value, and not by their address.
    #[must_use]
    pub fn is_by_value(&self) -> bool {
        self.size_bytes <= MAX_BYTES
    }

    /// The bytes of memory that each thread of a launch needs for the local memory of its lanes, if that is too much
    /// for local memory of the device. The launch then limits the number of threads: any number is correct.
    #[must_use]
    pub fn scratch_bytes_per_thread(&self) -> u64 {
        self.scratch_bytes_per_thread
    }

    /// The bytes to pass, in the order of the machine.
    #[must_use]
    pub fn pack(&self, grid: &Grid, arguments: &[RawArgument]) -> Vec<u8> {
        let mut bytes = vec![0; self.size_bytes];
        for slot in &self.slots {
            let word = match slot.content {
                Content::FirstLane => grid.first_lane.into(),
                Content::EndLane => grid.end_lane.into(),
                Content::LanesPerReduction => grid.lanes_per_reduction.into(),
                Content::LanesPerChunk => grid.lanes_per_chunk.into(),
                Content::Scratch => grid.scratch,
                Content::Word(param, ty) => arguments[param.index()].word & ty.bit_mask(),
                Content::Length(param) => arguments[param.index()].length,
            };
            let size = size_bytes(slot.parameter.ty);
            bytes[slot.offset..slot.offset + size].copy_from_slice(&word.to_le_bytes()[..size]);
        }
        bytes
    }

    /// The parameters and their places.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The parameters of the emitted function.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        if self.is_by_value() {
            return self.slots.iter().map(|slot| slot.parameter.clone()).collect();
        }
        vec![Parameter { name: ARGUMENTS, ty: "u64", comment: "the address of all others".to_owned() }]
    }
}

/// The parameter that holds the address of all others.
pub(super) const ARGUMENTS: Symbol = Symbol(Cow::Borrowed("arguments"));

fn param_access(param: Param) -> &'static str {
    match param {
        Param::Buffer { access, .. } => access.name(),
        Param::Scalar { .. } => "scalar",
    }
}

fn size_bytes(ty: &str) -> usize {
    match ty {
        "u8" | "s8" => 1,
        "u16" | "s16" | "b16" => 2,
        "u32" | "s32" | "f32" => 4,
        _ => 8,
    }
}
