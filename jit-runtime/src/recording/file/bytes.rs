//! Writing and reading the parts of files: numbers, texts, lists.
//!
//! Numbers are LEB128 in their shortest form. Each text is written once, in a table in front. Reading checks
//! everything: no bytes cause a panic, or an allocation that is larger than a multiple of their number.

use rustc_hash::FxHashMap;

use crate::ir::Type;
use crate::recording::{Scalar, SizeId};
use crate::{Error, ErrorKind, Label, Site};

/// Why bytes are not what they should be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged {
    /// The position.
    pub at: usize,
    /// What is expected there.
    pub what: &'static str,
}

impl From<Damaged> for Error {
    fn from(Damaged { at, what }: Damaged) -> Error {
        Error::new(ErrorKind::Io, format!("its contents are not those of a recording: byte {at} is not {what}"))
    }
}

/// The result of reading.
pub type Read<T> = Result<T, Damaged>;

/// Collects the bytes of a file.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
    texts: Vec<String>,
    by_text: FxHashMap<String, u64>,
}

impl Writer {
    /// Returns all bytes: the table of texts, then the rest.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut all = Writer::default();
        all.number(self.texts.len() as u64);
        self.texts.iter().for_each(|text| all.blob(text.as_bytes()));
        all.bytes.extend(self.bytes);
        all.bytes
    }

    /// Appends a byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Appends a truth value.
    pub fn flag(&mut self, flag: bool) {
        self.byte(u8::from(flag));
    }

    /// Appends a number.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    /// Appends an element type.
    pub fn ty(&mut self, ty: Type) {
        self.byte(ty as u8);
    }

    /// Appends bytes, with their number.
    pub fn blob(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a text.
    pub fn text(&mut self, text: &str) {
        let next = self.texts.len() as u64;
        let number = match self.by_text.get(text) {
            Some(&number) => number,
            None => {
                self.by_text.insert(text.to_owned(), next);
                self.texts.push(text.to_owned());
                next
            }
        };
        self.number(number);
    }

    /// Appends a place in a program.
    pub fn site(&mut self, site: Site) {
        self.text(site.file());
        self.number(site.line().into());
        self.number(site.column().into());
    }

    /// Appends a list.
    pub fn list<T>(&mut self, list: impl ExactSizeIterator<Item = T>, mut each: impl FnMut(&mut Self, T)) {
        self.number(list.len() as u64);
        list.for_each(|item| each(self, item));
    }

    /// Appends a number that a replay passes on: see [`Reader::scalar`].
    pub fn scalar(&mut self, scalar: Scalar) {
        match scalar {
            Scalar::Constant(bits) => {
                self.byte(0);
                self.number(bits);
            }
            Scalar::Input(number) => {
                self.byte(1);
                self.number(number.into());
            }
            Scalar::Size(size, ty) => {
                self.byte(2);
                self.number(size.0.into());
                self.ty(ty);
            }
        }
    }

    /// Appends a value that may be missing.
    pub fn option<T>(&mut self, option: Option<T>, each: impl FnOnce(&mut Self, T)) {
        self.flag(option.is_some());
        if let Some(value) = option {
            each(self, value);
        }
    }
}

