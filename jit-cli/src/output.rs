//! What the command writes, and how it ends.

use std::fmt::{self, Display};
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde::Serialize;

/// Whether everything is as it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Good,
    Bad,
}

impl Status {
    pub(crate) fn bad_if(is_bad: bool) -> Status {
        if is_bad { Status::Bad } else { Status::Good }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        match status {
            Status::Good => ExitCode::SUCCESS,
            Status::Bad => ExitCode::FAILURE,
        }
    }
}

/// Why the command did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Who reads the output has seen enough.
    ClosedPipe,
    Output(io::Error),
    Library(jit_runtime::Error),
    /// What was asked for does not exist, and what to do.
    Request(String, String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::ClosedPipe => Ok(()),
            Failure::Output(error) => write!(f, "error: the output cannot be written: {error}"),
            Failure::Library(error) => {
                write!(f, "error: {}", error.message())?;
                error.hint().map_or(Ok(()), |hint| write!(f, "\n  help: {hint}"))
            }
            Failure::Request(message, hint) => write!(f, "error: {message}\n  help: {hint}"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output(error),
        }
    }
}

impl From<jit_runtime::Error> for Failure {
    fn from(error: jit_runtime::Error) -> Failure {
        Failure::Library(error)
    }
}

/// Standard output: text for people, or one JSON document.
pub(crate) struct Output {
    writer: BufWriter<Box<dyn Write>>,
    is_json: bool,
}

impl Output {
    pub(crate) fn to_stdout(is_json: bool) -> Output {
        Output { writer: BufWriter::new(Box::new(io::stdout())), is_json }
    }

    /// Writes a value, as JSON or as `text` writes it.
    pub(crate) fn write<T: Serialize>(
        &mut self,
        value: &T,
        text: impl FnOnce(&mut Output) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if !self.is_json {
            return text(self);
        }
        serde_json::to_writer_pretty(&mut self.writer, value).map_err(io::Error::from)?;
        self.line("")
    }

    pub(crate) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        writeln!(self.writer, "{line}")?;
        Ok(())
    }

    /// Writes rows under a head; the columns `right` are numbers.
    pub(crate) fn table(
        &mut self,
        head: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
        right: &[usize],
    ) -> Result<(), Failure> {
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(head.to_vec());
        rows.into_iter().for_each(|row| _ = table.add_row(row));
        let count = table.column_count();
        for (number, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if number + 1 < count { 2 } else { 0 }));
            if right.contains(&number) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            self.line(line.trim_end())?;
        }
        Ok(())
    }

    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        Ok(self.writer.flush()?)
    }
}
