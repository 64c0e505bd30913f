//! Instances of a trait, by number.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{MappedRwLockReadGuard, MappedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::ptr::Ptr;
use crate::array::{Array, UInt};
use crate::size::Size;
use crate::traverse::{HostValue, Traverse, Visitor, VisitorMut};
use jit_runtime::ir::Type;

/// Values that implement a trait. Each has a number, the *id*, by which lanes refer to it.
///
/// Ids count from 1; 0 is null and refers to no instance. A new instance gets the lowest free id. Calls through a
/// [`Ptr`] see the instances that exist when the call is traced. The id of a removed instance refers to no instance
/// until it is reused. Pointers keep the instances alive.
///
/// ```
/// # use jit_core as jit;
/// use jit::prelude::*;
///
/// let mut words: Instances<str> = Instances::from_iter(["one".into(), "two".into()]);
/// assert_eq!(words.push("three".into()), 3);
/// words.remove(2);
/// assert_eq!(words.ids(), [1, 3]);
/// assert_eq!(words.push("four".into()), 2);
/// assert_eq!(&*words.get(2).unwrap(), "four");
/// ```
pub struct Instances<T: ?Sized> {
    shared: Arc<Shared<T>>,
}

/// The state that instances and the pointers to them share.
pub(super) struct Shared<T: ?Sized> {
    /// Distinguishes sets of instances.
    pub(super) serial: u64,
    slots: RwLock<Vec<Option<Slot<T>>>>,
}

/// The slot of an instance.
pub(super) struct Slot<T: ?Sized> {
    /// Distinguishes the instances that have had an id, whatever their types.
    serial: u64,
    instance: Box<T>,
}

impl<T: ?Sized> Slot<T> {
    fn new(instance: Box<T>) -> Self {
        Slot { serial: next_serial(), instance }
    }
}

fn next_serial() -> u64 {
    static SERIAL: AtomicU64 = AtomicU64::new(1);
    SERIAL.fetch_add(1, Ordering::Relaxed)
}

/// All instances, locked against changes.
pub(super) type Slots<'a, T> = RwLockReadGuard<'a, Vec<Option<Slot<T>>>>;

impl<T: ?Sized> Shared<T> {
    /// Returns the instances, also while a caller further out reads them.
    pub(super) fn slots(&self) -> Slots<'_, T> {
        self.slots.read_recursive()
    }
}

impl<T: Traverse + ?Sized> Shared<T> {
    /// Shows the instances and their contents to a visitor that requests them, once.
    pub(super) fn show(&self, visitor: &mut Visitor<'_>) {
        visitor.instances(self.serial, |visitor| {
            let slots = self.slots();
            visitor.host(HostValue::Shape(slots.len()));
            for (index, slot) in slots.iter().enumerate() {
                visitor.host(HostValue::Number(Type::U64, slot.as_ref().map_or(0, |slot| slot.serial)));
                let instance = slot.iter().map(|slot| &*slot.instance);
                instance.for_each(|instance| visitor.element(format_args!("{}", index + 1), instance));
            }
        });
    }
}

/// Returns the slot of an id.
fn position(id: u32) -> usize {
    (id as usize).wrapping_sub(1)
}

/// Returns the ids of existing instances, ascending.
pub(super) fn alive<T: ?Sized>(slots: &[Option<Slot<T>>]) -> impl Iterator<Item = u32> {
    slots.iter().zip(1..).filter_map(|(instance, id)| instance.as_ref().map(|_| id))
}

/// Returns the instance of an id.
pub(super) fn instance<T: ?Sized>(slots: &[Option<Slot<T>>], id: u32) -> Option<&T> {
    slots.get(position(id))?.as_ref().map(|slot| &*slot.instance)
}

impl<T: ?Sized> Instances<T> {
    /// Creates an empty set of instances.
    #[must_use]
    pub fn new() -> Self {
        Instances { shared: Arc::new(Shared { serial: next_serial(), slots: RwLock::new(Vec::new()) }) }
    }

    /// Adds an instance; returns its id, the lowest that is free.
    pub fn push(&mut self, instance: Box<T>) -> u32 {
        let mut slots = self.shared.slots.write();
        let free = slots.iter().position(Option::is_none).unwrap_or(slots.len());
        if free == slots.len() {
            slots.push(None);
        }
        slots[free] = Some(Slot::new(instance));
        free as u32 + 1
    }

