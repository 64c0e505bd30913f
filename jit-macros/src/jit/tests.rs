//! Tests of the rewriting on tokens.
