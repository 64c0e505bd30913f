//! A frozen function: its recordings, their keys, and its counters.

use std::any::TypeId;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Once, OnceLock};

use jit_runtime::cache::{self, CachePolicy, LevelStats, PolicyScope};
use jit_runtime::fork::Held;
use jit_runtime::log::{self, Level};
use jit_runtime::recording::{Guard, Recording, Scalar};
use jit_runtime::stats::events::Recorded;
use jit_runtime::{config, ir::Type};
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;

use super::argument::Arguments;
use super::derivative::Derivatives;
use super::flows::Flows;
use super::layout::{ArgumentSummary, Form, Layout};
use super::mismatch::Summary;
use super::saved::{ErasedTemplates, Loaded};
use super::shared::SharedLeaf;
use super::{Cause, Explanation, Retrace, Stats, explain};
use crate::capture::host_call;
use crate::capture::launches::Purpose;
use crate::fork;
use crate::graph::node::Var;
use jit_runtime::Site;
use jit_runtime::recording::SizeId;

/// The options of `#[freeze(…)]`.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The largest number of recordings that are retained, if limited; the least recently used ones are dropped first.
    pub limit: Option<usize>,
    /// The number of recordings after which a warning is printed.
    pub warn_after: usize,
    /// Whether constants among the arguments that change become inputs of each replay.
    pub auto_opaque: bool,
    /// Whether calls are recorded and replayed at all.
    pub enabled: bool,
    /// The number of recordings that are allowed: one more is an error.
    pub budget: Option<usize>,
}

impl Options {
    /// The defaults.
    pub const DEFAULT: Options =
        Options { limit: None, warn_after: 10, auto_opaque: true, enabled: true, budget: None };
}

/// The recordings of a function, for all its instantiations.
pub struct Function {
    pub(super) name: &'static str,
    pub(super) parameters: &'static [&'static str],
    pub(super) site: Site,
    pub(super) options: Options,
    /// How kernels are found.
    pub(super) policy: CachePolicy,
    /// It is a traced module: its body runs once for each key, and what cannot be replayed is an error.
    is_module: bool,
    /// What its calls are recorded for.
    purpose: Purpose,
    is_enabled: AtomicBool,
    is_listed: AtomicBool,
    pub(super) table: LazyLock<Mutex<Table>>,
    /// Held by the recording thread.
    pub(super) recording: Mutex<()>,
    replays: AtomicU64,
    direct: AtomicU64,
    pub(super) clock: AtomicU64,
    /// Recordings from files that no call has looked for yet, and whether there are any.
    pub(super) loaded: Mutex<Vec<Loaded>>,
    pub(super) has_loaded: AtomicBool,
    derivatives: OnceLock<Arc<Derivatives>>,
}

/// The functions that [`functions`] returns.
static LISTED: Mutex<Vec<&'static Function>> = Mutex::new(Vec::new());

/// Returns the `#[freeze]` functions that were called so far, in the order of their first calls.
///
/// This gives access to the counters of functions without `f::stats()`: methods in implementations of traits, and
/// methods without a visibility.
///
/// ```
/// # use jit_core as jit;
/// for function in jit::freeze::functions() {
///     let stats = function.stats();
///     let (name, site) = (function.name(), function.site());
///     println!("{name} ({site}): {} recordings, {} replays", stats.recordings, stats.replays);
/// }
/// ```
#[must_use]
pub fn functions() -> Vec<&'static Function> {
    LISTED.lock().clone()
}

/// The recordings of all functions, as a level of the cache.
fn level() -> LevelStats {
    let mut level = LevelStats::default();
    level.max_entries = usize::MAX;
    for stats in functions().into_iter().map(Function::stats) {
        level.entries += stats.cached as usize;
        level.hits += stats.replays;
        level.misses += stats.recordings;
        level.evictions += stats.evictions;
    }
    level
}

/// Calls whose arguments match except for sizes and constants.
pub(super) struct Group {
    of: TypeId,
    words: Box<[u64]>,
    /// For each constant among the arguments, whether it has changed and is now an input of each replay.
    pub(super) lifted: Vec<bool>,
    /// The constants of the last recording.
    last: Vec<u64>,
    entries: Vec<Arc<Entry>>,
}

