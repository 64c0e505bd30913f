//! The structures of DLPack 1.1, as `dlpack.h` declares them: <https://github.com/dmlc/dlpack>.

use std::ffi::c_void;

use jit_runtime::ir::Type;

/// The version of the structures that tensors are exported with.
pub const VERSION: DLPackVersion = DLPackVersion { major: 1, minor: 1 };

/// The device type of memory of the host.
pub const CPU: i32 = 1;

/// The bit in [`DLManagedTensorVersioned::flags`] of memory that must not be written.
pub const FLAG_READ_ONLY: u64 = 1;

/// The bit in [`DLManagedTensorVersioned::flags`] of a copy that the producer has made.
pub const FLAG_IS_COPIED: u64 = 2;

/// The version of the structures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DLPackVersion {
    /// Structures of different major versions differ behind the field `flags`.
    pub major: u32,
    /// Later ones know more types and flags.
    pub minor: u32,
}

/// Where the memory of a tensor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DLDevice {
    /// The kind: [`CPU`], or another one.
    pub device_type: i32,
    /// Which one.
    pub device_id: i32,
}

/// An element type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct DLDataType {
    /// The kind: signed, unsigned, float, and others.
    pub code: u8,
    /// The bits of one element.
    pub bits: u8,
    /// The number of elements in a vector; 1 for a plain element.
    pub lanes: u16,
}

/// A tensor that borrows its memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLTensor {
    /// The address of the memory. The elements begin `byte_offset` behind it.
    pub data: *mut c_void,
    /// Where it is.
    pub device: DLDevice,
    /// The number of axes.
    pub ndim: i32,
    /// The element type.
    pub dtype: DLDataType,
    /// The length of each axis.
    pub shape: *mut i64,
    /// The distance of neighbours along each axis, in elements; null for row-major order.
    pub strides: *mut i64,
    /// The bytes before the first element.
    pub byte_offset: u64,
}

/// A tensor with its owner, without a version.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLManagedTensor {
    /// The tensor.
    pub dl_tensor: DLTensor,
    /// The owner's own data.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor; none if that is not necessary.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensor)>,
}

/// A tensor with its owner.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct DLManagedTensorVersioned {
    /// The version of this structure.
    pub version: DLPackVersion,
    /// The owner's own data.
    pub manager_ctx: *mut c_void,
    /// Frees the tensor; none if that is not necessary.
    pub deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    /// [`FLAG_READ_ONLY`], [`FLAG_IS_COPIED`].
    pub flags: u64,
    /// The tensor.
    pub dl_tensor: DLTensor,
}

impl DLDataType {
    /// Returns an element type.
    #[must_use]
    pub const fn of(ty: Type) -> DLDataType {
        let code = match ty {
            Type::I8 | Type::I16 | Type::I32 | Type::I64 => 0,
            Type::U8 | Type::U16 | Type::U32 | Type::U64 => 1,
            Type::F16 | Type::F32 | Type::F64 => 2,
            Type::BF16 => 4,
            Type::Bool => 6,
        };
        DLDataType { code, bits: 8 * ty.size_bytes() as u8, lanes: 1 }
    }

    /// Returns the element type of arrays; none if arrays have no such elements.
    #[must_use]
    pub fn ty(self) -> Option<Type> {
        Type::ALL.into_iter().find(|&ty| DLDataType::of(ty) == self)
    }
}

impl std::fmt::Display for DLDataType {
    /// The name, such as `f32`, or the numbers of one that arrays do not have.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(ty) = self.ty() {
            return ty.fmt(f);
        }
        let DLDataType { code, bits, lanes } = self;
        let kind = ["int", "uint", "float", "handle", "bfloat", "complex", "bool"].get(usize::from(*code));
        match kind {
            Some(kind) => write!(f, "{kind}{bits}")?,
            None => write!(f, "type {code} of {bits} bits")?,
        }
        if *lanes == 1 { Ok(()) } else { write!(f, " × {lanes}") }
    }
}
