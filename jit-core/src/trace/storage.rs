//! Elements in memory, as nodes hold them.

/// A block of bytes.
pub struct Buffer {
    bytes: Box<[u8]>,
}

impl Buffer {
    /// Its size.
    pub(crate) fn size_bytes(&self) -> usize {
        self.bytes.len()
    }
}
