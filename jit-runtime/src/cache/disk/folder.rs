//! A folder of the cache: who may use it, its secret, and reading and publishing files in it.
//!
//! Code from the folder is executed, so nobody else may have put it there. The folder and each file must belong to the
//! user and be writable by nobody else; a file must also have a checksum keyed by the secret, a file that only the user
//! can read. In a shared folder, both must belong to the owner of the folder, whom the user trusts by naming it.
//!
//! Files are published by a rename, so a reader finds all of a file or none. They are not flushed to the device: after
//! a loss of power the checksum tells which ones were lost.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::files::{Facts, Files};
use super::format::{self, Flaw, Kind, Parts, Secret};

/// The largest file that is read.
const MAX_FILE_BYTES: u64 = 256 << 20;

/// The name of the secret.
pub(super) const SECRET: &str = "secret";
/// Names of files that are not published yet begin so.
pub(super) const UNPUBLISHED: &str = "new-";

/// Whose folder it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    /// The user's own: read and written.
    Own { user: u32 },
    /// Somebody's, who is trusted: only read.
    Shared,
}

impl Access {
    /// What to do if such a folder cannot be used.
    fn remedy(self) -> &'static str {
        match self {
            Access::Own { .. } => "set JIT_CACHE_DIR to a folder that you can write, or JIT_CACHE=memory",
            Access::Shared => "set JIT_CACHE_SHARED_DIR to a folder that you can read, or do not set it",
        }
    }
}

/// Why a folder or file is not used: what is wrong, and what to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Refused {
    pub(super) reason: String,
    pub(super) hint: String,
}

impl Refused {
    fn new(reason: impl Into<String>, hint: impl Into<String>) -> Refused {
        Refused { reason: reason.into(), hint: hint.into() }
    }
}

pub(super) struct Folder<'f> {
    pub(super) path: PathBuf,
    pub(super) files: &'f dyn Files,
    /// Who must own the files.
    owner: u32,
    secret: Secret,
}

