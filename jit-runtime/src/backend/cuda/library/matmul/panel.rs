//! Panels: parts of a factor in shared memory, in the order in which they are used: one element of each item, then the
//! next one of each. Items are rows of `a` or columns of `b`.
//!
//! Elements of the next panel are loaded into registers while the current one is used.

use super::super::super::ptx::{Class, Operand, Register};
use super::super::builder::Builder;
use super::super::element::combined_type;
use super::tile::Size;
use crate::ir::Type;

/// Items in shared memory that are not used: with them, the elements of neighbouring items and those of one item are in
/// different banks.
const PADDING: u32 = 4;

/// One factor, seen from a tile.
pub(super) struct Factor {
    /// The address of the first element of the matrix.
    pub(super) matrix: Register,
    /// The first item of the tile, and the number of items of the matrix.
    pub(super) first_item: Register,
    pub(super) items: Register,
    /// The first element of each item that the tile uses, and the one after the last.
    pub(super) first: Register,
    pub(super) end: Register,
    /// The number of elements between those of neighbouring items, or of one item, if they are not neighbours.
    pub(super) pitch: Register,
    /// Whether the elements of an item are neighbours in memory. Else those of neighbouring items are.
    pub(super) is_contiguous: bool,
    /// The bits of the elements behind the last one.
    pub(super) padding: u64,
}

/// The elements of a panel that a thread loads.
pub(super) struct Panel {
    ty: Type,
    /// The address of the panel in shared memory.
    pub(super) shared: Register,
    loads: Vec<Load>,
    /// The bytes between elements of consecutive panels.
    advance: Register,
    end: Register,
    padding: u64,
}

struct Load {
    /// The element in memory, and its place in the panel.
    address: Register,
    place: Register,
    /// Its position in the item.
    position: Register,
    has_item: Register,
    /// The element that was loaded last.
    element: Register,
}

/// The bytes between the elements of an item in a panel.
pub(super) fn row_bytes(size: Size, ty: Type) -> u32 {
    (size.items + PADDING) * combined_bytes(ty)
}

/// The size of an element in shared memory. Small integers take 32 bits.
pub(super) fn combined_bytes(ty: Type) -> u32 {
    (ty.size_bytes() as u32).max(4)
}

/// The type of an element in shared memory, and in registers.
pub(super) fn wide_type(ty: Type) -> Type {
    match ty {
        Type::U8 | Type::U16 => Type::U32,
        _ => combined_type(ty),
    }
}

impl Panel {
    pub(super) fn new(b: &mut Builder, name: &str, ty: Type, size: Size, factor: &Factor) -> Panel {
        let shared = b.shared(name, row_bytes(size, ty) * size.depth);
        let element_bytes = ty.size_bytes() as u32;
        let thread = b.thread();
        let mut loads = Vec::new();
        for number in 0..size.items * size.depth / size.threads() {
            let element = b.add(thread, number * size.threads());
            loads.push(load(b, element, shared, ty, size, factor));
        }
        let stride = if factor.is_contiguous { b.variable(1) } else { factor.pitch };
        let advance = b.register(Class::Long);
        b.write("mul.wide.u32", advance, &[stride.into(), (size.depth * element_bytes).into()]);
        Panel { ty, shared, loads, advance, end: factor.end, padding: factor.padding }
    }

    /// Loads the elements of the next panel into registers.
    pub(super) fn load(&self, b: &mut Builder, depth: u32) {
        for load in &self.loads {
            let is_inside = b.is_less(load.position, self.end);
            let exists = b.both(is_inside, load.has_item);
            let padding = super::super::element::literal(self.ty, self.padding);
            let padding =
                if load.element.class == Class::Half { Operand::Integer(self.padding.cast_signed()) } else { padding };
            b.set(load.element, padding);
            let memory = Operand::Memory(load.address, 0);
            b.load_from("global.nc", Some((exists, true)), self.ty, memory, load.element);
            b.write("add.u64", load.address, &[load.address.into(), self.advance.into()]);
            let next = b.add(load.position, depth);
            b.set(load.position, next);
        }
    }

    /// Stores what was loaded to shared memory.
    pub(super) fn store(&self, b: &mut Builder) {
        for load in &self.loads {
            let element = match load.element.class {
                Class::Half => b.widen_half(self.ty, &load.element.into()),
                _ => load.element.into(),
            };
            b.store_to("shared", None, wide_type(self.ty), Operand::Memory(load.place, 0), &element);
        }
    }
}

/// One of the elements of a panel, which are numbered in the order of memory.
fn load(b: &mut Builder, number: Register, shared: Register, ty: Type, size: Size, factor: &Factor) -> Load {
    let (fast, slow) = if factor.is_contiguous { (size.depth, size.items) } else { (size.items, size.depth) };
    debug_assert!(fast.is_power_of_two() && slow.is_power_of_two());
    let (low, high) = (b.and(number, fast - 1), b.shr(number, fast.ilog2()));
    let (in_panel, item) = if factor.is_contiguous { (low, high) } else { (high, low) };
    let (position, whole_item) = (b.add(factor.first, in_panel), b.add(factor.first_item, item));
    let has_item = b.is_less(whole_item, factor.items);
    let index = match factor.is_contiguous {
        true => b.mad(whole_item, factor.pitch, position),
        false => b.mad(position, factor.pitch, whole_item),
    };
    let address = b.at(factor.matrix, index, ty.size_bytes() as u32);
    let place = b.at(shared, in_panel, row_bytes(size, ty));
    let place = b.at(place, item, combined_bytes(ty));
    let element = b.register(Class::of(ty));
    Load { address, place, position: b.variable(position), has_item, element }
}
