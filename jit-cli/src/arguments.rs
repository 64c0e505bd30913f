//! The command line.

use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};

use crate::text;

/// Reports what of `jit` works on this machine, and what is in the kernel cache.
#[derive(Parser, Debug)]
#[command(name = "jit", version, about, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Write JSON instead of tables.
    #[arg(long, global = true)]
    json: bool,
}

impl Arguments {
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Check what `jit` needs: devices, LLVM, the cache folders, the environment. Status 1 if something does not work.
    Doctor,
    /// Look into the folders of compiled kernels: `JIT_CACHE_DIR` and `JIT_CACHE_SHARED_DIR`, or their defaults.
    #[command(subcommand)]
    Cache(CacheCommand),
}

#[derive(Subcommand, Debug)]
pub(crate) enum CacheCommand {
    /// List the kernels, the last used ones first.
    Ls,
    /// List the kernels that saved the most time, or that take the most space.
    Top {
        /// What to order by.
        #[arg(long, value_enum, default_value_t = Order::Saved)]
        by: Order,
        /// The number of kernels.
        #[arg(short = 'n', long, default_value = "10", value_name = "NUMBER")]
        count: NonZeroUsize,
    },
    /// Show a kernel: its header, its key, its IR and its instructions.
    Show {
        /// The begin of its hash, as `ls` has it, or the hash in a message of the library.
        #[arg(value_parser = text::hash)]
        hash: String,
    },
    /// Tell why programs here do not find a kernel: another processor, LLVM, library or option. Without a hash: for
    /// all of them.
    Why {
        /// The begin of its hash, as `ls` has it, or the hash in a message of the library.
        #[arg(value_parser = text::hash)]
        hash: Option<String>,
    },
    /// Compare the checksum of each file. Status 1 if one is damaged.
    Verify {
        /// Also compile each kernel again that was made for this machine, and compare the code.
        #[arg(long)]
        compile: bool,
    },
    /// Remove kernels from the user's own folder, and list the first of them. Programs compile them again.
    Clear {
        /// Only those that were not used for this time, such as 12h, 30d or 8w.
        #[arg(long, value_name = "TIME", value_parser = text::parse_duration, conflicts_with = "all")]
        older_than: Option<Duration>,
        /// Also the secret, the locks, and what killed processes left: everything that the library made.
        #[arg(long)]
        all: bool,
    },
}

/// What the kernels of `top` are ordered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Order {
    /// The time that they saved: that of compiling them, for each process that read them.
    Saved,
    /// The bytes of their files.
    Size,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory as _;
        Arguments::command().debug_assert();
    }
}
