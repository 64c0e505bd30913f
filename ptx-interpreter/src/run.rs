//! Running the threads of a launch in random order.

use super::Entry;
use super::instruction::{Access, Instruction, Operand, Operation, Pure, Space, Special, WarpOperation};
use super::memory::{self, Global};
use super::random::Rng;
use super::shared::{Moment, Shared};
use super::warp::{self, WARP, Waiting};

/// The most instructions that one thread may run: a loop that never ends is an error.
const MAX_STEPS: u64 = 100_000_000;

/// The most blocks whose threads are interleaved: few, so that launches of many blocks take less time, or many.
const RESIDENT_BLOCKS: [usize; 3] = [1, 4, 48];

/// The shape of a launch, and what it is run with.
pub struct Launch<'a> {
    /// The kernel.
    pub entry: &'a Entry,
    /// The number of blocks.
    pub blocks: u32,
    /// The threads of each block.
    pub threads: u32,
    /// The bytes of the parameters.
    pub parameters: &'a [u8],
    /// The memory that may be accessed.
    pub global: &'a Global,
    /// Determines the order of the threads.
    pub seed: u64,
}

/// Why a thread does not go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    AtBarrier,
    /// Waits for other threads of the warp.
    InWarp,
    Done,
}

struct Thread {
    index: u32,
    /// None for those that were not written yet.
    registers: Vec<Option<u64>>,
    local: Vec<u8>,
    next: usize,
    steps: u64,
    state: State,
    waiting: Option<Waiting>,
}

struct Block {
    index: u32,
    shared: Shared,
    threads: Vec<Thread>,
    /// The threads that can go on.
    ready: Vec<usize>,
    at_barrier: Vec<usize>,
    ended: usize,
    /// How many barriers were passed, by the block and by each warp.
    barriers: u32,
    warp_barriers: Vec<u32>,
}

/// Runs a launch to its end.
///
/// # Errors
///
/// A shape or parameters that do not fit the kernel, and whatever a thread must not do.
pub fn launch(launch: &Launch<'_>) -> Result<(), String> {
    if launch.entry.threads.is_some_and(|threads| threads != launch.threads) {
        return Err(format!("{} threads in a block, but {:?} are demanded", launch.threads, launch.entry.threads));
    }
    if launch.parameters.len() != launch.entry.parameter_bytes {
        let expected = launch.entry.parameter_bytes;
        return Err(format!("{} bytes of parameters instead of {expected}", launch.parameters.len()));
    }
    let mut rng = Rng::new(launch.seed);
    let most = rng.choose(&RESIDENT_BLOCKS);
    // In half of the launches, some blocks run much less than others.
    let starves = rng.one_in(2);
    let mut waiting: Vec<u32> = (0..launch.blocks).collect();
    let mut resident: Vec<Block> = Vec::new();
    loop {
        while resident.len() < most && !waiting.is_empty() {
            let index = waiting.swap_remove(rng.below(waiting.len()));
            resident.push(Block::new(launch, index, &mut rng));
        }
        if resident.is_empty() {
            return Ok(());
        }
        let count = resident.len();
        let chosen = match starves && !rng.one_in(16) {
            true => count - 1 - rng.below(count.div_ceil(2)),
            false => rng.below(count),
        };
        if resident[chosen].step(launch, &mut rng)? {
            resident.swap_remove(chosen);
        }
    }
}

impl Block {
    fn new(launch: &Launch<'_>, index: u32, rng: &mut Rng) -> Block {
        let entry = launch.entry;
        let mut arbitrary = |size: usize| {
            let mut bytes: Vec<u8> = (0..size.div_ceil(8)).flat_map(|_| rng.bits().to_le_bytes()).collect();
            bytes.truncate(size);
            bytes
        };
        let shared = Shared::new(arbitrary(entry.shared_bytes));
        let threads = (0..launch.threads).map(|index| Thread {
            index,
            registers: vec![None; entry.register_masks.len()],
            local: arbitrary(entry.local_bytes),
            next: 0,
            steps: 0,
            state: State::Ready,
            waiting: None,
        });
        Block {
            index,
            threads: threads.collect(),
            shared,
            ready: (0..launch.threads as usize).collect(),
            at_barrier: Vec::new(),
            ended: 0,
            barriers: 0,
            warp_barriers: vec![0; (launch.threads as usize).div_ceil(WARP)],
        }
    }