impl<'f> Folder<'f> {
    /// Opens a folder if it can be trusted. An own one is made if there is none.
    pub(super) fn open(path: &Path, access: Access, files: &'f dyn Files) -> Result<Folder<'f>, Refused> {
        let is_own = matches!(access, Access::Own { .. });
        if is_own {
            files.make_folder(path).map_err(|error| unusable(path, access, &error))?;
        }
        let owner = trusted_owner(path, access, files)?;
        let secret = match (read_secret(path, owner, files), is_own) {
            (Ok(secret), _) => secret,
            (Err(refused), false) => return Err(refused),
            (Err(refused), true) if files.facts(&path.join(SECRET)).is_ok_and(|facts| facts.owner != owner) => {
                return Err(refused);
            }
            (Err(_), true) => {
                make_secret(path, files).map_err(|error| unusable(path, access, &error))?;
                read_secret(path, owner, files)?
            }
        };
        Ok(Folder { path: path.to_owned(), files, owner, secret })
    }

    /// Opens a folder as it is: nothing is made.
    pub(super) fn existing(path: &Path, access: Access, files: &'f dyn Files) -> Result<Folder<'f>, Refused> {
        let owner = trusted_owner(path, access, files)?;
        Ok(Folder { path: path.to_owned(), files, owner, secret: read_secret(path, owner, files)? })
    }

    /// The bytes of a file that nobody else could have written. The facts are those of the file that was read, so it
    /// can't be exchanged in between.
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.path.join(name);
        let (bytes, facts) = self.files.read(&path, MAX_FILE_BYTES)?;
        let refused = |refused: Refused| io::Error::new(io::ErrorKind::PermissionDenied, refused.reason);
        check(&path, &facts, self.owner).map_err(refused)?;
        Ok(bytes)
    }

    /// The parts of a file of some kind, as `use_parts` takes them.
    pub(super) fn open_file<T>(
        &self,
        name: &str,
        kind: Kind,
        use_parts: impl FnOnce(Parts<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        let bytes = self.read(name)?;
        use_parts(format::decode(&bytes, kind, &self.secret).map_err(invalid)?)
    }

    /// As [`Folder::open_file`], for the file with a key.
    pub(super) fn find<T>(
        &self,
        name: &str,
        kind: Kind,
        key: &[u8],
        use_parts: impl FnOnce(Parts<'_>) -> io::Result<T>,
    ) -> io::Result<T> {
        self.open_file(name, kind, |parts| if parts.key == key { use_parts(parts) } else { Err(invalid(Flaw::Key)) })
    }

    /// Publishes a file, in place of an older one. Returns its size.
    pub(super) fn publish(&self, name: &str, kind: Kind, key: &[u8], contents: &[u8], cost_ns: u64) -> io::Result<u64> {
        let bytes = format::encode(kind, key, contents, cost_ns, &self.secret);
        publish(&self.path.join(name), &bytes, self.files)?;
        Ok(bytes.len() as u64)
    }
}

fn invalid(flaw: Flaw) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, flaw.to_string())
}

fn unusable(path: &Path, access: Access, error: &io::Error) -> Refused {
    Refused::new(format!("the folder {} cannot be used: {error}", path.display()), access.remedy())
}

/// The owner of a folder, if it can be trusted.
pub(super) fn trusted_owner(path: &Path, access: Access, files: &dyn Files) -> Result<u32, Refused> {
    let facts = files.facts(path).map_err(|error| unusable(path, access, &error))?;
    let owner = match access {
        Access::Own { user } => user,
        Access::Shared => facts.owner,
    };
    check(path, &facts, owner)?;
    Ok(owner)
}

/// Checks that a folder or file belongs to its owner, and that nobody else can write it.
fn check(path: &Path, facts: &Facts, owner: u32) -> Result<(), Refused> {
    let elsewhere = "set JIT_CACHE_DIR to a folder of your own";
    if facts.owner != owner {
        let reason = format!("{} belongs to user {}, not to user {owner}", path.display(), facts.owner);
        return Err(Refused::new(reason, elsewhere));
    }
    if facts.is_writable_by_others() {
        let reason = format!("{} can be written by other users", path.display());
        return Err(Refused::new(reason, format!("`chmod go-w {}`, or {elsewhere}", path.display())));
    }
    Ok(())
}

fn read_secret(folder: &Path, owner: u32, files: &dyn Files) -> Result<Secret, Refused> {
    let path = folder.join(SECRET);
    let unreadable = |reason: String| {
        let hint =
            "the owner of a shared folder must let its readers read this file; in a folder of your own, remove it";
        Refused::new(format!("{} cannot be used: {reason}", path.display()), hint)
    };
    let (bytes, facts) = files.read(&path, 64).map_err(|error| unreadable(error.to_string()))?;
    check(&path, &facts, owner)?;
    bytes.try_into().map_err(|_| unreadable("it does not have 32 bytes".to_owned()))
}

/// Makes a secret, if no other process has made one in the meantime. A damaged one is replaced.
fn make_secret(folder: &Path, files: &dyn Files) -> io::Result<()> {
    let (path, new) = (folder.join(SECRET), unpublished(folder));
    let random: Secret = random()?;
    files.write_new(&new, &random).inspect_err(|_| _ = files.remove(&new))?;
    if files.facts(&path).is_ok_and(|facts| facts.size != random.len() as u64) {
        let _ = files.remove(&path);
    }
    let outcome = files.link(&new, &path);
    let _ = files.remove(&new);
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Random bytes from the system.
fn random() -> io::Result<Secret> {
    use std::io::Read as _;
    let mut bytes = Secret::default();
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file under another name, and renames it.
fn publish(path: &Path, bytes: &[u8], files: &dyn Files) -> io::Result<()> {
    let new = unpublished(path.parent().unwrap_or(Path::new("")));
    let published = files.write_new(&new, bytes).and_then(|()| files.rename(&new, path));
    published.inspect_err(|_| _ = files.remove(&new))
}

/// A name that no other thread or process uses.
fn unpublished(folder: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    // Another container may have a process of the same number.
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    folder.join(format!("{UNPUBLISHED}{}-{number}-{time:x}", std::process::id()))
}