    /// Removes an instance. Its id then refers to no instance until a [`push`](Self::push) reuses it.
    pub fn remove(&mut self, id: u32) -> Option<Box<T>> {
        let mut slots = self.shared.slots.write();
        let removed = slots.get_mut(position(id))?.take();
        while slots.last().is_some_and(Option::is_none) {
            slots.pop();
        }
        removed.map(|slot| slot.instance)
    }

    /// Returns the instance of an id. While the result is held, no instance can be changed.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<InstanceRef<'_, T>> {
        RwLockReadGuard::try_map(self.shared.slots(), |slots| instance(slots, id)).ok().map(InstanceRef)
    }

    /// Returns the instance of an id mutably. Calls that are traced afterwards see the change; values that were
    /// recorded before do not. While the result is held, no call can be traced.
    pub fn get_mut(&mut self, id: u32) -> Option<InstanceMut<'_, T>> {
        let slots = self.shared.slots.write();
        RwLockWriteGuard::try_map(slots, |slots| slots.get_mut(position(id))?.as_mut().map(|slot| &mut *slot.instance))
            .ok()
            .map(InstanceMut)
    }

    /// Returns the number of instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.slots().iter().flatten().count()
    }

    /// Returns whether there is no instance.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the ids of all instances, ascending.
    #[must_use]
    pub fn ids(&self) -> Vec<u32> {
        alive(&self.shared.slots()).collect()
    }

    /// Returns all instances with their ids, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (u32, InstanceRef<'_, T>)> {
        self.ids().into_iter().filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Creates a pointer in each lane to the instance of an id. Ids without an instance act as null.
    #[must_use]
    pub fn at(&self, ids: &UInt) -> Ptr<T> {
        Ptr::new(Arc::clone(&self.shared), ids.clone())
    }

    /// Creates null pointers.
    #[must_use]
    #[track_caller]
    pub fn null(&self, width: impl Into<Size>) -> Ptr<T> {
        Ptr::new(Arc::clone(&self.shared), Array::zeros(width))
    }
}

impl<T: ?Sized> Default for Instances<T> {
    fn default() -> Self {
        Instances::new()
    }
}

impl<T: ?Sized> FromIterator<Box<T>> for Instances<T> {
    fn from_iter<I: IntoIterator<Item = Box<T>>>(instances: I) -> Self {
        let made = Instances::new();
        made.shared.slots.write().extend(instances.into_iter().map(|instance| Some(Slot::new(instance))));
        made
    }
}

impl<T: ?Sized> Extend<Box<T>> for Instances<T> {
    fn extend<I: IntoIterator<Item = Box<T>>>(&mut self, instances: I) {
        instances.into_iter().for_each(|instance| {
            self.push(instance);
        });
    }
}

/// The arrays of all instances.
impl<T: Traverse + ?Sized> Traverse for Instances<T> {
    fn traverse(&self, visitor: &mut Visitor<'_>) {
        let slots = self.shared.slots();
        visitor.host(HostValue::Shape(slots.len()));
        for (index, slot) in slots.iter().enumerate() {
            visitor.host(HostValue::Shape(usize::from(slot.is_some())));
            slot.iter().for_each(|slot| visitor.index(index, &*slot.instance));
        }
    }

    fn traverse_mut(&mut self, visitor: &mut VisitorMut<'_>) {
        let mut slots = self.shared.slots.write();
        for (index, slot) in slots.iter_mut().enumerate() {
            slot.iter_mut().for_each(|slot| visitor.index(index, &mut *slot.instance));
        }
    }
}

impl<T: ?Sized> fmt::Debug for Instances<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} instances of {}", self.len(), std::any::type_name::<T>())
    }
}

/// An instance that is visited.
pub struct InstanceRef<'a, T: ?Sized>(MappedRwLockReadGuard<'a, T>);

impl<T: ?Sized> Deref for InstanceRef<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for InstanceRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// An instance that is changed.
pub struct InstanceMut<'a, T: ?Sized>(MappedRwLockWriteGuard<'a, T>);

impl<T: ?Sized> Deref for InstanceMut<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: ?Sized> DerefMut for InstanceMut<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for InstanceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
