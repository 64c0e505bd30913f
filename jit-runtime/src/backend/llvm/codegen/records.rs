//! Accesses to records, which are interleaved in registers: see [`records`](crate::backend::llvm::records).

use smallvec::SmallVec;

use super::{Codegen, Packets};
use crate::backend::llvm::emit::Raw;
use crate::backend::llvm::records::Record;
use crate::backend::llvm::rows::Row;
use crate::ir::{ParamId, Value};

impl Codegen<'_> {
    /// Executes the scatters of a record if this is the last one. Returns whether the scatter belongs to a record.
    pub(super) fn scatter_of_record(&mut self, buffer: ParamId, index: Value) -> bool {
        let analysis = self.analysis;
        // Few groups are at the edges, so code size matters more there.
        let Some((record, is_last)) = analysis.records.find(buffer, index).filter(|_| !self.is_edge) else {
            return false;
        };
        if is_last {
            self.scatter_record(record);
        }
        true
    }

    fn scatter_record(&mut self, record: &Record) {
        let (first, mut is_whole) = self.first_record(record.buffer, record.number, record.elements.len() as u64);
        if let Some(mask) = self.mask.clone() {
            is_whole = self.emit.and(is_whole, self.all(&mask));
        }
        // Before the branch, as vectors of scalars are built on first use.
        let vectors: Vec<Packets> = record.elements.iter().map(|&(_, value)| self.vectors(value)).collect();
        self.either(
            is_whole,
            |codegen| codegen.store_records(record.buffer, first, &vectors),
            |codegen| {
                for &(index, value) in &record.elements {
                    codegen.scatter_at(record.buffer, index, value, None);
                }
                Packets::new()
            },
        );
    }

    /// The index of the first element of a group's records, as 64 bits, and whether all of them are in range. An index
    /// of fewer bits that wraps around in the group is out of range here.
    fn first_record(&mut self, buffer: ParamId, number: Value, count: u64) -> (Raw, Raw) {
        let index_type = self.ty(number);
        let wide = self.wide_index(index_type, self.scalar(number));
        let first = self.emit.mul(wide, self.emit.i64(count));
        let is_inside = self.is_run_inside(buffer, index_type, first, count * self.step());
        (first, is_inside)
    }

    /// The elements of a row that is a whole record in each lane: the packets of each column. None if it is not.
    pub(super) fn gather_records(
        &mut self,
        row: u32,
        starts: &Packets,
        lanes: Option<&Packets>,
        is_proven: bool,
    ) -> Option<Packets> {
        let analysis = self.analysis;
        let number = analysis.records.read_by(row).filter(|_| !self.is_edge)?;
        let row = &analysis.rows.rows[row as usize];
        let (first, is_inside) = self.first_record(row.buffer, number, row.columns.len() as u64);
        if is_proven {
            self.expect_rows_inside(row, starts, lanes);
            return Some(self.load_records(row, first));
        }
        Some(self.either(
            is_inside,
            |codegen| codegen.load_records(row, first),
            |codegen| codegen.gather_columns(row, starts, lanes),
        ))
    }

    /// Loads the records of all lanes: the packets of each column.
    fn load_records(&mut self, row: &Row, first: Raw) -> Packets {
        let (ty, count) = (self.element(row.buffer), row.columns.len());
        let (start, element) = (self.element_address(row.buffer, first), self.emit.memory_type(ty));
        let vector = self.emit.vector(element, self.lanes);
        let load = |number: usize| {
            let offset = self.emit.i64(number as u64 * u64::from(self.lanes));
            self.emit.load(vector, self.emit.address(element, start, offset), ty.size_bytes())
        };
        let loaded: Vec<Raw> = (0..self.packets * count).map(load).collect();
        let packets: Vec<Vec<Raw>> = loaded.chunks(count).map(|packet| self.separated(packet)).collect();
        let places = (0..count).flat_map(|column| (0..self.packets).map(move |packet| (column, packet)));
        places.map(|(column, packet)| self.loaded_value(ty, packets[packet][column], self.lanes)).collect()
    }

    /// Stores the records of all lanes, of which there is a vector for each element and packet.
    fn store_records(&mut self, buffer: ParamId, first: Raw, vectors: &[Packets]) -> Packets {
        let ty = self.element(buffer);
        let (start, element) = (self.element_address(buffer, first), self.emit.memory_type(ty));
        for packet in 0..self.packets {
            let elements: Vec<Raw> =
                vectors.iter().map(|packets| self.stored_value(ty, packets[packet], self.lanes)).collect();
            for (position, vector) in self.interleaved(&elements).into_iter().enumerate() {
                let offset = (packet * vectors.len() + position) as u64 * u64::from(self.lanes);
                let address = self.emit.address(element, start, self.emit.i64(offset));
                self.emit.store(vector, address, ty.size_bytes());
            }
        }
        Packets::new()
    }

    /// Interleaves vectors: the first elements of all, then the second ones, and so on. In stages of as many vectors as
    /// the prime factors say, since each vector that an element comes from takes an instruction.
    fn interleaved(&self, vectors: &[Raw]) -> Vec<Raw> {
        let count = vectors.len();
        let Some(ways) = (2..=count).find(|ways| count.is_multiple_of(*ways)) else { return vectors.to_vec() };
        let part = |first: usize| -> Vec<Raw> { vectors.iter().skip(first).step_by(ways).copied().collect() };
        let parts: Vec<Vec<Raw>> = (0..ways).map(|first| self.interleaved(&part(first))).collect();
        let lanes = self.lanes as usize;
        let element = |number: usize| {
            let place = number / ways;
            (parts[number % ways][place / lanes], place % lanes)
        };
        (0..count)
            .map(|position| {
                let elements: SmallVec<[_; 64]> = (position * lanes..(position + 1) * lanes).map(element).collect();
                self.collected(&elements)
            })
            .collect()
    }

    /// The inverse of [`Codegen::interleaved`].
    fn separated(&self, vectors: &[Raw]) -> Vec<Raw> {
        let count = vectors.len();
        let Some(ways) = (2..=count).find(|ways| count.is_multiple_of(*ways)) else { return vectors.to_vec() };
        let lanes = self.lanes as usize;
        let part = |first: usize| -> Vec<Raw> {
            let element = |number: usize| {
                let place = number * ways + first;
                (vectors[place / lanes], place % lanes)
            };
            let vector = |position: usize| {
                let elements: SmallVec<[_; 64]> = (position * lanes..(position + 1) * lanes).map(element).collect();
                self.collected(&elements)
            };
            self.separated(&(0..count / ways).map(vector).collect::<Vec<Raw>>())
        };
        let parts: Vec<Vec<Raw>> = (0..ways).map(part).collect();
        (0..count).map(|column| parts[column % ways][column / ways]).collect()
    }

    /// A vector of elements, each given by its vector and its place there.
    fn collected(&self, elements: &[(Raw, usize)]) -> Raw {
        let lanes = self.lanes as usize;
        let mut sources: SmallVec<[Raw; 16]> = SmallVec::new();
        for &(source, _) in elements {
            if !sources.contains(&source) {
                sources.push(source);
            }
        }
        let mut all = sources[0];
        // The first two sources are taken at once, and what is not there yet replaced later.
        for number in 1..sources.len().max(2) {
            let next = sources.get(number).copied().unwrap_or(all);
            let place = |(lane, &(source, place)): (usize, &(Raw, usize))| match source {
                _ if number == 1 && source == sources[0] => place,
                _ if source == next => lanes + place,
                _ => lane,
            };
            let order: Vec<u64> = elements.iter().enumerate().map(|element| place(element) as u64).collect();
            all = self.emit.shuffle_two(all, next, &order);
        }
        all
    }
}