/// A recording, and how results are made from its outputs.
pub(super) struct Entry {
    /// The values of the constants that are part of the recording.
    pub(super) literals: Vec<u64>,
    /// The plain numbers that decisions depended on.
    pub(super) numbers: Vec<Option<u64>>,
    pub(super) lifted: Vec<bool>,
    /// For each input, the first one whose width the recording takes to be the same, under a guard.
    pub(super) widths: Vec<u32>,
    pub(super) call_plan: CallPlan,
    /// Templates of the arguments and the result.
    pub(super) templates: ErasedTemplates,
    /// The leaves of the arguments, for files; none of executors, which have them themselves.
    pub(super) summary: Vec<Summary>,
    pub(super) used: AtomicU64,
}

/// What calls do that match a recording.
pub(super) enum CallPlan {
    Replay(Box<Plan>),
    /// The plan belongs to an executor, which holds it itself.
    Elsewhere,
    /// Run the body, because it cannot be replayed, for this reason.
    Run(String),
}

/// A plan for replays.
pub(super) struct Plan {
    pub(super) recording: Recording,
    /// The final arrays of the arguments that the body may have changed, and those of the result.
    pub(super) values: Vec<Value>,
    /// The sizes in the arguments that the body may have changed, and those in the result.
    pub(super) sizes: Vec<SizeId>,
    /// Which of them are lengths of axes; unknown of files of version 1.
    pub(super) are_lengths: Option<Vec<bool>>,
    /// Arguments differ from their initial state in arrays alone.
    pub(super) is_unchanged: bool,
    /// The shared leaves of arguments that the body may change, if other host values in them change, too. A call with
    /// other shared leaves is recorded anew.
    pub(super) shared: Vec<SharedLeaf>,
    /// For each input in memory, whether its memory may be overwritten if it has no other owner.
    pub(super) may_donate: Vec<bool>,
    /// Arrays that are the same in each replay.
    pub(super) kept: Vec<Var>,
    /// How gradients flow through calls, if they do.
    pub(super) flows: Option<Arc<Flows>>,
    /// Whether it came from a file, so that its parts need not belong together.
    pub(super) is_loaded: bool,
}

/// An array that a replay returns.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// One of the inputs, unchanged.
    Input(u32),
    /// The value of an input to which gradients flow, without them.
    Detached(u32),
    /// An output of the recording; its position, type and width.
    Output(u32, Type, SizeId),
    /// The same value in all lanes.
    Known(Scalar, Type, SizeId, /* is_literal */ bool),
    /// An array that the host filled while the body was recorded: its position among those.
    Retained(u32),
}

#[derive(Default)]
pub(super) struct Table {
    groups: Vec<Group>,
    /// Positions of groups by a hash of their keys.
    by_hash: FxHashMap<u64, SmallVec<[u32; 1]>>,
    /// The arguments of the last recording.
    pub(super) last: Vec<ArgumentSummary>,
    /// The constants among them, and the instantiation that they belong to.
    last_literals: (Option<TypeId>, Vec<u64>),
    pub(super) retraces: Vec<Retrace>,
    recordings: u64,
    evictions: u64,
    has_warned: bool,
}

/// The number of retraces that are remembered.
const MAX_RETRACES: usize = 256;

impl Function {
    /// Creates a function without recordings.
    #[must_use]
    #[track_caller]
    pub const fn new(name: &'static str, parameters: &'static [&'static str], options: Options) -> Function {
        Function::at(Site::here(), name, parameters, options)
    }

    pub(super) const fn at(
        site: Site,
        name: &'static str,
        parameters: &'static [&'static str],
        options: Options,
    ) -> Function {
        Function {
            name,
            parameters,
            site,
            is_enabled: AtomicBool::new(options.enabled),
            is_listed: AtomicBool::new(false),
            options,
            policy: CachePolicy::ReadWrite,
            is_module: false,
            purpose: Purpose::Freeze,
            table: LazyLock::new(Mutex::default),
            recording: Mutex::new(()),
            replays: AtomicU64::new(0),
            direct: AtomicU64::new(0),
            clock: AtomicU64::new(0),
            loaded: Mutex::new(Vec::new()),
            has_loaded: AtomicBool::new(false),
            derivatives: OnceLock::new(),
        }
    }

    /// Sets how kernels are found.
    pub(super) fn with_policy(self, policy: CachePolicy) -> Function {
        Function { policy, ..self }
    }

    /// Makes it that of a traced module.
    pub(super) fn of_module(self) -> Function {
        Function { is_module: true, purpose: Purpose::Module, ..self }
    }

    /// Returns whether it is that of a traced module.
    pub(super) fn is_module(&self) -> bool {
        self.is_module
    }

