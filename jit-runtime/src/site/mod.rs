//! Where things come from: [`Site`], a place in a program, and [`Label`], the name of a kernel.
//!
//! Launches, recordings and errors carry both, so they are small and copying them is free. Those of this program are
//! pointers into it. A recording may also come from a file that another process wrote: its places and names are stored
//! in a table, each once, for as long as the program runs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Once;

use rustc_hash::{FxBuildHasher, FxHashSet};

use crate::fork::{self, Handlers, Held};
use crate::sync::{Mutex, MutexGuard, persist};

mod entered;

pub use entered::{Entered, PASSED_BY_NAME};

/// A place in a program: a file, a line and a column. It is written as `src/main.rs:3:14`.
///
/// ```
/// let site = jit_runtime::Site::here();
/// assert_eq!(site.to_string(), format!("{}:{}:{}", site.file(), site.line(), site.column()));
/// ```
///
/// Sites are equal if their files, lines and columns are.
#[derive(Clone, Copy)]
pub struct Site(
    /// A `Location`, or with [`IN_TABLE`] a `Place`. Either lives as long as the program.
    NonNull<()>,
);

// SAFETY: it points to data that never changes.
unsafe impl Send for Site {}
// SAFETY: as above.
unsafe impl Sync for Site {}

/// Marks the address of a place in the table.
const IN_TABLE: usize = 1;

const _: () = assert!(align_of::<Location<'static>>() > IN_TABLE && align_of::<Place>() > IN_TABLE);

/// The contents of a [`Site`]. The file is the last part, so that it is seldom compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    line: u32,
    column: u32,
    file: &'static str,
}

impl Site {
    /// The place of the caller, like [`Location::caller`].
    #[must_use]
    #[track_caller]
    #[inline]
    pub const fn here() -> Site {
        Site(NonNull::from_ref(Location::caller()).cast())
    }

    /// A place that is not in the code of this program. It is stored once, however often it is asked for, and never
    /// freed.
    #[must_use]
    pub fn new(file: &str, line: u32, column: u32) -> Site {
        let mut table = table();
        let place = Place { line, column, file: table.text(file) };
        Site(NonNull::from_ref(table.place(place)).cast().map_addr(|address| address | IN_TABLE))
    }

    /// The path of the source file, as the compiler was given it.
    #[must_use]
    pub fn file(self) -> &'static str {
        self.place().file
    }

    /// The line, from 1.
    #[must_use]
    pub fn line(self) -> u32 {
        self.place().line
    }

    /// The column, from 1.
    #[must_use]
    pub fn column(self) -> u32 {
        self.place().column
    }

    /// A number by which it can be found in a table. Places with one number are equal; equal ones may have several.
    #[doc(hidden)]
    #[must_use]
    #[inline]
    pub fn id(self) -> usize {
        self.0.as_ptr().addr()
    }

    #[inline]
    fn place(self) -> Place {
        let pointer = self.0.as_ptr();
        if pointer.addr() & IN_TABLE != 0 {
            // SAFETY: with the mark it is the address of a place in the table, which is never freed.
            return unsafe { *pointer.map_addr(|address| address & !IN_TABLE).cast::<Place>() };
        }
        // SAFETY: without the mark it is the address of a static location.
        let location = unsafe { *pointer.cast::<Location<'static>>() };
        Place { line: location.line(), column: location.column(), file: location.file() }
    }
}

impl From<&'static Location<'static>> for Site {
    #[inline]
    fn from(location: &'static Location<'static>) -> Site {
        Site(NonNull::from_ref(location).cast())
    }
}

impl PartialEq for Site {
    #[inline]
    fn eq(&self, other: &Site) -> bool {
        // The compiler may make several locations for one place.
        self.0 == other.0 || self.place() == other.place()
    }
}

impl Eq for Site {}

