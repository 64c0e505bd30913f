//! The form of the files: a header, a key in clear text, contents, and a keyed checksum of all of it.
//!
//! | bytes | |
//! |---|---|
//! | 0..8 | `JITCACHE` |
//! | 8..12 | the version of the form |
//! | 12..16 | the [`Kind`] |
//! | 16..24 | nanoseconds that making the contents took: what losing the file costs |
//! | 24..28, 28..32 | the bytes of key and contents |
//! | 32..40 | how often the file was used: changed in place, so not covered by the checksum |
//! | 40..72 | BLAKE3 of everything else, keyed with the secret of the folder |
//!
//! The number of uses decides what is reported and evicted, and nothing else, so a wrong one does no harm.
//!
//! Machine code from a file is executed, so this is a boundary of trust: nothing but the header is parsed before the
//! checksum is right, and only who can read the secret can make one. Numbers are little-endian.

use std::fmt;

const MAGIC: &[u8; 8] = b"JITCACHE";
/// Changes with the form.
const VERSION: u32 = 2;
/// The bytes of the header with the checksum.
pub(super) const HEADER_BYTES: usize = 72;
const CHECKED_HEADER_BYTES: usize = 32;
/// Where the number of uses begins.
pub(super) const USES_AT: usize = CHECKED_HEADER_BYTES;
const CHECKSUM_AT: usize = USES_AT + 8;

/// The secret of a folder.
pub(super) type Secret = [u8; 32];

/// What a file contains.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// The machine code of a kernel.
    Kernel = 1,
    /// Which literals of a program are parameters.
    Literals = 2,
    /// Which LLVM was found where.
    Library = 3,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Kernel, Kind::Literals, Kind::Library];
}

/// Why a file is not used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Flaw {
    Header,
    Version(u32),
    Length,
    Checksum,
    Key,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Header => f.write_str("it is not a file of this cache"),
            Flaw::Version(version) => write!(f, "its form has version {version}, not {VERSION}"),
            Flaw::Length => f.write_str("it has another length than it states"),
            Flaw::Checksum => f.write_str("its checksum is wrong: it is damaged, or was made by someone else"),
            Flaw::Key => f.write_str("its key is another one"),
        }
    }
}

/// The bytes of a file.
pub(super) fn encode(kind: Kind, key: &[u8], contents: &[u8], cost_ns: u64, secret: &Secret) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + key.len() + contents.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&(kind as u32).to_le_bytes());
    bytes.extend_from_slice(&cost_ns.to_le_bytes());
    bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(contents.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&[0; HEADER_BYTES - CHECKED_HEADER_BYTES]);
    bytes.extend_from_slice(key);
    bytes.extend_from_slice(contents);
    let checksum = checksum(&bytes, secret);
    bytes[CHECKSUM_AT..HEADER_BYTES].copy_from_slice(checksum.as_bytes());
    bytes
}

fn checksum(bytes: &[u8], secret: &Secret) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_keyed(secret);
    hasher.update(&bytes[..CHECKED_HEADER_BYTES]).update(&bytes[HEADER_BYTES..]);
    hasher.finalize()
}

/// The parts of a file whose checksum is right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Parts<'a> {
    pub(super) cost_ns: u64,
    pub(super) uses: u64,
    pub(super) key: &'a [u8],
    pub(super) contents: &'a [u8],
}

/// Checks a file, and finds its parts.
pub(super) fn decode<'a>(bytes: &'a [u8], kind: Kind, secret: &Secret) -> Result<Parts<'a>, Flaw> {
    let word = |at: usize| bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map(u32::from_le_bytes);
    if bytes.len() < HEADER_BYTES || bytes[..8] != *MAGIC || word(12) != Some(kind as u32) {
        return Err(Flaw::Header);
    }
    match word(8) {
        Some(VERSION) => {}
        other => return Err(Flaw::Version(other.unwrap_or_default())),
    }
    let (key_bytes, content_bytes) = (word(24).unwrap_or_default() as usize, word(28).unwrap_or_default() as usize);
    if bytes.len() - HEADER_BYTES != key_bytes + content_bytes {
        return Err(Flaw::Length);
    }
    // The comparison takes the same time wherever the difference is.
    let stored: [u8; 32] = bytes[CHECKSUM_AT..HEADER_BYTES].try_into().map_err(|_| Flaw::Header)?;
    if checksum(bytes, secret) != blake3::Hash::from_bytes(stored) {
        return Err(Flaw::Checksum);
    }
    let (key, contents) = bytes[HEADER_BYTES..].split_at(key_bytes);
    let (cost_ns, uses) = (stated_cost(bytes).unwrap_or_default(), stated_uses(bytes).unwrap_or_default());
    Ok(Parts { cost_ns, uses, key, contents })
}

/// The cost in the header of a file that is not checked: enough to decide what to evict.
pub(super) fn stated_cost(header: &[u8]) -> Option<u64> {
    header.get(16..24)?.try_into().ok().map(u64::from_le_bytes)
}

/// How often a file was used, by its header.
pub(super) fn stated_uses(header: &[u8]) -> Option<u64> {
    header.get(USES_AT..CHECKSUM_AT)?.try_into().ok().map(u64::from_le_bytes)
}

/// The kind in the header of a file that is not checked.
pub(super) fn stated_kind(header: &[u8]) -> Option<Kind> {
    let is_ours = header.get(..8)? == MAGIC;
    let number = header.get(12..16)?.try_into().ok().map(u32::from_le_bytes)?;
    Kind::ALL.into_iter().find(|kind| is_ours && *kind as u32 == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: Secret = [7; 32];

    fn file() -> Vec<u8> {
        encode(Kind::Kernel, b"the key", b"the contents", 1234, &SECRET)
    }

    #[test]
    fn a_file_reads_back() {
        let parts = Parts { cost_ns: 1234, uses: 0, key: b"the key", contents: b"the contents" };
        assert_eq!(decode(&file(), Kind::Kernel, &SECRET), Ok(parts));
    }

    #[test]
    fn every_flipped_bit_and_every_truncation_is_noticed() {
        let bytes = file();
        let uses = USES_AT * 8..CHECKSUM_AT * 8;
        for bit in (0..bytes.len() * 8).filter(|bit| !uses.contains(bit)) {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&flipped, Kind::Kernel, &SECRET).is_err(), "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert!(decode(&bytes[..length], Kind::Kernel, &SECRET).is_err(), "{length} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(decode(&longer, Kind::Kernel, &SECRET), Err(Flaw::Length));
    }

    #[test]
    fn the_number_of_uses_changes_nothing_else() {
        let mut bytes = file();
        bytes[USES_AT] = 7;
        let parts = decode(&bytes, Kind::Kernel, &SECRET).unwrap();
        assert_eq!((parts.uses, parts.cost_ns, parts.contents), (7, 1234, &b"the contents"[..]));
        assert_eq!((stated_uses(&bytes), stated_kind(&bytes)), (Some(7), Some(Kind::Kernel)));
        bytes[0] ^= 1;
        assert_eq!(stated_kind(&bytes), None);
    }

    #[test]
    fn who_does_not_know_the_secret_cannot_make_a_file() {
        let planted = encode(Kind::Kernel, b"the key", b"other code", 1234, &[8; 32]);
        assert_eq!(decode(&planted, Kind::Kernel, &SECRET), Err(Flaw::Checksum));
        assert_eq!(decode(&file(), Kind::Literals, &SECRET), Err(Flaw::Header), "a file of another kind");
    }
}
