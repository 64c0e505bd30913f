//! `jit cache …`: the folders of compiled kernels.

mod clear;
mod entries;
mod list;
mod show;
mod verify;
mod why;

use crate::arguments::CacheCommand;
use crate::output::{Failure, Output, Status};

pub(crate) fn run(command: &CacheCommand, output: &mut Output) -> Result<Status, Failure> {
    match command {
        CacheCommand::Ls => list::ls(output),
        CacheCommand::Top { by, count } => list::top(*by, count.get(), output),
        CacheCommand::Show { hash } => show::run(hash, output),
        CacheCommand::Why { hash } => why::run(hash.as_deref(), output),
        CacheCommand::Verify { compile } => verify::run(*compile, output),
        CacheCommand::Clear { older_than, all } => clear::run(*older_than, *all, output),
    }
}