    /// Visits the arguments of a call.
    pub(super) fn fill(&self, layout: &mut Layout, arguments: &impl Arguments) {
        match self.is_module {
            true => layout.fill_separate(arguments, self.parameters),
            false => layout.fill(arguments, self.parameters),
        }
    }

    /// Makes it a derivative of another function.
    pub(super) fn derived_from(self, function: &Function) -> Function {
        Function { purpose: function.purpose, policy: function.policy, ..self }
    }

    /// Returns what its calls are recorded for.
    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    /// Returns the function, after adding it to those that [`functions`] returns.
    #[doc(hidden)]
    pub fn listed(&'static self) -> &'static Function {
        if !self.is_listed.load(Ordering::Relaxed) && !self.is_listed.swap(true, Ordering::Relaxed) {
            static WATCHED: Once = Once::new();
            fork::watch(&WATCHED, hold);
            cache::watch_recordings(level, || functions().into_iter().for_each(Function::clear));
            LISTED.lock().push(self);
        }
        self
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns its location.
    #[must_use]
    pub fn site(&self) -> Site {
        self.site
    }

    /// Makes the policy for the cache that of this thread, unless it is the usual one.
    pub(super) fn enter_policy(&self) -> Option<PolicyScope> {
        (self.policy != CachePolicy::ReadWrite).then(|| self.policy.enter())
    }

    /// Returns whether calls are recorded and replayed.
    pub(super) fn is_on(&self) -> bool {
        self.is_enabled.load(Ordering::Relaxed)
            && self.options.limit != Some(0)
            && config::is_freeze_on()
            && !config::is_debug_on()
    }

    /// Switches recording and replaying on or off; existing recordings are retained.
    pub fn set_enabled(&self, is_on: bool) {
        self.is_enabled.store(is_on, Ordering::Relaxed);
    }

    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let table = self.table.lock();
        Stats {
            recordings: table.recordings,
            retraces: table.recordings.saturating_sub(1),
            cached: table.groups.iter().map(|group| group.entries.len() as u64).sum(),
            evictions: table.evictions,
            replays: self.replays.load(Ordering::Relaxed),
            direct: self.direct.load(Ordering::Relaxed),
        }
    }

    /// Returns the cause of each recording, oldest first.
    #[must_use]
    pub fn explain(&self) -> Explanation {
        Explanation::new(self.table.lock().retraces.clone())
    }

    /// Returns the function and the cause of its last recording, for profiles.
    pub(super) fn last_recording(&self) -> Recorded {
        let last = self.table.lock().retraces.last().cloned();
        let (function, place) = (self.name.into(), self.site);
        let hint = last.as_ref().and_then(|retrace| retrace.hint);
        let cause = last.filter(|retrace| retrace.cause != Cause::First).map(|retrace| retrace.cause.to_string());
        Recorded { function, place, cause, hint }
    }

    /// Discards all recordings and counters.
    pub fn clear(&self) {
        let dropped = (std::mem::take(&mut *self.table.lock()), std::mem::take(&mut *self.loaded.lock()));
        drop(dropped);
        self.replays.store(0, Ordering::Relaxed);
        self.direct.store(0, Ordering::Relaxed);
        if let Some(derivatives) = self.derivatives.get() {
            derivatives.clear();
        }
    }

    /// Returns the derivatives.
    pub(super) fn derivatives(&self) -> &Arc<Derivatives> {
        Derivatives::of(&self.derivatives, self)
    }

    /// Returns whether the next replay is one of those that are compared with a run of the body.
    pub(super) fn is_verified(&self) -> bool {
        let count = || self.replays.load(Ordering::Relaxed) + 1;
        config::freeze_verify().is_some_and(|every| count().is_multiple_of(every as u64))
    }

    pub(super) fn count_replay(&self) {
        self.replays.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn count_direct(&self) {
        self.direct.fetch_add(1, Ordering::Relaxed);
    }

    /// Finds the recordings that may fit a call, the most recently used ones first.
    pub(super) fn find(&self, of: TypeId, layout: &Layout, found: &mut Vec<Arc<Entry>>) {
        let table = self.table.lock();
        found.clear();
        if let Some(position) = table.position(of, layout) {
            let group = &table.groups[position];
            found.extend(group.entries.iter().rev().filter(|entry| entry.fits(layout)).cloned());
        }
        drop(table);
        if found.len() > 1 {
            found.sort_by_cached_key(|entry| std::cmp::Reverse(entry.used.load(Ordering::Relaxed)));
        }
    }

    /// Marks a recording as used.
    pub(super) fn touch(&self, entry: &Entry) {
        entry.used.store(self.clock.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Returns the lock for recording. If another thread holds it, a traced module waits: its body runs only once. Not
    /// in a host call, which may be one of the body that is recorded.
    pub(super) fn try_record(&self) -> Option<MutexGuard<'_, ()>> {
        match self.is_module && !host_call::is_inside() {
            true => Some(self.recording.lock()),
            false => self.recording.try_lock(),
        }
    }

    /// Calls a function with each retained recording.
    pub(super) fn for_each_recording(&self, mut run: impl FnMut(&Recording)) {
        for entry in self.table.lock().groups.iter().flat_map(|group| &group.entries) {
            if let CallPlan::Replay(plan) = &entry.call_plan {
                run(&plan.recording);
            }
        }
    }

    /// Returns the constants that a new recording takes as inputs: those that have changed since the last one. The flag
    /// is true if there are more of them than before.
    pub(super) fn lift(&self, of: TypeId, layout: &Layout) -> (Vec<bool>, bool) {
        let mut table = self.table.lock();
        // A shared leaf that is a literal stays a constant.
        let literals = layout.inputs.iter().filter(|input| input.form == Form::Literal);
        let may_be_given: Vec<bool> = literals.map(|input| !input.is_shared).collect();
        if !self.options.auto_opaque {
            return (may_be_given, false);
        }
        let Some(position) = table.position(of, layout) else {
            let changed = table.changed_since(of, layout).into_iter().zip(may_be_given);
            return (changed.map(|(changes, may_be)| changes && may_be).collect(), false);
        };
        let group = &mut table.groups[position];
        let mut has_grown = false;
        for (position, bits) in layout.literals.iter().enumerate() {
            let is_new = !group.lifted[position] && group.last.get(position) != Some(bits);
            let changes = is_new && may_be_given[position];
            group.lifted[position] |= changes;
            has_grown |= changes;
        }
        (group.lifted.clone(), has_grown)
    }

    /// Adds recordings from files to those of an instantiation, if `is_of` says that they are of it.
    #[cold]
    pub(super) fn adopt(&self, of: TypeId, is_of: impl Fn(&Entry) -> bool) {
        let is_own = |loaded: &Loaded| loaded.of.is_none_or(|own| own == of) && is_of(&loaded.entry);
        let (own, others): (Vec<_>, Vec<_>) = self.loaded.lock().drain(..).partition(is_own);
        self.has_loaded.store(!others.is_empty(), Ordering::Relaxed);
        self.loaded.lock().extend(others);
        let mut table = self.table.lock();
        for Loaded { words, entry, .. } in own {
            let evicted = table.make_room(self.options.limit);
            let (lifted, last) = (entry.lifted.clone(), entry.literals.clone());
            let known = table.groups.iter().position(|group| group.of == of && group.words == words);
            let position = known.unwrap_or_else(|| {
                let position = table.groups.len();
                table.by_hash.entry(hash(of, &words)).or_default().push(position as u32);
                table.groups.push(Group { of, words, lifted, last: Vec::new(), entries: Vec::new() });
                position
            });
            let entry = Entry { used: AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed) + 1), ..entry };
            table.groups[position].last = last;
            table.groups[position].entries.push(Arc::new(entry));
            drop(evicted);
        }
    }

    /// Returns the recordings of an instantiation, or all, with their keys, the least recently used one first.
    pub(super) fn recordings(&self, of: Option<TypeId>) -> Vec<(Box<[u64]>, Arc<Entry>)> {
        let table = self.table.lock();
        let of_group = |group: &Group| {
            let each = group.entries.iter().map(|entry| (group.words.clone(), Arc::clone(entry)));
            each.collect::<Vec<_>>()
        };
        let own = table.groups.iter().filter(|group| of.is_none_or(|of| of == group.of));
        let mut all: Vec<_> = own.flat_map(of_group).collect();
        all.sort_by_key(|(_, entry)| entry.used.load(Ordering::Relaxed));
        all
    }

    /// Counts a recording that begins, and remembers its cause.
    pub(super) fn begin_recording(&self, summary: Vec<ArgumentSummary>, why: Retrace) -> Result<(), String> {
        let mut table = self.table.lock();
        table.recordings += 1;
        if table.retraces.len() == MAX_RETRACES {
            table.retraces.remove(0);
        }
        let text = explain::warning(self, &why);
        table.retraces.push(why);
        table.last = summary;
        if let Some(budget) = self.options.budget.filter(|&budget| table.recordings > budget as u64) {
            return Err(format!("`{}` was recorded more than {budget} times, which is its budget: {text}", self.name));
        }
        if table.recordings > self.options.warn_after as u64 && !table.has_warned {
            table.has_warned = true;
            let count = table.recordings;
            log::emit(Level::Warn, || format!("`{}` was recorded {count} times: {text}", self.name));
        }
        Ok(())
    }

    /// Stores a recording.
    pub(super) fn insert(
        &self,
        of: TypeId,
        layout: &Layout,
        (lifted, widths): (Vec<bool>, Vec<u32>),
        decided: &[bool],
        call_plan: CallPlan,
        (templates, summary): (ErasedTemplates, Vec<Summary>),
    ) -> Arc<Entry> {
        let used = AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed) + 1);
        let recorded = Entry::new(layout, (lifted.clone(), widths), decided, call_plan, templates);
        let entry = Arc::new(Entry { used, summary, ..recorded });
        let mut table = self.table.lock();
        table.last_literals = (Some(of), layout.literals.clone());
        let evicted = table.make_room(self.options.limit);
        let group = match table.position(of, layout) {
            Some(position) => &mut table.groups[position],
            None => {
                let position = table.groups.len() as u32;
                table.by_hash.entry(hash(of, &layout.words)).or_default().push(position);
                let words = layout.words.clone().into();
                table.groups.push(Group { of, words, lifted, last: Vec::new(), entries: Vec::new() });
                table.groups.last_mut().expect("just added")
            }
        };
        group.last.clone_from(&layout.literals);
        group.entries.push(Arc::clone(&entry));
        drop(table);
        drop(evicted);
        entry
    }
}

