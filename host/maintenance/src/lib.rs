//! Backup, transfer and examination of a service.
//!
//! # Modules
//!
//! - `backup`: copies a data directory beside a running server, and restores it (docs/operating.md,
//!   docs/decisions/0030)
//! - `transfer`: copies a whole service to another database and another store of files
//!   (docs/operating.md, docs/decisions/0043)
//! - `doctor`: checks a data directory without changing it, and says what to do

pub mod backup;
pub mod doctor;
pub mod transfer;
