//! What the file of a kernel contains beside its key: facts about the compilation, and the object file.
//!
//! | bytes | |
//! |---|---|
//! | 4 | the number of operations that were compiled |
//! | 2 | the bytes of the label |
//! | … | the label of the first launch, for people; it is no part of the key |
//! | … | the object file |

/// The contents of the file of a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Contents<'a> {
    pub(super) compiled_ops: usize,
    pub(super) label: &'a str,
    pub(super) object: &'a [u8],
}

impl<'a> Contents<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        // Longer names are cut, between characters.
        let label = &self.label[..self.label.floor_char_boundary(usize::from(u16::MAX))];
        let mut bytes = Vec::with_capacity(6 + label.len() + self.object.len());
        bytes.extend_from_slice(&(self.compiled_ops as u32).to_le_bytes());
        bytes.extend_from_slice(&(label.len() as u16).to_le_bytes());
        bytes.extend_from_slice(label.as_bytes());
        bytes.extend_from_slice(self.object);
        bytes
    }

    pub(super) fn decode(bytes: &'a [u8]) -> Option<Contents<'a>> {
        let (ops, rest) = bytes.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (label, object) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        let label = std::str::from_utf8(label).ok()?;
        Some(Contents { compiled_ops: u32::from_le_bytes(*ops) as usize, label, object })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_read_back_and_long_labels_are_cut_between_characters() {
        let contents = Contents { compiled_ops: 7, label: "steps", object: b"\x7fELF" };
        assert_eq!(Contents::decode(&contents.encode()), Some(contents));
        let label = "é".repeat(40_000);
        let bytes = Contents { label: &label, ..contents }.encode();
        let cut = Contents::decode(&bytes).unwrap();
        assert_eq!((cut.label.len(), cut.object), (65_534, contents.object));
        assert_eq!(Contents::decode(&bytes[..1000]), None);
        assert_eq!(Contents::decode(&[1, 0, 0, 0, 1, 0, 0xff]), None, "not a text");
    }
}