/// Up to this number of groups, all keys are compared instead of hashed.
const FEW: usize = 2;

fn hash(of: TypeId, words: &[u64]) -> u64 {
    if cache::are_hashes_zero() {
        return 0;
    }
    let mut hasher = FxHasher::default();
    (of, words).hash(&mut hasher);
    hasher.finish()
}

impl Table {
    /// Returns which constants of a call with a new key differ from those of the last recording. They are compared from
    /// the last one backwards: plain numbers come last, and state that was a constant in the first call is none in the
    /// second.
    fn changed_since(&self, of: TypeId, layout: &Layout) -> Vec<bool> {
        let mut changed = vec![false; layout.literals.len()];
        let (last_of, last) = &self.last_literals;
        if *last_of == Some(of) {
            let pairs = changed.iter_mut().zip(&layout.literals).rev().zip(last.iter().rev());
            pairs.for_each(|((changed, now), before)| *changed = now != before);
        }
        changed
    }

    /// Returns the position of the group that a call belongs to.
    fn position(&self, of: TypeId, layout: &Layout) -> Option<usize> {
        let is_it = |position: usize| self.groups[position].is_for(of, layout);
        if self.groups.len() <= FEW {
            return (0..self.groups.len()).find(|&position| is_it(position));
        }
        let alike = self.by_hash.get(&hash(of, &layout.words))?;
        alike.iter().map(|&position| position as usize).find(|&position| is_it(position))
    }

