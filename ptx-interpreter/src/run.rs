//! Running the threads of a launch in random order.

use super::Entry;
use super::instruction::{Access, Instruction, Operand, Operation, Pure, Space, Special};
use super::memory::{self, Global};
use super::random::Rng;

/// The most instructions that one thread may run: a loop that never ends is an error.
const MAX_STEPS: u64 = 100_000_000;

/// The most blocks whose threads are interleaved.
const RESIDENT_BLOCKS: usize = 4;

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
}

struct Block {
    index: u32,
    shared: Vec<u8>,
    threads: Vec<Thread>,
    /// The threads that neither wait nor have ended.
    ready: Vec<usize>,
    /// The number of threads that have ended.
    done: usize,
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
    let mut waiting: Vec<u32> = (0..launch.blocks).collect();
    let mut resident: Vec<Block> = Vec::new();
    loop {
        while resident.len() < RESIDENT_BLOCKS && !waiting.is_empty() {
            let index = waiting.swap_remove(rng.below(waiting.len()));
            resident.push(Block::new(launch, index, &mut rng));
        }
        if resident.is_empty() {
            return Ok(());
        }
        let chosen = rng.below(resident.len());
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
        let shared = arbitrary(entry.shared_bytes);
        let threads = (0..launch.threads).map(|index| Thread {
            index,
            registers: vec![None; entry.register_masks.len()],
            local: arbitrary(entry.local_bytes),
            next: 0,
            steps: 0,
            state: State::Ready,
        });
        let ready = (0..launch.threads as usize).collect();
        Block { index, threads: threads.collect(), shared, ready, done: 0 }
    }

    /// Runs a random thread for some instructions. Returns whether all have ended.
    fn step(&mut self, launch: &Launch<'_>, rng: &mut Rng) -> Result<bool, String> {
        if self.ready.is_empty() {
            return self.pass_barrier();
        }
        let position = rng.below(self.ready.len());
        let steps = if rng.one_in(4) { 1 + rng.below(8) } else { 1 + rng.below(1000) };
        let thread = &mut self.threads[self.ready[position]];
        for _ in 0..steps {
            if thread.state != State::Ready {
                break;
            }
            let instruction = launch.entry.code.get(thread.next).ok_or("a thread runs beyond the end of the code")?;
            thread.next += 1;
            thread.steps += 1;
            Step { launch, block: self.index, shared: &mut self.shared, thread }
                .run(instruction)
                .map_err(|reason| format!("{reason}, in `{}` of {}", instruction.text, launch.entry.name))?;
        }
        if thread.state != State::Ready {
            self.done += usize::from(thread.state == State::Done);
            self.ready.swap_remove(position);
        } else if thread.steps > MAX_STEPS {
            return Err("a thread does not end".to_owned());
        }
        Ok(false)
    }

    /// Lets all threads go on that wait for one another. Returns whether there are none, since all have ended.
    fn pass_barrier(&mut self) -> Result<bool, String> {
        if self.done == self.threads.len() {
            return Ok(true);
        }
        if self.done > 0 {
            return Err("threads wait for others that have ended".to_owned());
        }
        self.threads.iter_mut().for_each(|thread| thread.state = State::Ready);
        self.ready = (0..self.threads.len()).collect();
        Ok(false)
    }
}

/// One instruction of a thread, with everything that it may access.
struct Step<'a> {
    launch: &'a Launch<'a>,
    block: u32,
    shared: &'a mut Vec<u8>,
    thread: &'a mut Thread,
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
            (Operation::Load(access), [d, memory]) => {
                let bits = self.load(*access, memory)?;
                self.set(d, bits)
            }
            (Operation::Store(access), [memory, a]) => self.store(*access, memory, self.value(a)?),
            (&Operation::Atomic { function, size_bytes, returns: true }, [d, memory, a]) => {
                let old = self.update(memory, size_bytes, self.value(a)?, function)?;
                self.set(d, old)
            }
            (&Operation::Atomic { function, size_bytes, returns: false }, [memory, a]) => {
                self.update(memory, size_bytes, self.value(a)?, function).map(drop)
            }
            (&Operation::CompareAndSwap { size_bytes }, [d, memory, expected, new]) => {
                let mask = u64::MAX >> (64 - 8 * size_bytes);
                let (expected, new) = (self.value(expected)? & mask, self.value(new)?);
                let old = self.update(memory, size_bytes, new, |old, new| if old == expected { new } else { old })?;
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

    fn load(&self, access: Access, memory: &Operand) -> Result<u64, String> {
        let Access { space, size_bytes, is_signed } = access;
        let address = self.address(memory)?;
        let bits = match (space, memory) {
            (Space::Parameter, Operand::Parameter(_)) => memory::read(self.launch.parameters, address, size_bytes)?,
            (Space::Global, Operand::Memory(..)) => self.launch.global.read(address, size_bytes)?,
            (Space::Local, Operand::Memory(..)) => memory::read(&self.thread.local, address, size_bytes)?,
            (Space::Shared, Operand::Memory(..)) => memory::read(self.shared, address, size_bytes)?,
            _ => return Err("the operand is not in the state space".to_owned()),
        };
        let unused = 64 - 8 * size_bytes as u32;
        let extended = ((bits << unused).cast_signed() >> unused).cast_unsigned();
        Ok(match (is_signed, size_bytes) {
            (true, ..=4) => extended & u64::from(u32::MAX),
            _ => bits,
        })
    }

    fn store(&mut self, access: Access, memory: &Operand, bits: u64) -> Result<(), String> {
        let address = self.address(memory)?;
        match access.space {
            Space::Global => self.launch.global.write(address, access.size_bytes, bits),
            Space::Local => memory::write(&mut self.thread.local, address, access.size_bytes, bits),
            Space::Shared => memory::write(self.shared, address, access.size_bytes, bits),
            Space::Parameter => Err("parameters cannot be written".to_owned()),
        }
    }

    /// Replaces an element of global memory in one step. Returns the old one.
    fn update(
        &self,
        memory: &Operand,
        size_bytes: usize,
        operand: u64,
        function: impl Fn(u64, u64) -> u64,
    ) -> Result<u64, String> {
        let address = self.address(memory)?;
        let old = self.launch.global.read(address, size_bytes)?;
        self.launch.global.write(address, size_bytes, function(old, operand))?;
        Ok(old)
    }
}
