//! Accesses to neighbouring elements, which are loaded and stored by one instruction: `ld.global.v4`.
//!
//! A thread takes at most 16 bytes at once, and only from addresses that are multiples of what it takes. Buffers begin
//! at such addresses, so the index of the first element has to be a multiple of the number of elements, which
//! [`multiples`](crate::backend::multiples) shows. Elements of a vector are then either consecutive and in range, or in
//! a vector that contains the end of the buffer, or out of range. Where they are not all in range, lanes access them
//! one by one.
//!
//! Gathers are executed where the first of them is, scatters where the last one is.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::super::ptx::{Class, Guard, Operand, Register, memory_type};
use super::Emitter;
use super::memory::Index;
use crate::backend::multiples;
use crate::backend::neighbours::{GatherRun, Offsets, ScatterRun, Scattered, gather_runs, is_wide, scatter_runs};
use crate::ir::{Access, Kernel, Param, ParamId, RegionId, Type, Value};

/// The most bytes that a thread loads or stores at once.
const MOST_BYTES: usize = 16;

/// The numbers of elements that it loads or stores at once.
const SIZES: [usize; 2] = [4, 2];

/// The vectors of a kernel.
#[derive(Default)]
pub(super) struct Vectors {
    loads: Vec<Load>,
    stores: Vec<Store>,
    /// The accesses that are part of one.
    roles: FxHashMap<(RegionId, usize), Role>,
}

/// What happens at the place of an access.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Load(usize),
    Store(usize),
    /// The access is executed with another one.
    Nothing,
}

/// Consecutive elements that are gathered.
struct Load {
    buffer: ParamId,
    mask: Option<Value>,
    /// The index of the first element: the sum of a value and a constant.
    first: (Value, i64),
    /// The results at each element. There may be none at one of four.
    columns: Vec<SmallVec<[Value; 1]>>,
}

/// Consecutive elements that are scattered to.
struct Store {
    buffer: ParamId,
    mask: Option<Value>,
    /// In the order of the elements.
    scatters: Vec<Scattered>,
}

impl Vectors {
    pub(super) fn of(kernel: &Kernel) -> Vectors {
        let mut vectors = Vectors::default();
        let (offsets, zero_bits) = (Offsets::of(kernel), multiples::zero_bits(kernel));
        let most = |buffer: ParamId, base: Value| {
            let in_memory = MOST_BYTES / kernel.param(buffer).ty().size_bytes();
            in_memory.min(1 << zero_bits[base.index()].min(8))
        };
        let place = |index| Some(offsets.of_index(index)).filter(|_| is_wide(kernel.ty(index)));
        for (number, region) in kernel.regions.iter().enumerate() {
            let number = RegionId(number as u32);
            for run in gather_runs(region, &offsets, |_, buffer, index| is_candidate(kernel, buffer, index)) {
                vectors.add_loads(number, &run, most(run.buffer, run.base));
            }
            for run in scatter_runs(region, place) {
                vectors.add_stores(number, &run, most(run.buffer, run.base));
            }
        }
        vectors
    }

    pub(super) fn role(&self, region: RegionId, position: usize) -> Option<Role> {
        self.roles.get(&(region, position)).copied()
    }

    fn add_loads(&mut self, region: RegionId, run: &GatherRun, most: usize) {
        let offsets = run.gathers.iter().map(|gathered| gathered.offset).collect();
        // Memory that nobody wants is in range, too, if all others are.
        for Window { first, size } in windows(offsets, most, 1) {
            let in_window = run.gathers.iter().filter(|gathered| (first..first + size).contains(&gathered.offset));
            let mut columns = vec![SmallVec::new(); size as usize];
            for gathered in in_window.clone() {
                columns[(gathered.offset - first) as usize].push(gathered.result);
                self.roles.insert((region, gathered.position), Role::Nothing);
            }
            let Some(earliest) = in_window.min_by_key(|gathered| gathered.position) else { continue };
            self.roles.insert((region, earliest.position), Role::Load(self.loads.len()));
            let first = (earliest.index, first - earliest.offset);
            self.loads.push(Load { buffer: run.buffer, mask: run.mask, first, columns });
        }
    }