    /// Returns the place of a shared leaf that differs in a call, if everything else of a recording fits it.
    pub(super) fn place_that_stays(&self, of: TypeId, layout: &Layout, names: &[&'static str]) -> Option<String> {
        let group = &self.groups[self.position(of, layout)?];
        let shared =
            group.entries.iter().rev().filter(|entry| entry.fits(layout)).find_map(|entry| match &entry.call_plan {
                CallPlan::Replay(plan) => plan.shared.first(),
                CallPlan::Run(_) | CallPlan::Elsewhere => None,
            });
        shared.map(|shared| shared.place(names))
    }

    /// Removes the least recently used recordings until there is room for one more.
    fn make_room(&mut self, limit: Option<usize>) -> Vec<Arc<Entry>> {
        let mut evicted = Vec::new();
        let Some(limit) = limit else { return evicted };
        while self.groups.iter().map(|group| group.entries.len()).sum::<usize>() >= limit.max(1) {
            let all = self.groups.iter().enumerate().flat_map(|(at, group)| {
                group.entries.iter().enumerate().map(move |(entry, it)| (it.used.load(Ordering::Relaxed), at, entry))
            });
            let Some((_, group, entry)) = all.min() else { break };
            evicted.push(self.groups[group].entries.remove(entry));
            self.evictions += 1;
            if self.groups[group].entries.is_empty() {
                self.remove(group);
            }
        }
        evicted
    }

    /// Removes a group; the last one takes its place.
    fn remove(&mut self, position: usize) {
        let last = self.groups.len() - 1;
        let [of_it, of_last] = [position, last].map(|at| hash(self.groups[at].of, &self.groups[at].words));
        if let Some(alike) = self.by_hash.get_mut(&of_it) {
            alike.retain(|at| *at as usize != position);
            if alike.is_empty() {
                self.by_hash.remove(&of_it);
            }
        }
        for at in self.by_hash.get_mut(&of_last).into_iter().flatten().filter(|at| **at as usize == last) {
            *at = position as u32;
        }
        self.groups.swap_remove(position);
    }
}

impl Group {
    fn is_for(&self, of: TypeId, layout: &Layout) -> bool {
        self.of == of && *self.words == *layout.words
    }
}

impl Entry {
    /// Creates a recording for a call.
    pub(super) fn new(
        layout: &Layout,
        (lifted, widths): (Vec<bool>, Vec<u32>),
        decided: &[bool],
        call_plan: CallPlan,
        templates: ErasedTemplates,
    ) -> Entry {
        let number = |(at, bits): (usize, &u64)| decided.get(at).filter(|is_decided| **is_decided).map(|_| *bits);
        let numbers = layout.numbers.iter().enumerate().map(number).collect();
        let (literals, used) = (layout.literals.clone(), AtomicU64::new(0));
        Entry { literals, numbers, lifted, widths, call_plan, templates, summary: Vec::new(), used }
    }

