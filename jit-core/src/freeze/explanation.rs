//! The causes of all recordings of a frozen function.

use std::fmt;
use std::ops::Deref;

use super::Retrace;

/// The cause of each recording of a frozen function, oldest first: a list of [`Retrace`]. It is printed as one line per
/// cause, with the number of occurrences.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Explanation(Vec<Retrace>);

impl Explanation {
    pub(crate) fn new(retraces: Vec<Retrace>) -> Self {
        Explanation(retraces)
    }
}

impl Deref for Explanation {
    type Target = [Retrace];

    fn deref(&self) -> &[Retrace] {
        &self.0
    }
}

impl IntoIterator for Explanation {
    type Item = Retrace;
    type IntoIter = std::vec::IntoIter<Retrace>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Explanation {
    type Item = &'a Retrace;
    type IntoIter = std::slice::Iter<'a, Retrace>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<(String, usize)> = Vec::new();
        for retrace in self {
            let line = retrace.line();
            match lines.iter_mut().find(|(known, _)| *known == line) {
                Some((_, times)) => *times += 1,
                None => lines.push((line, 1)),
            }
        }
        for (number, (line, times)) in lines.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            match times {
                1 => write!(f, "{end}{line}")?,
                _ => write!(f, "{end}{line}, {times} times")?,
            }
        }
        Ok(())
    }
}