    fn add_stores(&mut self, region: RegionId, run: &ScatterRun, most: usize) {
        let offsets = run.scatters.iter().map(|scattered| scattered.offset).collect();
        for Window { first, size } in windows(offsets, most, 0) {
            let in_window = run.scatters.iter().filter(|scattered| (first..first + size).contains(&scattered.offset));
            let mut scatters: Vec<Scattered> = in_window.copied().collect();
            for (number, scattered) in scatters.iter().enumerate() {
                let is_last = number + 1 == scatters.len();
                let role = if is_last { Role::Store(self.stores.len()) } else { Role::Nothing };
                self.roles.insert((region, scattered.position), role);
            }
            scatters.sort_by_key(|scattered| scattered.offset);
            self.stores.push(Store { buffer: run.buffer, mask: run.mask, scatters });
        }
    }
}

/// Whether a gather reads memory that does not change.
fn is_candidate(kernel: &Kernel, buffer: ParamId, index: Value) -> bool {
    matches!(kernel.param(buffer), Param::Buffer { access: Access::Read, .. }) && is_wide(kernel.ty(index))
}

/// Offsets of elements that are accessed at once, beginning at a multiple of their number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Window {
    first: i64,
    size: i64,
}

/// The windows of at most so many elements that contain offsets: all of theirs, or in a window of four all but a number
/// of gaps.
fn windows(mut offsets: Vec<i64>, most: usize, gaps: usize) -> Vec<Window> {
    let mut found: Vec<Window> = Vec::new();
    offsets.sort_unstable();
    offsets.dedup();
    for size in SIZES.into_iter().filter(|size| *size <= most) {
        let wanted = if size == 4 { size - gaps } else { size };
        let size = size as i64;
        let start = |offset: i64| offset.div_euclid(size) * size;
        for block in offsets.chunk_by(|a, b| start(*a) == start(*b)) {
            let first = start(block[0]);
            let is_in = |window: &Window| (window.first..window.first + window.size).contains(&first);
            if block.len() >= wanted && !found.iter().any(is_in) {
                found.push(Window { first, size });
            }
        }
    }
    found
}