    /// Runs a random thread for some instructions. Returns whether all have ended.
    fn step(&mut self, launch: &Launch<'_>, rng: &mut Rng) -> Result<bool, String> {
        if self.ready.is_empty() {
            return self.pass_barrier();
        }
        let chosen = rng.below(self.ready.len());
        let index = self.ready[chosen];
        self.run_thread(launch, index, if rng.one_in(4) { 1 + rng.below(8) } else { 1 + rng.below(1000) })?;
        let state = self.threads[index].state;
        if state != State::Ready {
            self.ready.swap_remove(chosen);
        }
        match state {
            State::Ready => {}
            State::AtBarrier => self.at_barrier.push(index),
            State::InWarp => self.meet_warp(index / WARP).map_err(|reason| self.describe(launch, index, &reason))?,
            State::Done => self.ended += 1,
        }
        Ok(false)
    }

    /// Runs a thread until it waits or ends, for at most so many instructions.
    fn run_thread(&mut self, launch: &Launch<'_>, index: usize, steps: usize) -> Result<(), String> {
        let moment = Moment {
            thread: index as u32,
            block_barriers: self.barriers,
            warp_barriers: self.warp_barriers[index / WARP],
        };
        let thread = &mut self.threads[index];
        for _ in 0..steps {
            if thread.state != State::Ready {
                break;
            }
            let instruction = launch.entry.code.get(thread.next).ok_or("a thread runs beyond the end of the code")?;
            thread.next += 1;
            thread.steps += 1;
            Step { launch, block: self.index, shared: &mut self.shared, thread, moment }
                .run(instruction)
                .map_err(|reason| format!("{reason}, in `{}` of {}", instruction.text, launch.entry.name))?;
        }
        if thread.steps > MAX_STEPS { Err("a thread does not end".to_owned()) } else { Ok(()) }
    }

    fn describe(&self, launch: &Launch<'_>, thread: usize, reason: &str) -> String {
        let instruction = &launch.entry.code[self.threads[thread].next - 1];
        format!("{reason}, in `{}` of {}", instruction.text, launch.entry.name)
    }

    /// Lets all threads go on from a barrier. Returns whether there are none left.
    fn pass_barrier(&mut self) -> Result<bool, String> {
        if self.ended == self.threads.len() {
            return Ok(true);
        }
        if self.at_barrier.len() < self.threads.len() {
            return Err("threads wait for others that have ended, or wait elsewhere".to_owned());
        }
        self.threads.iter_mut().for_each(|thread| thread.state = State::Ready);
        self.ready.append(&mut self.at_barrier);
        self.barriers += 1;
        Ok(false)
    }

    /// Lets the threads of a warp go on whose common instruction is complete.
    fn meet_warp(&mut self, number: usize) -> Result<(), String> {
        let first = number * WARP;
        let lanes = first..self.threads.len().min(first + WARP);
        let waiting: Vec<Option<Waiting>> = self.threads[lanes].iter().map(|thread| thread.waiting).collect();
        let Some(members) = warp::complete(&waiting)? else { return Ok(()) };
        if u64::from(members) == u64::MAX >> (64 - waiting.len()) {
            self.warp_barriers[number] +=
                u32::from(waiting.iter().flatten().all(|waiting| waiting.operation == WarpOperation::Barrier));
        }
        for lane in (0..waiting.len()).filter(|lane| members >> lane & 1 == 1) {
            let thread = &mut self.threads[first + lane];
            if let Some(result) = waiting[lane].and_then(|waiting| waiting.result) {
                thread.registers[result] = Some(warp::result(&waiting, lane)?);
            }
            (thread.waiting, thread.state) = (None, State::Ready);
            self.ready.push(first + lane);
        }
        Ok(())
    }
}

/// One instruction of a thread, with everything that it may access.
struct Step<'a> {
    launch: &'a Launch<'a>,
    block: u32,
    shared: &'a mut Shared,
    thread: &'a mut Thread,
    moment: Moment,
}

