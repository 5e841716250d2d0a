//! Each rule of the host in tests, as a server has it.

mod cache;
mod exchange;
mod knowledge;
