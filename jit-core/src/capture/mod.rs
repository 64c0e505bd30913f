//! What this thread's recording of a frozen function knows.
//!
//! | part | what |
//! |---|---|
//! | `launches` | the launches, noted while they happen |

pub(crate) mod launches;