impl Step<'_> {
    fn run(&mut self, instruction: &Instruction) -> Result<(), String> {
        if let Some((predicate, expected)) = instruction.guard
            && (self.register(predicate)? != 0) != expected
        {
            return Ok(());
        }
        match (&instruction.operation, instruction.operands.as_slice()) {
            (Operation::Pure(Pure::One(function)), [d, a]) => self.set(d, function(self.value(a)?)),
            (Operation::Pure(Pure::Two(function)), [d, a, b]) => self.set(d, function(self.value(a)?, self.value(b)?)),
            (Operation::Pure(Pure::Three(function)), [d, a, b, c]) => {
                self.set(d, function(self.value(a)?, self.value(b)?, self.value(c)?))
            }
            (Operation::Load(access), [Operand::Vector(elements), memory]) if elements.len() == access.elements => {
                let first = self.vector_address(*access, memory)?;
                elements.iter().zip(0..).try_for_each(|(d, position)| {
                    let bits = self.load(*access, memory, first + position * access.size_bytes as u64)?;
                    self.set(d, bits)
                })
            }
            (Operation::Load(access @ Access { elements: 1, .. }), [d, memory]) => {
                let bits = self.load(*access, memory, self.address(memory)?)?;
                self.set(d, bits)
            }
            (Operation::Store(access), [memory, Operand::Vector(elements)]) if elements.len() == access.elements => {
                let first = self.vector_address(*access, memory)?;
                elements.iter().zip(0..).try_for_each(|(a, position)| {
                    self.store(*access, first + position * access.size_bytes as u64, self.value(a)?)
                })
            }
            (Operation::Store(access @ Access { elements: 1, .. }), [memory, a]) => {
                self.store(*access, self.address(memory)?, self.value(a)?)
            }
            (&Operation::Atomic { function, space, size_bytes, returns: true }, [d, memory, a]) => {
                let old = self.update(space, memory, size_bytes, self.value(a)?, function)?;
                self.set(d, old)
            }
            (&Operation::Atomic { function, space, size_bytes, returns: false }, [memory, a]) => {
                self.update(space, memory, size_bytes, self.value(a)?, function).map(drop)
            }
            (&Operation::CompareAndSwap { size_bytes }, [d, memory, expected, new]) => {
                let mask = u64::MAX >> (64 - 8 * size_bytes);
                let (expected, new) = (self.value(expected)? & mask, self.value(new)?);
                let update = |old, new| if old == expected { new } else { old };
                let old = self.update(Space::Global, memory, size_bytes, new, update)?;
                self.set(d, old)
            }
            (Operation::Branch, [Operand::Target(target)]) => {
                self.thread.next = *target;
                Ok(())
            }
            (Operation::BranchIndexed, [index, Operand::Table(targets)]) => {
                let index = self.value(index)?;
                let target = usize::try_from(index).ok().and_then(|index| targets.get(index));
                self.thread.next = *target.ok_or_else(|| format!("there is no target {index}"))?;
                Ok(())
            }
            (Operation::Fence, []) => Ok(()),
            (Operation::Warp(operation), operands) => self.wait_in_warp(*operation, operands),
            (Operation::Barrier, [Operand::Literal(0)]) => {
                self.thread.state = State::AtBarrier;
                Ok(())
            }
            (Operation::Return, []) => {
                self.thread.state = State::Done;
                Ok(())
            }
            _ => Err("the operands do not fit the instruction".to_owned()),
        }
    }

    #[inline]
    fn register(&self, register: usize) -> Result<u64, String> {
        self.thread.registers[register].ok_or_else(|| "a register is read that was not written".to_owned())
    }

    #[inline]
    fn value(&self, operand: &Operand) -> Result<u64, String> {
        match operand {
            Operand::Register(register) => self.register(*register),
            Operand::Literal(bits) => Ok(*bits),
            Operand::Special(special) => Ok(u64::from(match special {
                Special::Thread => self.thread.index,
                Special::Threads => self.launch.threads,
                Special::Block => self.block,
                Special::Blocks => self.launch.blocks,
            })),
            _ => Err("an operand that is no value".to_owned()),
        }
    }

    #[inline]
    fn set(&mut self, operand: &Operand, bits: u64) -> Result<(), String> {
        let Operand::Register(register) = operand else { return Err("the result is no register".to_owned()) };
        self.thread.registers[*register] = Some(bits & self.launch.entry.register_masks[*register]);
        Ok(())
    }

    #[inline]
    fn address(&self, memory: &Operand) -> Result<u64, String> {
        match memory {
            Operand::Memory(register, offset) => Ok(self.register(*register)?.wrapping_add(*offset)),
            Operand::Parameter(offset) => Ok(*offset as u64),
            _ => Err("an operand that is no memory".to_owned()),
        }
    }

    /// The address of consecutive elements, which is aligned to all of them.
    fn vector_address(&self, access: Access, memory: &Operand) -> Result<u64, String> {
        let address = self.address(memory)?;
        let size = (access.size_bytes * access.elements) as u64;
        if address.is_multiple_of(size) { Ok(address) } else { Err(format!("{address:#x} is not aligned to {size}")) }
    }

    /// Stops until the other lanes of the mask, which is the last operand, are there.
    fn wait_in_warp(&mut self, operation: WarpOperation, operands: &[Operand]) -> Result<(), String> {
        let (result, rest) = match operands {
            [Operand::Register(result), rest @ ..] if operation != WarpOperation::Barrier => (Some(*result), rest),
            rest => (None, rest),
        };
        let Some((mask, rest)) = rest.split_last().filter(|(_, rest)| rest.len() == operation.operands()) else {
            return Err("the operands do not fit the instruction".to_owned());
        };
        let mut values = [0; 3];
        for (value, operand) in values.iter_mut().zip(rest) {
            *value = self.value(operand)?;
        }
        let (position, members) = (self.thread.next - 1, self.value(mask)? as u32);
        self.thread.waiting = Some(Waiting { position, operation, members, operands: values, result });
        self.thread.state = State::InWarp;
        Ok(())
    }

    fn load(&mut self, access: Access, memory: &Operand, address: u64) -> Result<u64, String> {
        let Access { space, size_bytes, is_signed, .. } = access;
        let bits = match (space, memory) {
            (Space::Parameter, Operand::Parameter(_)) => memory::read(self.launch.parameters, address, size_bytes)?,
            (Space::Global, Operand::Memory(..)) => self.launch.global.read(address, size_bytes)?,
            (Space::Local, Operand::Memory(..)) => memory::read(&self.thread.local, address, size_bytes)?,
            (Space::Shared, Operand::Memory(..)) => self.shared.read(self.moment, address, size_bytes)?,
            _ => return Err("the operand is not in the state space".to_owned()),
        };
        let unused = 64 - 8 * size_bytes as u32;
        let extended = ((bits << unused).cast_signed() >> unused).cast_unsigned();
        Ok(match (is_signed, size_bytes) {
            (true, ..=4) => extended & u64::from(u32::MAX),
            _ => bits,
        })
    }

    fn store(&mut self, access: Access, address: u64, bits: u64) -> Result<(), String> {
        match access.space {
            Space::Global => self.launch.global.write(address, access.size_bytes, bits),
            Space::Local => memory::write(&mut self.thread.local, address, access.size_bytes, bits),
            Space::Shared => self.shared.write(self.moment, address, access.size_bytes, bits),
            Space::Parameter => Err("parameters cannot be written".to_owned()),
        }
    }

    /// Replaces an element in one step. Returns the old one.
    fn update(
        &mut self,
        space: Space,
        memory: &Operand,
        size_bytes: usize,
        operand: u64,
        function: impl Fn(u64, u64) -> u64,
    ) -> Result<u64, String> {
        let address = self.address(memory)?;
        if space == Space::Shared {
            return self.shared.update(self.moment, address, size_bytes, |old| function(old, operand));
        }
        let old = self.launch.global.read(address, size_bytes)?;
        self.launch.global.write(address, size_bytes, function(old, operand))?;
        Ok(old)
    }
}