impl Hash for Site {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.place().hash(state);
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column, file } = self.place();
        write!(f, "{file}:{line}:{column}")
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The name of a kernel or of what it calls, for messages and statistics.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Label(&'static str);

impl Label {
    /// A text that is not part of this program. It is stored once, however often it is asked for, and never freed.
    #[must_use]
    pub fn new(text: &str) -> Label {
        Label(table().text(text))
    }

    /// The text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl From<&'static str> for Label {
    #[inline]
    fn from(text: &'static str) -> Label {
        Label(text)
    }
}

impl PartialEq<&str> for Label {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

/// Texts and places that are not part of this program.
struct Table {
    texts: FxHashSet<&'static str>,
    places: FxHashSet<&'static Place>,
}

static TABLE: Mutex<Table> =
    Mutex::new(Table { texts: FxHashSet::with_hasher(FxBuildHasher), places: FxHashSet::with_hasher(FxBuildHasher) });

fn table() -> MutexGuard<'static, Table> {
    static WATCHED: Once = Once::new();
    WATCHED.call_once(|| fork::register(Handlers { hold, reset: || {} }));
    TABLE.lock()
}

/// Takes the lock, for a fork.
fn hold(held: &mut Vec<Held>) {
    held.extend(persist(|| TABLE.try_lock()).map(|guard| Box::new(guard) as Held));
}

impl Table {
    fn text(&mut self, text: &str) -> &'static str {
        self.texts.get(text).copied().unwrap_or_else(|| {
            let text: &'static str = Box::leak(text.into());
            self.texts.insert(text);
            text
        })
    }

    fn place(&mut self, place: Place) -> &'static Place {
        self.places.get(&place).copied().unwrap_or_else(|| {
            let place: &'static Place = Box::leak(Box::new(place));
            self.places.insert(place);
            place
        })
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn a_site_of_code_is_where_its_caller_is() {
        let (site, location) = (Site::here(), Location::caller());
        assert_eq!((site.file(), site.line()), (file!(), line!() - 1));
        assert_eq!((location.file(), location.line()), (site.file(), site.line()));
        assert_eq!(Site::from(location).column(), location.column());
        assert_eq!(Site::from(location).to_string(), location.to_string());
        assert_ne!(site, Site::from(location), "another column");
    }

    #[test]
    fn a_site_from_a_file_equals_the_same_place_in_code() {
        let here = Site::here();
        let read = Site::new(here.file(), here.line(), here.column());
        assert_ne!(here.0, read.0, "one is a location, the other is in the table");
        assert_eq!((here, here.to_string()), (read, read.to_string()));
        assert_eq!(FxBuildHasher.hash_one(here), FxBuildHasher.hash_one(read));
        for other in [
            Site::new(here.file(), here.line() + 1, here.column()),
            Site::new(here.file(), here.line(), here.column() + 1),
            Site::new("another.rs", here.line(), here.column()),
        ] {
            assert_ne!(here, other);
            assert_ne!(read, other);
        }
    }

    #[test]
    fn places_and_texts_are_stored_once() {
        /// No other test names it.
        const FILE: &str = "a/file/of/another/process.rs";
        let stored = || {
            let table = table();
            let places = table.places.iter().filter(|place| place.file == FILE);
            (places.count(), table.texts.iter().filter(|text| text.ends_with(FILE)).count())
        };
        let sites: Vec<Site> = (0..60).map(|n| Site::new(FILE, 1 + n % 2, 1 + n % 3)).collect();
        assert_eq!(stored(), (6, 1));
        assert_eq!(sites[0].0, sites[6].0);
        assert_eq!((sites[5].file(), sites[5].line(), sites[5].column()), (FILE, 2, 3));
        let text = format!("the label of {FILE}");
        assert_eq!(Label::new(&text).as_str().as_ptr(), Label::new(&text.clone()).as_str().as_ptr());
        assert_eq!(stored(), (6, 2));
    }

    #[test]
    fn labels_are_compared_by_text() {
        let (of_code, read) = (Label::from("a label"), Label::new("a label"));
        assert_ne!(of_code.as_str().as_ptr(), read.as_str().as_ptr());
        assert_eq!(of_code, read);
        assert!(read == "a label" && read != Label::from("another"));
        assert_eq!(format!("{read} {read:?}"), "a label \"a label\"");
    }

    #[test]
    fn sites_are_one_word() {
        assert_eq!(size_of::<Option<Site>>(), size_of::<usize>());
    }
}