    /// Creates a recording that came from a file.
    pub(super) fn loaded(
        literals: Vec<u64>,
        numbers: Vec<Option<u64>>,
        (lifted, widths): (Vec<bool>, Vec<u32>),
        (templates, summary): (ErasedTemplates, Vec<Summary>),
    ) -> Entry {
        let (call_plan, used) = (CallPlan::Elsewhere, AtomicU64::new(0));
        Entry { literals, numbers, lifted, widths, call_plan, templates, summary, used }
    }

    /// Describes a guard of the recording, with names for the sizes of a call.
    pub(super) fn condition(&self, guard: &Guard, names: &[String]) -> String {
        let CallPlan::Replay(plan) = &self.call_plan else { return String::new() };
        condition(&plan.recording, guard, names)
    }

    /// Returns whether a call has the constants that are part of the recording, and the numbers that it decided by.
    fn fits(&self, layout: &Layout) -> bool {
        let mut literals = self.literals.iter().zip(&self.lifted).zip(&layout.literals);
        let mut numbers = self.numbers.iter().zip(&layout.numbers);
        literals.all(|((own, is_lifted), given)| *is_lifted || own == given)
            && numbers.all(|(own, given)| own.is_none_or(|own| own == *given))
    }
}

/// Describes a guard of a recording, with names for the sizes of a call.
pub(super) fn condition(recording: &Recording, guard: &Guard, names: &[String]) -> String {
    let name = |number: u16| names.get(usize::from(number)).cloned().unwrap_or_else(|| format!("size {number}"));
    recording.sizes().display_guard(guard, &name)
}

impl Plan {
    /// Fills in the inputs of the recording.
    pub(super) fn give(&self, layout: &mut Layout, lifted: &[bool]) {
        let Layout { inputs, buffers, scalars, donated, .. } = layout;
        buffers.clear();
        scalars.clear();
        donated.clear();
        let mut literal = 0;
        for (position, input) in inputs.iter().enumerate() {
            let bits = input.var.known_bits();
            match input.form {
                Form::Memory => {
                    buffers.extend(input.var.data());
                    // Owned by the argument and by us, or by us alone: a constant that was written to memory.
                    let is_sole = input.is_exclusive && input.var.count() <= 2 && !input.var.may_share_memory();
                    donated.push(is_sole && self.may_donate[position]);
                }
                Form::Opaque => scalars.extend(bits),
                Form::Literal => {
                    if lifted[literal] {
                        scalars.extend(bits);
                    }
                    literal += 1;
                }
            }
        }
    }
}

/// Takes the lock, for a fork.
fn hold(held: &mut Vec<Held>) {
    fork::hold_mutex(held, &LISTED);
}