impl Emitter<'_> {
    pub(super) fn vector(&mut self, role: Role) {
        // The code is written while it is read.
        let vectors = std::mem::take(&mut self.vectors);
        match role {
            Role::Load(number) => self.load_vector(&vectors.loads[number]),
            Role::Store(number) => self.store_vector(&vectors.stores[number]),
            Role::Nothing => {}
        }
        self.vectors = vectors;
    }

    fn load_vector(&mut self, load: &Load) {
        let Load { buffer, mask, first: (index, offset), ref columns } = *load;
        let (ty, loaded) = (self.kernel.param(buffer).ty(), self.label("loaded"));
        let index = self.index(index);
        let first = self.moved(&index, offset);
        let (memory, is_whole) = self.whole(buffer, &first, columns.len(), mask);
        self.load_whole(self.space(buffer), ty, memory, is_whole, columns);
        self.branch(Some(is_whole), loaded);
        for (column, results) in columns.iter().enumerate() {
            if let Some(&result) = results.first() {
                let index = self.moved(&first, column as i64);
                self.gather_at(result, buffer, &index, mask);
            }
        }
        self.place(loaded);
        for results in columns.iter().filter(|results| !results.is_empty()) {
            let source = self.result(results[0]).into();
            results[1..].iter().for_each(|&result| {
                let d = self.result(result);
                self.move_to(d, &source);
            });
        }
    }

    /// Loads a vector where it is in range, to the first result of each column.
    fn load_whole(
        &mut self,
        space: &str,
        ty: Type,
        memory: Operand,
        is_whole: Guard,
        columns: &[SmallVec<[Value; 1]>],
    ) {
        let class = if ty == Type::Bool { Class::Word } else { Class::of(ty) };
        let target = |emitter: &mut Self, results: &SmallVec<[Value; 1]>| match results.first() {
            Some(&result) if ty != Type::Bool => emitter.result(result),
            _ => emitter.register(class),
        };
        let targets: Vec<Register> = columns.iter().map(|results| target(self, results)).collect();
        let opcode = format!("ld.{space}.v{}.{}", columns.len(), memory_type(ty));
        self.effect(Some(is_whole), opcode, &[Operand::Vector(targets.clone()), memory]);
        if ty != Type::Bool {
            return;
        }
        for (byte, results) in targets.iter().zip(columns) {
            if let Some(&result) = results.first() {
                let d = self.result(result);
                self.write_if(Some(is_whole), "setp.ne.u32", d, &[byte.into(), 0.into()]);
            }
        }
    }

    fn store_vector(&mut self, store: &Store) {
        let Store { buffer, mask, ref scatters } = *store;
        let (ty, stored) = (self.kernel.param(buffer).ty(), self.label("stored"));
        let first = self.index(scatters[0].index);
        let (memory, is_whole) = self.whole(buffer, &first, scatters.len(), mask);
        let sources = scatters.iter().map(|scattered| self.source(ty, scattered.value)).collect();
        let opcode = format!("st.global.v{}.{}", scatters.len(), memory_type(ty));
        self.effect(Some(is_whole), opcode, &[memory, Operand::Vector(sources)]);
        self.branch(Some(is_whole), stored);
        for scattered in scatters {
            self.scatter(None, buffer, scattered.index, scattered.value, mask);
        }
        self.place(stored);
    }

    /// The register of a value that is stored: vectors have no literals.
    fn source(&mut self, ty: Type, value: Value) -> Register {
        let operand = self.operand(value);
        let operand = if ty == Type::Bool { self.number_of(&operand) } else { operand };
        let Operand::Register(register) = operand else {
            let register = self.register(Class::of(ty));
            self.move_to(register, &operand);
            return register;
        };
        register
    }

    /// The memory of a vector whose first index is a multiple of its size, and where it may be accessed: the mask is on
    /// and all elements in range, so the first one is below the part of the buffer that consists of whole vectors.
    fn whole(&mut self, buffer: ParamId, first: &Index, size: usize, mask: Option<Value>) -> (Operand, Guard) {
        let (length, of_vectors) = (self.length(buffer), !(size as u32 - 1));
        let length = self.compute("and.b32", Class::Word, &[length.into(), of_vectors.into()]);
        self.below(buffer, first, &length, mask)
    }

    /// The sum of an index and a constant.
    fn moved(&mut self, index: &Index, offset: i64) -> Index {
        let Index { ty, ref operand } = *index;
        if offset == 0 {
            return Index { ty, operand: operand.clone() };
        }
        let opcode = format!("add.s{}", ty.bits());
        Index { ty, operand: self.compute(opcode, Class::of(ty), &[operand.clone(), Operand::Integer(offset)]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(offsets: &[i64], most: usize, gaps: usize) -> Vec<(i64, i64)> {
        windows(offsets.to_vec(), most, gaps).into_iter().map(|Window { first, size }| (first, size)).collect()
    }

    #[test]
    fn windows_begin_at_multiples_of_their_size() {
        assert_eq!(found(&[0, 1, 2, 3], 4, 0), [(0, 4)]);
        assert_eq!(found(&[3, 0, 2, 1, 2], 4, 0), [(0, 4)]);
        assert_eq!(found(&[0, 1, 2, 3], 2, 0), [(0, 2), (2, 2)]);
        assert_eq!(found(&[0, 1, 2, 3], 1, 0), []);
        assert_eq!(found(&[1, 2, 3, 4], 4, 0), [(2, 2)]);
        assert_eq!(found(&[-4, -3, -2, -1, 0, 1], 4, 0), [(-4, 4), (0, 2)]);
        assert_eq!(found(&[2, 3, 4, 5, 6, 7, 8], 8, 0), [(4, 4), (2, 2)]);
    }

    #[test]
    fn loads_may_have_a_gap_of_one_in_four() {
        assert_eq!(found(&[0, 1, 2], 4, 1), [(0, 4)]);
        assert_eq!(found(&[0, 1, 2], 4, 0), [(0, 2)]);
        assert_eq!(found(&[0, 3], 4, 1), []);
        assert_eq!(found(&[0, 1, 2], 2, 1), [(0, 2)]);
    }
}