/// Reads what a [`Writer`] has written.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    texts: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    /// Reads the table of texts.
    ///
    /// # Errors
    ///
    /// Bytes that do not begin with one.
    pub fn new(bytes: &'a [u8]) -> Read<Self> {
        let mut reader = Reader { bytes, at: 0, texts: Vec::new() };
        reader.texts = reader.list(|reader| {
            let at = reader.at;
            std::str::from_utf8(reader.blob()?).map_err(|_| Damaged { at, what: "text" })
        })?;
        Ok(reader)
    }

    /// Returns the error that something else is expected here.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn fail<T>(&self, what: &'static str) -> Read<T> {
        Err(Damaged { at: self.at, what })
    }

    /// Checks a condition.
    ///
    /// # Errors
    ///
    /// If it does not hold.
    pub fn require(&self, holds: bool, what: &'static str) -> Read<()> {
        if holds { Ok(()) } else { self.fail(what) }
    }

    /// Returns whether all bytes were read.
    #[must_use]
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Checks that all bytes were read.
    ///
    /// # Errors
    ///
    /// If not.
    pub fn end(&self) -> Read<()> {
        self.require(self.is_at_end(), "the end")
    }

    /// Reads a byte.
    ///
    /// # Errors
    ///
    /// At the end.
    pub fn byte(&mut self) -> Read<u8> {
        let Some(&byte) = self.bytes.get(self.at) else { return self.fail("there: the file is cut off") };
        self.at += 1;
        Ok(byte)
    }

    /// Reads a truth value.
    ///
    /// # Errors
    ///
    /// Another byte than 0 and 1.
    pub fn flag(&mut self) -> Read<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => self.fail("0 or 1"),
        }
    }

    /// Reads a number.
    ///
    /// # Errors
    ///
    /// More than 64 bits, or a longer form than necessary.
    pub fn number(&mut self) -> Read<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if (part << shift) >> shift != part || (byte == 0 && shift > 0) {
                break;
            }
            number |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        self.fail("a number")
    }

    /// Reads a number below a bound.
    ///
    /// # Errors
    ///
    /// Another number.
    pub fn below(&mut self, bound: usize, what: &'static str) -> Read<usize> {
        let number = self.number()?;
        match usize::try_from(number) {
            Ok(number) if number < bound => Ok(number),
            _ => self.fail(what),
        }
    }

    /// Reads a 32-bit number.
    ///
    /// # Errors
    ///
    /// A larger number.
    pub fn small(&mut self) -> Read<u32> {
        let number = self.number()?;
        u32::try_from(number).or_else(|_| self.fail("a 32-bit number"))
    }

    /// Reads a number of elements.
    ///
    /// # Errors
    ///
    /// A number that the machine cannot address.
    pub fn size(&mut self) -> Read<usize> {
        let number = self.number()?;
        usize::try_from(number).or_else(|_| self.fail("a size"))
    }

    /// Reads an entry of a table, by its number.
    ///
    /// # Errors
    ///
    /// A number that the table does not have.
    pub fn one_of<T: Copy>(&mut self, table: &[T], what: &'static str) -> Read<T> {
        let number = usize::from(self.byte()?);
        table.get(number).copied().map_or_else(|| self.fail(what), Ok)
    }

    /// Reads an element type.
    ///
    /// # Errors
    ///
    /// Another byte.
    pub fn ty(&mut self) -> Read<Type> {
        self.one_of(&Type::ALL, "an element type")
    }

    /// Reads bytes.
    ///
    /// # Errors
    ///
    /// Fewer bytes than stated.
    pub fn blob(&mut self) -> Read<&'a [u8]> {
        let length = self.size()?;
        match self.bytes[self.at..].get(..length) {
            Some(blob) => {
                self.at += length;
                Ok(blob)
            }
            None => self.fail("there: the file is cut off"),
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    ///
    /// A text that is not in the table.
    pub fn text(&mut self) -> Read<&'a str> {
        let number = self.below(self.texts.len(), "the number of a text")?;
        Ok(self.texts[number])
    }

    /// Reads the name of a kernel.
    ///
    /// # Errors
    ///
    /// As [`Reader::text`].
    pub fn label(&mut self) -> Read<Label> {
        self.text().map(Label::new)
    }

    /// Reads a place in a program.
    ///
    /// # Errors
    ///
    /// As its parts.
    pub fn site(&mut self) -> Read<Site> {
        Ok(Site::new(self.text()?, self.small()?, self.small()?))
    }

    /// Reads a list. Each item takes at least a byte.
    ///
    /// # Errors
    ///
    /// As its items; a length for which there are too few bytes.
    pub fn list<T>(&mut self, mut each: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let length = self.size()?;
        self.require(length <= self.bytes.len() - self.at, "the length of a list")?;
        (0..length).map(|_| each(self)).collect()
    }

    /// Reads the number of a size, of so many.
    ///
    /// # Errors
    ///
    /// A larger number.
    pub fn size_id(&mut self, sizes: usize) -> Read<SizeId> {
        self.below(sizes, "the number of a size").map(|number| SizeId(number as u16))
    }

    /// Reads what [`Writer::scalar`] has written, in a recording with so many scalar inputs and sizes.
    ///
    /// # Errors
    ///
    /// Other bytes.
    pub fn scalar(&mut self, inputs: usize, sizes: usize) -> Read<Scalar> {
        Ok(match self.byte()? {
            0 => Scalar::Constant(self.number()?),
            1 => Scalar::Input(self.below(inputs, "the number of a scalar")? as u32),
            2 => Scalar::Size(self.size_id(sizes)?, self.ty()?),
            _ => return self.fail("the kind of a scalar"),
        })
    }

    /// Reads a value that may be missing.
    ///
    /// # Errors
    ///
    /// As the value.
    pub fn option<T>(&mut self, each: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.flag()? { each(self).map(Some) } else { Ok(None) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_reads_back_and_nothing_else_does() {
        let mut writer = Writer::default();
        for number in [0, 127, 128, u64::MAX] {
            writer.number(number);
        }
        writer.text("é");
        writer.text("é");
        writer.option(Some(7), |writer, number| writer.byte(number));
        writer.blob(&[1, 2]);
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes).unwrap();
        assert_eq!([0; 4].map(|_: i32| reader.number().unwrap()), [0, 127, 128, u64::MAX]);
        assert_eq!((reader.text(), reader.text()), (Ok("é"), Ok("é")));
        assert_eq!(reader.option(Reader::byte), Ok(Some(7)));
        assert_eq!((reader.blob(), reader.end()), (Ok(&[1, 2][..]), Ok(())));
        assert!(reader.byte().is_err());
        let read = |bytes: &[u8]| Reader::new(bytes).and_then(|mut reader| reader.number());
        assert_eq!(read(&[0, 5]), Ok(5));
        assert!(read(&[0, 0x85, 0]).is_err(), "a longer form");
        assert!(read(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).is_err(), "65 bits");
        assert!(Reader::new(&[0xff, 0xff, 0xff, 0xff, 0x0f]).is_err(), "a list without items");
    }
}
