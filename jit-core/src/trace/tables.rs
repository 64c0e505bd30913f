//! Tables: values that differ by target, concatenated in memory.
//!
//! A table holds one element for each target of a call; a joined array holds the elements of one array of each. The
//! host makes both and caches them as long as all their sources live, so that a call that is traced again finds them.

use std::cell::RefCell;
use std::hash::{Hash, Hasher};

use jit_runtime::Error;
use jit_runtime::ir::Type;
use jit_runtime::memory::Buffer;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHasher};

use super::record;
use crate::graph::device::Devices;
use crate::graph::node::Var;
use crate::graph::weak::Weak;
use crate::size::table;
use crate::thread_state::thread_state;

/// Joined arrays of more bytes than this are not made.
const MOST_BYTES: usize = 1 << 26;
/// The number of tables that a thread caches.
const KEPT: usize = 512;

/// The source of a table entry.
enum Key {
    Bits(u64),
    Node(Weak),
}

impl Key {
    fn of(var: &Var) -> Key {
        var.known_bits().map_or_else(|| Key::Node(var.downgrade()), Key::Bits)
    }

    fn is(&self, var: &Var) -> bool {
        match (self, var.known_bits()) {
            (Key::Bits(bits), Some(known)) => *bits == known,
            (Key::Node(node), None) => node.upgrade().is_some_and(|node| node.is_same(var)),
            _ => false,
        }
    }

    fn is_alive(&self) -> bool {
        match self {
            Key::Bits(_) => true,
            Key::Node(node) => node.upgrade().is_some(),
        }
    }
}

struct CachedTable {
    keys: Vec<Key>,
    table: Var,
}

thread_state! {
    static TABLES: RefCell<FxHashMap<u64, CachedTable>> = RefCell::new(FxHashMap::with_hasher(FxBuildHasher));
}

/// Returns an array of the values, each of width 1 and known or in memory, at their positions; zeros elsewhere. `None`
/// if a value cannot be read.
pub(super) fn table(ty: Type, values: &[(usize, Var)], span: usize) -> Option<Var> {
    let vars: Vec<&Var> = values.iter().map(|(_, var)| var).collect();
    let mut hasher = hasher(&vars, (ty, span));
    values.iter().for_each(|(place, _)| place.hash(&mut hasher));
    cached(hasher.finish(), &vars, || {
        let size = ty.size_bytes();
        let mut bytes = vec![0; span * size];
        for (place, var) in values {
            read(var, &mut bytes[place * size..][..size])?;
        }
        stored(ty, span, &bytes, &vars)
    })
}

/// Concatenates arrays in memory. `None` if they are too large, of several types, or cannot be read.
pub(crate) fn joined(sources: &[Var]) -> Option<Var> {
    let (ty, count) = (sources.first()?.ty(), sources.iter().map(Var::lanes).sum::<usize>());
    let size = ty.size_bytes();
    if count * size > MOST_BYTES || sources.iter().any(|source| source.ty() != ty) {
        return None;
    }
    let vars: Vec<&Var> = sources.iter().collect();
    cached(hasher(&vars, (ty, 0)).finish(), &vars, || {
        let mut bytes = vec![0; count * size];
        let mut rest = bytes.as_mut_slice();
        for var in sources {
            let (part, after) = rest.split_at_mut(var.lanes() * size);
            read(var, part)?;
            rest = after;
        }
        stored(ty, count, &bytes, &vars)
    })
}

/// Returns an array of these elements, on the device of their sources.
fn stored(ty: Type, len: usize, bytes: &[u8], sources: &[&Var]) -> Result<Var, Error> {
    let devices = Devices::of_all(sources.iter().copied());
    let _scope = devices.enter();
    let buffer = Buffer::from_bytes(bytes)?;
    Ok(if devices == Devices::NONE { record::constants(ty, len, buffer) } else { record::data(ty, len, buffer) })
}

fn hasher(vars: &[&Var], of: (Type, usize)) -> FxHasher {
    let mut hasher = FxHasher::default();
    (of.0 as u8, of.1, vars.len()).hash(&mut hasher);
    for var in vars {
        var.known_bits().unwrap_or_else(|| var.address().addr().get() as u64).hash(&mut hasher);
    }
    hasher
}

/// Returns the cached table of the same values, or a new one.
fn cached(hash: u64, vars: &[&Var], make: impl FnOnce() -> Result<Var, Error>) -> Option<Var> {
    // The host makes a table. In a recording it is always the same: it may hold constants, but no elements that change
    // in replays.
    if table::is_recording() {
        return if vars.iter().all(|var| var.literal().is_some()) { make().ok() } else { None };
    }
    let found = TABLES.with_borrow(|tables| {
        let cached = tables.get(&hash)?;
        let is_same = cached.keys.len() == vars.len() && cached.keys.iter().zip(vars).all(|(key, var)| key.is(var));
        is_same.then(|| cached.table.clone())
    });
    if found.is_some() {
        return found;
    }
    let table = make().ok()?;
    let cached = CachedTable { keys: vars.iter().map(|var| Key::of(var)).collect(), table: table.clone() };
    let dropped = TABLES.with_borrow_mut(|tables| {
        let dropped = if tables.len() >= KEPT { std::mem::take(tables) } else { FxHashMap::default() };
        let is_dead = |cached: &CachedTable| !cached.keys.iter().all(Key::is_alive);
        let dead: Vec<u64> = tables.iter().filter(|(_, cached)| is_dead(cached)).map(|(hash, _)| *hash).collect();
        let dead: Vec<Option<CachedTable>> = dead.iter().map(|hash| tables.remove(hash)).collect();
        (dropped, dead, tables.insert(hash, cached))
    });
    // Nodes are dropped after the tables are released.
    drop(dropped);
    Some(table)
}

/// Reads the elements of a value.
fn read(var: &Var, bytes: &mut [u8]) -> Result<(), Error> {
    match (var.known_bits(), var.data()) {
        (Some(bits), _) => {
            let size = var.ty().size_bytes();
            bytes.chunks_exact_mut(size).for_each(|element| element.copy_from_slice(&bits.to_le_bytes()[..size]));
            Ok(())
        }
        (None, Some(buffer)) => buffer.read(0, bytes),
        (None, None) => unreachable!("the values of a table are constants or evaluated"),
    }
}
