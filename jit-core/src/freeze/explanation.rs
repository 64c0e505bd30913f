//! The causes of all recordings of a frozen function.

use std::fmt;
use std::ops::Deref;

use super::Retrace;

/// The cause of each recording of a frozen function, oldest first: a list of [`Retrace`]. It is printed as one line per
/// cause, with the number of occurrences: an argument that had five values is one cause.
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
        let mut causes: Vec<Vec<&Retrace>> = Vec::new();
        for retrace in self {
            match causes.iter_mut().find(|known| known[0].has_same_cause(retrace)) {
                Some(known) => known.push(retrace),
                None => causes.push(vec![retrace]),
            }
        }
        for (number, alike) in causes.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            let (line, times) = (alike[0].line(), alike.len());
            match alike.iter().all(|retrace| retrace.cause == alike[0].cause) {
                true if times == 1 => write!(f, "{end}{line}")?,
                true => write!(f, "{end}{line}, {times} times")?,
                false if times == 2 => write!(f, "{end}{line}, and once more with other values")?,
                false => write!(f, "{end}{line}, and {} more times with other values", times - 1)?,
            }
        }
        Ok(())
    }
}
