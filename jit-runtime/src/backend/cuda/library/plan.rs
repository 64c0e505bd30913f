//! Plans: the launches of a library call as data, and what carries them out.

use super::Routine;

/// The launches of a library call, and the memory that they need in between.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Plan {
    /// The sizes in bytes of temporary memory, whose contents are arbitrary at first.
    pub temporaries: Vec<u64>,
    /// What is launched, in this order.
    pub steps: Vec<Step>,
}

/// One launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The kernel.
    pub routine: Routine,
    /// The number of blocks, at least 1.
    pub blocks: u32,
    /// The parameters of the kernel, in its order.
    pub arguments: Vec<Argument>,
}

/// A parameter of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Argument {
    /// The address of an operand that is read.
    Input(usize),
    /// The address of an operand that is written.
    Output(usize),
    /// The address of temporary memory.
    Temporary(usize),
    /// A number of 32 bits: a size.
    Word(u32),
    /// A number of 64 bits.
    Long(u64),
}

/// What runs the launches of a plan: a stream of a device.
pub trait Device {
    /// Why a launch was not possible.
    type Error;

    /// Allocates memory whose address is a multiple of 64. It must live until the launches of the plan are done.
    ///
    /// # Errors
    ///
    /// There is no memory left.
    fn allocate(&mut self, size_bytes: u64) -> Result<u64, Self::Error>;

    /// Launches a kernel after all earlier ones, in blocks of [`Routine::threads`] threads.
    ///
    /// # Errors
    ///
    /// The kernel cannot be loaded or launched.
    fn launch(&mut self, routine: Routine, blocks: u32, parameters: &[u8]) -> Result<(), Self::Error>;
}

impl Plan {
    /// Runs the plan on operands at these addresses.
    ///
    /// # Errors
    ///
    /// As the methods of the device.
    pub fn run<D: Device>(&self, device: &mut D, inputs: &[u64], outputs: &[u64]) -> Result<(), D::Error> {
        let temporaries: Vec<u64> =
            self.temporaries.iter().map(|size| device.allocate(*size)).collect::<Result<_, _>>()?;
        self.steps.iter().try_for_each(|step| {
            device.launch(step.routine, step.blocks, &step.parameters(inputs, outputs, &temporaries))
        })
    }

    /// Adds temporary memory. Returns its number.
    pub(super) fn temporary(&mut self, size_bytes: u64) -> Argument {
        self.temporaries.push(size_bytes);
        Argument::Temporary(self.temporaries.len() - 1)
    }

    /// Adds a launch; none if there are no blocks.
    pub(super) fn launch(&mut self, routine: Routine, blocks: usize, arguments: Vec<Argument>) {
        if blocks > 0 {
            let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
            self.steps.push(Step { routine, blocks, arguments });
        }
    }

    /// Whether a grid has room for the blocks of each launch.
    pub(super) fn has_grids(&self) -> bool {
        self.steps.iter().all(|step| i32::try_from(step.blocks).is_ok())
    }
}

impl Step {
    /// The bytes of the parameters, in the order of the machine: each is aligned to its size.
    #[must_use]
    pub fn parameters(&self, inputs: &[u64], outputs: &[u64], temporaries: &[u64]) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for argument in &self.arguments {
            let word = match *argument {
                Argument::Word(word) => {
                    bytes.extend(word.to_le_bytes());
                    continue;
                }
                Argument::Input(number) => inputs[number],
                Argument::Output(number) => outputs[number],
                Argument::Temporary(number) => temporaries[number],
                Argument::Long(word) => word,
            };
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes.extend(word.to_le_bytes());
        }
        bytes
    }
}
